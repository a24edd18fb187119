//! Why PTX text is refused, with the line.

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

    /// The emulator does not know this directive.
    pub fn directive(line: u32, word: &str) -> Self {
        Self::unsupported(line, format!("unsupported PTX directive '.{word}'"))
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
