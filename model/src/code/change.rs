//! The code of a kernel in two revisions, side by side.

use serde::{Deserialize, Serialize};

/// A kernel of which the code differs between two revisions, at one configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CodeChange {
    /// The series.
    pub series: String,
    /// The configuration.
    pub configuration: String,
    /// The kernel's name in its module.
    pub kernel: String,
    /// The changed costs of lines, in words, the largest first.
    pub costs: Vec<String>,
    /// Registers, spills and other facts that differ: names, and the values before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String, String)>,
    /// Opcodes of which the instructions that warps executed differ: before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opcodes: Vec<(String, u64, u64)>,
    /// The source around changed lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<DiffRow>,
    /// The PTX around changed lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ptx: Vec<DiffRow>,
}

/// A row of two texts side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffRow {
    /// The line before; none if the line is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<DiffLine>,
    /// The line after; none if the line is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<DiffLine>,
    /// Whether both are the same, apart from the numbers of registers and labels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same: bool,
}

/// A line: its number and its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffLine(pub u32, pub String);
