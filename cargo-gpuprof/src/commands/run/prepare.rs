//! From the command line to a run that is ready to be measured.
//!
//! Input: the options. Output: [`Prepared`], in steps that each refuse what would end badly before
//! it costs anything: paths and settings first, then the harnesses and their series, the devices,
//! their counters, and last the kernels.

use std::mem;

use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Class, Direction};
use gpuprof_model::run::{Run, SCHEMA_VERSION, SectionColumns};
use gpuprof_model::threshold::Threshold;

use super::base::{self, Base};
use super::counters::{self, CounterSetup, Known};
use super::devices::Devices;
use super::exports::Exports;
use super::inputs::{Checked, Inputs};
use super::prepared::{Plan, Prepared};
use super::refusal::Blocked;
use super::sides::Both;
use super::stopwatch::Stopwatch;
use super::{against, kernels, provenance, refusal, resume_key, slice, slicing};
use crate::chips::expanded;
use crate::commands::selection::selection;
use crate::commands::settings::{Layers, Origin, Settings, build_options, gate};
use crate::commands::source::Kernels;
use crate::commands::{Opened, Source, Wanted};
use crate::commands::{thresholds, viewed};
use crate::options::{BuildOptions, ClockControl, Interleave, Purpose, Repeats, RunOptions};
use crate::rules;
use crate::sections::chip_of;
use gpuprof_analysis::gate::run::Gate;
use gpuprof_analysis::sequential::{LOOKS, Most};
use gpuprof_analysis::view::View;
use gpuprof_engine::device::{Hold, Terms};
use gpuprof_engine::discover;
use gpuprof_engine::emulator::emulator_folder;
use gpuprof_engine::execute::{HarnessProcess, SideModules};
use gpuprof_engine::plan::{self, PlannedSeries, Side};
use gpuprof_engine::store::baseline::Baselines;
use gpuprof_engine::store::plans::Plans;
use gpuprof_engine::store::{RunFolder, document};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// Why noise is not asked of the emulated driver.
pub(in crate::commands) const NO_NOISE: &str = "calibrate measures noise, and the emulated driver has none: its counts are exact, and no \
     tolerance is needed; run it on a machine with a GPU";

/// What the run is made of, before anything is asked of a harness.
///
/// # Errors
/// Malformed options, files that cannot be written, configuration file, build, baseline.
pub(super) fn inputs(options: &RunOptions, interrupt: &Interrupt) -> Result<Inputs> {
    base::check(options)?;
    slice::check(options)?;
    let opened = open(options)?;
    let layers = Layers::new(&opened.config, options.configuration.preset.as_deref())?;
    let settings = Settings::new(options, &layers);
    let view = viewed::placed(&options.view, &layers)?;
    let is_slice = slice::wanted(options).is_some();
    let gate = Gate { gated: settings.gate.value && !is_slice, ..settings.gate() };
    let exports = Exports::open(&settings, gate, opened.root())?;
    let build = BuildOptions {
        kernel_arch: settings.kernel_arch.value.clone(),
        ..build_options(&options.cargo, settings.quiet.value, &layers)
    };
    let (unpacked, mut source) = opened.build(build.clone())?;
    let mut base = Base::open(options, &settings, &build, &source)?;
    let folder = match &options.gate.resume {
        _ if is_slice => RunFolder::of_slice()?,
        None => RunFolder::create(&source.target_directory)?,
        Some(text) => {
            let path = document::resumable(&source.target_directory, text)?;
            RunFolder::reopen(&path, options.patience(), interrupt)?
        }
    };
    folder.copy_harnesses(Side::Head, &mut source.harnesses)?;
    if let Some(base) = &mut base {
        folder.copy_harnesses(Side::Base, &mut base.source.harnesses)?;
    }
    let baselines = Baselines::new(&source.root(), &source.target_directory);
    let save_to = match &options.gate.save_baseline {
        Some(name) => Some((name.clone(), baselines.place_of_run(name)?)),
        None => None,
    };
    let against = match base {
        _ if is_slice => None,
        Some(_) => None,
        None if !options.purpose.judges() => None,
        None => against::read(options, &settings, &baselines, &source)?,
    };
    Ok(Inputs {
        view,
        gate,
        exports,
        source,
        _unpacked: unpacked,
        folder,
        layers,
        settings,
        against,
        base,
        save_to,
        slice: None,
    })
}

/// The series that are measured, with what they are judged by, and notes on what both sides of a
/// comparison share. Of a slice, which has its folder from here on, that is a part of the whole
/// plan, and perhaps none.
///
/// # Errors
/// Discovery and selection; sections and views that are not there; the folder of the slice.
pub(super) fn series(
    options: &RunOptions,
    inputs: &mut Inputs,
    interrupt: &Interrupt,
) -> Result<(Vec<Checked>, Vec<String>)> {
    let passes = inputs.folder.passes();
    let probe = HarnessProcess::asked(&passes, interrupt);
    let Inputs { source, settings, view, .. } = &*inputs;
    let sections = source.sections()?;
    let chosen = sections.choose(&settings.sets.value, &settings.sections.value, None);
    chosen.map_err(|failure| settings.sections.blamed(failure))?;
    let (checked, notes) = selected(options, inputs, &probe, sections.catalogue())?;
    let axes: Vec<_> = checked.iter().map(|c| c.planned.series.space.types()).collect();
    view.check(sections.catalogue(), &axes)?;
    let (checked, slice) = slicing::cut(options, inputs, checked)?;
    inputs.slice = slice;
    slicing::place(options, inputs, interrupt)?;
    Ok((checked, notes))
}

/// The plan of the series `checked`, and the devices held for it: from here on they are this run's
/// alone.
///
/// # Errors
/// Sections and devices that are not there; devices that another run holds; counters that the chip
/// does not have.
pub(super) fn plan<'o>(
    options: &'o RunOptions,
    (inputs, mut checked, notes): (Inputs, Vec<Checked>, Vec<String>),
    (interrupt, watch): (&Interrupt, &mut Stopwatch),
) -> Result<(Plan<'o>, Vec<Hold>)> {
    let passes = inputs.folder.passes();
    let probe = HarnessProcess::asked(&passes, interrupt);
    let Inputs { source, settings, view, .. } = &inputs;
    let sections = source.sections()?;
    let choose = |chip| {
        let chosen = sections.choose(&settings.sets.value, &settings.sections.value, chip);
        chosen.map_err(|failure| settings.sections.blamed(failure))
    };
    let mut devices = Devices::find(settings, &probe, &source.harnesses[0])?;
    refuse_without_times(&devices, options, &inputs)?;
    let counts: Vec<usize> = checked.iter().map(Checked::count).collect();
    let assignment = devices.assign(&counts, inputs.notes());
    let chip = devices.records.first().and_then(|d| chip_of(d.compute_capability));
    let chosen = choose(chip)?;
    let own_rules = inputs.source.rules(&inputs.settings.rules)?;
    let rules = rules::all(&own_rules, sections.catalogue())?;
    let advised = match inputs.settings.advice.value {
        true => rules::metrics(&rules, chip),
        false => Vec::new(),
    };
    let catalogue = chip.map_or_else(|| sections.catalogue().clone(), |c| sections.catalogue_on(c));
    complete(&mut checked, (&chosen, &advised, &view.view), chip)?;
    if devices.emulated {
        counters::check_names(&checked, &view.view, &catalogue)?;
    }
    let plans = Plans::new(&source.target_directory);
    let holds = watch.locks(|| hold(&devices, (&inputs, options), interrupt))?;
    let setups = setups((&checked, &catalogue), (&inputs, options), &devices, &plans, &probe)?;
    // Counts are exact: no drift can pick a winner among them.
    let order = if devices.emulated { Interleave::None } else { settings.interleave.value };
    let limited = limited((&checked, &catalogue), (&inputs, options));
    let (repeat, most_rounds) = processes(&inputs, devices.emulated, limited.contains(&true));
    let both = both(&inputs, options, checked, &probe)?;
    let notes = [notes, told(both.thresholds_gone())].concat();
    let plan = Plan {
        assignment: assignment.with_partners(&both.pairs, &both.counts()),
        both,
        options,
        inputs,
        catalogue,
        own_rules,
        rules,
        devices,
        setups,
        plans,
        order,
        repeat,
        most_rounds,
        limited,
        notes,
    };
    Ok((plan, holds))
}

/// `notes`, each of which is said.
fn told(notes: Vec<String>) -> Vec<String> {
    notes.iter().for_each(console::say);
    notes
}

/// Nothing that asks for times runs on the emulated driver, which has none.
fn refuse_without_times(devices: &Devices, options: &RunOptions, inputs: &Inputs) -> Result<()> {
    if devices.emulated && options.purpose.needs_times() {
        inputs.folder.discard();
        return Err(Failure::new(ExitCode::NotPossible, NO_NOISE));
    }
    Ok(())
}

/// Gives each series what follows from the chip and the view: sections, what rules read, columns.
fn complete(
    checked: &mut [Checked],
    (chosen, advised, view): (&[SectionColumns], &[String], &View),
    chip: Option<&str>,
) -> Result<()> {
    for series in checked {
        series.sections = chosen.to_vec();
        series.advice = advised.to_vec();
        series.viewed = view.names().map(str::to_owned).collect();
        series.columns = expanded(mem::take(&mut series.columns), chip)?;
    }
    Ok(())
}

/// The series that `options` select, and what is told of both sides of a comparison.
///
/// # Errors
/// Discovery, selection, thresholds.
fn selected(
    options: &RunOptions,
    inputs: &Inputs,
    probe: &HarnessProcess<'_>,
    catalogue: &Catalogue,
) -> Result<(Vec<Checked>, Vec<String>)> {
    let Inputs { layers, source, base, .. } = inputs;
    let (planned, mut notes) = select(options, (layers, source), probe, base.is_some())?;
    notes.extend(shared_by_both(inputs)?);
    notes.iter().for_each(console::say);
    let checked = planned.into_iter().map(|planned| check(catalogue, planned, layers, options));
    Ok((checked.collect::<Result<Vec<_>>>()?, notes))
}

/// What both sides of a comparison share, so that no difference between them tells it: the built-in
/// metrics that this revision's files turn, and that nothing is verified or gated.
///
/// # Errors
/// A file of a section.
fn shared_by_both(inputs: &Inputs) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    if inputs.base.is_some() {
        let sections = inputs.source.sections()?;
        let told = |(name, direction, file): (&str, Direction, &str)| {
            format!("direction of {name} set in {file}: {}", direction.words())
        };
        notes.extend(sections.catalogue().turned().map(told));
    }
    let compares = inputs.base.is_some() || inputs.against.is_some();
    if compares && !inputs.settings.verify.value {
        notes.push(UNVERIFIED.to_owned());
    }
    let gate = &inputs.settings.gate;
    if compares && !gate.value && !gate.on_command_line() && inputs.slice.is_none() {
        notes.push(UNGATED.to_owned());
    }
    Ok(notes)
}

/// What is said of `--no-verify` where two sides are compared.
const UNVERIFIED: &str = "no result is compared with a reference (--no-verify), and a wrong one \
                          may be the faster one";

/// What is said where the configuration or the environment takes the gate away.
const UNGATED: &str =
    "no threshold decides the exit code: `gate` is false (show-config says where)";

/// Of each series: whether what limits on numbers leave open of it is measured further. The run is
/// gated then, and one of them speaks of a noisy metric.
fn limited(
    (checked, catalogue): (&[Checked], &Catalogue),
    (inputs, options): (&Inputs, &RunOptions),
) -> Vec<bool> {
    let noisy = |threshold: &Threshold| {
        !threshold.needs_baseline()
            && catalogue.find(&threshold.metric).is_some_and(|m| m.class == Class::Noisy)
    };
    let gated = inputs.settings.gate.value && !options.purpose.needs_times();
    let any = |series: &Checked| series.thresholds.iter().any(|placed| noisy(&placed.threshold));
    checked.iter().map(|series| gated && any(series)).collect()
}

/// How many processes time each configuration, and how many may time one that a look leaves open,
/// where limits on numbers do or another revision is beside this one. Two revisions are decided at
/// looks, so there the first rounds go on to one.
fn processes(inputs: &Inputs, emulated: bool, limited: bool) -> (Repeats, Option<Most>) {
    let Settings { repeat, max_repeat, .. } = &inputs.settings;
    let most = max_repeat.value.map_or(Most::DEFAULT, |most| Most::exactly(most.get()));
    if emulated {
        return (Repeats::exactly(1), None);
    }
    if inputs.base.is_none() {
        let more = limited && most.of_one() > repeat.value.least;
        return (repeat.value, more.then_some(most));
    }
    let asked = if repeat.origin == Origin::Default { 0 } else { repeat.value.least };
    let look = LOOKS.into_iter().find(|&look| look >= asked).unwrap_or(asked);
    let least = look.min(most.of_one());
    (Repeats { least, most: repeat.value.most.max(least) }, Some(most))
}

/// The series of this revision, and those of the other one, if there is one.
fn both(
    inputs: &Inputs,
    options: &RunOptions,
    heads: Vec<Checked>,
    probe: &HarnessProcess<'_>,
) -> Result<Both> {
    let own = inputs.source.harnesses.clone();
    let Some(base) = &inputs.base else { return Ok(Both::alone(own, heads)) };
    let theirs = &base.source.harnesses;
    let described = discover::series(probe, theirs).map_err(|failure| base.blamed(failure))?;
    let selection = selection(&options.selection, &inputs.layers);
    let whole = inputs.slice.as_ref().map(|slice| &slice.whole);
    let joined = Both::join((own, heads), (theirs, described), &selection, whole);
    joined.map_err(|f| base.blamed(f))
}

/// Takes the devices, with their clocks.
fn hold(
    devices: &Devices,
    (inputs, options): (&Inputs, &RunOptions),
    interrupt: &Interrupt,
) -> Result<Vec<Hold>> {
    let Inputs { settings, source, .. } = inputs;
    let asked = settings.clock_control.value;
    if devices.emulated && asked != ClockControl::None {
        let text = "--clock-control has no effect: the emulated driver has no clocks";
        inputs.notes().say(text);
    }
    let nvml = settings.nvml_path(&source.root());
    let terms = Terms {
        clocks: if options.dry_run { ClockControl::None } else { asked },
        nvml: nvml.as_deref(),
        wait: settings.wait.value,
    };
    devices.hold(&terms, interrupt)
}

/// How each device collects the counters.
fn setups(
    (checked, catalogue): (&[Checked], &Catalogue),
    (inputs, options): (&Inputs, &RunOptions),
    devices: &Devices,
    plans: &Plans,
    probe: &HarnessProcess<'_>,
) -> Result<Vec<CounterSetup>> {
    let passes = inputs.folder.passes();
    let setup = |at: usize| {
        let Some(device) = devices.records.get(at) else { return Ok(CounterSetup::NotNeeded) };
        let folder = devices.folder(at, &passes)?;
        let process = HarnessProcess { folder: &folder, device: devices.visible(at), ..*probe };
        let chip = chip_of(device.compute_capability);
        let known = Known { device, chip, plans, catalogue };
        counters::plan(checked, inputs, options.dry_run, known, &process)
    };
    (0..devices.count()).map(setup).collect()
}

/// Refuses a plan with a threshold that no device of it could decide.
///
/// # Errors
/// There is one (exit code 107).
pub(super) fn check_counters(plan: &Plan<'_>) -> Result<(), Blocked> {
    let Plan { catalogue, setups, devices, assignment, inputs, .. } = plan;
    refusal::of_all(catalogue, plan.both.heads(), setups, devices, assignment, &inputs.settings)
}

/// The run, with its kernels built.
///
/// # Errors
/// Toolchain, build, files.
pub(super) fn build<'o>(plan: Plan<'o>, interrupt: &Interrupt) -> Result<Prepared<'o>> {
    let Inputs { source, folder, base, .. } = &plan.inputs;
    let kernels = kernels::of(&plan, source, Side::Head, interrupt)?;
    let of_base = match base {
        Some(base) => {
            kernels::of(&plan, &base.source, Side::Base, interrupt).map_err(|f| base.blamed(f))?
        }
        None => Kernels::default(),
    };
    let emulator = match plan.devices.emulated {
        true => Some(emulator_folder(&source.target_directory)?),
        false => None,
    };
    let counts = plan.setups.iter().any(|setup| setup.counters().is_some());
    let document = Run {
        schema_version: SCHEMA_VERSION,
        id: folder.id.clone(),
        provenance: provenance::of(&plan, &kernels, counts),
        series: Vec::new(),
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    };
    let base = base.as_ref().map(|base| Run {
        id: Run::base_id(&folder.id),
        provenance: provenance::of_base(&document.provenance, base, &of_base),
        series: plan.both.known.clone(),
        ..document.clone()
    });
    let made = resume_key::of(&plan, &document, base.as_ref());
    let passes = folder.passes();
    let built = |kernels: Kernels| SideModules {
        ptx: kernels.modules,
        declared: kernels.declared,
        resources: kernels.resources,
    };
    let modules = [(Side::Head, built(kernels)), (Side::Base, built(of_base))].into();
    Ok(Prepared { modules, emulator, document, base, made, passes, plan })
}

/// The harnesses, the layers of settings, and the series that `options` select.
///
/// # Errors
/// Build, configuration file, discovery, selection.
pub(in crate::commands) fn planned_for(
    options: &RunOptions,
    interrupt: &Interrupt,
) -> Result<(Source, Layers, Vec<PlannedSeries>)> {
    let opened = open(options)?;
    let layers = Layers::new(&opened.config, options.configuration.preset.as_deref())?;
    let quiet = layers.quiet(options.output.quiet()).value;
    let (unpacked, source) = opened.build(build_options(&options.cargo, quiet, &layers))?;
    let folder = unpacked.path();
    let process = HarnessProcess::asked(folder, interrupt);
    let planned = select(options, (&layers, &source), &process, false)?;
    Ok((source, layers, planned.0))
}

/// The workspace or the archive.
fn open(options: &RunOptions) -> Result<Opened> {
    Opened::new(&Wanted {
        archive: options.archive_file.as_deref(),
        extract_to: options.extract_to.as_deref(),
        cargo: &options.cargo,
        configuration: &options.configuration,
    })
}

/// The series that the options and `layers` select; where another revision is measured as well,
/// what the file of this one leaves out of both is told.
fn select(
    options: &RunOptions,
    (layers, source): (&Layers, &Source),
    process: &HarnessProcess<'_>,
    of_two: bool,
) -> Result<(Vec<PlannedSeries>, Vec<String>)> {
    let described = discover::series(process, &source.harnesses)?;
    if source.other_packages().is_empty() && options.cargo.bench.is_empty() {
        let keys = described.values().flatten().map(|s| s.id.to_string());
        let sentences = layers.tables_of_no_series(&keys.collect::<Vec<_>>());
        // Thresholds that nothing is held to are no pass.
        if !sentences.is_empty() && gate(&options.gate.judging, layers).strict {
            return Err(Failure::new(ExitCode::Configuration, sentences.join("\n")));
        }
        sentences.iter().for_each(console::say);
    }
    let mut selection = selection(&options.selection, layers);
    if options.purpose == Purpose::Check {
        // The configuration file samples measurements; a fault may be in any configuration.
        selection.sample = options.selection.sample.map(Into::into);
    }
    let flat = described.iter().flat_map(|(&h, all)| all.iter().map(move |s| (h, s.clone())));
    let planned = plan::plan(flat, &selection)?;
    let mut notes = Vec::new();
    if of_two {
        let sample = layers.sample(options.selection.sample);
        let sampled = match (&sample.origin, sample.value) {
            (Origin::Configuration(file), Some(count)) => {
                Some(format!("`sample = {count}` of {file}"))
            }
            _ => None,
        };
        let all = described.values().flatten();
        notes = plan::left_out(all, &planned, &selection, sampled.as_deref());
    }
    planned.iter().flat_map(|series| &series.unlisted).for_each(console::warn);
    Ok((planned, notes))
}

fn check(
    catalogue: &Catalogue,
    planned: PlannedSeries,
    layers: &Layers,
    options: &RunOptions,
) -> Result<Checked> {
    let thresholds = match options.purpose.judges() {
        true => thresholds::of(catalogue, &(&planned.series).into(), layers, &options.threshold)?,
        false => Vec::new(),
    };
    let columns = thresholds::columns(catalogue, &planned.series, layers, &options.metrics)?;
    Ok(Checked {
        planned,
        thresholds,
        columns,
        sections: Vec::new(),
        viewed: Vec::new(),
        advice: Vec::new(),
    })
}
