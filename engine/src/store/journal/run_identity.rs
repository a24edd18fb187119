//! The build and device of a run; only a run with the same may resume its journal.
//!
//! Input: the build and device in a journal, and those of a new run. Output: whether the new run
//! can resume the journal: unchanged, or on another device of the same model, on which unfinished
//! series are measured again.

use std::collections::BTreeMap;
use std::fmt;

use gpuprof_model::Axis;
use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
use gpuprof_model::nvtx::NvtxPattern;
use gpuprof_model::protocol::{CounterRange, Replay};
use gpuprof_model::words::Word;
use serde::{Deserialize, Serialize};

use gpuprof_analysis::stats::repeats::Repeats;

/// The difference if another version wrote the journal.
pub(super) const TOOL_VERSION: &str = "the version of cargo-gpuprof";

/// The difference if other counters are collected.
pub(super) const COUNTERS: &str = "the counters";

/// The difference if another baseline, or none, is given.
pub(super) const BASELINE: &str = "the baseline";

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

/// A thing in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name.
    pub what: String,
    /// Its value in both, if that is a word or a few.
    pub values: Option<(String, String)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
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

    fn driver(&self) -> Option<u32> {
        self.device.as_ref().map(|(_, _, driver)| *driver)
    }

    /// The first thing in which `now` differs, in words; none where all is the same, but for which
    /// of several devices of one model it is measured on.
    pub fn difference(&self, now: &Self) -> Option<Difference> {
        let has = |threshold| now.thresholds.contains(threshold);
        let checks = [
            (self.kernels == now.kernels, "the kernels (their PTX)"),
            (self.series == now.series, "the axes or the selection of configurations"),
            (self.base == now.base, "the other revision (--base)"),
            (self.baseline == now.baseline, BASELINE),
            (self.devices.len() == now.devices.len(), "the choice of devices (--devices)"),
            (self.driver() == now.driver(), "the device or its driver"),
            (self.backend == now.backend, "the backend"),
            (self.chips == now.chips, "--chip"),
            (self.harnesses == now.harnesses, "the harness executables"),
            (self.cache_control == now.cache_control, "--cache-control"),
            (self.clock_control == now.clock_control, "--clock-control"),
            (self.order == now.order, "--interleave, --isolate or --ahead"),
            (self.quick == now.quick, "--quick"),
            (self.repeat == now.repeat, "--repeat"),
            (self.counters == now.counters, COUNTERS),
            (self.replay_mode == now.replay_mode, "--replay-mode"),
            (self.counter_range == now.counter_range, "--range"),
            (self.nvtx == now.nvtx, "--nvtx"),
            (self.checks.is_none() || self.checks == now.checks, "verify, check or estimate"),
            (self.thresholds.iter().all(has), "the thresholds"),
            (
                self.metrics.is_none() || self.metrics == now.metrics,
                "the metrics of the configuration file",
            ),
            (!self.strict || now.strict, "--strict"),
            (self.tool_version == now.tool_version, TOOL_VERSION),
        ];
        if let Some((_, what)) = checks.into_iter().find(|(same, _)| !same) {
            let values = self.option(what).zip(now.option(what));
            return Some(Difference { what: what.to_owned(), values });
        }
        let (before, after) = (self.collection.as_ref()?, now.collection.as_ref()?);
        let text = |of: &BTreeMap<String, String>, what| of.get(what).cloned().unwrap_or_default();
        let mut options = before.keys().chain(after.keys());
        let what = options.find(|what| before.get(*what) != after.get(*what))?;
        let values = Some((text(before, what), text(after, what)));
        Some(Difference { what: what.clone(), values })
    }

    /// The value of the option `what`, if it is a word or a few.
    fn option(&self, what: &str) -> Option<String> {
        let text = match what {
            "--cache-control" => self.cache_control.word().to_owned(),
            "--clock-control" => self.clock_control.word().to_owned(),
            "--replay-mode" => self.replay_mode.map_or("none", Replay::word).to_owned(),
            "--range" => self.counter_range.unwrap_or_default().word().to_owned(),
            "--nvtx" => self.nvtx.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            _ => return None,
        };
        Some(text)
    }
}
