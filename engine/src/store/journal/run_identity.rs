//! The build and device of a run; only a run with the same may resume its journal.
//!
//! Input: the build and device in a journal, and those of a new run. Output: whether the new run
//! can resume the journal: unchanged, or on another device of the same model, on which unfinished
//! series are measured again.

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::Axis;
use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
use gpuprof_model::nvtx::NvtxPattern;
use gpuprof_model::protocol::{CounterRange, Replay};
use serde::{Deserialize, Serialize};

use super::difference::{Difference, Values};
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

    fn driver(&self) -> Option<u32> {
        self.device.as_ref().map(|(_, _, driver)| *driver)
    }

    /// The first difference of `now`; none if all is the same, but for which of several devices of
    /// one model it is measured on.
    pub fn difference(&self, now: &Self) -> Option<Difference> {
        self.differences(now).into_iter().next()
    }

    /// Every difference of `now`; a difference precedes those that follow from it.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        // A new field does not compile before this list has it.
        #[rustfmt::skip]
        let Self {
            tool_version, kernels, harnesses, series, base, baseline, device: _, devices, backend,
            chips, cache_control, clock_control, replay_mode, counter_range, nvtx, order, repeat,
            quick, counters, checks, thresholds, metrics, strict, collection,
        } = now;
        let unless = |same: bool, difference: Difference| (!same).then_some(difference);
        let ranges = (self.counter_range.unwrap_or_default(), counter_range.unwrap_or_default());
        let known = |threshold| thresholds.contains(threshold);
        let found = [
            unless(self.kernels == *kernels, Difference::Kernels),
            unless(self.series == *series, Difference::Configurations),
            unless(self.base == *base, Difference::Base),
            Values::unless_equal(&self.baseline, baseline).map(Difference::Baseline),
            unless(self.devices.len() == devices.len(), Difference::Devices),
            unless(self.driver() == now.driver(), Difference::Driver),
            Values::unless_equal(&self.backend, backend).map(Difference::Backend),
            Values::unless_equal(&self.chips, chips).map(Difference::Chips),
            unless(self.harnesses == *harnesses, Difference::Harnesses),
            Values::unless_equal(&self.cache_control, cache_control).map(Difference::CacheControl),
            Values::unless_equal(&self.clock_control, clock_control).map(Difference::ClockControl),
            unless(self.order == *order, Difference::Order),
            unless(self.quick == *quick, Difference::Quick),
            Values::unless_equal(&self.repeat, repeat).map(Difference::Repeat),
            Values::unless_equal(&self.counters, counters).map(Difference::Counters),
            Values::unless_equal(&self.replay_mode, replay_mode).map(Difference::ReplayMode),
            Values::unless_equal(&ranges.0, &ranges.1).map(Difference::CounterRange),
            Values::unless_equal(&self.nvtx, nvtx).map(Difference::Nvtx),
            // Older journals have neither checks nor metrics nor the collection.
            unless(self.checks.is_none() || self.checks == *checks, Difference::Checks),
            unless(self.thresholds.iter().all(known), Difference::Thresholds),
            unless(self.metrics.is_none() || self.metrics == *metrics, Difference::Metrics),
            unless(!self.strict || *strict, Difference::Strict),
            unless(self.tool_version == *tool_version, Difference::ToolVersion),
        ];
        let collections = self.collection.as_ref().zip(collection.as_ref());
        let others = collections.map(|(before, now)| differences_by_option(before, now));
        found.into_iter().flatten().chain(others.into_iter().flatten()).collect()
    }
}

/// The options with other values, or with a value in one of the two alone.
fn differences_by_option(
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let value = |of: &BTreeMap<String, String>, option| of.get(option).cloned().unwrap_or_default();
    let options: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let differing = options.into_iter().filter(|&option| before.get(option) != now.get(option));
    differing
        .map(|option| {
            let values = Values { before: value(before, option), now: value(now, option) };
            Difference::Collection { option: option.clone(), values }
        })
        .collect()
}
