//! Sensitivity: which axis matters for a metric, and how much.
//!
//! Input: a series and a metric. Output: for each independent axis the mean of the metric at each
//! of its values (the main effect), the largest mean over the smallest, and the share of the
//! variance that the axis explains alone: Σ n_v (mean_v − mean)² / Σ (x − mean)², the η² of an
//! analysis of variance. In a cross product these shares are disjoint: they add up to at most 1,
//! and the rest is due to interactions of axes.
//!
//! That is true of a whole cross product only. If a combination is missing, did not finish or has
//! no value, the effect of one axis would be attributed to another, so there is a reason instead of
//! the numbers. An axis value without any result (a block that no launch accepts) is left out as a
//! whole.

use std::collections::{BTreeMap, HashSet};

use gpuprof_model::AxisValue;
use gpuprof_model::run::SeriesResult;

use crate::view::best;

/// The effect of one axis on a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The axis.
    pub axis: String,
    /// The mean of the metric at each value of the axis, in the order of the values.
    pub means: Vec<(AxisValue, f64)>,
    /// The largest mean over the smallest; `None` where the quotient does not exist.
    pub ratio: Option<f64>,
    /// The share of the variance that the axis explains alone, in 0..=1; 0 if nothing varies.
    pub share: f64,
}

/// The axes of `series` that turn on their own and have several values.
pub fn independent_axes(series: &SeriesResult) -> Vec<&str> {
    let names = series.axes.iter().filter(|axis| axis.values.len() > 1).map(|a| a.name.as_str());
    names.filter(|name| !series.dependent_axes.iter().any(|other| other == name)).collect()
}

/// The effect of each independent axis on `metric`.
///
/// # Errors
/// Why there is none: the finished configurations with a value are not a whole cross product.
pub fn effects(series: &SeriesResult, metric: &str) -> Result<Vec<Effect>, String> {
    let axes = independent_axes(series);
    let mut points: HashSet<Vec<&AxisValue>> = HashSet::new();
    let mut values: Vec<(Vec<&AxisValue>, f64)> = Vec::new();
    for row in &series.configurations {
        let point: Option<Vec<&AxisValue>> =
            axes.iter().map(|axis| row.configuration.get(axis)).collect();
        if let (Some(point), Some(value)) = (point, best::value(row, metric)) {
            points.insert(point.clone());
            values.push((point, value));
        }
    }
    let length =
        |position| points.iter().map(|point| point[position]).collect::<HashSet<_>>().len();
    let combinations = (0..axes.len()).map(length).try_fold(1_usize, usize::checked_mul);
    if values.is_empty() || combinations != Some(points.len()) || points.len() != values.len() {
        let total =
            combinations.map_or_else(|| "more than can be counted".into(), |n| n.to_string());
        return Err(format!(
            "it needs {metric} for every combination of {}, but has {} of {total}",
            axes.join(", "),
            points.len()
        ));
    }
    let mean = mean(values.iter().map(|(_, value)| *value));
    let total: f64 = values.iter().map(|(_, value)| (value - mean).powi(2)).sum();
    let effect = |(position, axis): (usize, &&str)| {
        let mut at: BTreeMap<&AxisValue, Vec<f64>> = BTreeMap::new();
        for (point, value) in &values {
            at.entry(point[position]).or_default().push(*value);
        }
        let own = series.axes.iter().find(|own| own.name == **axis);
        let means: Vec<(AxisValue, f64)> = own
            .into_iter()
            .flat_map(|own| &own.values)
            .filter_map(|value| Some((value.clone(), self::mean(at.get(value)?.iter().copied()))))
            .collect();
        let each = values.len() as f64 / means.len() as f64;
        let between: f64 = means.iter().map(|(_, level)| each * (level - mean).powi(2)).sum();
        let largest = means.iter().map(|(_, level)| *level).fold(f64::NEG_INFINITY, f64::max);
        let smallest = means.iter().map(|(_, level)| *level).fold(f64::INFINITY, f64::min);
        Effect {
            axis: (*axis).to_owned(),
            ratio: (smallest > 0.0).then(|| largest / smallest).filter(|ratio| ratio.is_finite()),
            share: if total > 0.0 { (between / total).min(1.0) } else { 0.0 },
            means,
        }
    };
    let several = |effect: &Effect| effect.means.len() > 1;
    Ok(axes.iter().enumerate().map(effect).filter(several).collect())
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{failed, point, row, series};
    use gpuprof_model::run::ConfigurationResult;
    use proptest::prelude::*;

    fn at(block: u64, n: u64, duration: f64) -> ConfigurationResult {
        ConfigurationResult { configuration: point(block, n), ..row(0, "duration", Ok(duration)) }
    }

    #[test]
    fn an_axis_alone_explains_everything_and_one_without_effect_nothing() {
        let rows = vec![at(64, 1, 30.0), at(64, 2, 30.0), at(128, 1, 10.0), at(128, 2, 10.0)];
        let effects = effects(&series(rows), "duration").unwrap();
        let facts: Vec<_> = effects.iter().map(|e| (e.axis.as_str(), e.ratio, e.share)).collect();
        assert_eq!(facts, [("block", Some(3.0), 1.0), ("n", Some(1.0), 0.0)]);
        assert_eq!(effects[0].means, [(AxisValue::Int(64), 30.0), (AxisValue::Int(128), 10.0)]);
    }

    #[test]
    fn a_textbook_example_without_and_with_interaction() {
        // Additive: cell = row effect (0, 2) + column effect (0, 6): SS 4 and 36 of 40.
        let rows = vec![at(1, 1, 1.0), at(1, 2, 7.0), at(2, 1, 3.0), at(2, 2, 9.0)];
        let shares: Vec<f64> =
            effects(&series(rows), "duration").unwrap().iter().map(|e| e.share).collect();
        assert_eq!(shares, [0.1, 0.9]);
        // Only the pair matters: neither axis alone explains anything.
        let rows = vec![at(1, 1, 1.0), at(1, 2, 2.0), at(2, 1, 2.0), at(2, 2, 1.0)];
        let shares: Vec<f64> =
            effects(&series(rows), "duration").unwrap().iter().map(|e| e.share).collect();
        assert_eq!(shares, [0.0, 0.0]);
    }

    #[test]
    fn an_incomplete_cross_product_has_a_reason_instead() {
        let rows = vec![at(64, 1, 30.0), at(64, 2, 30.0), at(128, 1, 10.0), failed(128)];
        assert_eq!(
            effects(&series(rows), "duration").unwrap_err(),
            "it needs duration for every combination of block, n, but has 3 of 4"
        );
    }

    #[test]
    fn derived_axes_are_left_out() {
        let rows = vec![at(64, 1, 30.0), at(128, 2, 10.0)];
        let mut zipped = series(rows);
        zipped.dependent_axes = vec!["n".into()];
        let effects = effects(&zipped, "duration").unwrap();
        assert_eq!((effects.len(), effects[0].share), (1, 1.0));
    }

    #[test]
    fn values_without_results_and_constant_axes_are_left_out() {
        let refused =
            |block| ConfigurationResult { configuration: point(block, 1), ..failed(block) };
        let rows = vec![at(64, 1, 30.0), at(128, 1, 10.0), refused(2048), refused(4096)];
        let mut series = series(rows);
        let effect = &effects(&series, "duration").unwrap()[0];
        assert_eq!((effect.means.len(), effect.ratio), (2, Some(3.0)));
        series.configurations.remove(0);
        assert_eq!(effects(&series, "duration"), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn shares_of_a_cross_product_never_exceed_the_whole(
            blocks in 1_u64..5, sizes in 1_u64..5, values in prop::collection::vec(0.0..1e6_f64, 16),
        ) {
            let rows: Vec<_> = (0..blocks * sizes)
                .map(|i| at(i / sizes, i % sizes, values[i as usize]))
                .collect();
            let effects = effects(&series(rows), "duration").unwrap();
            let sum: f64 = effects.iter().map(|e| e.share).sum();
            prop_assert!(sum <= 1.0 + 1e-9, "{sum}");
            prop_assert!(effects.iter().all(|e| e.ratio.is_none_or(|r| r >= 1.0)));
        }
    }
}
