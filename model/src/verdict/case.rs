//! A case: one configuration under a threshold.

use serde::{Deserialize, Serialize};

use crate::comparison::{Confidence, Interval};
use crate::quantity::Quantity;

/// One configuration under a threshold, with the numbers that it was judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Case {
    /// The configuration.
    pub configuration: String,
    /// Its value.
    pub value: Quantity,
    /// The limit.
    pub limit: Quantity,
    /// The baseline's value, if the limit comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Quantity>,
    /// The change from the baseline in percent of it, if the limit comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The same in SM clock cycles, if the clock was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_percent: Option<f64>,
    /// How far inside the limit the value is, in percent of the limit; negative beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin_percent: Option<f64>,
    /// How sure the difference from the baseline is; none for exact metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The interval of the median between processes, in the unit of the value; for a noisy metric
    /// with a fixed limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Why, if the numbers alone do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// About how many rounds would decide it, if it is undecided and that many can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}
