//! A prepared run.
//!
//! Output: values that hold whatever is decided before the first process measures. They are made
//! once, by [`prepare`](crate::commands::run::prepare), and nothing changes them afterwards.

use std::collections::BTreeSet;
use std::env;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_analysis::advice::rule::Rule;
use gpuprof_analysis::gate::applied_thresholds::{self, Counterpart};
use gpuprof_analysis::sequential::Most;
use gpuprof_model::Threshold;
use gpuprof_model::each_once::each_once;
use gpuprof_model::metric::{Catalogue, KEPT_ATTRIBUTES, Metric};
use gpuprof_model::protocol::Sampling;
use gpuprof_model::run::Run;
use gpuprof_model::series::SeriesId;
use gpuprof_model::units::Nanoseconds;

use crate::commands::run::counters::CounterSetup;
use crate::commands::run::prepare::devices::Devices;
use crate::commands::run::prepare::inputs::Inputs;
use crate::options::{CacheControl, Interleave, Isolate, Purpose, Repeats};
use gpuprof_engine::device::shared_profiler;
use gpuprof_engine::execute::{Ahead, Execution, HarnessProcess, Modules};
use gpuprof_engine::plan::{Both, Checked};
use gpuprof_engine::schedule::device_assignment::Assignment;
use gpuprof_engine::store::journal::RunIdentity;
use gpuprof_engine::store::plans::Plans;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::own_file::OwnFile;

/// What is to be measured, and on which devices.
pub(in crate::commands) struct Plan {
    /// Its inputs.
    pub(in crate::commands) inputs: Inputs,
    /// The metrics that are known, by the formulas of the chip.
    pub(in crate::commands) catalogue: Catalogue,
    /// The user's files with rules of advice.
    pub(in crate::commands) own_rules: Vec<OwnFile>,
    /// The rules of advice, ours and the user's.
    pub(in crate::commands) rules: Vec<Rule>,
    /// The series, of both revisions where there are two.
    pub(in crate::commands) both: Both,
    /// The devices.
    pub(in crate::commands) devices: Devices,
    /// Which of them measures what.
    pub(in crate::commands) assignment: Assignment,
    /// How each of them collects counters.
    pub(in crate::commands) setups: Vec<CounterSetup>,
    /// CUPTI's plans of earlier runs.
    pub(in crate::commands) plans: Plans,
    /// In which order passes run.
    pub(in crate::commands) order: Interleave,
    /// Processes that time each configuration.
    pub(in crate::commands) repeat: Repeats,
    /// The most processes for a configuration that a look leaves open; none if nothing is measured
    /// further.
    pub(in crate::commands) most_rounds: Option<Most>,
    /// For each series of both revisions: whether configurations that absolute limits leave open
    /// are measured further.
    pub(in crate::commands) limited: Vec<bool>,
    /// For each series of both revisions: whether the energy of its launches is measured.
    pub(in crate::commands) energy: Vec<bool>,
    /// Notes on common properties of both sides of a comparison.
    pub(in crate::commands) notes: Vec<String>,
}

impl Plan {
    /// The unit that gets separate processes.
    pub(in crate::commands) fn isolate(&self) -> Isolate {
        self.inputs.settings.isolate.value.on(self.devices.emulated)
    }

    /// How many configurations there are.
    pub(in crate::commands) fn configurations(&self) -> usize {
        self.both.checked.iter().map(Checked::count).sum()
    }

    /// The thresholds that each series of this revision will be judged by, as far as that is known
    /// before it is measured.
    pub(in crate::commands) fn limits(&self) -> Vec<Vec<Threshold>> {
        let Inputs { against, base, .. } = &self.inputs;
        let counterpart = |id: &SeriesId| match base {
            Some(_) if self.both.known.iter().any(|known| known.id == *id) => Counterpart::Known,
            Some(_) => Counterpart::New,
            None => Counterpart::find(id, against.as_ref()),
        };
        let of = |series: &Checked| {
            let written = series.thresholds.iter().map(|placed| &placed.threshold);
            let counterpart = counterpart(&series.planned.series.id);
            applied_thresholds::plan(written, self.devices.records.first(), counterpart)
        };
        self.both.heads().iter().map(of).collect()
    }

    /// The device's attributes that are shown or judged but not recorded by default, each once.
    pub(in crate::commands) fn attributes(&self) -> Vec<String> {
        let asked = self.both.checked.iter().flat_map(|series| series.asked(&self.catalogue));
        let mut names: BTreeSet<String> =
            asked.flat_map(|metric| self.catalogue.device_attributes(&metric)).collect();
        names.retain(|name| !KEPT_ATTRIBUTES.contains(&name.as_str()));
        names.into_iter().collect()
    }

    /// Whether a metric of any series `is` so.
    pub(in crate::commands) fn asks(&self, is: fn(&Catalogue, &Metric) -> bool) -> bool {
        self.both.checked.iter().any(|series| series.asks(&self.catalogue, is))
    }

    /// The counters that any device collects, each once.
    pub(in crate::commands) fn counters(&self) -> Vec<String> {
        let counters = self.setups.iter().filter_map(CounterSetup::counters);
        each_once(counters.flat_map(|counters| counters.metrics()).cloned())
    }
}

/// A run, with whatever is fixed before its first process measures.
pub(in crate::commands) struct Prepared {
    /// What is to be measured, and on which devices.
    pub(in crate::commands) plan: Plan,
    /// The built kernels, by revision.
    pub(in crate::commands) modules: Modules,
    /// The emulated driver, if it answers.
    pub(in crate::commands) emulator: Option<Utf8PathBuf>,
    /// The library that reports NVTX ranges, if any are measured.
    pub(in crate::commands) nvtx: Option<Utf8PathBuf>,
    /// The run's document, as far as it is known: no series yet.
    pub(in crate::commands) document: Run,
    /// The same of the other revision, with all that is known of it.
    pub(in crate::commands) base: Option<Run>,
    /// The properties that a run must share to resume this one.
    pub(in crate::commands) made: RunIdentity,
    /// The folder of the processes' requests and replies.
    pub(in crate::commands) passes: Utf8PathBuf,
    /// When everything was built.
    pub(in crate::commands) built: SystemTime,
}

impl Prepared {
    /// How each device executes.
    pub(in crate::commands) fn executions<'a>(
        &'a self,
        interrupt: &'a Interrupt,
    ) -> Vec<Execution<'a>> {
        let setups = self.plan.setups.iter().enumerate();
        setups.map(|(at, setup)| self.execution(at, setup, interrupt)).collect()
    }

    /// How the emulated driver in `folder` executes a pass that only counts, within `timeout`.
    pub(in crate::commands) fn emulated_execution<'a>(
        &'a self,
        folder: &'a Utf8Path,
        timeout: Duration,
        interrupt: &'a Interrupt,
    ) -> Execution<'a> {
        let on_gpu = self.execution(0, &CounterSetup::NotNeeded, interrupt);
        let process = HarnessProcess {
            emulator_folder: Some(folder),
            device: None,
            timeout,
            ..on_gpu.process
        };
        let (cupti, attributes, profiler) = Default::default();
        Execution { process, emulated: true, verify: false, cupti, attributes, profiler, ..on_gpu }
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
                chip: devices.chips.get(at).copied(),
                timeout: Duration::from_secs(settings.timeout.value.into()),
                captures: !inputs.request.no_capture,
                estimates: settings.estimate.value,
                nvtx: self.nvtx.as_deref(),
                ..HarnessProcess::for_query(&self.passes, interrupt)
            },
            modules: &self.modules,
            emulated: devices.emulated,
            architecture: devices.architecture(at),
            links: self.plan.asks(Catalogue::needs_links),
            unified_memory: self.plan.asks(Catalogue::needs_unified_memory),
            attributes: self.plan.attributes(),
            repeat: *repeat,
            ahead: match inputs.request.no_capture {
                // Their outputs would be mixed.
                true => Ahead::NONE,
                false => Ahead::on(device, settings.ahead.value.map(Into::into))
                    .shared_by(devices.several_chips().len()),
            },
            checks: settings.check.given().copied(),
            verify: settings.verify.value,
            sampling: Sampling {
                cold_cache: match settings.cache_control.value {
                    CacheControl::All => true,
                    CacheControl::None => false,
                },
                nvml: settings.nvml_path(&inputs.source.root()).map(Into::into),
                ..sampling(inputs.request.purpose)
            },
            cupti: settings.cupti_path(&inputs.source.root()).map(Into::into),
            range: settings.range.value,
            nvtx: settings.nvtx.value.clone(),
            counters: setup.counters().cloned(),
            profiler: device.and_then(shared_profiler::path),
        }
    }
}

/// How a run for `purpose` takes its samples. The end-to-end tests shorten the warm-up: the clocks
/// of a fake GPU do not rise.
fn sampling(purpose: Purpose) -> Sampling {
    let sampling = match purpose {
        Purpose::Quick => Sampling::quick(),
        Purpose::Profile | Purpose::Noise | Purpose::Check => Sampling::default(),
    };
    let shorter = env::var("__GPUPROF_MIN_WARM_UP_NS")
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Nanoseconds);
    Sampling { min_warmup_ns: shorter.unwrap_or(sampling.min_warmup_ns), ..sampling }
}
