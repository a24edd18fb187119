//! Errors that are the user's to mend: what happened, where, what to do, and the exit code.

use std::fmt;
use std::io;
use std::path::Path;

use gpuprof_model::ExitCode;

/// An expected failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What the process exits with.
    pub code: ExitCode,
    /// What happened, in full sentences; may have several lines.
    pub message: String,
}

/// The result of anything that may end the run.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure with its exit code.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A command line that cannot be carried out.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// A file that could not be written.
    pub fn output(path: &Path, error: &io::Error) -> Self {
        Self::new(ExitCode::OutputFailed, format!("cannot write {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
