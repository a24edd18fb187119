//! `verdict.json`: the outcome of every threshold, and the conclusion of the run.
//!
//! Input: a judged run. Output: the document for programs that gate on a run and read nothing else.

use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::conclusion::Conclusion;
use crate::estimate::EstimateModel;
use crate::exit_code::ExitCode;
use crate::measurement::Unverified;
use crate::verdict::{Judgement, NotApplicable};

/// The version of `verdict.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// `verdict.json`: the outcome of a run, for wrappers that lose exit codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerdictDocument {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The name of the run's folder.
    pub run: String,
    /// The exit code of the process.
    pub exit_code: ExitCode,
    /// Its meaning.
    pub meaning: String,
    /// Whether thresholds had a say; not with `--no-gate`.
    pub gated: bool,
    /// The option or the line of a file by which no result was compared with a reference; none if
    /// results were compared, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// Whether times are from one process with few samples, and nothing was judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The judged thresholds by series.
    pub judgements: Vec<SeriesJudgements>,
    /// The comparison with a baseline, if there was one.
    pub comparison: Option<Comparison>,
    /// The conclusion; none if nothing was to be judged, and in older documents.
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
    /// The model of the times that decided some of them; none if no estimate did, and in older
    /// documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_by: Option<EstimateModel>,
    /// Thresholds that apply to other devices.
    pub not_applicable: Vec<NotApplicable>,
    /// The finished configurations that were not verified, in series order; empty in older
    /// documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unverified: Vec<UnverifiedConfiguration>,
}

/// A finished configuration that was not verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnverifiedConfiguration {
    /// The configuration, such as `block=64`.
    pub configuration: String,
    /// Why; none if verification was off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Unverified>,
}
