//! Verdicts: the outcomes of thresholds.
//!
//! Input: a threshold and the values it was compared with. Output: one verdict with the value and
//! configuration that decided it. A missing value is never a silent pass.

mod case;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::CostlyLine;
use crate::comparison::{Confidence, Interval};
use crate::exit_code::ExitCode;
use crate::measurement::Source;
use crate::quantity::Quantity;
use crate::threshold::{Severity, WrittenThreshold};

pub use case::Case;

/// The outcome of one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The condition holds.
    Pass,
    /// The condition is violated.
    Fail,
    /// Better than the baseline by more than the threshold asks.
    Improved,
    /// The noise is too large for a decision.
    Inconclusive,
    /// A series, configuration, metric or baseline that should be there is not.
    Missing,
    /// The two sides were measured under conditions that differ.
    Incomparable,
    /// The metric cannot be had on this machine.
    Unavailable,
}

impl Verdict {
    /// The contribution of this verdict to the exit code.
    pub fn exit_code(self, strict: bool) -> ExitCode {
        match self {
            Self::Pass | Self::Improved => ExitCode::Success,
            Self::Fail => ExitCode::ThresholdFailed,
            Self::Inconclusive | Self::Missing | Self::Incomparable | Self::Unavailable => {
                if strict { ExitCode::NotJudged } else { ExitCode::Success }
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Improved => "improved",
            Self::Inconclusive => "inconclusive",
            Self::Missing => "missing",
            Self::Incomparable => "incomparable",
            Self::Unavailable => "unavailable",
        })
    }
}

/// The layer that a threshold comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(with = "String"))]
#[serde(from = "String", into = "String")]
pub enum Layer {
    /// The annotation in the source.
    Attribute,
    /// The configuration file or a preset of it, by its name in messages.
    Configuration(String),
    /// `--threshold`.
    CommandLine,
    /// None: it comes with every baseline.
    Default,
}

impl Layer {
    const ALL_NAMED: [(Self, &str); 3] = [
        (Self::Attribute, "attribute"),
        (Self::CommandLine, "--threshold"),
        (Self::Default, "default"),
    ];
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Configuration(name) = self {
            // A file may be called as another layer is written.
            let taken = Self::ALL_NAMED.iter().any(|(_, taken)| taken == name);
            return write!(f, "{}{name}", if taken { "./" } else { "" });
        }
        let named = Self::ALL_NAMED.iter().find(|(layer, _)| layer == self);
        f.write_str(named.map_or("", |(_, name)| name))
    }
}

impl From<String> for Layer {
    fn from(text: String) -> Self {
        let named = Self::ALL_NAMED.into_iter().find(|(_, name)| *name == text);
        named.map_or(Self::Configuration(text), |(layer, _)| layer)
    }
}

impl From<&str> for Layer {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Layer> for String {
    fn from(layer: Layer) -> Self {
        layer.to_string()
    }
}

/// A threshold that applies to other devices than the run's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(from = "KeptNotApplicable")]
pub struct NotApplicable {
    /// The threshold as written.
    pub threshold: String,
    /// The layer that it comes from.
    pub origin: Layer,
}

/// As it is stored: a text alone in documents that were made before the layer was kept.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum KeptNotApplicable {
    Text(String),
    Placed { threshold: String, origin: Layer },
}

impl From<KeptNotApplicable> for NotApplicable {
    fn from(kept: KeptNotApplicable) -> Self {
        match kept {
            KeptNotApplicable::Text(threshold) => Self { threshold, origin: Layer::Attribute },
            KeptNotApplicable::Placed { threshold, origin } => Self { threshold, origin },
        }
    }
}

/// A judged threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The threshold as written.
    #[cfg_attr(test, schemars(with = "String"))]
    pub threshold: WrittenThreshold,
    /// The layer that it comes from.
    pub origin: Layer,
    /// The line of the configuration file, if it is written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FileLine>,
    /// Whether a violation fails the gate.
    #[serde(default)]
    pub severity: Severity,
    /// The verdict.
    pub verdict: Verdict,
    /// The deciding value, if there was one.
    pub value: Option<Quantity>,
    /// The limit, in the same unit.
    pub limit: Option<Quantity>,
    /// The baseline's value, if the limit comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Quantity>,
    /// How far inside the limit the value is, in percent of the limit; negative beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// How sure the difference from the baseline is; none for exact metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The interval of the median between processes, or of an estimate, in the unit of the value;
    /// for a metric with a fixed limit that is noisy or estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The source of the deciding value.
    pub source: Option<Source>,
    /// The configuration that decided.
    pub configuration: Option<String>,
    /// The source line that costs most of a violated metric of memory accesses, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costly: Option<CostlyLine>,
    /// Why, if the value alone does not say it.
    pub reason: Option<String>,
    /// Every configuration that violates it, the deciding one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Case>,
    /// Every configuration that is better than the baseline by more than the limit allows it to be
    /// worse, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub improved: Vec<Case>,
    /// Every configuration that has values and is undecided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<Case>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileLine {
    /// The file, as the user knows it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Judgement {
    /// The place of the threshold: `attribute`, `.config/gpuprof.toml:3`, `preset ci,
    /// .config/gpuprof.toml:9`.
    pub fn written_in(&self) -> String {
        written_in(&self.origin, self.place.as_ref())
    }

    /// The word for people: the verdict, or `warning` if a soft threshold is violated.
    pub fn word(&self) -> String {
        match (self.verdict, self.severity) {
            (Verdict::Fail, Severity::Warn) => "warning".to_owned(),
            (verdict, _) => verdict.to_string(),
        }
    }

    /// How much this judgement weighs.
    pub fn weight(&self) -> Weight {
        match (self.verdict, self.severity) {
            (Verdict::Pass | Verdict::Improved, _) => Weight::Fine,
            (Verdict::Fail, Severity::Hard) => Weight::Bad,
            (Verdict::Fail, Severity::Warn) => Weight::Warning,
            (
                Verdict::Inconclusive
                | Verdict::Missing
                | Verdict::Incomparable
                | Verdict::Unavailable,
                _,
            ) => Weight::Doubtful,
        }
    }

    /// The contribution of this judgement to the exit code: none if it is soft.
    pub fn exit_code(&self, strict: bool) -> ExitCode {
        match self.severity {
            Severity::Hard => self.verdict.exit_code(strict),
            Severity::Warn => ExitCode::Success,
        }
    }
}

/// The weight of a judgement, from the lowest: every report chooses its colour and mark by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The condition holds.
    Fine,
    /// A soft condition is violated.
    Warning,
    /// It is unknown whether the condition holds.
    Doubtful,
    /// The condition is violated.
    Bad,
}

/// An origin with its place, if it has one.
pub fn written_in(origin: &Layer, place: Option<&FileLine>) -> String {
    match place {
        Some(place) if matches!(origin, Layer::Configuration(file) if *file == place.file) => {
            place.to_string()
        }
        Some(place) => format!("{origin}, {place}"),
        None => origin.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_of_other_devices_keeps_its_layer_and_older_documents_hold_its_text() {
        let kept: Vec<NotApplicable> = serde_json::from_str(
            r#"["on \"A100\" waves >= 1", {"threshold": "waves >= 2", "origin": "preset ci"}]"#,
        )
        .unwrap();
        assert_eq!(kept[0].origin, Layer::Attribute);
        assert_eq!(kept[1].origin, Layer::Configuration("preset ci".into()));
        let again: Vec<NotApplicable> =
            serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        assert_eq!(again, kept);
    }
}
