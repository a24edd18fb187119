//! The outcome of one configuration with two sides measured in rounds.
//!
//! Input: both sides' processes, neighbours in time, and a limit relative to the base. Output: the
//! verdict with its reason, and how many rounds are needed without a verdict. A falling clock
//! affects both sides of a round equally, so times need no confirmation by cycles.

use gpuprof_model::metric::Direction;
use gpuprof_model::threshold::{Comparison, Threshold, Tolerance};
use gpuprof_model::verdict::Verdict;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::compared_pair::Side;
use crate::sequential::{
    CHOOSING, CriticalValues, Decision, Estimate, FIRST_TO_DECIDE, LOOKS, Question, Rounds,
    next_look,
};

/// The rounds of a configuration under a threshold.
#[derive(Debug, Clone)]
pub(super) struct InRounds<'b> {
    bounds: &'b CriticalValues,
    question: Question,
    rounds: Rounds,
    /// How many rounds before these chose the configuration, and decide nothing.
    chose: u32,
    /// Their outcome.
    pub decision: Decision,
}

impl<'b> InRounds<'b> {
    /// The rounds of the two sides.
    pub(super) fn new(
        bounds: &'b CriticalValues,
        threshold: &Threshold,
        tolerance: Tolerance,
        (before, after): (&Side, &Side),
    ) -> Self {
        let rounds = Side::rounds(before, after);
        let question = Side::question(before, after, threshold.comparison, tolerance);
        let decision = bounds.decide(&question, &rounds);
        Self { bounds, question, rounds, chose: 0, decision }
    }

    /// The rounds after the best of either side was chosen. With `chosen` they are for one of the
    /// head's best configurations, of which a single pass suffices.
    pub(super) fn of_the_best(
        bounds: &'b CriticalValues,
        threshold: &Threshold,
        tolerance: Tolerance,
        (before, after): (&Side, &Side),
        chosen: bool,
    ) -> Self {
        let rounds = Side::rounds(before, after).from(CHOOSING);
        let question = Side::question(before, after, threshold.comparison, tolerance);
        let decision = match chosen {
            true => bounds.decide_chosen(&question, &rounds),
            false => bounds.decide(&question, &rounds),
        };
        let chose = u32::try_from(CHOOSING).unwrap_or(u32::MAX);
        Self { bounds, question, rounds, chose, decision }
    }

    /// Up to which look the configuration is to be measured; none if it is decided, and after the
    /// last look.
    pub(super) fn wanted(&self) -> Option<u32> {
        let look = next_look(self.rounds.count()).filter(|_| self.decision.is_open())?;
        Some(look.max(FIRST_TO_DECIDE) + self.chose)
    }

    /// The verdict, and why where the numbers alone do not say it.
    pub(super) fn verdict(&self, direction: Direction) -> (Verdict, Option<String>) {
        match self.decision {
            Decision::Within(_) if self.improved(direction) => (Verdict::Improved, None),
            Decision::Within(_) => (Verdict::Pass, None),
            Decision::Beyond(_) => (Verdict::Fail, None),
            Decision::SlowSubpopulation(_) => (Verdict::Fail, self.slow_ones()),
            Decision::Open { doubt } => {
                let behind = match self.chose {
                    0 => String::new(),
                    chose => format!(" (rounds behind the {chose} that chose the best)"),
                };
                (Verdict::Inconclusive, Some(self.open(doubt) + &behind))
            }
        }
    }

    /// Whether the head is better than the base by more than the tolerance, as surely as it is
    /// within it.
    fn improved(&self, direction: Direction) -> bool {
        let percent = self.question.tolerance.percent.abs();
        let (comparison, percent) = match direction {
            Direction::Lower | Direction::Neither => (Comparison::AtLeast, -percent),
            Direction::Higher => (Comparison::AtMost, percent),
        };
        let tolerance = Tolerance { percent, ..self.question.tolerance };
        let mirrored = Question { comparison, tolerance, ..self.question };
        self.bounds.surely_beyond(&mirrored, &self.rounds)
    }

    /// "3 of 7 processes are slow …", unless all are: then they are not a subpopulation.
    fn slow_ones(&self) -> Option<String> {
        let slow = self.question.slow(&self.rounds)?;
        let all = self.rounds.count();
        (slow.head < all as usize).then(|| {
            format!(
                "{} of {all} processes are slower than the others by more than {:.0}%; of the \
                 base's {}",
                slow.head, slow.percent, slow.base
            )
        })
    }

    fn open(&self, doubt: bool) -> String {
        let count = self.rounds.count();
        if count < FIRST_TO_DECIDE {
            return format!("a decision needs {FIRST_TO_DECIDE} rounds; there are {count}");
        }
        if let (true, Some(slow)) = (doubt, self.slow_ones()) {
            return format!("{slow}; more rounds show whether that is chance");
        }
        let Some(estimate) = Estimate::from_rounds(&self.rounds) else {
            return format!("{count} rounds do not decide");
        };
        let Estimate { change, interval, .. } = estimate;
        format!(
            "{count} rounds do not decide: the change is {:+.2}% ({:.0}% interval {:+.2}% … \
             {:+.2}%); {}",
            100.0 * change,
            100.0 * interval.level,
            100.0 * interval.low,
            100.0 * interval.high,
            self.advice(&estimate)
        )
    }

    /// About how many rounds would decide an open configuration, if the noise stays the same and
    /// the change is the estimated one; none if no number of rounds would.
    pub(super) fn rounds_to_decide(&self) -> Option<u32> {
        let count = self.rounds.count();
        let look = match self.decision {
            Decision::Open { .. } if count < FIRST_TO_DECIDE => Some(FIRST_TO_DECIDE),
            Decision::Open { doubt: true } => next_look(count),
            Decision::Open { doubt: false } => {
                self.look_that_decides(&Estimate::from_rounds(&self.rounds)?)
            }
            Decision::Within(_) | Decision::Beyond(_) | Decision::SlowSubpopulation(_) => None,
        };
        Some(look? + self.chose)
    }

    fn limit(&self) -> f64 {
        self.question.tolerance.limit(1.0, self.question.comparison) - 1.0
    }

    fn look_that_decides(&self, estimate: &Estimate) -> Option<u32> {
        let distance = (estimate.change - self.limit()).abs();
        let beyond = match self.question.comparison {
            Comparison::AtLeast | Comparison::Above => estimate.change < self.limit(),
            _ => estimate.change > self.limit(),
        };
        let width = estimate.interval.high - estimate.interval.low;
        let needed = |level: f64| {
            // The interval reaches 1.96 standard errors to either side, which shrink by the root.
            let quantile = Normal::standard().inverse_cdf(1.0 - level);
            f64::from(self.rounds.count()) * (quantile * width / 3.92 / distance).powi(2)
        };
        let decides = |look: &u32| {
            *look > self.rounds.count()
                && self
                    .bounds
                    .level(*look, beyond)
                    .is_some_and(|level| needed(level) <= f64::from(*look))
        };
        LOOKS.into_iter().find(decides)
    }

    fn advice(&self, estimate: &Estimate) -> String {
        match self.look_that_decides(estimate) {
            Some(look) => {
                let most = look + self.chose;
                format!("about {look} rounds would decide (--max-repeat {most})")
            }
            None => format!(
                "no number of rounds up to {} would decide: the limit of {:+.2}% is too close to \
                 the change for this noise",
                LOOKS[LOOKS.len() - 1],
                100.0 * self.limit()
            ),
        }
    }
}
