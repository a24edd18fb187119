//! The NVRTC that compiles.

use std::path::{Path, PathBuf};

use crate::execute::Interrupt;

/// An NVRTC that is there and answers.
#[derive(Debug, Clone)]
pub struct Compiler {
    pub(super) library: PathBuf,
    pub(super) version: String,
    pub(super) executable: PathBuf,
    pub(super) interrupt: Interrupt,
}

impl Compiler {
    /// The library's file, with links resolved.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Who compiles: `NVRTC 13.0.88`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}
