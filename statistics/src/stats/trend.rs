//! A trend from process to process: a machine that became slower, or faster, during the
//! measurement.
//!
//! Input: for each configuration one number per process, in the order the processes ran. Output:
//! how far the configurations moved together, unless that is chance. Rounds keep a drift from
//! picking the winner within a run; between a run and its baseline it still looks like a change, so
//! the run reports it.
//!
//! The test is Kendall's for each configuration (Mann, *Econometrica* 13, 1945; Kendall, *Rank
//! Correlation Methods*, 1975), summed over configurations (Hirsch, Slack & Smith, *Water Resources
//! Research* 18, 1982), so that three rounds of several configurations can show a trend that three
//! processes of one never could. Without ties and for few pairs the distribution is exact; else it
//! is the normal one with the variance that ties leave.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::stats::median::median;

/// The fewest processes of a configuration that takes part.
pub const MIN_PROCESSES: usize = 3;

/// A trend is reported if chance would make one as clear less often than this.
pub const LEVEL: f64 = 0.01;

/// Up to so many pairs the distribution is exact.
const EXACT_PAIRS: usize = 1000;

/// A trend over the processes of several configurations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// From the first process to the last, in percent: the median over configurations of Theil and
    /// Sen's slope (Sen, *JASA* 63, 1968) times the distance.
    pub percent: f64,
    /// The two-sided probability of a trend at least as clear, were there none.
    pub p_value: f64,
    /// How many configurations took part.
    pub configurations: usize,
}

/// The trend of `configurations`, significant or not; `None` where none has three processes.
pub fn trend(configurations: &[Vec<f64>]) -> Option<Trend> {
    let enough = |values: &&Vec<f64>| {
        values.len() >= MIN_PROCESSES && values.iter().all(|value| value.is_finite())
    };
    let taking_part: Vec<&Vec<f64>> = configurations.iter().filter(enough).collect();
    let moved = taking_part.iter().filter_map(|values| moved_percent(values));
    let percent = median(&moved.collect::<Vec<_>>())?;
    let p_value = p_value(&taking_part);
    Some(Trend { percent, p_value, configurations: taking_part.len() })
}

/// Theil and Sen's slope over the whole length, in percent of the median.
fn moved_percent(values: &[f64]) -> Option<f64> {
    let center = median(values).filter(|&center| center != 0.0)?;
    #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
    let slopes: Vec<f64> =
        pairs(values).map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
    #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
    let distance = (values.len() - 1) as f64;
    Some(100.0 * median(&slopes)? * distance / center.abs())
}

fn pairs(values: &[f64]) -> impl Iterator<Item = (usize, usize)> {
    let count = values.len();
    (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)))
}

/// The two-sided p-value of Kendall's score, summed over `configurations`.
fn p_value(configurations: &[&Vec<f64>]) -> f64 {
    let score = |values: &&Vec<f64>| -> i64 {
        pairs(values).map(|(i, j)| sign(values[j] - values[i])).sum()
    };
    let total = configurations.iter().map(score).sum::<i64>().unsigned_abs();
    let counts: Vec<usize> = configurations.iter().map(|values| values.len()).collect();
    let all_pairs: usize = counts.iter().map(|n| n * (n - 1) / 2).sum();
    let tied = configurations.iter().any(|v| pairs(v).any(|(i, j)| sign(v[j] - v[i]) == 0));
    if !tied && all_pairs <= EXACT_PAIRS {
        return (2.0 * exact_tail(&counts, usize::try_from(total).unwrap_or(all_pairs))).min(1.0);
    }
    let variance: f64 = configurations.iter().map(|values| variance(values)).sum();
    if total == 0 || variance <= 0.0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "scores are small")]
    let z = (total as f64 - 1.0) / variance.sqrt();
    Normal::standard().sf(z) * 2.0
}

fn sign(difference: f64) -> i64 {
    i64::from(difference > 0.0) - i64::from(difference < 0.0)
}

/// The probability of a score of at least `score` for independent orders of `counts` different
/// values.
///
/// A score is the number of pairs less twice the inversions, and the inversions of n values are
/// those of n − 1 plus 0 … n − 1, each as likely.
fn exact_tail(counts: &[usize], score: usize) -> f64 {
    let mut inversions = vec![1.0];
    for step in counts.iter().flat_map(|&count| 2..=count) {
        let mut next = vec![0.0; inversions.len() + step - 1];
        for (at, probability) in inversions.iter().enumerate() {
            for more in 0..step {
                #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
                {
                    next[at + more] += probability / step as f64;
                }
            }
        }
        inversions = next;
    }
    let all_pairs = inversions.len() - 1;
    inversions.iter().take((all_pairs - score.min(all_pairs)) / 2 + 1).sum()
}

/// The variance of the score of `values`: (n(n−1)(2n+5) − Σ t(t−1)(2t+5)) / 18 over groups of t
/// equals.
fn variance(values: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "process counts are small")]
    let term = |n: usize| {
        let n = n as f64;
        n * (n - 1.0) * (2.0 * n + 5.0)
    };
    let mut equals: BTreeMap<u64, usize> = BTreeMap::new();
    for value in values {
        *equals.entry(value.to_bits()).or_default() += 1;
    }
    (term(values.len()) - equals.values().map(|&t| term(t)).sum::<f64>()) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_tail_is_that_of_the_table() {
        // Gilbert, Statistical Methods for Environmental Pollution Monitoring, 1987, table A18.
        for (n, score, probability) in [
            (4, 4, 0.167),
            (4, 6, 0.042),
            (5, 6, 0.117),
            (5, 8, 0.042),
            (5, 10, 0.0083),
            (10, 15, 0.108),
            (10, 21, 0.036),
            (10, 23, 0.023),
            (10, 27, 0.0083),
        ] {
            let tail = exact_tail(&[n], score);
            assert!((tail - probability).abs() < 0.0006, "n {n}, S {score}: {tail}");
        }
    }

    #[test]
    fn the_variance_is_that_of_the_book() {
        // n = 10 without ties: 10·9·25/18 = 125; with one pair of equals 2·1·9/18 = 1 less.
        let all: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((variance(&all) - 125.0).abs() < 1e-12);
        let mut tied = all.clone();
        tied[3] = tied[7];
        assert!((variance(&tied) - 124.0).abs() < 1e-12);
    }

    #[test]
    fn three_rounds_of_five_configurations_show_a_drift_that_one_cannot() {
        let rising = vec![100.0, 101.0, 102.0];
        let one = trend(std::slice::from_ref(&rising)).unwrap();
        assert!((one.p_value - 1.0 / 3.0).abs() < 1e-12, "{one:?}");
        let five = trend(&vec![rising; 5]).unwrap();
        // All fifteen pairs rise: 2 / 6⁵.
        assert!((five.p_value - 2.0 / 7776.0).abs() < 1e-12, "{five:?}");
        assert!((five.percent - 100.0 * 2.0 / 101.0).abs() < 1e-9 && five.configurations == 5);
    }

    #[test]
    fn equal_or_few_values_have_no_trend() {
        assert_eq!(trend(&[vec![5.0; 9]]).unwrap().p_value, 1.0);
        assert_eq!(trend(&[vec![1.0, 2.0]]), None);
        assert_eq!(trend(&[]), None);
        let scattered = vec![3.0, 1.0, 4.0, 1.5, 5.0, 2.5, 2.0, 3.5];
        assert!(trend(&[scattered]).unwrap().p_value > 0.2);
    }

    proptest! {
        #[test]
        fn reversing_the_order_only_reverses_the_sign_of_a_trend(
            values in prop::collection::vec(prop::collection::vec(1.0..2.0_f64, 3..9), 1..5),
        ) {
            let there = trend(&values).unwrap();
            let turned: Vec<Vec<f64>> =
                values.iter().map(|v| v.iter().rev().copied().collect()).collect();
            let back = trend(&turned).unwrap();
            prop_assert!((there.p_value - back.p_value).abs() < 1e-9);
            prop_assert!((there.percent + back.percent).abs() < 1e-9);
        }

        #[test]
        fn the_exact_tail_and_the_normal_one_agree(half in 0..30_usize) {
            let score = 2 * half;
            let exact = exact_tail(&[8, 8, 8], score);
            let z = (score as f64 - 1.0) / (3.0 * 8.0 * 7.0 * 21.0 / 18.0_f64).sqrt();
            let normal = Normal::standard().sf(z);
            prop_assert!((exact - normal).abs() < 0.02, "{} {}", exact, normal);
        }
    }
}
