//! The build and device of a run; only a run with the same may resume its journal.
//!
//! Input: the build and device in a journal, and those of a new run. Output: whether the new run
//! can resume the journal: unchanged, or on another device of the same model, on which unfinished
//! series are measured again.

use std::collections::BTreeMap;

use gpuprof_model::Axis;
use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
use gpuprof_model::nvtx_pattern::NvtxPattern;
use gpuprof_model::protocol::{CounterRange, Replay};
use serde::{Deserialize, Serialize};

use gpuprof_analysis::stats::repeats::Repeats;

/// The build and device of a run: a resumed run must have the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// The version of the tool.
    pub tool_version: String,
    /// SHA-256 of the PTX of each kernel package.
    pub kernels: BTreeMap<String, String>,
    /// SHA-256 of each harness, which holds the host's half.
    pub harnesses: BTreeMap<String, String>,
    /// The axes of each series, and its configurations as one hash.
    pub series: Vec<(String, Vec<Axis>, String)>,
    /// The other revision that is measured too. Lines count its series behind these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<IdentityPart>,
    /// The name of the baseline with which the run is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Name, UUID and driver of the device; none on the emulated driver.
    pub device: Option<(String, String, u32)>,
    /// The UUIDs of all devices, if the configurations are spread over several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// The backend.
    pub backend: Backend,
    /// The emulated chips, if any were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chips: Vec<Chip>,
    /// What is done to the cache.
    pub cache_control: CacheControl,
    /// What is done to the clocks; journals before that could be chosen say nothing of them.
    #[serde(default)]
    pub clock_control: ClockControl,
    /// How counters are collected; none where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_mode: Option<Replay>,
    /// The extent of the counters of series functions, if `--range` gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_range: Option<CounterRange>,
    /// Which NVTX ranges are measured, if `--nvtx` says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvtx: Vec<NvtxPattern>,
    /// In which order passes run.
    pub order: Option<String>,
    /// Processes that time each configuration.
    pub repeat: Repeats,
    /// Whether it takes few samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The counters collected.
    pub counters: Vec<String>,
    /// How results are checked, and whether times are estimated, by setting; none in older
    /// journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<BTreeMap<String, String>>,
    /// The thresholds of every layer, each behind its series. Thresholds that are added later are
    /// judged, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<String>,
    /// SHA-256 of the definitions and directions of metrics; none in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Whether everything must be judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Other settings of the collection and the permitted differences of passes, by option; none in
    /// older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<BTreeMap<String, String>>,
}

/// The build of a run's other revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdentityPart {
    /// As [`RunIdentity::kernels`].
    pub kernels: BTreeMap<String, String>,
    /// As [`RunIdentity::harnesses`].
    pub harnesses: BTreeMap<String, String>,
    /// As [`RunIdentity::series`].
    pub series: Vec<(String, Vec<Axis>, String)>,
}

impl RunIdentity {
    /// The names of both device models, where `now` has another one than this.
    pub fn models<'a>(&'a self, now: &'a Self) -> Option<(&'a str, &'a str)> {
        let ((before, ..), (after, ..)) = (self.device.as_ref()?, now.device.as_ref()?);
        (before != after).then_some((before, after))
    }

    /// The UUIDs of the devices, one or several; none on the emulated driver.
    pub fn uuids(&self) -> Vec<String> {
        let only = self.device.iter().map(|(_, uuid, _)| uuid);
        match self.devices.is_empty() {
            true => only.cloned().collect(),
            false => self.devices.clone(),
        }
    }

    pub(super) fn driver(&self) -> Option<u32> {
        self.device.as_ref().map(|(_, _, driver)| *driver)
    }
}
