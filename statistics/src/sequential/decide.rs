//! The decision of the rounds of a configuration about a limit relative to the base.
//!
//! Input: the limit, and the two numbers of each round so far. Output: the decision of the first
//! look that makes one. Invariant: a decision follows from the rounds up to its look alone, so that
//! rounds measured afterwards, for another threshold, change nothing.

use gpuprof_model::threshold::{Comparison, Tolerance};

use crate::sequential::critical_values::{CriticalValues, Look};
use crate::sequential::levels::{FAIL_BY_RANKS, fail_level, pass_level};
use crate::sequential::looks::{FIRST_TO_DECIDE, LOOKS};
use crate::sequential::signed_rank;
use crate::sequential::slow::{self, Slow};
use crate::stats::median::median;

/// The rounds of a configuration: one number a process, in the order of the rounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rounds {
    /// Those of the base.
    pub base: Vec<f64>,
    /// Those of the head. Surplus numbers of one side belong to no round.
    pub head: Vec<f64>,
}

impl Rounds {
    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.base.len().min(self.head.len())).unwrap_or(u32::MAX)
    }

    /// The base's and the head's number of each.
    pub fn pairs(&self) -> Vec<(f64, f64)> {
        self.base.iter().copied().zip(self.head.iter().copied()).collect()
    }

    /// Those from number `start` on.
    #[must_use]
    pub fn from(&self, start: usize) -> Self {
        let rest = |side: &[f64]| side.get(start..).unwrap_or_default().to_vec();
        Self { base: rest(&self.base), head: rest(&self.head) }
    }
}

/// What is asked of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// On which side of the limit the head should be.
    pub comparison: Comparison,
    /// The limit, relative to the base.
    pub tolerance: Tolerance,
    /// How finely numbers are known; 0 for a continuum. A smaller difference is no change.
    pub resolution: f64,
}

/// Readings that are a step apart differ, however they are rounded.
const ROUNDING: f64 = 0.999;

/// The smallest logarithm of a ratio that is not rounding.
const SMALLEST: f64 = 1e-12;

/// `value`, or 0 if it is smaller than `least`.
fn at_least(least: f64, value: f64) -> f64 {
    if value.abs() < least { 0.0 } else { value }
}

/// The outcome of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The head is within the limit, as of this many rounds.
    Within(u32),
    /// The head is beyond it.
    Beyond(u32),
    /// Some of the head's processes are slow, and hardly any of the base's.
    SlowSubpopulation(u32),
    /// More rounds are needed. `doubt` says that slow processes alone keep it open.
    Open {
        /// Whether the ranks are within the limit, and a surplus of slow processes is not ruled
        /// out.
        doubt: bool,
    },
}

impl Decision {
    /// Nothing is decided.
    pub const OPEN: Self = Self::Open { doubt: false };

    /// Whether more rounds are needed.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// One look's numbers, turned so that more is worse.
struct OrientedSample {
    /// By how much each round is beyond the limit; negative within it.
    beyond: Vec<f64>,
    /// The cost of each process.
    base: Vec<f64>,
    head: Vec<f64>,
    /// How many times the base's cost the limit allows; none if there are no ratios, so that "a
    /// quarter more" has no meaning and no process counts as slow.
    allowed: Option<f64>,
}

impl CriticalValues {
    /// The decision of `rounds` on `question`.
    pub fn decide(&self, question: &Question, rounds: &Rounds) -> Decision {
        self.decide_by(question, rounds, |look| look.pass)
    }

    /// As [`Self::decide`], for one of [`CHOSEN`](crate::sequential::CHOSEN) questions of which one
    /// pass suffices: each passes at its share of the level.
    pub fn decide_chosen(&self, question: &Question, rounds: &Rounds) -> Decision {
        self.decide_by(question, rounds, |look| look.pass_of_chosen)
    }

    fn decide_by(
        &self,
        question: &Question,
        rounds: &Rounds,
        pass: fn(&Look) -> Option<u32>,
    ) -> Decision {
        let pairs = question.read(rounds);
        let mut last = Decision::OPEN;
        for look in self.looks.iter().filter(|look| look.rounds >= FIRST_TO_DECIDE) {
            let Some(pairs) = pairs.get(..look.rounds as usize) else { break };
            last = look.decide(&question.turned(pairs), pass(look));
            if !last.is_open() {
                break;
            }
        }
        last
    }
}

impl CriticalValues {
    /// Whether the head is beyond the limit as surely as it would have to be within it.
    ///
    /// [`Self::decide`] asks more of a failure, which shares its level with all questions of the
    /// run: this is for reports that fail nothing.
    pub fn surely_beyond(&self, question: &Question, rounds: &Rounds) -> bool {
        let pairs = question.read(rounds);
        self.looks.iter().any(|look| {
            let pairs = pairs.get(..look.rounds as usize);
            pairs.is_some_and(|pairs| look.surely_beyond(&question.turned(pairs)))
        })
    }

    /// The nominal level of passing at a look of `rounds`, or of failing there; none if it cannot.
    pub fn level(&self, rounds: u32, failing: bool) -> Option<f64> {
        let index = LOOKS.iter().position(|&look| look == rounds)?;
        match failing {
            true => fail_level(rounds, self.family(), FAIL_BY_RANKS),
            false => Some(pass_level(index)),
        }
    }
}

/// Slow processes on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowOnes {
    /// Of the base.
    pub base: usize,
    /// Of the head.
    pub head: usize,
    /// By how many percent a process must cost more than the lower quartile of both sides to be
    /// one.
    pub percent: f64,
}

impl Look {
    fn surely_beyond(&self, turned: &OrientedSample) -> bool {
        let within: Vec<f64> = turned.beyond.iter().map(|beyond| -beyond).collect();
        self.pass.is_some_and(|most| signed_rank::sum(&within).ceil() <= f64::from(most))
    }

    fn decide(&self, turned: &OrientedSample, pass: Option<u32>) -> Decision {
        let slow = turned.allowed.map_or(Slow::Tolerated, |allowed| {
            slow::judge(&turned.base, &turned.head, allowed, self)
        });
        // For half a rank both neighbours are possible; the less decisive one counts.
        let ranks = signed_rank::sum(&turned.beyond);
        let within = pass.is_some_and(|most| ranks.ceil() <= f64::from(most));
        let beyond = self.fail.is_some_and(|least| ranks.floor() >= f64::from(least));
        match (within, beyond, slow) {
            (_, true, _) => Decision::Beyond(self.rounds),
            (_, _, Slow::Sure) => Decision::SlowSubpopulation(self.rounds),
            (true, _, Slow::Tolerated) => Decision::Within(self.rounds),
            (within, ..) => Decision::Open { doubt: within },
        }
    }
}

impl Question {
    /// The rounds, with a difference that is smaller than the clock resolves as no change. Rounds
    /// without two finite numbers carry no information and end the readable part.
    fn read(&self, rounds: &Rounds) -> Vec<(f64, f64)> {
        let finite = |pair: &(f64, f64)| pair.0.is_finite() && pair.1.is_finite();
        let same = |base: f64, head: f64| (head - base).abs() < ROUNDING * self.resolution;
        let pairs = rounds.pairs().into_iter().take_while(finite);
        pairs.map(|(base, head)| (base, if same(base, head) { base } else { head })).collect()
    }

    /// The slow processes among `rounds`; none if there are no ratios.
    pub fn slow(&self, rounds: &Rounds) -> Option<SlowOnes> {
        let turned = self.turned(&self.read(rounds));
        let factor = slow::factor(turned.allowed?);
        let slow = slow::threshold(&turned.base, &turned.head, factor)?;
        let count = |side: &[f64]| side.iter().filter(|&&cost| cost > slow).count();
        let (base, head) = (count(&turned.base), count(&turned.head));
        Some(SlowOnes { base, head, percent: 100.0 * (factor - 1.0) })
    }

    /// Whether the limit is violated by values above it.
    fn upwards(&self) -> bool {
        matches!(self.comparison, Comparison::AtMost | Comparison::Below | Comparison::Equal)
    }

    fn turned(&self, pairs: &[(f64, f64)]) -> OrientedSample {
        let limit = |base: f64| self.tolerance.limit(base, self.comparison);
        let ratios =
            pairs.iter().all(|&(base, head)| base > 0.0 && head > 0.0 && limit(base) > 0.0);
        let sign = if self.upwards() { 1.0 } else { -1.0 };
        let beyond = |&(base, head): &(f64, f64)| match ratios {
            // A number at the limit is not beyond it by how the limit is rounded.
            true => sign * at_least(SMALLEST, (head / limit(base)).ln()),
            false => sign * (head - limit(base)),
        };
        let cost = |value: f64| if self.upwards() { value } else { 1.0 / value };
        let sides: (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let center = median(&sides.0).unwrap_or(0.0);
        let costs = |side: &[f64]| side.iter().map(|&value| cost(value)).collect();
        let allowed = ratios.then(|| cost(limit(center)) / cost(center));
        OrientedSample {
            beyond: pairs.iter().map(beyond).collect(),
            base: costs(&sides.0),
            head: costs(&sides.1),
            allowed,
        }
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
