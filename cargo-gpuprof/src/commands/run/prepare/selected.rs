//! From a request to its series.
//!
//! Input: the request, the layers of settings, and harnesses. Output: the series that are selected,
//! each with its thresholds and columns. No device is asked.

use gpuprof_model::metric::{Catalogue, SetDirection};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{ExitCode, SeriesId};

use crate::commands::range_note::find_old_ranges;
use crate::commands::run::prepare::inputs::{Chosen, Inputs};
use crate::commands::run::prepare::request::Request;
use crate::commands::selection::selection;
use crate::commands::settings::{Layers, Origin, Settings};
use crate::commands::thresholds::{self, Annotated};
use crate::commands::{Opened, Source};
use crate::options::Purpose;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::execute::HarnessProcess;
use gpuprof_engine::plan::{self, Checked, PlannedSeries, Selection};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The selected series, and the notes on both sides of a comparison.
///
/// # Errors
/// Discovery, selection, thresholds.
pub(in crate::commands) fn selected(
    inputs: &Inputs,
    probe: &HarnessProcess<'_>,
    sections: Sections,
) -> Result<Chosen> {
    let Inputs { request, layers, settings, source, base, .. } = inputs;
    let Selected { described, selection, planned } =
        select(request, layers, settings, source, probe)?;
    if let Some(why) = settings.verify.turned_off("verify") {
        console::say(format_args!("not verified: {why}"));
    }
    let mut notes = Vec::new();
    if base.is_some() {
        let sampled = match (&settings.sample.origin, settings.sample.value) {
            (Origin::Configuration(file), Some(count)) => {
                Some(format!("`sample = {count}` of {file}"))
            }
            _ => None,
        };
        notes = plan::left_out(&described, &planned, &selection, sampled.as_deref());
    }
    notes.extend(shared_by_both(inputs, sections.catalogue()));
    notes.iter().for_each(console::say);
    let check = |planned: PlannedSeries| {
        let annotated = described.iter().find(|series| series.id == planned.series.id);
        check(sections.catalogue(), planned, annotated, layers, request)
    };
    let checked = planned.into_iter().map(check).collect::<Result<Vec<_>>>()?;
    Ok(Chosen { described, selection, checked, sections, notes })
}

/// Notes on common properties of both sides, which no difference between them shows: the directions
/// of built-in metrics that this revision's files set, and that nothing is gated.
fn shared_by_both(inputs: &Inputs, catalogue: &Catalogue) -> Vec<String> {
    let mut notes = Vec::new();
    if inputs.base.is_some() {
        let note = |SetDirection { metric, direction, file }: SetDirection<'_>| {
            format!("direction of {metric} set in {file}: {}", direction.words())
        };
        notes.extend(catalogue.turned().map(note));
    }
    let compares = inputs.base.is_some() || inputs.against.is_some();
    let gate = &inputs.settings.gate;
    if compares && !gate.value && !gate.on_command_line() && inputs.slice.is_none() {
        notes.push(UNGATED.to_owned());
    }
    notes
}

/// What is said where the configuration or the environment takes the gate away.
const UNGATED: &str =
    "no threshold decides the exit code: `gate` is false (show-config says where)";

/// A request, as far as it can be planned without a device.
pub(in crate::commands) struct PlannedRequest {
    /// The harnesses.
    pub(in crate::commands) source: Source,
    /// The layers of settings.
    pub(in crate::commands) layers: Layers,
    /// The settings that result from them.
    pub(in crate::commands) settings: Settings,
    /// The series.
    pub(in crate::commands) series: Vec<PlannedSeries>,
}

/// Plans `request` without a device.
///
/// # Errors
/// Build, configuration file, discovery, selection.
pub(in crate::commands) fn planned_for(
    request: &Request,
    interrupt: &Interrupt,
) -> Result<PlannedRequest> {
    let opened = Opened::new(&request.wanted)?;
    let layers = Layers::new(&opened.config, request.preset.as_deref())?;
    let settings = Settings::new(request.given.clone(), &layers);
    let build = settings.build_options(request.wanted.cargo.clone());
    let (unpacked, source) = opened.build(build)?;
    let process = HarnessProcess::for_query(unpacked.path(), interrupt);
    let series = select(request, &layers, &settings, &source, &process)?.planned;
    Ok(PlannedRequest { source, layers, settings, series })
}

/// The series of a request.
struct Selected {
    /// All series of the harnesses.
    described: Vec<SeriesDescription>,
    /// The filters and clauses that select from them.
    selection: Selection,
    /// The selected series.
    planned: Vec<PlannedSeries>,
}

/// Selects the series of `request` from those of the harnesses.
fn select(
    request: &Request,
    layers: &Layers,
    settings: &Settings,
    source: &Source,
    process: &HarnessProcess<'_>,
) -> Result<Selected> {
    let described = source.describe(process)?;
    if source.other_packages().is_empty() && source.bench_targets().is_empty() {
        let ids: Vec<&SeriesId> = described.values().flatten().map(|series| &series.id).collect();
        let sentences = layers.tables_of_no_series(&ids);
        // A threshold that judges nothing is not a pass.
        if !sentences.is_empty() && settings.strict.value {
            return Err(Failure::new(ExitCode::Configuration, sentences.join("\n")));
        }
        sentences.iter().for_each(console::say);
    }
    let all = described.values().flatten();
    let mut selection = selection(&request.named, (layers, settings), all)?;
    // The configuration file samples measurements; a fault may be in any configuration.
    if request.purpose == Purpose::Check && !settings.sample.on_command_line() {
        selection.sample = None;
    }
    let flat = described.iter().flat_map(|(&h, all)| all.iter().map(move |s| (h, s.clone())));
    let planned = plan::plan(flat, &selection)?;
    planned.iter().flat_map(|series| &series.unlisted).for_each(console::warn);
    let old = find_old_ranges(&planned, &selection);
    old.iter().for_each(|note| settings.notes().say(note));
    let described = described.into_values().flatten().collect();
    Ok(Selected { described, selection, planned })
}

fn check(
    catalogue: &Catalogue,
    planned: PlannedSeries,
    annotated: Option<&SeriesDescription>,
    layers: &Layers,
    request: &Request,
) -> Result<Checked> {
    let mut series = Annotated::from(&planned.series);
    series.spaces.extend(annotated.map(|series| &series.space));
    let thresholds = match request.purpose.judges() {
        true => thresholds::collect(catalogue, &series, layers, &request.thresholds)?,
        false => Vec::new(),
    };
    let columns = thresholds::columns(catalogue, &planned.series, layers, &request.metrics)?;
    Ok(Checked {
        planned,
        thresholds,
        columns,
        sections: Vec::new(),
        viewed: Vec::new(),
        advice: Vec::new(),
    })
}
