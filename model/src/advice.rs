//! Advice: the findings of rules on a series or on one of its configurations.
//!
//! Input: findings. Output: pieces in the order of interest: measurements before estimates.
//! Invariant: a gain says whether it was measured, and an estimate whether it concerns the launch's
//! time or the use of one unit.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::comparison::Interval;
use crate::series::SeriesId;

/// The advice on one series, or on the part that one device measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesAdvice {
    /// The series.
    pub series: SeriesId,
    /// The device's UUID, if the run had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The pieces, the most worthwhile first.
    pub pieces: Vec<Advice>,
}

/// One piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Advice {
    /// The identifier of its rule.
    pub rule: String,
    /// Its subject, in a few words.
    pub name: String,
    /// What was found, with the values.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Its gain, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// How sure it is.
    pub certainty: Certainty,
    /// The configurations that it holds for; the values in the message are those of the first one.
    /// Empty if it is about the series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<String>,
    /// The metrics that it rests on.
    pub metrics: Vec<String>,
}

/// The gain from following a piece of advice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Gain {
    /// It was measured: this many times as good.
    Measured {
        /// How many times.
        factor: f64,
        /// The interval of the factor; none for exact metrics.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<Interval>,
    },
    /// An estimate: percent of the launch's time that would go away (a global estimate).
    Time {
        /// Percent.
        percent: f64,
    },
    /// An estimate: percent of the actual or possible work of one unit (a local estimate).
    Use {
        /// Percent.
        percent: f64,
    },
}

/// How sure a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Counts or measured times prove it.
    Certain,
    /// The counters show the symptom, and the cause is the usual one.
    Likely,
    /// The counters allow it, but other causes have the same symptom.
    Possible,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
        })
    }
}

impl Gain {
    /// The rank of its kind, and its gain within the kind.
    fn rank(gain: Option<&Self>) -> (u8, f64) {
        match gain {
            Some(Self::Measured { factor, .. }) => (0, *factor),
            Some(Self::Time { percent }) => (1, *percent),
            Some(Self::Use { percent }) => (2, *percent),
            None => (3, 0.0),
        }
    }
}

impl Advice {
    /// The order of a reader: measured gains, then estimates of time, then of use, then the rest;
    /// the larger one first, and of equals the surer one.
    pub fn by_worth(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (Gain::rank(self.gain.as_ref()), Gain::rank(other.gain.as_ref()));
        let kinds = mine.0.cmp(&theirs.0);
        kinds
            .then(theirs.1.total_cmp(&mine.1))
            .then(self.certainty.cmp(&other.certainty))
            .then_with(|| self.rule.cmp(&other.rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(rule: &str, gain: Option<Gain>) -> Advice {
        Advice {
            rule: rule.into(),
            name: String::new(),
            message: String::new(),
            remedy: None,
            gain,
            certainty: Certainty::Likely,
            configurations: Vec::new(),
            metrics: Vec::new(),
        }
    }

    #[test]
    fn measured_gains_are_sorted_before_estimated_ones() {
        let mut all = [
            piece("none", None),
            piece("use", Some(Gain::Use { percent: 99.0 })),
            piece("little", Some(Gain::Time { percent: 5.0 })),
            piece("much", Some(Gain::Time { percent: 50.0 })),
            piece("measured", Some(Gain::Measured { factor: 1.1, interval: None })),
        ];
        all.sort_by(Advice::by_worth);
        let rules: Vec<&str> = all.iter().map(|piece| &*piece.rule).collect();
        assert_eq!(rules, ["measured", "much", "little", "use", "none"]);
    }

    #[test]
    fn a_gain_is_stored_with_its_kind() {
        let text = serde_json::to_string(&Gain::Time { percent: 12.5 }).unwrap();
        assert_eq!(text, r#"{"kind":"time","percent":12.5}"#);
    }
}
