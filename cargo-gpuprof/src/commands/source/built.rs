//! The build results of kernels.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use gpuprof_model::assembled::ModuleResources;

use gpuprof_build::declared::Entries;

/// Built kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// PTX by package, and by the modules of `declared`.
    pub modules: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// ptxas's resources by architecture and module, if no GPU reports them.
    pub resources: BTreeMap<String, BTreeMap<String, ModuleResources>>,
    /// Which ptxas that is, and for which architectures.
    pub assembler: Option<String>,
    /// The toolchain that built them.
    pub toolchain: Option<String>,
}
