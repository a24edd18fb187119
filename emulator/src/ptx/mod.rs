//! PTX text in, syntax tree out.
//!
//! [`parse`] reads one module. The tree borrows from the text, keeps the line of everything, and
//! knows nothing of what an instruction means: an opcode that nobody can execute still parses, and
//! is refused later by [`lower`](crate::lower), where meaning begins.

pub mod ast;
mod directive;
pub mod lexer;
mod parser;
mod statement;

pub use ast::Module;

use std::fmt;

/// Why a module cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxError {
    /// Whether the text is wrong or merely beyond this emulator.
    pub kind: PtxErrorKind,
    /// The line in the PTX text, from 1; 0 when no line applies.
    pub line: u32,
    /// One sentence, without the line.
    pub message: String,
}

/// The two ways a module can be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtxErrorKind {
    /// The text is not PTX.
    Invalid,
    /// The text is PTX that the emulator does not execute.
    Unsupported,
    /// The `.version` is newer than the emulator knows.
    UnsupportedVersion,
}

impl PtxError {
    /// The text at `line` is not PTX.
    pub fn invalid(line: u32, message: impl Into<String>) -> Self {
        Self { kind: PtxErrorKind::Invalid, line, message: message.into() }
    }

    /// The text at `line` is PTX that the emulator does not execute.
    pub fn unsupported(line: u32, message: impl Into<String>) -> Self {
        Self { kind: PtxErrorKind::Unsupported, line, message: message.into() }
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "{} at line {line}", self.message),
        }
    }
}

impl std::error::Error for PtxError {}

/// Parses one PTX module.
///
/// # Errors
/// [`PtxErrorKind::Invalid`] with the line of the first text that is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, PtxError> {
    parser::Parser::new(text)?.module()
}
