//! The error budgets of a run, and the levels that each look spends of them.

use crate::sequential::looks::{FIRST_TO_DECIDE, LOOKS};

/// The most that a run in which nothing changed fails, in probability.
pub const FAIL_BUDGET: f64 = 0.01;

/// The maximum probability that a configuration exactly at its limit passes, at any look. The
/// nominal levels of the looks add up to 8.5 %; since the looks share their rounds the total is 4.5
/// %, for any noise: under symmetry the signed rank's law is known.
pub const PASS_BUDGET: f64 = 0.05;

/// The maximum probability that a configuration exactly at a numeric limit passes at the first
/// look, if open ones get more processes. The signs of later looks add at most 3.1 %, also if three
/// were chosen of which one suffices, so all looks together keep [`PASS_BUDGET`].
pub const FIRST_LOOK_PASS: f64 = 0.015;

/// The ranks' part of [`FAIL_BUDGET`], and the part of the rule of slow processes.
pub(super) const FAIL_BY_RANKS: f64 = 0.008;
pub(super) const FAIL_BY_SLOW: f64 = 0.002;

/// The part of the first look for passing (six rounds of one sign), that of all others together,
/// and the factor from one of these to the next.
const FIRST_PASS: f64 = 1.0 / 64.0;
const LATER_PASSES: f64 = 0.0694;
const DECAY: f64 = 0.7;

/// The share of slow processes that a pass excludes, and the most that one with it passes, in
/// probability: at the first look that decides, and at all others together.
pub(super) const SLOW_SHARE: f64 = 0.2;
const FIRST_SLOW_PASS: f64 = 0.0353;
const LATER_SLOW_PASSES: f64 = 0.0147;

/// The level of passing at the look number `index`.
pub(super) fn pass_level(index: usize) -> f64 {
    match index.checked_sub(1) {
        None => FIRST_PASS,
        Some(later) => LATER_PASSES * decaying(later, LOOKS.len() - 1),
    }
}

/// The level at which a share of slow processes of [`SLOW_SHARE`] passes at a look of `rounds`;
/// none before [`FIRST_TO_DECIDE`].
pub(super) fn slow_pass_level(rounds: u32) -> Option<f64> {
    let deciding = || LOOKS.into_iter().filter(|&look| look >= FIRST_TO_DECIDE);
    let index = deciding().position(|look| look == rounds)?;
    Some(match index.checked_sub(1) {
        None => FIRST_SLOW_PASS,
        Some(later) => LATER_SLOW_PASSES * decaying(later, deciding().count() - 1),
    })
}

/// The share of number `index` of `count` shares that decay and add up to 1.
fn decaying(index: usize, count: usize) -> f64 {
    let weight = |at: usize| DECAY.powi(i32::try_from(at).unwrap_or(i32::MAX));
    weight(index) / (0..count).map(weight).sum::<f64>()
}

/// The level of failing at a look of `rounds`, for each of `family` questions that share `budget`;
/// none before [`FIRST_TO_DECIDE`].
pub(super) fn fail_level(rounds: u32, family: usize, budget: f64) -> Option<f64> {
    let able = LOOKS.into_iter().filter(|&look| look >= FIRST_TO_DECIDE).count();
    #[expect(clippy::cast_precision_loss, reason = "questions are counted")]
    let shares = (able * family.max(1)) as f64;
    (rounds >= FIRST_TO_DECIDE).then_some(budget / shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_levels_of_passing_add_up_as_designed() {
        let all: f64 = (0..LOOKS.len()).map(pass_level).sum();
        assert!((all - (FIRST_PASS + LATER_PASSES)).abs() < 1e-12, "{all}");
        assert!((1..LOOKS.len() - 1).all(|at| pass_level(at + 1) < pass_level(at)));
    }

    #[test]
    fn all_looks_share_the_failure_budget() {
        let level = fail_level(15, 50, 0.008).unwrap();
        assert!((level * 11.0 * 50.0 - 0.008).abs() < 1e-15);
        assert_eq!(fail_level(11, 50, 0.008), None);
        assert_eq!(fail_level(21, 0, 0.008), fail_level(21, 1, 0.008));
    }
}
