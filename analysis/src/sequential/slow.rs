//! Processes that are slow apart from the others.
//!
//! Ranks detect a shift of most processes, but three of seven at three times the time hardly count.
//! Input: the cost of each process of both sides (more is worse). Output: whether the head has slow
//! processes that the base has not.

use statrs::function::factorial::ln_binomial;

/// A process is slow where it costs this many times the lower quartile of both sides.
const FACTOR: f64 = 1.25;

/// The surplus of slow processes, as a share of the rounds, that keeps a configuration open.
const TOLERATED: f64 = 0.15;

/// The outcome for slow processes at a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slow {
    /// A surplus too small to cause doubt.
    Tolerated,
    /// There may be one.
    Doubt,
    /// There is one.
    Sure,
}

/// Judges the slow ones among the `head` and the `base`, of which there are as many. `allowed` is
/// how many times the base's cost the limit allows, and `level` how rare a sure surplus is by
/// chance (Fisher's exact test, one-sided).
pub(super) fn judge(base: &[f64], head: &[f64], allowed: f64, level: f64) -> Slow {
    let Some(slow) = threshold(base, head, factor(allowed)) else { return Slow::Tolerated };
    let count = |side: &[f64]| side.iter().filter(|&&cost| cost > slow).count();
    let (theirs, ours) = (count(base), count(head));
    #[expect(clippy::cast_precision_loss, reason = "rounds are counted")]
    let surplus = (ours as f64 - theirs as f64) / head.len() as f64;
    match () {
        () if surplus <= TOLERATED => Slow::Tolerated,
        () if fisher(ours, theirs, head.len()) <= level => Slow::Sure,
        () => Slow::Doubt,
    }
}

/// How many times the lower quartile of both sides a slow process costs: a limit that allows an
/// increase of all processes allows it of some.
pub(super) fn factor(allowed: f64) -> f64 {
    FACTOR.max(1.2 * allowed)
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

    #[test]
    fn three_of_seven_against_none_are_not_rare_enough() {
        // 0.096: C(7, 3) / C(14, 3).
        assert!((fisher(3, 0, 7) - 35.0 / 364.0).abs() < 1e-12);
        // Fisher's tea: 4 of 4, 1 of 70; 3 of 4 or better, 17 of 70.
        assert!((fisher(4, 0, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher(3, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn a_surplus_is_a_doubt_until_it_is_sure() {
        let side = |slow: usize, of: usize| -> Vec<f64> {
            (0..of).map(|at| if at < slow { 300.0 } else { 100.0 }).collect()
        };
        let of = |theirs, ours, rounds| {
            judge(&side(theirs, rounds), &side(ours, rounds), 1.02, 0.002 / 14.0)
        };
        assert_eq!(of(0, 1, 7), Slow::Tolerated);
        assert_eq!(of(0, 3, 7), Slow::Doubt);
        assert_eq!(of(0, 12, 29), Slow::Sure);
        assert_eq!(of(12, 12, 29), Slow::Tolerated);
        assert_eq!(of(12, 0, 29), Slow::Tolerated);
    }

    #[test]
    fn processes_within_the_limit_are_not_slow() {
        assert_eq!(judge(&[100.0; 29], &[140.0; 29], 1.5, 0.01), Slow::Tolerated);
        assert_eq!(judge(&[100.0; 29], &[140.0; 29], 1.02, 0.01), Slow::Sure);
    }
}
