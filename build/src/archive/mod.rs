//! Archives: built here, run on a machine that has neither cargo nor the source.
//!
//! A `.tar.zst` (nextest's model). Its first entry, [`MANIFEST`], lists every other file with its
//! hash. The reader trusts nothing: it refuses by name each file that is unlisted, not a plain
//! file, outside the folder, of another architecture or content, or larger than the limit. Neither
//! side holds a file in memory: both copy it in pieces.

mod limits;
mod pack;
mod unpack;
#[cfg(test)]
mod unpack_tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::declared::Entries;
use gpuprof_system::own_file::OwnFile;

pub use limits::Limits;
pub use pack::{Contents, pack};
pub use unpack::{Unpacked, unpack, unpack_from};

/// The first entry of an archive.
pub const MANIFEST: &str = "gpuprof-archive.json";

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The manifest of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// The version of the tool that wrote it.
    pub tool_version: String,
    /// The platform of its executables, such as `x86_64-linux`.
    pub platform: String,
    /// Its harnesses.
    pub harnesses: Vec<PackedHarness>,
    /// PTX files by package, and by the modules of `declared`.
    pub modules: BTreeMap<String, String>,
    /// The instances of the declared kernels.
    #[serde(default)]
    pub declared: Entries,
    /// The workspace's `gpuprof.toml`, as text.
    pub config: Option<String>,
    /// The workspace's own sections.
    #[serde(default)]
    pub sections: Vec<OwnFile>,
    /// The user's own rules of advice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OwnFile>,
    /// The toolchain of the kernels.
    pub kernel_toolchain: Option<String>,
    /// The git revision of the workspace.
    pub git_revision: Option<String>,
    /// SHA-256 of every other file by its path in the archive.
    pub files: BTreeMap<String, String>,
}

/// A harness in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedHarness {
    /// Its package.
    pub package: String,
    /// Its target.
    pub target: String,
    /// Its path in the archive.
    pub file: String,
}

/// The platform of this tool.
pub fn platform() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}
