//! Why nothing came out of a compile.

use std::path::PathBuf;

use super::diagnostic::Diagnostic;

/// Nothing of the program is compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The sources do not compile, whichever instances are wanted.
    #[error("{}", super::diagnostic::rendered(.0))]
    Source(Vec<Diagnostic>),
    /// No compiler is available.
    #[error("{what} is not compiled: {reason}")]
    Missing {
        /// The sources.
        what: String,
        /// The places that were searched, and how to install one.
        reason: String,
    },
    /// NVRTC refused the options or the architecture.
    #[error("{compiler} refused how it was called: {reason}")]
    Refused {
        /// Its version.
        compiler: String,
        /// The compiler's message, or the problem, and the remedy.
        reason: String,
    },
    /// The process that held NVRTC ended without an answer.
    #[error("{compiler} at {}: the process that compiled {what} {how}", .path.display())]
    Crashed {
        /// Its version.
        compiler: String,
        /// Its library.
        path: PathBuf,
        /// The sources.
        what: String,
        /// How the process ended, and what to try.
        how: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A file of the cache cannot be written or locked.
    #[error("cannot use the cache of compiled CUDA C++ at {}: {reason}", .path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A process cannot be started.
    #[error("cannot start the process that compiles CUDA C++: {0}")]
    Start(String),
    /// A signal ended the compile.
    #[error("interrupted by signal {0} while CUDA C++ was compiled")]
    Interrupted(u8),
}
