//! Parts of a measured range: its kernels, its launches and its named ranges.
//!
//! Input: a run, or its document. Output: the metrics of each part, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;

/// A part of a measured range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All launches of the kernel of this name.
    Kernel(String),
    /// The launch at this position among those of the range, from 0.
    Launch(usize),
    /// The named range, after the names of the ranges around it: `backward/weights`.
    Range(String),
}

/// The metrics of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartResult {
    /// The part.
    #[serde(flatten)]
    pub part: Part,
    /// The metrics that have a value, by name, in the units of the series.
    pub metrics: BTreeMap<String, f64>,
    /// Its estimated time; none on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}
