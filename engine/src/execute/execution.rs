//! The common data of the passes of a run on one device.

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_model::Checks;
use gpuprof_model::nvtx_pattern::NvtxPattern;
use gpuprof_model::protocol::{CounterRange, Sampling};

use crate::plan::Side;
use crate::schedule::Counters;
use gpuprof_analysis::stats::repeats::Repeats;
use gpuprof_build::declared::Entries;
use gpuprof_build::ptxas::Assembled;

use super::{Ahead, HarnessProcess};

/// The built kernels of a run, by revision.
pub type Modules = BTreeMap<Side, SideModules>;

/// The built kernels of one revision.
#[derive(Debug, Default)]
pub struct SideModules {
    /// PTX by package, and by the modules of `declared`.
    pub ptx: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// ptxas's results by architecture and module, if no GPU compiles them.
    pub assembled: BTreeMap<String, BTreeMap<String, Assembled>>,
}

/// The common data of the passes of a run on one device.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How processes run.
    pub process: HarnessProcess<'a>,
    /// The built kernels, by revision.
    pub modules: &'a Modules,
    /// Whether the emulated driver must answer.
    pub emulated: bool,
    /// The architecture of the emulated chip, such as `sm_90`.
    pub architecture: String,
    /// Processes that time each configuration.
    pub repeat: Repeats,
    /// Processes that prepare while another one measures.
    pub ahead: Ahead,
    /// The checks of the emulated driver in every series; if none, each annotation selects its own.
    pub checks: Option<Checks>,
    /// Whether outputs are compared with the host's reference.
    pub verify: bool,
    /// How samples are taken.
    pub sampling: Sampling,
    /// CUPTI's library or its folder, if the user named one.
    pub cupti: Option<PathBuf>,
    /// The extent of the counters of series functions.
    pub range: CounterRange,
    /// The NVTX ranges of series functions that are collected; none to collect no NVTX ranges.
    pub nvtx: Vec<NvtxPattern>,
    /// The hardware counters to collect.
    pub counters: Option<Counters>,
    /// Whether the links of the device are recorded.
    pub links: bool,
    /// Whether migrations of managed memory are recorded.
    pub unified_memory: bool,
    /// The device's attributes to record in addition to the standard ones.
    pub attributes: Vec<String>,
    /// The lock of the profiler, if the device shares it with others (`device::shared_profiler`).
    pub profiler: Option<PathBuf>,
}
