//! `cargo gpuprof run`: builds, plans, executes, judges, reports, stores.

mod against;
mod backend;
mod counters;
mod devices;
mod dry_run;
mod exports;
mod finish;
mod loaded;
mod progress;
mod provenance;
mod refusal;
mod resume_key;
mod sweep;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::metric::{self, Metric};
use gpuprof_model::protocol::Sampling;
use gpuprof_model::run::{Run, SCHEMA_VERSION, SectionColumns};

use super::Source;
use super::selection::selection;
use super::settings::{Layers, Settings};
use super::thresholds::{self, Placed};
use crate::config::Config;
use crate::device::{Terms, profiler};
use crate::discover;
use crate::error::{Failure, Result};
use crate::execute::{Ahead, Execution, HarnessProcess, Interrupt};
use crate::options::Interleave;
use crate::options::Repeats;
use crate::options::{
    CacheControl, CargoOptions, ClockControl, MessageFormat, ReplayMode, RunOptions,
};
use crate::plan::{self, PlannedSeries};
use crate::report::json_lines::Event;
use crate::report::{Report, Shape, Table, Viewing};
use crate::sections::{Sections, chip_of};
use crate::store::baseline::Baselines;
use crate::store::journal::{self, Journal, Replayed};
use crate::store::plans::Plans;
use crate::store::{self, RunFolder, document};
use counters::{CounterSetup, Known};
use devices::Devices;
use exports::Exports;
use finish::Ending;
use gpuprof_analysis::gate::run::Gate;
use gpuprof_analysis::view::View;
use sweep::Sweep;

/// How standard output is shown.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    /// Whether to colour.
    pub colour: bool,
    /// Columns of the terminal, where it is one.
    pub width: Option<u16>,
}

/// Why noise is not asked of the emulated driver.
pub(super) const NO_NOISE: &str =
    "the emulated driver has no noise: its counts are exact, and no tolerance is needed";

/// A planned series with its thresholds and columns.
#[derive(Debug)]
struct Checked {
    planned: PlannedSeries,
    thresholds: Vec<Placed>,
    columns: Vec<String>,
    sections: Vec<SectionColumns>,
    viewed: Vec<String>,
}

impl Checked {
    /// Every metric that is shown or judged.
    fn asked(&self) -> impl Iterator<Item = &'static Metric> {
        let shown = self.columns.iter().chain(&self.viewed).chain(self.in_sections());
        shown
            .chain(self.thresholds.iter().map(|p| &p.threshold.metric))
            .filter_map(|n| metric::find(n))
    }

    fn in_sections(&self) -> impl Iterator<Item = &String> {
        self.sections.iter().flat_map(SectionColumns::names)
    }
}

/// Runs; the code says how it ended.
///
/// # Errors
/// Whatever keeps the run from starting or its results from being written.
pub fn run(
    options: &RunOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    profile(options, screen, interrupt, out).map(|(code, _)| code)
}

/// As [`run`], with the run; none with `--dry-run`.
///
/// # Errors
/// As [`run`].
pub fn profile(
    options: &RunOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<(ExitCode, Option<Run>)> {
    if let Some(name) = &options.gate.load_baseline {
        return loaded::run(name, options, screen, out);
    }
    let view = options.view.view()?;
    let exports = Exports::open(&options.output)?;
    let unpack_folder =
        tempfile::tempdir().map_err(|e| Failure::output(&std::env::temp_dir(), &e))?;
    let mut source = open_source(
        options,
        Utf8Path::from_path(unpack_folder.path()).expect("temporary paths are UTF-8"),
    )?;
    let folder = match &options.gate.resume {
        None => RunFolder::create(&source.target_directory)?,
        Some(text) => {
            let path = document::folder(&source.target_directory, text, journal::FILE)?;
            RunFolder::reopen(&path)?
        }
    };
    folder.copy_harnesses(&mut source.harnesses)?;
    let source = source;
    let passes = folder.passes();
    let probe = HarnessProcess::asked(&passes, interrupt);
    let layers = Layers::new(&source.config, options.gate.preset.as_deref())?;
    let settings = Settings::new(options, &layers);
    let baselines = Baselines::new(&source.root(), &source.target_directory);
    let save_to = match &options.gate.save_baseline {
        Some(name) => Some((name, baselines.place_of_run(name)?)),
        None => None,
    };
    let against = against::read(options, &settings, &baselines, &source)?;
    let sections = source.sections()?;
    let choose = |chip| {
        let chosen = sections.choose(&settings.sets.value, &settings.sections.value, chip);
        chosen.map_err(|failure| settings.sections.blamed(failure))
    };
    choose(None)?;
    let mut checked = plan(options, &probe, &source)?
        .into_iter()
        .map(|planned| check(planned, &layers, options))
        .collect::<Result<Vec<_>>>()?;
    check_view(&view, &checked)?;
    let mut devices = Devices::find(options, &settings.devices, &probe, &source.harnesses[0])?;
    let emulated = devices.emulated;
    if emulated && options.needs_times {
        folder.discard();
        return Err(Failure::new(ExitCode::NotJudged, NO_NOISE));
    }
    let counts: Vec<usize> = checked.iter().map(|c| c.planned.configurations.len()).collect();
    let spread = devices.spread(&counts, options.output.quiet);
    let devices = devices;
    let chip = devices.records.first().and_then(|d| chip_of(d.compute_capability));
    let chosen = choose(chip)?;
    for series in &mut checked {
        series.sections.clone_from(&chosen);
        series.viewed = view.names().map(str::to_owned).collect();
    }
    let plans = Plans::new(&source.target_directory);
    // Counts are exact: no drift can pick a winner among them.
    let order = if emulated { Interleave::None } else { settings.interleave.value };
    let repeat = if emulated { Repeats::exactly(1) } else { settings.repeat.value };
    if emulated && options.clock_control != ClockControl::None && !options.output.quiet {
        eprintln!("gpuprof: --clock-control does nothing here: the emulated driver has no clocks");
    }
    let nvml = &options.nvml_path;
    let terms = Terms {
        clocks: if options.dry_run { ClockControl::None } else { options.clock_control },
        nvml: nvml.as_deref(),
        wait: !options.no_wait,
    };
    // From here on the devices are this run's alone: planning counters opens a trial session.
    let holds = devices.hold(&terms, interrupt)?;
    let wanted = (options, &settings.max_passes);
    let setup = |at: usize| {
        let Some(device) = devices.records.get(at) else { return Ok(CounterSetup::NotNeeded) };
        let folder = devices.folder(at, &passes)?;
        let process = HarnessProcess { folder: &folder, device: devices.visible(at), ..probe };
        let known = Known { device, chip, plans: &plans };
        counters::plan(&checked, &view, wanted, known, &process, &source.harnesses[0])
    };
    let setups = (0..devices.count()).map(setup).collect::<Result<Vec<_>>>()?;
    let refused = refusal::of_all(&checked, &setups, &devices, &spread, options);
    if options.dry_run {
        let spread = (&spread, options.isolate);
        let mut text = dry_run::text(&checked, repeat, &devices, spread, &setups);
        if let Err(failure) = refused {
            text.push_str(&dry_run::refused(&failure));
        }
        out.write_all(text.as_bytes())
            .map_err(|e| Failure::output(Path::new("standard output"), &e))?;
        folder.discard();
        return Ok((ExitCode::Success, None));
    }
    refused?;
    let packages: BTreeSet<String> = checked
        .iter()
        .filter(|c| c.planned.series.device_function)
        .map(|c| c.planned.series.source_package.clone())
        .collect();
    let mut kernels = source.kernels(&packages, &options.kernels)?;
    folder.copy_kernels(&mut kernels.modules)?;
    let emulator =
        if emulated { Some(store::emulator_folder(&source.target_directory)?) } else { None };
    let timeout = settings.timeout.value;
    let execution = |(at, setup): (usize, &CounterSetup)| Execution {
        process: HarnessProcess {
            emulator_folder: emulator.as_deref(),
            device: devices.visible(at),
            timeout: Duration::from_secs(timeout.into()),
            ..probe
        },
        modules: &kernels.modules,
        emulated,
        repeat,
        ahead: Ahead::on(devices.records.get(at), options.ahead),
        verify: !options.no_verify,
        sampling: Sampling {
            cold_cache: options.cache_control.unwrap_or_default() == CacheControl::All,
            nvml: nvml.clone().map(Into::into),
            ..Sampling::default()
        },
        counters: setup.counters().cloned(),
        profiler: devices.records.get(at).and_then(profiler::shared),
    };
    let executions: Vec<Execution<'_>> = setups.iter().enumerate().map(execution).collect();
    let names = devices.names();
    let counts = setups.iter().any(|setup| setup.counters().is_some());
    let mut run = Run {
        schema_version: SCHEMA_VERSION,
        id: folder.id.clone(),
        provenance: provenance::of(&source, &kernels, &devices, options, (order, counts)),
        series: Vec::new(),
        comparison: None,
    };
    let mut counters: Vec<String> = Vec::new();
    for name in setups.iter().filter_map(CounterSetup::counters).flat_map(|c| c.metrics()) {
        if !counters.contains(name) {
            counters.push(name.clone());
        }
    }
    let made =
        resume_key::of(&run, &checked, &source, &devices.records, (repeat, counters.clone()));
    let (journal, replayed) = match &options.gate.resume {
        None => (Journal::begin(&folder.path, &made)?, Replayed::default()),
        Some(_) => {
            let (journal, replayed) = Journal::resume(&folder.path, &made)?;
            eprintln!("gpuprof: resuming {}: {} passes are done", folder.id, replayed.len());
            (journal, replayed)
        }
    };
    let json = options.output.message_format == MessageFormat::Json;
    let mut sweep = Sweep {
        checked: &checked,
        spread: &spread,
        executions: &executions,
        setups: &setups,
        names: &names,
        harnesses: &source.harnesses,
        json,
        quiet: options.output.quiet,
        against: against.as_ref(),
        order,
        isolate: options.isolate,
        view: &view,
        journal,
        replayed,
        discipline: counters::discipline(options),
        denied: vec![None; executions.len()],
        together: std::collections::BTreeMap::new(),
        retried: Vec::new(),
    };
    let swept = sweep.run(&mut run, out);
    drop(holds);
    for (denied, setup) in sweep.denied.iter().zip(&setups) {
        if let (Some(_), CounterSetup::Planned(planned)) = (denied, setup) {
            // The next run asks CUPTI again, and is told before it starts anything.
            plans.forget(&planned.key);
        }
    }
    run.comparison = against.as_ref().map(|against| against.comparison(&run));
    let gate = Gate { strict: settings.strict.value, gated: !options.gate.no_gate };
    let judged = gate.gated && options.replay_mode != ReplayMode::None;
    let mut denied = sweep.denied.iter().zip(&setups).enumerate().filter(|_| judged);
    let denied = denied.find_map(|(at, (found_out, setup))| {
        let (counters, reason) = setup.denied(found_out.as_deref())?;
        refusal::found_out(&run, &counters, &devices.blamed(at, reason))
    });
    let ending = Ending {
        folder: &folder,
        exports: &exports,
        gate,
        signal: interrupt.signal(),
        denied,
        quiet: options.output.quiet,
    };
    let code =
        ending.write(&run, swept, out, |code, out| show(&run, code, json, screen, &view, out))?;
    if let Some((name, path)) = save_to {
        against::save(name, &path, (&run, code), gate)?;
    }
    finish::prune(&source.target_directory, settings.keep_runs.value, options.output.quiet);
    Ok((code, Some(run)))
}

fn open_source(options: &RunOptions, unpack_folder: &Utf8Path) -> Result<Source> {
    // Definitions in the configuration file may use what our sections define.
    Sections::load(None)?;
    let load = |root: &Utf8Path| match options.no_config {
        true => Ok(Config::default()),
        false => Config::load(root, options.config_file.as_deref()),
    };
    match &options.archive_file {
        None => {
            let cargo = CargoOptions { quiet: options.output.quiet, ..options.cargo.clone() };
            Source::workspace(&cargo, load)
        }
        Some(file) => {
            let explicit = options.no_config || options.config_file.is_some();
            let config = if explicit { Some(load(Utf8Path::new("."))?) } else { None };
            Source::archive(file, options.extract_to.as_deref().unwrap_or(unpack_folder), config)
        }
    }
}

/// The harnesses and the series that `options` select.
///
/// # Errors
/// Build, configuration file, discovery, selection.
pub(super) fn planned_for(
    options: &RunOptions,
    interrupt: &Interrupt,
) -> Result<(Source, Vec<PlannedSeries>)> {
    let temporary = tempfile::tempdir().map_err(|e| Failure::output(&std::env::temp_dir(), &e))?;
    let folder = Utf8Path::from_path(temporary.path()).expect("temporary paths are UTF-8");
    let source = open_source(options, folder)?;
    let process = HarnessProcess::asked(folder, interrupt);
    let planned = plan(options, &process, &source)?;
    Ok((source, planned))
}

fn plan(
    options: &RunOptions,
    process: &HarnessProcess<'_>,
    source: &Source,
) -> Result<Vec<PlannedSeries>> {
    let described = discover::series(process, &source.harnesses)?;
    let layers = Layers::new(&source.config, options.gate.preset.as_deref())?;
    if source.other_packages().is_empty() && options.cargo.bench.is_empty() {
        let keys = described.values().flatten().map(|s| s.id.to_string());
        for sentence in layers.tables_of_no_series(&keys.collect::<Vec<_>>()) {
            eprintln!("gpuprof: {sentence}");
        }
    }
    let selection = selection(&options.selection, &source.config, layers.preset());
    let flat = described.into_iter().flat_map(|(h, all)| all.into_iter().map(move |s| (h, s)));
    plan::plan(flat, &selection)
}

fn check(planned: PlannedSeries, layers: &Layers, options: &RunOptions) -> Result<Checked> {
    let thresholds = thresholds::of(&(&planned.series).into(), layers, &options.threshold)?;
    let columns = thresholds::columns(&planned.series, layers, &options.metrics)?;
    Ok(Checked { planned, thresholds, columns, sections: Vec::new(), viewed: Vec::new() })
}

/// Refuses a view that speaks of what no series has, before anything runs.
fn check_view(view: &View, checked: &[Checked]) -> Result<()> {
    let axes: Vec<_> = checked.iter().flat_map(|c| c.planned.series.space.types()).collect();
    view.check(&axes).map_err(Failure::usage)?;
    let Some(filter) = &view.filter else { return Ok(()) };
    let wrong = |c: &Checked| c.planned.series.space.check_filter(filter).err();
    let errors: Vec<_> = checked.iter().map(wrong).collect();
    match errors.iter().flatten().next() {
        Some(error) if errors.iter().all(Option::is_some) => {
            Err(Failure::usage(error.render("--filter", filter.text())))
        }
        _ => Ok(()),
    }
}

fn show(
    run: &Run,
    code: ExitCode,
    json: bool,
    screen: Screen,
    view: &View,
    out: &mut impl Write,
) -> std::io::Result<()> {
    if json {
        return Event::run_finished(run, Some(code)).write(out);
    }
    let table = Table { colour: screen.colour, width: screen.width };
    Viewing { shape: Shape::Table(table), view }.write(run, out)
}
