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
    /// Opcodes of the PTX of which warps executed more or fewer instructions than before; none if
    /// a GPU counted those of the machine code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opcodes: Vec<OpcodeChange>,
    /// The opcodes of the machine code; none without it on both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_opcodes: Option<OpcodeMix>,
    /// The source around changed lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<DiffRow>,
    /// The PTX around changed lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ptx: Vec<DiffRow>,
    /// The machine code (SASS) around changed instructions; a line has its offset as its number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<DiffRow>,
}

/// An opcode, and its instructions before and after.
pub type OpcodeChange = (String, u64, u64);

/// The opcodes of the machine code of two revisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpcodeMix {
    /// Whether warps executed so many instructions; else the code has so many.
    pub executed: bool,
    /// All instructions, before and after.
    pub all: (u64, u64),
    /// The opcodes that differ, the largest change first.
    pub changed: Vec<OpcodeChange>,
}

/// A row of two texts side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DiffRow {
    /// The file, at its first row of a text with lines of several files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
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
