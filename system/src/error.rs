//! Errors for the user: what happened, where, what to do, and the exit code.
//!
//! Input: the cause and a message. Output: the message, a typed exit code that does not depend on
//! the wording, and the chain of sources.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use camino::Utf8Path;
use gpuprof_model::ExitCode;

/// An expected failure.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The exit code of the process.
    pub code: ExitCode,
    /// What happened, in full sentences; may have several lines.
    pub message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The result of an operation that may end the run.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure with its exit code.
    pub fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), source: None }
    }

    /// A command line that is not valid here.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// A file that could not be written.
    pub fn output(path: &Path, error: &io::Error) -> Self {
        // An `io::Error` cannot be cloned: its number and message are kept.
        let source = match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(error.kind(), error.to_string()),
        };
        Self::new(ExitCode::OutputFailed, format!("cannot write {}: {error}", path.display()))
            .caused_by(source)
    }

    /// Makes a failure of an error in writing `path`.
    pub fn writing(path: &Utf8Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self::output(path.as_std_path(), &error)
    }

    /// Standard output that could not be written.
    pub fn standard_output(error: io::Error) -> Self {
        Self::output(Path::new("standard output"), &error)
    }

    /// The failure with its cause.
    #[must_use]
    pub fn caused_by(self, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// The failure with another exit code and message; the source stays.
    #[must_use]
    pub fn with_message(self, code: ExitCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..self }
    }
}

/// Failures are equal if the user cannot distinguish them.
impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.code, &self.message) == (other.code, &other.message)
    }
}

impl Eq for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reworded_failure_keeps_its_source() {
        let full = io::Error::from_raw_os_error(28);
        let failure = Failure::output(Path::new("/dev/full"), &full);
        let reworded = failure.clone().with_message(failure.code, "▒▒▒");
        for failure in [failure, reworded] {
            let source = failure.source().unwrap().downcast_ref::<io::Error>().unwrap();
            assert_eq!(source.raw_os_error(), Some(28), "{failure}");
        }
    }
}
