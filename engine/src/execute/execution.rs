//! What the passes of a run on one device have in common.

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_model::assembled::ModuleResources;
use gpuprof_model::protocol::Sampling;

use crate::plan::Side;
use crate::schedule::Counters;
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_build::declared::Entries;

use super::{Ahead, HarnessProcess};

/// What the kernels of a run were built to, by revision.
pub type Modules = BTreeMap<Side, SideModules>;

/// What the kernels of one revision were built to.
#[derive(Debug, Default)]
pub struct SideModules {
    /// PTX by package, and by the modules of `declared`.
    pub ptx: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// What ptxas says of the modules, where no GPU tells.
    pub resources: BTreeMap<String, ModuleResources>,
}

/// What the passes of a run on one device have in common.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How processes run.
    pub process: HarnessProcess<'a>,
    /// What the kernels were built to, by revision.
    pub modules: &'a Modules,
    /// Whether the emulated driver must answer.
    pub emulated: bool,
    /// Processes that time each configuration.
    pub repeat: Repeats,
    /// Processes that prepare while another one measures.
    pub ahead: Ahead,
    /// Whether outputs are compared with the host's reference.
    pub verify: bool,
    /// How samples are taken.
    pub sampling: Sampling,
    /// CUPTI's library or its folder, where one was named.
    pub cupti: Option<PathBuf>,
    /// The hardware counters to collect.
    pub counters: Option<Counters>,
    /// The device's attributes to tell beside those that are always told.
    pub attributes: Vec<String>,
    /// The lock of the profiler, where the device shares it with others (`device::profiler`).
    pub profiler: Option<PathBuf>,
}
