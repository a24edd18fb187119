//! A conclusion: the outcome of a judged run as a whole.
//!
//! Input: the judgements of all series, and the noise of the run. Output: one sentence, its
//! evidence, and three lists: failures, improvements, and undecided comparisons. Invariant: every
//! number is computed; if it cannot be, the reason is given instead.

use serde::{Deserialize, Serialize};

use crate::comparison::Interval;
use crate::quantity::Quantity;
use crate::threshold::Severity;
use crate::verdict::{Verdict, Weight};

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Conclusion {
    /// All of it in one sentence.
    pub sentence: String,
    /// The kind of end.
    pub ending: Ending,
    /// Configurations of which a value was compared with a limit.
    pub judged: usize,
    /// The probability, at most, that such a run fails by a time although nothing changed, where
    /// the two sides were measured in rounds; exact metrics never do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_alarms: Option<f64>,
    /// The slowdown that would have been caught; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// Why it is not known, if times were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity_unknown: Option<String>,
    /// The cost of the run.
    #[serde(default)]
    pub cost: Cost,
    /// Violations of a limit, the worst first; warnings last.
    pub failed: Vec<Finding>,
    /// Improvements over the baseline, the largest first.
    pub improved: Vec<Finding>,
    /// Comparisons without a decision, and missing values.
    pub undecided: Vec<Finding>,
}

impl Conclusion {
    /// How much it weighs.
    pub fn weight(&self) -> Weight {
        let warned = self.failed.iter().any(|finding| finding.severity == Severity::Warn);
        match self.ending {
            Ending::Regression | Ending::Violation | Ending::Unfinished => Weight::Bad,
            Ending::Undecided | Ending::NothingJudged => Weight::Doubtful,
            Ending::Holds if warned => Weight::Warning,
            Ending::Holds => Weight::Fine,
        }
    }
}

/// The kinds of ends, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Configurations crashed, ran out of time, or were skipped.
    Unfinished,
    /// A limit relative to the baseline is violated.
    Regression,
    /// Only limits that are numbers are violated.
    Violation,
    /// There was nothing to judge, though there should have been.
    NothingJudged,
    /// Nothing is violated, and something is undecided or missing.
    Undecided,
    /// Everything that was judged holds.
    Holds,
}

/// A slowdown that the run would have caught: one configuration, slower by so much than it is, and
/// measured and judged as those of the run were.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sensitivity {
    /// By how many percent it would be slower.
    pub slowdown_percent: f64,
    /// The probability that it would fail the run, on average over the configurations.
    pub caught: f64,
    /// How many times this was simulated, from the recorded processes; 0 if it was computed from
    /// the scatter of a stored baseline, and holds if the machine has not changed since.
    pub simulated: u32,
    /// The configurations with recorded processes.
    pub configurations: usize,
}

/// The cost of a run. Unknown parts are none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cost {
    /// Seconds of measuring; none if the run was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Processes that took times, a side and configuration; of a run of one side only where a look
    /// asked for more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<Processes>,
}

/// How many processes took times, a side and configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Processes {
    /// The fewest.
    pub least: usize,
    /// The most.
    pub most: usize,
    /// On average.
    pub average: f64,
}

/// A line of a conclusion: a configuration, or a whole threshold or series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The series; empty if the run as a whole lacks something.
    pub series: String,
    /// The configuration; none if it is about all of them.
    pub configuration: Option<String>,
    /// The metric.
    pub metric: Option<String>,
    /// The threshold as written; none for a change that no threshold asks about.
    pub threshold: Option<String>,
    /// Whether a violation fails the run.
    #[serde(default)]
    pub severity: Severity,
    /// The verdict.
    pub verdict: Verdict,
    /// The baseline's value.
    pub baseline: Option<Quantity>,
    /// The run's value.
    pub value: Option<Quantity>,
    /// The limit that the value was compared with.
    pub limit: Option<Quantity>,
    /// The change from the baseline in percent of it.
    pub percent: Option<f64>,
    /// The interval of the change; none for exact metrics.
    pub interval: Option<Interval>,
    /// The change in SM clock cycles, in percent.
    pub cycles_percent: Option<f64>,
    /// Why, if the numbers alone do not say it.
    pub reason: Option<String>,
    /// About how many rounds would decide it.
    pub rounds: Option<u32>,
}
