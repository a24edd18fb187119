//! A message of the compiler, or gpuprof's message about its input.

mod parse;
mod render;

use serde::{Deserialize, Serialize};

pub(super) use parse::log;
pub(super) use render::rendered;

use super::program::FilePosition;

/// A message and its notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// NVIDIA's number of the message, such as 177.
    pub number: Option<u32>,
    /// The text.
    pub message: String,
    /// The source position; none if the message has none.
    pub span: Option<Span>,
    /// Notes of the compiler and the instances that led there, from the inside out.
    pub notes: Vec<Note>,
}

impl Diagnostic {
    /// gpuprof's error, or one without a position.
    pub(super) fn error(message: String) -> Self {
        Self { severity: Severity::Error, number: None, message, span: None, notes: Vec::new() }
    }

    /// The header that the message reports as missing, if it does.
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
    /// The position.
    pub place: FilePosition,
    /// The source line there, if it is known.
    pub text: Option<String>,
}

/// A note of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The text.
    pub message: String,
    /// The source position.
    pub span: Option<Span>,
}

impl Note {
    /// Whether it is a step of the trace of instances that led to a message.
    pub fn is_step(&self) -> bool {
        let text = &self.message;
        ["instantiation of ", "processing of "].iter().any(|it| text.starts_with(it))
    }
}
