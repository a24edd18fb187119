//! The Pareto front: configurations that are best in some trade of several metrics.
//!
//! Input: configurations and metrics. Output: for each configuration whether no other is at least
//! as good in every metric and better in one. Equal configurations are on the front together. A
//! configuration that did not finish, or has no value of one of the metrics, is not on it. A metric
//! without a better direction leaves the front empty.

use std::cmp::Ordering;

use gpuprof_model::metric::Direction;
use gpuprof_model::run::ConfigurationResult;

use crate::view::best;

/// Whether each configuration is on the front of `metrics`.
pub fn front(configurations: &[ConfigurationResult], metrics: &[String]) -> Vec<bool> {
    let mut on_front = vec![false; configurations.len()];
    let mut points: Vec<(usize, Vec<f64>)> = configurations
        .iter()
        .enumerate()
        .filter_map(|(index, row)| Some((index, costs(row, metrics)?)))
        .collect();
    // In this order a point can only be beaten by one before it, so one pass over the front so far
    // will do.
    points.sort_by(|(_, a), (_, b)| lexicographic(a, b));
    let mut front: Vec<&[f64]> = Vec::new();
    for (index, point) in &points {
        if !front.iter().any(|other| dominates(other, point)) {
            front.push(point);
            on_front[*index] = true;
        }
    }
    on_front
}

/// The values of `metrics`, turned so that less is better.
fn costs(row: &ConfigurationResult, metrics: &[String]) -> Option<Vec<f64>> {
    metrics
        .iter()
        .map(|metric| {
            let value = best::value(row, metric)?;
            let direction = best::result(row, metric)?.direction;
            match direction {
                Direction::Lower => Some(value),
                Direction::Higher => Some(-value),
                Direction::Neither => None,
            }
        })
        .collect()
}

fn lexicographic(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn dominates(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a <= b) && a.iter().zip(b).any(|(a, b)| a < b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{failed, row};
    use proptest::prelude::*;

    fn both(at: u64, duration: f64, throughput: f64) -> ConfigurationResult {
        let mut first = row(at, "duration", Ok(duration));
        first.metrics.extend(row(at, "throughput", Ok(throughput)).metrics);
        first
    }

    fn metrics() -> Vec<String> {
        vec!["duration".into(), "throughput".into()]
    }

    #[test]
    fn the_front_omits_dominated_rows() {
        let rows = [both(1, 1.0, 1.0), both(2, 2.0, 2.0), both(3, 2.0, 1.0), both(4, 1.0, 1.0)];
        assert_eq!(front(&rows, &metrics()), [true, true, false, true]);
    }

    #[test]
    fn metrics_without_a_value_are_ignored() {
        let rows = [failed(1), row(2, "duration", Ok(1.0)), both(3, 9.0, 1.0)];
        assert_eq!(front(&rows, &metrics()), [false, false, true]);
    }

    proptest! {
        #[test]
        fn the_front_agrees_with_brute_force(points in prop::collection::vec((0..6_u8, 0..6_u8), 0..30)) {
            let rows: Vec<_> = points.iter().zip(0..).map(|(&(d, t), at)| both(at, d.into(), t.into())).collect();
            let beaten = |&(d, t): &(u8, u8)| points.iter().any(|&(e, u)| e <= d && u >= t && (e < d || u > t));
            let brute: Vec<bool> = points.iter().map(|point| !beaten(point)).collect();
            prop_assert_eq!(front(&rows, &metrics()), brute);
        }
    }
}
