//! `verdict.json`: what became of every threshold, and what the run comes to.
//!
//! Input: a judged run. Output: the document for those who gate on a run and read nothing else.

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::conclusion::Conclusion;
use crate::exit_code::ExitCode;
use crate::verdict::{Judgement, NotApplicable};

/// The version of `verdict.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// `verdict.json`: what a run came to, for wrappers that lose exit codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerdictDocument {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The name of the run's folder.
    pub run: String,
    /// What the process exited with.
    pub exit_code: ExitCode,
    /// What that means.
    pub meaning: String,
    /// Whether thresholds had a say; not with `--no-gate`.
    pub gated: bool,
    /// The judged thresholds by series.
    pub judgements: Vec<SeriesJudgements>,
    /// What the run was compared with, where it was.
    pub comparison: Option<Comparison>,
    /// What all of that comes to; none where nothing was to be judged, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
}

/// The judged thresholds of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesJudgements {
    /// The series.
    pub series: String,
    /// The annotated function's file.
    pub file: String,
    /// The annotated function's line.
    pub line: u32,
    /// Its thresholds.
    pub thresholds: Vec<Judgement>,
    /// Thresholds that speak of other devices.
    pub not_applicable: Vec<NotApplicable>,
}
