//! A message of the compiler, and one of ours about what it compiled.

mod parse;
mod render;

use serde::{Deserialize, Serialize};

pub(super) use parse::log;
pub(super) use render::rendered;

use super::program::Place;

/// A message with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// NVIDIA's number of the message, such as 177.
    pub number: Option<u32>,
    /// What it says.
    pub message: String,
    /// What it is about; none where it is about no line.
    pub span: Option<Span>,
    /// Notes of the compiler and the instances that led there, from the inside out.
    pub notes: Vec<Note>,
}

impl Diagnostic {
    /// An error of ours, or one about no line.
    pub(super) fn error(message: String) -> Self {
        Self { severity: Severity::Error, number: None, message, span: None, notes: Vec::new() }
    }

    /// The header that it says is missing, if that is what it says.
    pub(super) fn missing_header(&self) -> Option<&str> {
        let header = self.message.strip_prefix("cannot open source file \"")?;
        Some(header.trim_end_matches('"'))
    }
}

/// How bad a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something to know.
    Note,
    /// It compiles, and is likely not what was meant.
    Warning,
    /// It does not compile.
    Error,
}

/// A place, and the line there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Where it is.
    pub place: Place,
    /// The source line there, where it is known.
    pub text: Option<String>,
}

/// What belongs to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it says.
    pub message: String,
    /// What it is about.
    pub span: Option<Span>,
}

impl Note {
    /// Whether it is a step of the trace of instances that led to a message.
    pub fn is_step(&self) -> bool {
        let text = &self.message;
        ["instantiation of ", "processing of "].iter().any(|it| text.starts_with(it))
    }
}
