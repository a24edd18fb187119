//! What a run is made of, once it is fixed.
//!
//! Output: values that hold whatever is decided before the first process measures. They are made
//! once, by [`prepare`](super::prepare), and nothing changes them afterwards.

use std::collections::BTreeSet;
use std::time::Duration;

use camino::Utf8PathBuf;
use gpuprof_analysis::advice::rule::Rule;
use gpuprof_analysis::sequential::Most;
use gpuprof_model::metric::{Catalogue, KEPT_ATTRIBUTES};
use gpuprof_model::protocol::Sampling;
use gpuprof_model::run::Run;

use super::counters::CounterSetup;
use super::devices::Devices;
use super::inputs::{Checked, Inputs};
use super::sides::Both;
use crate::options::{CacheControl, Interleave, Repeats, RunOptions};
use gpuprof_engine::device::profiler;
use gpuprof_engine::execute::{Ahead, Execution, HarnessProcess, Modules};
use gpuprof_engine::schedule::assignment::Assignment;
use gpuprof_engine::store::journal::Made;
use gpuprof_engine::store::plans::Plans;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::own_file::OwnFile;

/// What is to be measured, and on which devices.
pub(super) struct Plan<'o> {
    /// The command line.
    pub(super) options: &'o RunOptions,
    /// What it was made of.
    pub(super) inputs: Inputs,
    /// The metrics that are known, by the formulas of the chip.
    pub(super) catalogue: Catalogue,
    /// The files of the user's rules of advice.
    pub(super) own_rules: Vec<OwnFile>,
    /// The rules of advice, ours and the user's.
    pub(super) rules: Vec<Rule>,
    /// The series, of both revisions where there are two.
    pub(super) both: Both,
    /// The devices.
    pub(super) devices: Devices,
    /// Which of them measures what.
    pub(super) assignment: Assignment,
    /// How each of them collects counters.
    pub(super) setups: Vec<CounterSetup>,
    /// What CUPTI said of counters in earlier runs.
    pub(super) plans: Plans,
    /// In which order passes run.
    pub(super) order: Interleave,
    /// Processes that time each configuration.
    pub(super) repeat: Repeats,
    /// How many may time one that a look leaves open; none where nothing is measured further.
    pub(super) most_rounds: Option<Most>,
    /// Of each series of both revisions: whether what limits on numbers leave open of it is
    /// measured further.
    pub(super) limited: Vec<bool>,
    /// What both sides of a comparison share that its reader has to know.
    pub(super) notes: Vec<String>,
}

impl Plan<'_> {
    /// How many configurations there are.
    pub(super) fn configurations(&self) -> usize {
        self.both.checked.iter().map(Checked::count).sum()
    }

    /// The device's attributes that are shown or judged and not always told, each once.
    fn attributes(&self) -> Vec<String> {
        let asked = self.both.checked.iter().flat_map(|series| series.asked(&self.catalogue));
        let mut names: BTreeSet<String> =
            asked.flat_map(|metric| self.catalogue.device_attributes(&metric)).collect();
        names.retain(|name| !KEPT_ATTRIBUTES.contains(&name.as_str()));
        names.into_iter().collect()
    }

    /// The counters that any device collects, each once.
    pub(super) fn counters(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let counters = self.setups.iter().filter_map(CounterSetup::counters);
        for name in counters.flat_map(|counters| counters.metrics()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// A run, with whatever is fixed before its first process measures.
pub(super) struct Prepared<'o> {
    /// What is to be measured, and on which devices.
    pub(super) plan: Plan<'o>,
    /// What the kernels were built to, by revision.
    pub(super) modules: Modules,
    /// Where the emulated driver lies, where it answers.
    pub(super) emulator: Option<Utf8PathBuf>,
    /// The run's document, as far as it is known: no series yet.
    pub(super) document: Run,
    /// The same of the other revision, with all that is known of it.
    pub(super) base: Option<Run>,
    /// What a run that resumes this one must be made of.
    pub(super) made: Made,
    /// Where processes find what they are asked, and answer.
    pub(super) passes: Utf8PathBuf,
}

impl Prepared<'_> {
    /// How each device executes.
    pub(super) fn executions<'a>(&'a self, interrupt: &'a Interrupt) -> Vec<Execution<'a>> {
        let setups = self.plan.setups.iter().enumerate();
        setups.map(|(at, setup)| self.execution(at, setup, interrupt)).collect()
    }

    fn execution<'a>(
        &'a self,
        at: usize,
        setup: &CounterSetup,
        interrupt: &'a Interrupt,
    ) -> Execution<'a> {
        let Plan { devices, inputs, repeat, .. } = &self.plan;
        let settings = &inputs.settings;
        let device = devices.records.get(at);
        Execution {
            process: HarnessProcess {
                emulator_folder: self.emulator.as_deref(),
                device: devices.visible(at),
                checks: settings.check.value,
                timeout: Duration::from_secs(settings.timeout.value.into()),
                ..HarnessProcess::asked(&self.passes, interrupt)
            },
            modules: &self.modules,
            emulated: devices.emulated,
            attributes: self.plan.attributes(),
            repeat: *repeat,
            ahead: Ahead::on(device, settings.ahead.value.map(Into::into)),
            verify: settings.verify.value,
            sampling: Sampling {
                cold_cache: settings.cache_control.value == CacheControl::All,
                nvml: settings.nvml_path(&inputs.source.root()).map(Into::into),
                ..Sampling::default()
            },
            cupti: settings.cupti_path(&inputs.source.root()).map(Into::into),
            counters: setup.counters().cloned(),
            profiler: device.and_then(profiler::shared),
        }
    }
}
