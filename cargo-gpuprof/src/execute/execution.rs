//! What the passes of a run on one device have in common.

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use gpuprof_model::protocol::Sampling;

use crate::options::Repeats;
use crate::plan::Side;

use super::{Ahead, Counters, HarnessProcess};

/// PTX by revision and package.
pub type Modules = BTreeMap<Side, BTreeMap<String, Utf8PathBuf>>;

/// What the passes of a run on one device have in common.
#[derive(Debug)]
pub struct Execution<'a> {
    /// How processes run.
    pub process: HarnessProcess<'a>,
    /// PTX by revision and package.
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
    /// The hardware counters to collect.
    pub counters: Option<Counters>,
    /// The device's attributes to tell beside those that are always told.
    pub attributes: Vec<String>,
    /// The lock of the profiler, where the device shares it with others (`device::profiler`).
    pub profiler: Option<PathBuf>,
}
