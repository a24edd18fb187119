//! The critical values of every look, for the number of questions of a run.
//!
//! Input: how many questions share the run's error budget, and the maximum number of rounds.
//! Output: the limits of the ranks and the signs of the rounds at each look. They are computed once
//! per run.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::sequential::levels::{FAIL_BUDGET, FAIL_BY_RANKS, FAIL_BY_SLOW, SLOW_SHARE};
use crate::sequential::levels::{fail_level, pass_level, slow_pass_level};
use crate::sequential::looks::{CHOSEN, LOOKS};
use crate::sequential::signed_rank::Tails;

/// The critical values of the looks.
#[derive(Debug, Clone, PartialEq)]
pub struct CriticalValues {
    family: usize,
    pub(super) looks: Vec<Look>,
}

/// Those of one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Look {
    /// How many rounds there are.
    pub rounds: u32,
    /// A sum of ranks of at most this is within the limit.
    pub pass: Option<u32>,
    /// The same for one of [`CHOSEN`] of which one suffices.
    pub pass_of_chosen: Option<u32>,
    /// A sum of ranks of at least this is beyond it.
    pub fail: Option<u32>,
    /// At most so many processes beyond a fixed limit are within it.
    pub sign_pass: Option<u32>,
    /// At least so many are beyond it.
    pub sign_fail: Option<u32>,
    /// How rare a surplus of slow processes must be to fail.
    pub slow_level: f64,
    /// The largest surplus of slow processes with which a configuration passes.
    pub slow_tolerated: u32,
}

impl Look {
    /// How many processes may be beyond a fixed limit for a pass at a `share` of its usual level.
    pub(super) fn most_beyond(&self, share: f64) -> Option<u32> {
        if share == 1.0 {
            return self.sign_pass;
        }
        let index = LOOKS.iter().position(|look| *look == self.rounds)?;
        coins(self.rounds, share * pass_level(index))
    }

    /// Number `index`, with the law of its `rounds`, for one of `family` questions.
    fn new(index: usize, rounds: u32, family: usize, tails: &Tails) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "questions are counted")]
        let slow_level = FAIL_BY_SLOW / (LOOKS.len() * family.max(1)) as f64;
        let fail = |budget| fail_level(rounds, family, budget);
        Self {
            rounds,
            pass: tails.at_most(pass_level(index)),
            pass_of_chosen: tails.at_most(pass_level(index) / CHOSEN as f64),
            fail: fail(FAIL_BY_RANKS).and_then(|level| tails.at_least(level)),
            sign_pass: coins(rounds, pass_level(index)),
            sign_fail: fail(FAIL_BUDGET)
                .and_then(|level| coins(rounds, level))
                .map(|few| rounds - few),
            slow_level,
            slow_tolerated: slow_pass_level(rounds)
                .and_then(|level| heads(rounds, SLOW_SHARE, level))
                .unwrap_or(0),
        }
    }
}

impl CriticalValues {
    /// Those for `family` questions that share a run's error budget, at the looks of up to `most`
    /// rounds.
    pub fn new(family: usize, most: u32) -> Self {
        let [bounds] = Self::each([family], most);
        bounds
    }

    /// Those for each of `families`: the exact laws of the ranks, which take most of the time, are
    /// the same for all.
    pub fn each<const N: usize>(families: [usize; N], most: u32) -> [Self; N] {
        let mut all = families.map(|family| Self { family, looks: Vec::new() });
        let mut tails = Tails::new();
        for (index, rounds) in LOOKS.into_iter().enumerate().filter(|(_, rounds)| *rounds <= most) {
            tails.grow(rounds);
            for Self { family, looks } in &mut all {
                looks.push(Look::new(index, rounds, *family, &tails));
            }
        }
        all
    }

    /// How many questions share the budget.
    pub fn family(&self) -> usize {
        self.family
    }
}

/// The largest number of heads of which one as small has at most probability `level` among so many
/// fair `coins`.
fn coins(coins: u32, level: f64) -> Option<u32> {
    heads(coins, 0.5, level)
}

/// The same for coins that show heads with `probability`.
fn heads(coins: u32, probability: f64, level: f64) -> Option<u32> {
    let law = Binomial::new(probability, u64::from(coins)).ok()?;
    // The law is an incomplete beta function, which rounds.
    let fits = |heads: &u32| law.cdf(u64::from(*heads)) <= level * (1.0 + 1e-9);
    (0..coins).take_while(fits).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn critical_values(family: usize, value: fn(&Look) -> Option<u32>) -> Vec<Option<u32>> {
        CriticalValues::new(family, 431).looks.iter().map(value).collect()
    }

    #[test]
    fn passes_by_ranks_are_those_of_the_simulated_procedure() {
        let expected = [0, 24, 53, 111, 243, 505, 1063, 2202, 4543, 9303, 18_903, 38_188].map(Some);
        assert_eq!(critical_values(5, |look| look.pass), expected);
        assert_eq!(critical_values(500, |look| look.pass), expected);
    }

    #[test]
    fn failures_by_ranks_are_those_of_the_simulated_procedure() {
        let none = [None];
        let five = [118, 213, 377, 700, 1271, 2362, 4396, 8250, 15_557, 29_433, 55_891].map(Some);
        assert_eq!(critical_values(5, |look| look.fail), [&none[..], &five].concat());
        let fifty = [223, 396, 736, 1333, 2468, 4577, 8554, 16_068, 30_287, 57_311].map(Some);
        assert_eq!(critical_values(50, |look| look.fail), [&none[..], &[None], &fifty].concat());
        let more = [229, 411, 766, 1386, 2561, 4734, 8822, 16_519, 31_042, 58_571].map(Some);
        assert_eq!(critical_values(500, |look| look.fail), [&none[..], &[None], &more].concat());
    }

    #[test]
    fn passes_by_signs_are_those_of_the_simulated_procedure() {
        let expected = [0, 3, 5, 7, 12, 18, 27, 40, 59, 87, 126, 181].map(Some);
        assert_eq!(critical_values(50, |look| look.sign_pass), expected);
    }

    #[test]
    fn a_fifth_of_slow_processes_rarely_stays_below_the_tolerated_surplus() {
        let tolerated = critical_values(50, |look| Some(look.slow_tolerated));
        assert_eq!(tolerated, [0, 0, 0, 0, 1, 2, 5, 9, 15, 24, 37, 57].map(Some));
        // As if looks forgot those before. Without a surplus, the first one passes as often as the
        // others.
        let passes = |(rounds, most): (u32, Option<u32>)| {
            let law = Binomial::new(0.2, u64::from(rounds)).unwrap();
            most.filter(|most| *most > 0 || rounds == 15).map(|most| law.cdf(u64::from(most)))
        };
        let all: f64 = LOOKS.into_iter().zip(tolerated).filter_map(passes).sum();
        assert!(all > 0.035 && all <= 0.05, "{all}");
    }

    #[test]
    fn failures_by_signs_need_enough_equal_signs() {
        // 2⁻¹⁵ is under 0.01 / 55, and over 0.01 / 5,500.
        assert_eq!(critical_values(5, |look| look.sign_fail)[1], Some(15));
        assert_eq!(critical_values(500, |look| look.sign_fail)[1], None);
    }

    #[test]
    fn only_reachable_looks_have_critical_values() {
        assert_eq!(CriticalValues::new(5, 20).looks.len(), 2);
        assert_eq!(CriticalValues::new(5, 5).looks, []);
    }
}
