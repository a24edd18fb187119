//! A comparison: the differences between a run and its baseline.
//!
//! Input: two runs. Output: differences in the conditions, vanished and new entries, and for each
//! metric shown the change with its confidence. Invariant: a missing side is reported, and a change
//! always comes with its evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::CodeChange;
use crate::quantity::Quantity;

/// An interval that covers a value with a given probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability that the interval covers the value, such as 0.95.
    pub level: f64,
}

/// How sure a difference between two sides is. The unit of replication is the process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confidence {
    /// The interval of the change from the baseline, in percent of the baseline.
    pub percent: Interval,
    /// The probability of a difference at least this large if there were none (Welch's t,
    /// two-sided).
    pub p_value: f64,
    /// Processes of the baseline.
    pub baseline_processes: usize,
    /// Processes of the run.
    pub processes: usize,
}

/// The outcome of a metric of a configuration between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// No difference that is both sure and large enough.
    Same,
    /// Better, surely and by enough.
    Better,
    /// Worse, surely and by enough.
    Worse,
    /// Surely different and by enough, of a metric of which neither direction is better.
    Changed,
    /// The noise, or too few processes, hides which.
    Inconclusive,
    /// The baseline has it and the run has not.
    Missing,
    /// The run has it and the baseline has not.
    New,
    /// The two sides were measured under conditions that differ.
    Incomparable,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => "same",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::Inconclusive => "inconclusive",
            Self::Missing => "missing",
            Self::New => "new",
            Self::Incomparable => "incomparable",
        })
    }
}

/// One metric of one configuration on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Change {
    /// The configuration's canonical text.
    pub configuration: String,
    /// The metric.
    pub metric: String,
    /// The baseline's value.
    pub baseline: Option<Quantity>,
    /// The run's value.
    pub value: Option<Quantity>,
    /// (value − baseline) / |baseline| in percent; none if the baseline is 0 or a side is not
    /// there.
    pub percent: Option<f64>,
    /// How sure the change is; none for exact metrics, which are compared exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The change of the duration in SM clock cycles, in percent, if the clock was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_percent: Option<f64>,
    /// The outcome.
    pub outcome: Outcome,
    /// Why, if the numbers alone do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A condition that differs between the two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mismatch {
    /// The name of the condition: `device`, `driver`, `cache control`, …
    pub what: String,
    /// The baseline's.
    pub baseline: String,
    /// The run's.
    pub run: String,
    /// Whether it makes the two sides incomparable, or is only worth knowing.
    pub matters: bool,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} in the baseline, {} here", self.what, self.baseline, self.run)
    }
}

/// The baseline of a run, and the differences from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The baseline as it was asked for: a name or a file.
    pub baseline: String,
    /// The run it holds; none if it could not be had.
    pub run: Option<String>,
    /// The git revision of the baseline.
    pub git_revision: Option<String>,
    /// Why there is nothing to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// The conditions that differ between the two sides.
    pub mismatches: Vec<Mismatch>,
    /// Keys of series, configurations, metrics and verifications that only the baseline has.
    pub vanished: Vec<String>,
    /// Keys of series and configurations that the run has and the baseline has not.
    pub appeared: Vec<String>,
    /// Keys of series of which the baseline, which has them, holds no finished configuration, and
    /// the run does: nothing of them is compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheld: Vec<String>,
    /// Conditions that both sides share and that a reader of the verdict has to know: exclusions by
    /// a file, directions set by a file, and a lack of verification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where less is verified or checked than in the baseline, or less closely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// The kernels of which the code changed, as far as both sides have counts by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeChange>,
}

impl Comparison {
    /// The differences that make the sides incomparable, as one sentence; none where there are
    /// none.
    pub fn obstacle(&self) -> Option<String> {
        let texts: Vec<String> =
            self.mismatches.iter().filter(|m| m.matters).map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
