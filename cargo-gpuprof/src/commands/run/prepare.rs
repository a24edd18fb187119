//! From the command line to a run that is ready to be measured.
//!
//! Input: the options. Output: [`Prepared`], in steps that validate their inputs before expensive
//! work: paths and settings first, then the harnesses and their series, the devices, their
//! counters, and last the kernels.

pub(in crate::commands) mod devices;
pub(in crate::commands) mod inputs;
pub(in crate::commands) mod kernels;
pub(in crate::commands) mod other_revision;
pub(in crate::commands) mod prepared;
pub(in crate::commands) mod provenance;
pub(in crate::commands) mod request;
pub(in crate::commands) mod run_identity;
pub(in crate::commands) mod scheduler;
pub(in crate::commands) mod selected;
pub(in crate::commands) mod slice;

use std::mem;
use std::time::SystemTime;

use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Class};
use gpuprof_model::protocol::{CounterRange, SeriesDescription};
use gpuprof_model::run::{Run, SectionColumns};
use gpuprof_model::threshold::Threshold;

use super::baseline::selected_baseline;
use super::counters::{self, CounterSetup, Known};
use crate::commands::run::output::exports::Exports;
use crate::commands::run::prepare::devices::Devices;
use crate::commands::run::prepare::inputs::{Chosen, Inputs};
use crate::commands::run::prepare::prepared::{Plan, Prepared};
use crate::commands::run::prepare::request::Request;
use crate::commands::run::prepare::selected::selected;
use crate::commands::settings::{Layers, Origin, Settings};
use crate::commands::stored::places;
use crate::commands::{Opened, Source, view_settings};
use crate::options::{CargoRequest, ClockControl, Interleave, PlaceOptions, Repeats};
use gpuprof_analysis::gate::outcome::Gate;
use gpuprof_analysis::sequential::{LOOKS, Most};
use gpuprof_analysis::view::View;
use gpuprof_build::built_kernels::Kernels;
use gpuprof_catalogue::chips::expanded;
use gpuprof_catalogue::rules;
use gpuprof_catalogue::sections::chip_of;
use gpuprof_engine::device::{Hold, HoldRequest};
use gpuprof_engine::emulator::{emulator_folder, nvtx_library};
use gpuprof_engine::execute::{HarnessProcess, SideModules};
use gpuprof_engine::passes::Stopwatch;
use gpuprof_engine::plan::{self, Both, Checked, Selection, Side};
use gpuprof_engine::store::baselines::Baselines;
use gpuprof_engine::store::plans::Plans;
use gpuprof_engine::store::{RunFolder, document};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use other_revision::OtherRevision;

/// Why noise is not asked of the emulated driver.
pub(in crate::commands) const NO_NOISE: &str = "calibrate measures noise, and the emulated driver has none: its counts are exact, and no \
     tolerance is needed; run it on a machine with a GPU";

/// The inputs of the run, before any harness is asked.
///
/// # Errors
/// Malformed options, files that cannot be written, configuration file, build, baseline.
pub(super) fn inputs(request: Request, interrupt: &Interrupt) -> Result<Inputs> {
    other_revision::check(&request)?;
    slice::check(&request)?;
    request.named.check()?;
    let forget = |_: &Failure| forget_last_verdict(&request);
    let opened = Opened::new(&request.wanted).inspect_err(forget)?;
    let layers = Layers::new(&opened.config, request.preset.as_deref()).inspect_err(forget)?;
    let settings = Settings::new(request.given.clone(), &layers);
    let view = view_settings::placed(&settings, request.all, request.wanted.cargo.verbose);
    let view = view.inspect_err(forget)?;
    let slice = request.slice.is_some();
    let exports = Exports::open(&settings, opened.root()).inspect_err(forget)?;
    let build = settings.build_options(request.wanted.cargo.clone());
    if !slice && !request.dry_run {
        RunFolder::remove_last_verdict(&opened.stored(&build));
    }
    let (unpacked, mut source) = opened.build(build.clone())?;
    let OtherRevision { built: mut base, without_harness } =
        OtherRevision::open(&request, &settings, &build, &source)?;
    let folder = folder(&request, &source, interrupt)?;
    folder.copy_harnesses(Side::Head, &mut source.harnesses)?;
    if let Some(base) = &mut base {
        folder.copy_harnesses(Side::Base, &mut base.source.harnesses)?;
    }
    let baselines = Baselines::new(&source.root(), &source.stored);
    let save_to = request.save_baseline.as_ref();
    let save_to =
        save_to.map(|name| Ok((name.clone(), baselines.place_of_run(name)?))).transpose()?;
    // Without a counterpart, thresholds relative to it do not count yet.
    let makes_first = save_to.is_some() || without_harness.is_some();
    let against = match without_harness {
        _ if slice || base.is_some() => None,
        Some(lacking) => Some(selected_baseline::absent(lacking, &request, &settings, &source)),
        None if !request.purpose.judges() => None,
        None => selected_baseline::read(&request, &settings, &baselines, &source)?,
    };
    let first = makes_first && against.as_ref().is_none_or(|against| against.run.is_err());
    let gated = settings.gate.value && !slice;
    let gate = Gate { gated, slice, first: first && base.is_none(), ..settings.gate() };
    Ok(Inputs {
        request,
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

/// The folder of the run, or a temporary one for a slice.
fn folder(request: &Request, source: &Source, interrupt: &Interrupt) -> Result<RunFolder> {
    match &request.resume {
        _ if request.slice.is_some() => RunFolder::of_slice(),
        None => RunFolder::create(&source.stored),
        Some(text) => {
            let path = document::resumable(&source.stored, text)?;
            RunFolder::reopen(&path, request.patience, interrupt)
        }
    }
}

/// Removes the last run's verdict if `request`, which cannot begin, would have replaced it.
fn forget_last_verdict(request: &Request) {
    let CargoRequest { manifest_path, target_dir, .. } = request.wanted.cargo.clone();
    if request.slice.is_some() || request.dry_run {
        return;
    }
    let stored = match request.wanted.archive {
        Some(_) => target_dir.unwrap_or_else(|| "target".into()),
        None => places(&PlaceOptions { manifest_path, target_dir }).1,
    };
    RunFolder::remove_last_verdict(&stored);
}

/// The measured series, with their thresholds. For a slice, which has its folder from here on, that
/// is a part of the whole plan, and perhaps empty.
///
/// # Errors
/// Discovery and selection; sections and views that are not there; the folder of the slice.
pub(super) fn series(inputs: &mut Inputs, interrupt: &Interrupt) -> Result<Chosen> {
    let passes = inputs.folder.passes();
    let probe = HarnessProcess::for_query(&passes, interrupt);
    let Inputs { source, settings, .. } = &*inputs;
    let sections = source.sections()?;
    settings.choose_sections(&sections, None)?;
    let chosen = selected(inputs, &probe, sections)?;
    if let Some(against) = &mut inputs.against {
        against.name_as(&chosen.described);
    }
    let Inputs { view, .. } = &*inputs;
    let axes: Vec<_> = chosen.checked.iter().map(|c| c.planned.series.space.types()).collect();
    view.check(chosen.sections.catalogue(), &axes)?;
    let (checked, slice) = slice::cut(inputs, chosen.checked)?;
    inputs.slice = slice;
    slice::place(inputs, interrupt)?;
    Ok(Chosen { checked, ..chosen })
}

/// The plan of the series `checked`, and the devices held for it: from here on they are this run's
/// alone.
///
/// # Errors
/// Sections and devices that are not there; devices that another run holds; counters that the chip
/// does not have.
pub(super) fn plan(
    inputs: Inputs,
    chosen: Chosen,
    interrupt: &Interrupt,
    watch: &mut Stopwatch,
) -> Result<(Plan, Vec<Hold>)> {
    let passes = inputs.folder.passes();
    let probe = HarnessProcess::for_query(&passes, interrupt);
    let Chosen { described, selection, checked, sections, notes } = chosen;
    let Inputs { source, settings, view, .. } = &inputs;
    let mut devices = Devices::find(settings, &probe, &source.harnesses[0])?;
    let mut checked = on_chips(checked, &devices, inputs.slice.is_some())?;
    refuse_without_times(&devices, &inputs)?;
    refuse_other_devices(&devices, &inputs)?;
    let counts: Vec<usize> = checked.iter().map(Checked::count).collect();
    let assignment = devices.assign(&counts, inputs.notes());
    let chip = devices.records.first().and_then(|d| chip_of(d.compute_capability));
    let chosen = settings.choose_sections(&sections, chip)?;
    let own_rules = inputs.source.rules(&inputs.settings.rules)?;
    let rules = rules::all(&own_rules, sections.catalogue())?;
    let advised = match inputs.settings.advice.value {
        true => rules::metrics(&rules, chip),
        false => Vec::new(),
    };
    let catalogue = chip.map_or_else(|| sections.catalogue().clone(), |c| sections.catalogue_on(c));
    complete(&mut checked, &chosen, &advised, &view.view, chip)?;
    if devices.emulated {
        counters::check_names(&checked, &view.view, &catalogue)?;
    }
    let plans = Plans::new(&source.target_directory);
    note_options_of_functions(&checked, &inputs);
    let holds = watch.locks(|| hold(&devices, &inputs, interrupt))?;
    let setups = setups((&checked, &catalogue), &inputs, &devices, &plans, &probe)?;
    // Counts are exact: no drift can pick a winner among them.
    let order = if devices.emulated { Interleave::None } else { settings.interleave.value };
    let limited = limited((&checked, &catalogue), &inputs);
    let (repeat, most_rounds) =
        processes(&inputs, counts.iter().sum(), devices.emulated, limited.contains(&true));
    let both = both(&inputs, &selection, &described, checked, &devices, &probe)?;
    let energy = |series: &Checked| series.asks(&catalogue, Catalogue::needs_energy);
    let plan = Plan {
        energy: both.checked.iter().map(energy).collect(),
        assignment: assignment.with_partners(&both.pairs, &both.counts()),
        both,
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

/// Each series on each of several chips, under a name for each chip.
///
/// # Errors
/// They are measured in slices (exit code 2).
fn on_chips(series: Vec<Checked>, devices: &Devices, in_slices: bool) -> Result<Vec<Checked>> {
    if in_slices && !devices.several_chips().is_empty() {
        return Err(Failure::usage(
            "a run on several chips cannot be divided into slices: name one chip with --chip",
        ));
    }
    let each = |series: Checked| {
        let ids = devices.names_of(&series.planned.series.id);
        ids.into_iter().map(move |id| {
            let mut own = series.clone();
            own.planned.series.id = id;
            own
        })
    };
    Ok(series.into_iter().flat_map(each).collect())
}

/// Nothing that asks for times runs on the emulated driver, which has none.
fn refuse_without_times(devices: &Devices, inputs: &Inputs) -> Result<()> {
    if devices.emulated && inputs.request.purpose.needs_times() {
        inputs.folder.discard();
        return Err(Failure::new(ExitCode::NotPossible, NO_NOISE));
    }
    Ok(())
}

/// Refuses devices if their names do not contain the expected text.
fn refuse_other_devices(devices: &Devices, inputs: &Inputs) -> Result<()> {
    let Some(expected) = &inputs.settings.expect_device.value else { return Ok(()) };
    let wanted = expected.to_lowercase();
    let other = devices.records.iter().find(|it| !it.name.to_lowercase().contains(&wanted));
    let found = match (devices.emulated, other) {
        (true, _) => "the emulated driver answers",
        (false, Some(device)) => &format!("the GPU is {}", device.name),
        (false, None) => return Ok(()),
    };
    inputs.folder.discard();
    let message = format!(
        "{found}, and the run expects `{expected}`: run it on such a GPU, or give another \
         --expect-device"
    );
    Err(Failure::new(ExitCode::NotPossible, message))
}

/// Adds to each series the data that depend on the chip and the view: sections, metrics of rules,
/// columns.
fn complete(
    checked: &mut [Checked],
    chosen: &[SectionColumns],
    advised: &[String],
    view: &View,
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

/// For each series: whether configurations that absolute limits leave open are measured further.
/// That is so in a gated run, if such a limit is on a noisy metric.
fn limited((checked, catalogue): (&[Checked], &Catalogue), inputs: &Inputs) -> Vec<bool> {
    let noisy = |threshold: &Threshold| {
        !threshold.needs_baseline()
            && catalogue.find(&threshold.metric).is_some_and(|m| m.class == Class::Noisy)
    };
    let gated = inputs.settings.gate.value && !inputs.request.purpose.needs_times();
    let any = |series: &Checked| series.thresholds.iter().any(|placed| noisy(&placed.threshold));
    checked.iter().map(|series| gated && any(series)).collect()
}

/// How many processes time each of so many `configurations`, and how many at most if a look leaves
/// it open, for absolute limits (`limited`) or next to another revision. A stored baseline cannot
/// grow, so both sides of a comparison with one have more by default. Two revisions are decided at
/// looks, so there the first rounds go on to one.
fn processes(
    inputs: &Inputs,
    configurations: usize,
    emulated: bool,
    limited: bool,
) -> (Repeats, Option<Most>) {
    let Settings { repeat, max_repeat, .. } = &inputs.settings;
    let most = max_repeat.value.map_or(Most::DEFAULT, |most| Most::exactly(most.get()));
    let is_default = repeat.origin == Origin::Default;
    if emulated {
        return (Repeats::exactly(1), None);
    }
    if inputs.base.is_none() {
        let stored = inputs.against.is_some() || inputs.save_to.is_some();
        let default = (is_default && stored).then(|| Repeats::stored(configurations));
        let asked = default.unwrap_or(repeat.value);
        let more = limited && most.single_limit() > asked.least;
        return (asked, more.then_some(most));
    }
    let asked = if is_default { 0 } else { repeat.value.least };
    let look = LOOKS.into_iter().find(|&look| look >= asked).unwrap_or(asked);
    let least = look.min(most.single_limit());
    (Repeats { least, most: repeat.value.most.max(least) }, Some(most))
}

/// The series of this revision, and those of the other one, if there is one.
fn both(
    inputs: &Inputs,
    selection: &Selection,
    known: &[SeriesDescription],
    heads: Vec<Checked>,
    devices: &Devices,
    probe: &HarnessProcess<'_>,
) -> Result<Both> {
    let own = inputs.source.harnesses.clone();
    let Some(base) = &inputs.base else { return Ok(Both::alone(own, heads)) };
    let theirs = &base.source.harnesses;
    let mut described = base.source.series(probe).map_err(|failure| base.blamed(failure))?;
    plan::name_as(&mut described, known, !inputs.source.bench_targets().is_empty());
    let on_chips = |series: SeriesDescription| {
        let ids = devices.names_of(&series.id).into_iter();
        ids.map(move |id| SeriesDescription { id, ..series.clone() })
    };
    let described = described
        .into_iter()
        .map(|(harness, all)| (harness, all.into_iter().flat_map(on_chips).collect()))
        .collect();
    let whole = inputs.slice.as_ref().map(|slice| &slice.whole);
    let joined = Both::join(own, heads, theirs, described, selection, whole);
    joined.map_err(|f| base.blamed(f))
}

/// Says which options have no effect if no series is a function.
fn note_options_of_functions(checked: &[Checked], inputs: &Inputs) {
    let settings = &inputs.settings;
    if !checked.iter().all(|series| series.planned.series.is_kernel()) {
        return;
    }
    let options = [
        ("--nvtx", !settings.nvtx.value.is_empty()),
        ("--range", settings.range.value != CounterRange::Auto),
    ];
    for (option, _) in options.into_iter().filter(|(_, given)| *given) {
        inputs.notes().say(format_args!(
            "{option} has no effect: every series is an annotated kernel, which is one launch"
        ));
    }
}

/// Takes the devices, with their clocks.
fn hold(devices: &Devices, inputs: &Inputs, interrupt: &Interrupt) -> Result<Vec<Hold>> {
    let Inputs { settings, source, .. } = inputs;
    let asked = settings.clock_control.value;
    if devices.emulated && asked != ClockControl::None {
        let text = "--clock-control has no effect: the emulated driver has no clocks";
        inputs.notes().say(text);
    }
    let nvml = settings.nvml_path(&source.root());
    let terms = HoldRequest {
        clocks: if inputs.request.dry_run { ClockControl::None } else { asked },
        nvml: nvml.as_deref(),
        wait: settings.wait.value,
    };
    devices.hold(&terms, interrupt)
}

/// How each device collects the counters.
fn setups(
    (checked, catalogue): (&[Checked], &Catalogue),
    inputs: &Inputs,
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
        counters::plan(checked, inputs, inputs.request.dry_run, known, &process)
    };
    (0..devices.count()).map(setup).collect()
}

/// The run, with its kernels built.
///
/// # Errors
/// Toolchain, build, files.
pub(super) fn build(plan: Plan, interrupt: &Interrupt) -> Result<Prepared> {
    let Inputs { source, folder, base, .. } = &plan.inputs;
    let kernels = kernels::build(&plan, source, Side::Head, interrupt)?;
    let of_base = match base {
        Some(base) => kernels::build(&plan, &base.source, Side::Base, interrupt)
            .map_err(|f| base.blamed(f))?,
        None => Kernels::default(),
    };
    let emulator = match plan.devices.emulated {
        true => Some(emulator_folder(&source.target_directory)?),
        false => None,
    };
    let nvtx = match plan.inputs.settings.nvtx.value.is_empty() {
        true => None,
        false => Some(nvtx_library(&source.target_directory)?),
    };
    let counts = plan.setups.iter().any(|setup| setup.counters().is_some());
    let provenance = provenance::record(&plan, &kernels, counts);
    let document = Run::unjudged(&folder.id, provenance, Vec::new());
    let base = base.as_ref().map(|base| {
        let provenance = provenance::of_base(&document.provenance, base, &of_base);
        Run::unjudged(Run::base_id(&folder.id), provenance, plan.both.known.clone())
    });
    let made = run_identity::compute(&plan, &document, base.as_ref());
    let passes = folder.passes();
    let built = |kernels: Kernels| SideModules {
        ptx: kernels.modules,
        declared: kernels.declared,
        assembled: kernels.assembled,
    };
    let modules = [(Side::Head, built(kernels)), (Side::Base, built(of_base))].into();
    let built = SystemTime::now();
    Ok(Prepared { modules, emulator, nvtx, document, base, made, passes, built, plan })
}
