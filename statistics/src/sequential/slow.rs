//! Processes that are slow apart from the others.
//!
//! Ranks detect a shift of most processes, but a fifth of them at 1.3 times the time hardly counts.
//! Input: the cost of each process of both sides (more is worse). Output: whether the head has slow
//! processes that the base has not: surely, surely less than a fifth of them, or neither.

use statrs::function::factorial::ln_binomial;

use crate::sequential::critical_values::Look;

/// A process is slow if it costs more than this many times the lower quartile of both sides and the
/// increase of the limit. With a limit of 2 %, 1.2 times the time is slow, and 1.1 times is not.
const FACTOR: f64 = 1.125;

/// The outcome for slow processes at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slow {
    /// The surplus is smaller than a share that matters would show.
    Tolerated,
    /// There may be one.
    Doubt,
    /// There is one.
    Sure,
}

/// Judges the slow ones among the `head` and the `base`, of which there are as many, at `look`.
/// `allowed` is how many times the base's cost the limit allows.
pub(super) fn judge(base: &[f64], head: &[f64], allowed: f64, look: &Look) -> Slow {
    let Some(slow) = threshold(base, head, factor(allowed)) else { return Slow::Tolerated };
    let count = |side: &[f64]| side.iter().filter(|&&cost| cost > slow).count();
    let (theirs, ours) = (count(base), count(head));
    match () {
        () if ours <= theirs + look.slow_tolerated as usize => Slow::Tolerated,
        () if fisher(ours, theirs, head.len()) <= look.slow_level => Slow::Sure,
        () => Slow::Doubt,
    }
}

/// How many times the lower quartile of both sides a slow process costs: a limit that allows an
/// increase of all processes allows it of some.
pub(super) fn factor(allowed: f64) -> f64 {
    FACTOR * allowed.max(1.0)
}

/// The cost over which a process is slow; none without processes.
pub(super) fn threshold(base: &[f64], head: &[f64], factor: f64) -> Option<f64> {
    let mut all: Vec<f64> = base.iter().chain(head).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    Some(all.get(all.len() / 4)? * factor)
}

/// The probability that of the slow ones of both sides at least `ours` are on one side by chance,
/// with `each` processes per side.
fn fisher(ours: usize, theirs: usize, each: usize) -> f64 {
    let (all, each) = ((ours + theirs) as u64, each as u64);
    let way = |mine: u64| {
        let ways = ln_binomial(each, mine) + ln_binomial(each, all - mine);
        (ways - ln_binomial(2 * each, all)).exp()
    };
    (ours as u64..=all.min(each)).map(way).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::critical_values::CriticalValues;

    fn look(rounds: usize) -> Look {
        let all = CriticalValues::new(1, 431).looks;
        all.into_iter().find(|look| look.rounds as usize == rounds).unwrap()
    }

    #[test]
    fn fishers_test_matches_known_values() {
        // 0.096: C(7, 3) / C(14, 3).
        assert!((fisher(3, 0, 7) - 35.0 / 364.0).abs() < 1e-12);
        // Fisher's tea: 4 of 4, 1 of 70; 3 of 4 or better, 17 of 70.
        assert!((fisher(4, 0, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher(3, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn a_surplus_is_inconclusive_until_significant() {
        let side = |slow: usize, of: usize| -> Vec<f64> {
            (0..of).map(|at| if at < slow { 300.0 } else { 100.0 }).collect()
        };
        let of = |theirs, ours, rounds: usize| {
            judge(&side(theirs, rounds), &side(ours, rounds), 1.02, &look(rounds))
        };
        assert_eq!(of(0, 0, 15), Slow::Tolerated);
        assert_eq!(of(0, 1, 15), Slow::Doubt);
        assert_eq!(of(0, 12, 29), Slow::Sure);
        assert_eq!(of(12, 12, 29), Slow::Tolerated);
        assert_eq!(of(12, 0, 29), Slow::Tolerated);
        // A fifth of 112 is 22.
        assert_eq!((of(3, 12, 112), of(0, 10, 112)), (Slow::Tolerated, Slow::Doubt));
    }

    #[test]
    fn processes_within_the_limit_are_not_slow() {
        let of = |cost: f64, allowed| judge(&[100.0; 29], &[cost; 29], allowed, &look(29));
        assert_eq!((of(140.0, 1.5), of(140.0, 1.02)), (Slow::Tolerated, Slow::Sure));
        assert_eq!((of(110.0, 1.02), of(118.0, 1.02)), (Slow::Tolerated, Slow::Sure));
    }
}
