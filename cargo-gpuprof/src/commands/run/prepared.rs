//! What a run is made of, once it is fixed.
//!
//! Output: values that hold whatever is decided before the first process measures. They are made
//! once, by [`prepare`](super::prepare), and nothing changes them afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;
use gpuprof_model::metric::{Catalogue, Metric};
use gpuprof_model::protocol::Sampling;
use gpuprof_model::run::{Run, SectionColumns};
use tempfile::TempDir;

use super::counters::CounterSetup;
use super::devices::Devices;
use super::engine::Planned;
use super::exports::Exports;
use crate::commands::Source;
use crate::commands::settings::{Layers, Settings};
use crate::commands::thresholds::Placed;
use crate::device::profiler;
use crate::execute::{Ahead, Execution, HarnessProcess, Interrupt};
use crate::options::{CacheControl, Interleave, Repeats, RunOptions};
use crate::plan::PlannedSeries;
use crate::schedule::assignment::Assignment;
use crate::store::RunFolder;
use crate::store::journal::Made;
use crate::store::plans::Plans;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::view::View;

/// What the command line, the configuration and the workspace or archive give.
pub(super) struct Inputs {
    /// How the run is shown.
    pub(super) view: View,
    /// Which files it is written to as well.
    pub(super) exports: Exports,
    /// Harnesses, and where kernels come from.
    pub(super) source: Source,
    /// Where an archive is unpacked, as long as it is needed.
    pub(super) _unpacked: TempDir,
    /// The run's own folder.
    pub(super) folder: RunFolder,
    /// The configuration file and the preset.
    pub(super) layers: Layers,
    /// The settings.
    pub(super) settings: Settings,
    /// The baseline to compare with.
    pub(super) against: Option<Against>,
    /// The baseline to keep the run as: its name and file.
    pub(super) save_to: Option<(String, Utf8PathBuf)>,
}

/// A planned series with its thresholds and columns.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) planned: PlannedSeries,
    pub(super) thresholds: Vec<Placed>,
    pub(super) columns: Vec<String>,
    pub(super) sections: Vec<SectionColumns>,
    pub(super) viewed: Vec<String>,
}

impl Checked {
    /// Every metric that is shown or judged.
    pub(super) fn asked(&self, catalogue: &Catalogue) -> impl Iterator<Item = Arc<Metric>> {
        let shown = self.columns.iter().chain(&self.viewed).chain(self.in_sections());
        shown
            .chain(self.thresholds.iter().map(|p| &p.threshold.metric))
            .filter_map(|n| catalogue.find(n))
    }

    /// The metrics of its sections.
    pub(super) fn in_sections(&self) -> impl Iterator<Item = &String> {
        self.sections.iter().flat_map(SectionColumns::names)
    }
}

/// What is to be measured, and on which devices.
pub(super) struct Plan<'o> {
    /// The command line.
    pub(super) options: &'o RunOptions,
    /// What it was made of.
    pub(super) inputs: Inputs,
    /// The metrics that are known, by the formulas of the chip.
    pub(super) catalogue: Catalogue,
    /// The series.
    pub(super) checked: Vec<Checked>,
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
}

impl Plan<'_> {
    /// How many configurations there are.
    pub(super) fn configurations(&self) -> usize {
        self.checked.iter().map(|series| series.planned.configurations.len()).sum()
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
    /// PTX by package.
    pub(super) modules: BTreeMap<String, Utf8PathBuf>,
    /// Where the emulated driver lies, where it answers.
    pub(super) emulator: Option<Utf8PathBuf>,
    /// The run's document, as far as it is known: no series yet.
    pub(super) document: Run,
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
                timeout: Duration::from_secs(settings.timeout.value.into()),
                ..HarnessProcess::asked(&self.passes, interrupt)
            },
            modules: &self.modules,
            emulated: devices.emulated,
            repeat: *repeat,
            ahead: Ahead::on(device, settings.ahead.value),
            verify: settings.verify.value,
            sampling: Sampling {
                cold_cache: settings.cache_control.value == CacheControl::All,
                nvml: settings.nvml_path(&inputs.source.root()).map(Into::into),
                ..Sampling::default()
            },
            counters: setup.counters().cloned(),
            profiler: device.and_then(profiler::shared),
        }
    }

    /// What the engine is to do, as `executions` do it.
    pub(super) fn planned<'a>(&'a self, executions: &'a [Execution<'a>]) -> Planned<'a> {
        Planned {
            checked: &self.plan.checked,
            assignment: &self.plan.assignment,
            executions,
            harnesses: &self.plan.inputs.source.harnesses,
            order: self.plan.order,
            isolate: self.plan.inputs.settings.isolate.value,
        }
    }
}
