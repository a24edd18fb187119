//! When rounds are looked at, and how the probability of error is spread over the looks.

/// The numbers of rounds at which there is a look. The first only tells which configurations have a
/// limit that rounds decide; from [`FIRST_TO_DECIDE`] on each is about 1.4 times the one before.
pub const LOOKS: [u32; 12] = [6, 15, 21, 29, 41, 57, 80, 112, 157, 220, 308, 431];

/// The first look that decides about a limit relative to the base: with fewer rounds no failure is
/// rare enough, and a fifth of slow processes is often not seen at all (fifteen miss it in 3.5 %).
pub const FIRST_TO_DECIDE: u32 = 15;

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

    /// The same for every configuration.
    pub fn exactly(rounds: u32) -> Self {
        Self { many: rounds, few: rounds }
    }

    /// How many of a run's `configurations` may have the rounds of a few: three, or one in twenty.
    pub fn few(configurations: usize) -> usize {
        (configurations / 20).max(3)
    }

    /// Those of each that is undecided, of so many of a run's `configurations`.
    pub fn limit(self, undecided: usize, configurations: usize) -> u32 {
        if undecided <= Self::few(configurations) { self.few } else { self.many }
    }

    /// The most that any configuration may get.
    pub fn single_limit(self) -> u32 {
        self.few
    }

    /// The most that each may get if all of a run are undecided.
    pub fn common_limit(self) -> u32 {
        self.many
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

/// The first look after `rounds`; none after the last.
pub fn next_look(rounds: u32) -> Option<u32> {
    LOOKS.into_iter().find(|&look| look > rounds)
}

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
    fn the_last_that_are_undecided_get_more_rounds() {
        let of = |configurations| {
            [0, 3, 4, 25, 26].map(|undecided| Most::DEFAULT.limit(undecided, configurations))
        };
        assert_eq!(of(50), [431, 431, 112, 112, 112]);
        assert_eq!(of(500), [431, 431, 431, 431, 112]);
        assert_eq!([1, 4].map(|undecided| Most::exactly(57).limit(undecided, 4)), [57, 57]);
    }

    #[test]
    fn looks_follow_each_other() {
        assert_eq!((next_look(0), next_look(6), next_look(15)), (Some(6), Some(15), Some(21)));
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
