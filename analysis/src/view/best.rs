//! The best configuration of a series, and how far the others are from it.
//!
//! Input: the configurations of a series and a metric. Output: which finished configuration is
//! best by the metric's direction, and each one's ratio to it. Configurations that did not finish
//! or have no value take no part.

use gpuprof_model::metric::Direction;
use gpuprof_model::run::{ConfigurationResult, MetricResult, Status};

/// The value of `metric` in a finished `configuration`, if it is a number.
pub fn value(configuration: &ConfigurationResult, metric: &str) -> Option<f64> {
    result(configuration, metric)?.value.as_ref().ok().copied().filter(|value| value.is_finite())
}

/// The entry of `metric` in a finished `configuration`.
pub fn result<'r>(
    configuration: &'r ConfigurationResult,
    metric: &str,
) -> Option<&'r MetricResult> {
    match configuration.status {
        Status::Finished => configuration.metrics.get(metric),
        _ => None,
    }
}

/// Why a finished `configuration` has no value of `metric`; `None` where it has one or did not
/// finish.
pub fn no_value_reason<'r>(
    configuration: &'r ConfigurationResult,
    metric: &str,
) -> Option<&'r str> {
    if configuration.status != Status::Finished {
        return None;
    }
    match configuration.metrics.get(metric).map(|result| &result.value) {
        Some(Ok(value)) if value.is_finite() => None,
        Some(Ok(_)) => Some("the value is not a finite number"),
        Some(Err(reason)) => Some(reason),
        None => Some("the run does not contain it"),
    }
}

/// The index of the configuration with the best value of `metric`; the first of several equals.
/// `None` where none has a value, or neither direction is better.
pub fn best(configurations: &[ConfigurationResult], metric: &str) -> Option<usize> {
    let direction =
        direction(configurations, metric).filter(|direction| *direction != Direction::Neither)?;
    let mut best: Option<(usize, f64)> = None;
    for (index, configuration) in configurations.iter().enumerate() {
        let Some(value) = value(configuration, metric) else { continue };
        if best.is_none_or(|(_, so_far)| direction.better(value, so_far)) {
            best = Some((index, value));
        }
    }
    best.map(|(index, _)| index)
}

/// How many times worse each configuration is than the best: 1 for the best, 1.37 for a
/// configuration that takes 37 % longer. `None` without a value, and if the quotient does not
/// exist.
pub fn ratios(configurations: &[ConfigurationResult], metric: &str) -> Vec<Option<f64>> {
    let best = best(configurations, metric).and_then(|index| value(&configurations[index], metric));
    let direction = direction(configurations, metric).unwrap_or(Direction::Neither);
    let ratio = |configuration| direction.times_worse(value(configuration, metric)?, best?);
    configurations.iter().map(ratio).collect()
}

/// Which way `metric` is better, as the `configurations` hold it.
pub fn direction(configurations: &[ConfigurationResult], metric: &str) -> Option<Direction> {
    configurations.iter().find_map(|c| result(c, metric)).map(|result| result.direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{failed, row, rows};
    use proptest::prelude::*;

    #[test]
    fn the_direction_of_a_metric_decides_its_best_row() {
        assert_eq!(best(&rows("duration", &[3.0, 1.0, 2.0]), "duration"), Some(1));
        assert_eq!(best(&rows("throughput", &[3.0, 1.0, 2.0]), "throughput"), Some(0));
        assert_eq!(best(&rows("duration", &[1.0, 1.0]), "duration"), Some(0));
        assert_eq!(best(&[], "duration"), None);
        assert_eq!(best(&rows("duration", &[1.0]), "throughput"), None);
    }

    #[test]
    fn a_metric_without_a_better_direction_has_no_best_row() {
        let grids = rows("launch__grid_size", &[4.0, 2.0]);
        assert_eq!(best(&grids, "launch__grid_size"), None);
        assert_eq!(ratios(&grids, "launch__grid_size"), [None, None]);
    }

    #[test]
    fn ratios_say_how_many_times_worse() {
        let times = ratios(&rows("duration", &[150.0, 100.0]), "duration");
        assert_eq!(times, [Some(1.5), Some(1.0)]);
        let rates = ratios(&rows("throughput", &[150.0, 100.0]), "throughput");
        assert_eq!(rates, [Some(1.0), Some(1.5)]);
        let conflicts = ratios(&rows("bank_conflicts", &[0.0, 31.0, 0.0]), "bank_conflicts");
        assert_eq!(conflicts, [Some(1.0), None, Some(1.0)]);
    }

    #[test]
    fn unfinished_configurations_are_never_best() {
        let all = [failed(0), row(1, "duration", Ok(5.0)), row(2, "duration", Err("no"))];
        assert_eq!(best(&all, "duration"), Some(1));
        assert_eq!(ratios(&all, "duration"), [None, Some(1.0), None]);
        assert_eq!(best(&all[..1], "duration"), None);
    }

    proptest! {
        #[test]
        fn the_best_row_agrees_with_brute_force(
            values in prop::collection::vec(prop_oneof![4 => -1e9..1e9_f64, 1 => Just(f64::NAN)], 0..12),
            higher: bool,
        ) {
            let metric = if higher { "throughput" } else { "duration" };
            let all = rows(metric, &values);
            let beats = |a: f64, b: f64| if higher { a > b } else { a < b };
            let brute = (0..values.len())
                .find(|&i| !values[i].is_nan() && values.iter().all(|&v| !beats(v, values[i])));
            prop_assert_eq!(best(&all, metric), brute);
        }
    }
}
