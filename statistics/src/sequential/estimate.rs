//! How much the head differs from the base: an estimate from rounds, with its interval.
//!
//! Input: the two numbers of each round. Output: the median of all means of two rounds' changes
//! (Hodges & Lehmann, *Annals of Mathematical Statistics* 34, 1963), and the interval of the signed
//! rank with it: the changes that its two-sided test does not reject.

use gpuprof_model::comparison::Interval;

use crate::sequential::decide::Rounds;
use crate::sequential::signed_rank::{Tails, sum};
use crate::stats::median::middle;

/// The probability that the interval should have.
const LEVEL: f64 = 0.95;

/// The change from the base to the head, as a share of the base: 0.03 is 3 % more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub change: f64,
    /// The interval of the estimate; its level is lower than 0.95 with fewer than six rounds.
    pub interval: Interval,
    /// The probability of rounds at least as far from no change, were there none (two-sided).
    pub p_value: f64,
}

impl Estimate {
    /// From `rounds`; none without rounds, and if a number is not positive, so that it has no
    /// ratio.
    pub fn from_rounds(rounds: &Rounds) -> Option<Self> {
        let pairs = rounds.pairs();
        if pairs.is_empty() || pairs.iter().any(|&(base, head)| base <= 0.0 || head <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = pairs.iter().map(|(base, head)| (head / base).ln()).collect();
        let mut tails = Tails::new();
        tails.grow(u32::try_from(logs.len()).ok()?);
        let mut means: Vec<f64> = Vec::with_capacity(logs.len() * (logs.len() + 1) / 2);
        for (at, a) in logs.iter().enumerate() {
            means.extend(logs[at..].iter().map(|b| f64::midpoint(*a, *b)));
        }
        means.sort_unstable_by(f64::total_cmp);
        // A change is rejected where fewer means than this lie beyond it.
        let out = tails.at_most((1.0 - LEVEL) / 2.0).unwrap_or(0) as usize;
        let ranks = sum(&logs);
        #[expect(clippy::cast_precision_loss, reason = "rounds are counted")]
        let other = (means.len() as f64) - ranks;
        let share = |log: f64| log.exp_m1();
        Some(Self {
            change: share(middle(&means)?),
            interval: Interval {
                low: share(means[out]),
                high: share(means[means.len() - 1 - out]),
                level: 1.0 - 2.0 * tails.cumulative(out as f64),
            },
            p_value: (2.0 * tails.cumulative(ranks.min(other).ceil())).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(changes: &[f64]) -> Rounds {
        Rounds {
            base: vec![100.0; changes.len()],
            head: changes.iter().map(|change| 100.0 * (1.0 + change)).collect(),
        }
    }

    #[test]
    fn the_estimate_is_the_median_of_walsh_averages() {
        // Logs 0, 1 and 5: the means are 0, 0.5, 1, 2.5, 3, 5.
        let e = std::f64::consts::E;
        let of = Rounds { base: vec![1.0; 3], head: vec![1.0, e, e.powi(5)] };
        let found = Estimate::from_rounds(&of).unwrap();
        assert!((found.change - 1.75_f64.exp_m1()).abs() < 1e-12, "{found:?}");
        assert!((found.interval.low, found.interval.high) == (0.0, e.powi(5).ln().exp_m1()));
        assert!((found.interval.level - 0.75).abs() < 1e-12);
    }

    #[test]
    fn six_rounds_of_one_sign_exclude_zero_change() {
        let found = Estimate::from_rounds(&rounds(&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06])).unwrap();
        assert!((found.interval.low - 0.01).abs() < 1e-12, "{found:?}");
        assert!((found.interval.level - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
        assert!((found.p_value - 2.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn zero_differences_are_no_evidence() {
        let found = Estimate::from_rounds(&rounds(&[0.0; 8])).unwrap();
        assert_eq!((found.change, found.p_value), (0.0, 1.0));
        assert_eq!(Estimate::from_rounds(&rounds(&[])), None);
        assert_eq!(Estimate::from_rounds(&rounds(&[-1.0])), None);
    }

    #[test]
    fn one_outlier_moves_the_estimate_little() {
        let mut changes = vec![0.02; 20];
        changes[3] = 4.0;
        let found = Estimate::from_rounds(&rounds(&changes)).unwrap();
        assert!((found.change - 0.02).abs() < 1e-9, "{found:?}");
    }
}
