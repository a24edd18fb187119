//! The common parts of both kinds of limits: the baseline that some refer to, and the margin of a
//! value.
//!
//! Input: a stored series, or why there is none; a value and its limit. Output: the reference of
//! relative limits, and a margin in percent.

use gpuprof_model::axis::AxisValue;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Comparison;

/// The reference of limits relative to a baseline.
#[derive(Debug, Clone, PartialEq)]
pub enum Baseline<'r> {
    /// There is none, or it lacks the series: why.
    Absent(String),
    /// It was measured under conditions that differ: which.
    Incomparable(String),
    /// It holds the series.
    Held {
        /// The series' configurations there.
        configurations: &'r [ConfigurationResult],
        /// Whether the run was to cover all of them, so that an absent one is missing.
        whole: bool,
        /// Whether both sides were measured in rounds.
        in_rounds: bool,
    },
}

impl Baseline<'_> {
    /// No baseline was asked for.
    pub fn none() -> Self {
        Self::Absent("no baseline was given (--baseline NAME)".to_owned())
    }
}

/// How far inside `limit` the `value` is, in percent of the limit; negative beyond it, none at 0.
pub(super) fn margin_percent(comparison: Comparison, value: f64, limit: f64) -> Option<f64> {
    let inside = match comparison {
        Comparison::AtLeast | Comparison::Above => value - limit,
        Comparison::AtMost | Comparison::Below => limit - value,
        Comparison::Equal => -(value - limit).abs(),
    };
    // −0 + 0 is 0: a value at its limit has no sign.
    (limit != 0.0).then(|| 100.0 * inside / limit.abs() + 0.0).filter(|margin| margin.is_finite())
}

/// The reason where a `where` finds no configuration.
pub(super) fn none_has(pairs: &[(String, AxisValue)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(axis, v)| format!("{axis}={v}")).collect();
    format!("no configuration has {}", pairs.join(" and "))
}
