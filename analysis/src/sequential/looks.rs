//! When rounds are looked at, and how the probability of error is spread over the looks.

/// The numbers of rounds at which a decision is made, each about 1.4 times the one before.
pub const LOOKS: [u32; 14] = [6, 8, 11, 15, 21, 29, 41, 57, 80, 112, 157, 220, 308, 431];

/// How many rounds a configuration gets at most, by how many are undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    many: u32,
    few: u32,
}

impl Most {
    /// The default. If a run is slower as a whole, 112 rounds of each are enough to decide. If one
    /// configuration is 3 % slower, it is the last undecided one, and 431 rounds catch it with 98 %
    /// if processes scatter by 2 %.
    pub const DEFAULT: Self = Self { many: 112, few: 431 };

    /// So many configurations may have the rounds of a few.
    pub const FEW: usize = 3;

    /// The same for every configuration.
    pub fn exactly(rounds: u32) -> Self {
        Self { many: rounds, few: rounds }
    }

    /// Those of each of so many configurations that are `undecided`.
    pub fn limit(self, undecided: usize) -> u32 {
        if undecided <= Self::FEW { self.few } else { self.many }
    }

    /// The most that any configuration may get.
    pub fn single_limit(self) -> u32 {
        self.limit(1)
    }
}

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

/// How many rounds choose the best configurations: they would flatter their choice, so the later
/// rounds judge it.
pub const CHOOSING: usize = 7;

/// How many configurations are chosen.
pub const CHOSEN: usize = 3;

/// The ranks' part of [`FAIL_BUDGET`], and the part of the rule of slow processes.
pub(super) const FAIL_BY_RANKS: f64 = 0.008;
pub(super) const FAIL_BY_SLOW: f64 = 0.002;

/// The first look at which ranks may fail a configuration: fewer rounds cannot be rare enough.
const FIRST_TO_FAIL: u32 = 15;

/// The part of the first look for passing (six rounds of one sign), that of all others together,
/// and the factor from one of these to the next.
const FIRST_PASS: f64 = 1.0 / 64.0;
const LATER_PASSES: f64 = 0.0694;
const DECAY: f64 = 0.7;

/// The first look after `rounds`; none after the last.
pub fn next_look(rounds: u32) -> Option<u32> {
    LOOKS.into_iter().find(|&look| look > rounds)
}

/// The level of passing at the look number `index`.
pub(super) fn pass_level(index: usize) -> f64 {
    if index == 0 {
        return FIRST_PASS;
    }
    let weight = |at: usize| DECAY.powi(i32::try_from(at).unwrap_or(i32::MAX));
    let all: f64 = (0..LOOKS.len() - 1).map(weight).sum();
    LATER_PASSES * weight(index - 1) / all
}

/// The level of failing at a look of `rounds`, for each of `family` questions that share `budget`;
/// none before [`FIRST_TO_FAIL`].
pub(super) fn fail_level(rounds: u32, family: usize, budget: f64) -> Option<f64> {
    let able = LOOKS.into_iter().filter(|&look| look >= FIRST_TO_FAIL).count();
    #[expect(clippy::cast_precision_loss, reason = "questions are counted")]
    let shares = (able * family.max(1)) as f64;
    (rounds >= FIRST_TO_FAIL).then_some(budget / shares)
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
    fn the_last_that_are_undecided_get_more_rounds() {
        let rounds = [0, 1, 3, 4, 500].map(|undecided| Most::DEFAULT.limit(undecided));
        assert_eq!(rounds, [431, 431, 431, 112, 112]);
        assert_eq!([1, 4].map(|undecided| Most::exactly(57).limit(undecided)), [57, 57]);
    }

    #[test]
    fn looks_follow_each_other() {
        assert_eq!((next_look(0), next_look(6), next_look(7)), (Some(6), Some(8), Some(8)));
        assert_eq!((next_look(308), next_look(431)), (Some(431), None));
    }

    #[test]
    fn all_looks_that_fail_share_their_budget() {
        let level = fail_level(15, 50, 0.008).unwrap();
        assert!((level * 11.0 * 50.0 - 0.008).abs() < 1e-15);
        assert_eq!(fail_level(11, 50, 0.008), None);
        assert_eq!(fail_level(21, 0, 0.008), fail_level(21, 1, 0.008));
    }
}
