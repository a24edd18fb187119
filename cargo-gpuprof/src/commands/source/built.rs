//! The build results of kernels.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use gpuprof_build::declared::Entries;
use gpuprof_build::ptxas::Assembled;

/// Built kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// PTX by package, and by the modules of `declared`.
    pub modules: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// ptxas's results by architecture and module, if no GPU compiles them.
    pub assembled: BTreeMap<String, BTreeMap<String, Assembled>>,
    /// Which ptxas that is, and for which architectures.
    pub assembler: Option<String>,
    /// The toolchain that built them.
    pub toolchain: Option<String>,
}
