//! The result of a compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::diagnostic::Diagnostic;
use super::ptx::{self, Entry};
use gpuprof_system::hex::hex;

/// PTX, its entries and its provenance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The declared entries and their references, with line information.
    pub ptx: String,
    /// Per expression of the program, the entry's name in the PTX, or why there is none: it does
    /// not compile, or the declaration does not fit it.
    pub entries: BTreeMap<String, Result<String, Vec<Diagnostic>>>,
    /// The compiler's warnings about files of the package, and our notes.
    pub warnings: Vec<Diagnostic>,
    /// Who compiled it: `NVRTC 13.0.88`.
    pub compiler: String,
    /// Every header that was read, the sources among them, with its content's hash. Those of the
    /// package are relative to it.
    pub headers: Vec<(PathBuf, Hash)>,
}

impl Compiled {
    /// The module of one instance and its references: for a driver that refuses the whole module
    /// because of another instance. None if it did not compile.
    #[must_use]
    pub fn alone(&self, expression: &str) -> Option<String> {
        let name = self.entries.get(expression)?.as_ref().ok()?;
        Some(ptx::cut(&self.ptx, &BTreeSet::from([name.as_str()])))
    }

    /// The launch limits of an instance, from its PTX: parameter sizes, launch bounds, shared
    /// memory. None if it did not compile.
    #[must_use]
    pub fn entry(&self, expression: &str) -> Option<Entry> {
        ptx::entry(&self.ptx, self.entries.get(expression)?.as_ref().ok()?)
    }
}

/// The SHA-256 of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn digest(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}
