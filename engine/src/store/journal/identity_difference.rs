//! The differences between the identities of two runs: why a journal is not resumed, or why slices
//! are not merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gpuprof_model::machine::{Backend, CacheControl, Chip, ClockControl};
use gpuprof_model::nvtx_pattern::NvtxPattern;
use gpuprof_model::protocol::{CounterRange, Replay};
use gpuprof_model::words::Word;

use super::run_identity::RunIdentity;
use gpuprof_analysis::stats::repeats::Repeats;

/// A value that two runs have in common, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values<T> {
    /// The value of the run that began first.
    pub before: T,
    /// The value of the other run.
    pub now: T,
}

impl<T: Clone + PartialEq> Values<T> {
    /// Both values, if they differ.
    fn unless_equal(before: &T, now: &T) -> Option<Self> {
        (before != now).then(|| Self { before: before.clone(), now: now.clone() })
    }
}

impl<T> Values<T> {
    fn map<U>(&self, text: impl Fn(&T) -> U) -> Values<U> {
        Values { before: text(&self.before), now: text(&self.now) }
    }
}

/// A difference between the identities of two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The PTX of the kernels.
    Kernels,
    /// The axes, or which configurations are selected.
    Configurations,
    /// The other revision, or its build.
    Base,
    /// The name of the baseline.
    Baseline(Values<Option<String>>),
    /// How many devices there are.
    Devices,
    /// The driver of the device, or the device where one of the runs has none.
    Driver,
    /// The backend.
    Backend(Values<Backend>),
    /// The emulated chips.
    Chips(Values<Vec<Chip>>),
    /// The harnesses.
    Harnesses,
    /// What happens to the cache.
    CacheControl(Values<CacheControl>),
    /// What happens to the clocks.
    ClockControl(Values<ClockControl>),
    /// The order of the passes.
    Order,
    /// Whether few samples are taken.
    Quick,
    /// How many processes time a configuration.
    Repeat(Values<Repeats>),
    /// Which counters are collected.
    Counters(Values<Vec<String>>),
    /// How counters are collected.
    ReplayMode(Values<Option<Replay>>),
    /// The extent of the counters of series functions.
    CounterRange(Values<CounterRange>),
    /// Which NVTX ranges are measured.
    Nvtx(Values<Vec<NvtxPattern>>),
    /// How results are checked, and whether times are estimated.
    Checks,
    /// A threshold that the later run lacks.
    Thresholds,
    /// The workspace's own metrics.
    Metrics,
    /// The later run need not judge everything.
    Strict,
    /// The version of the tool.
    ToolVersion,
    /// Another setting of the collection, by its option.
    Collection {
        /// The option.
        option: String,
        /// Its values, as text.
        values: Values<String>,
    },
}

impl RunIdentity {
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

impl Difference {
    /// Both values, if they are a few words.
    pub fn values(&self) -> Option<Values<String>> {
        Some(match self {
            Self::Backend(values) => values.map(|backend| backend.word().to_owned()),
            Self::Chips(values) => values
                .map(|chips| chips.iter().map(|chip| chip.word()).collect::<Vec<_>>().join(",")),
            Self::CacheControl(values) => values.map(|control| control.word().to_owned()),
            Self::ClockControl(values) => values.map(|control| control.word().to_owned()),
            Self::Repeat(values) => values.map(ToString::to_string),
            Self::ReplayMode(values) => {
                values.map(|mode| mode.map_or("none", Replay::word).to_owned())
            }
            Self::CounterRange(values) => values.map(|range| range.word().to_owned()),
            Self::Nvtx(values) => values.map(|patterns| {
                patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }),
            Self::Collection { values, .. } => values.clone(),
            Self::Kernels
            | Self::Configurations
            | Self::Base
            | Self::Baseline(_)
            | Self::Devices
            | Self::Driver
            | Self::Harnesses
            | Self::Order
            | Self::Quick
            | Self::Counters(_)
            | Self::Checks
            | Self::Thresholds
            | Self::Metrics
            | Self::Strict
            | Self::ToolVersion => return None,
        })
    }
}

/// Writes the name of the condition that differs.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernels => "the kernels (their PTX)",
            Self::Configurations => "the axes or the selection of configurations",
            Self::Base => "the other revision (--base)",
            Self::Baseline(_) => "the baseline",
            Self::Devices => "the choice of devices (--devices)",
            Self::Driver => "the device or its driver",
            Self::Backend(_) => "--backend",
            Self::Chips(_) => "--chip",
            Self::Harnesses => "the harness executables",
            Self::CacheControl(_) => "--cache-control",
            Self::ClockControl(_) => "--clock-control",
            Self::Order => "--interleave, --isolate or --ahead",
            Self::Quick => "--quick",
            Self::Repeat(_) => "--repeat",
            Self::Counters(_) => "the counters",
            Self::ReplayMode(_) => "--replay-mode",
            Self::CounterRange(_) => "--range",
            Self::Nvtx(_) => "--nvtx",
            Self::Checks => "verify, check or estimate",
            Self::Thresholds => "the thresholds",
            Self::Metrics => "the metrics of the configuration file",
            Self::Strict => "--strict",
            Self::ToolVersion => "the version of cargo-gpuprof",
            Self::Collection { option, .. } => option,
        })
    }
}
