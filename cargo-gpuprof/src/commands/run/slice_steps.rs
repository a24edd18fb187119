//! A run that measures one slice of a plan.
//!
//! Input: the whole plan, which every slice makes for itself, and the slice's number. Output: the
//! part of the plan that is measured here, and the slice's folder with its manifest, before the
//! first pass. A slice decides nothing: its thresholds are judged on its part, and `merge` judges
//! them over the whole.

use std::collections::HashMap;

use gpuprof_analysis::gate::baseline::Scope;
use gpuprof_model::ExitCode;
use gpuprof_model::run::{Provenance, Run, SCHEMA_VERSION, SliceRecord};

use super::decided::Prepared;
use super::inputs::{Checked, Inputs};
use super::slice::Slice;
use super::{against, scheduler};
use crate::commands::divide::{self, Costs, Own};
use crate::commands::thresholds::Placed;
use gpuprof_build::host::Harness;
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::schedule::partition::Slices;
use gpuprof_engine::store::journal::Start;
use gpuprof_engine::store::manifest::{
    Manifest, Outline, OutlineScope, OutlineSeries, OwnBase, OwnSeries, OwnThreshold, ranges,
};
use gpuprof_system::console;
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::sha256::{sha256, sha256_of};

/// The default folder of slices, below the target folder.
const FOLDER: &str = "gpuprof/slices";

/// Reduces the whole plan `checked` to the slice's part, if a slice is selected.
///
/// # Errors
/// As [`Costs::read`].
pub(super) fn cut(inputs: &Inputs, checked: Vec<Checked>) -> Result<(Vec<Checked>, Option<Slice>)> {
    let Some(partition) = inputs.request.slice else { return Ok((checked, None)) };
    let Inputs { request, source, .. } = inputs;
    let (by, named) = (request.partition_by, request.partition_costs.as_deref());
    let places = (&*source.root(), &*source.stored);
    let planned = || checked.iter().map(|c| &c.planned);
    let costs = Costs::read(named, partition.method, places, planned())?;
    let slices = divide::slices(planned(), partition, by, costs.as_ref());
    let own = divide::own(&slices, checked.len(), partition);
    costs
        .iter()
        .for_each(|costs| inputs.notes().say(costs.describe_slice(partition, &own, planned())));
    let harnesses = inputs.source.harnesses.iter().map(|harness| ("", harness));
    let of_base = inputs.base.iter().flat_map(|base| &base.source.harnesses);
    let hash = |(side, harness): (&str, &Harness)| {
        let key = format!("{side}{}::{}", harness.package, harness.target);
        (key, sha256_of(&harness.executable).unwrap_or_default())
    };
    let outline = Outline {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        method: partition.method,
        unit: by,
        slices: partition.of.get(),
        settings: inputs.settings.texts_of_measurement(),
        harnesses: harnesses.chain(of_base.map(|h| ("base/", h))).map(hash).collect(),
        base: inputs.base.as_ref().map(|base| base.name.clone()),
        scope: scope(inputs),
        series: outlined(&checked, &slices, costs.as_ref()),
    };
    let configurations = |c: &Checked| {
        (c.planned.series.id.to_string(), c.planned.configurations.iter().cloned().collect())
    };
    let whole = match inputs.base {
        Some(_) => checked.iter().map(configurations).collect(),
        None => HashMap::new(),
    };
    let is_declared = |planned: &&PlannedSeries| {
        planned.series.declared.is_some() || !planned.series.declared_launches.is_empty()
    };
    let declared = planned().filter(is_declared).cloned().collect();
    let mut all: Vec<Option<Checked>> = checked.into_iter().map(Some).collect();
    let here = |own: &Own| {
        let mut checked = all[own.series].take()?;
        divide::keep(&mut checked.planned, own);
        Some(checked)
    };
    let here = own.iter().filter_map(here).collect();
    Ok((here, Some(Slice { partition, outline, own, declared, whole })))
}

fn scope(inputs: &Inputs) -> OutlineScope {
    let Scope { whole, filters, other_packages, targets } =
        against::scope(&inputs.request, &inputs.source);
    OutlineScope { whole, filters, other_packages, targets }
}

fn outlined(checked: &[Checked], slices: &Slices, costs: Option<&Costs>) -> Vec<OutlineSeries> {
    let outlined = |(at, checked): (usize, &Checked)| {
        let cost = costs.map(|costs| costs.of_each(&checked.planned.series.id.to_string()));
        OutlineSeries { cost, ..outlined_alone(at, checked, slices) }
    };
    checked.iter().enumerate().map(outlined).collect()
}

fn outlined_alone(at: usize, checked: &Checked, slices: &Slices) -> OutlineSeries {
    let lines = |all: &mut dyn Iterator<Item = String>| {
        sha256(all.collect::<Vec<_>>().join("\n").as_bytes())
    };
    let threshold = |placed: &Placed| {
        let origin = serde_json::to_string(&placed.origin).unwrap_or_default();
        format!("{origin} {}", placed.threshold.text)
    };
    let people = |slice: usize| u32::try_from(slice + 1).unwrap_or(u32::MAX);
    let of: Vec<u32> = slices.of_series(at).into_iter().map(people).collect();
    OutlineSeries {
        id: checked.planned.series.id.to_string(),
        configurations: checked.count(),
        keys: lines(&mut checked.planned.configurations.iter().map(ToString::to_string)),
        thresholds: lines(&mut checked.thresholds.iter().map(threshold)),
        slices: ranges(&of),
        cost: None,
    }
}

/// Gives the slice of `inputs` its folder.
///
/// # Errors
/// As [`RunFolder::place`].
pub(super) fn place(inputs: &mut Inputs, interrupt: &Interrupt) -> Result<()> {
    let Inputs { slice, request, source, folder, .. } = inputs;
    let Some(slice) = slice.as_ref().filter(|_| !request.dry_run) else { return Ok(()) };
    let below = request.slices.clone();
    let below = below.unwrap_or_else(|| source.target_directory.join(FOLDER));
    let own = slice.outline.folder(&below, slice.partition.slice.get());
    folder.place(&own, (request.resumes_or_begins, request.patience), interrupt)
}

/// The run of the slice of `prepared`: with the record of the slice, if it is one.
pub(super) fn records(prepared: &Prepared, start: &Start) -> Vec<SliceRecord> {
    let Inputs { slice, folder, .. } = &prepared.plan.inputs;
    slice.iter().map(|slice| slice.record(folder, start)).collect()
}

/// Writes the manifest of the slice that `start` begins, if it is one.
///
/// # Errors
/// It cannot be written (exit code 110).
pub(super) fn write(prepared: &Prepared, start: &Start) -> Result<()> {
    let Prepared { plan, document, made, base, .. } = prepared;
    let Inputs { slice, folder, base: other, .. } = &plan.inputs;
    let Some(slice) = slice else { return Ok(()) };
    let own =
        slice.own.iter().zip(plan.both.heads()).map(|(own, checked)| own_series(own, checked));
    let base = base.as_ref().zip(other.as_ref()).map(|(run, other)| OwnBase {
        name: other.name.clone(),
        provenance: run.provenance.clone(),
        known: plan.both.known.clone(),
        measured: plan.both.bases().iter().map(|c| c.planned.series.id.full_key()).collect(),
    });
    let provenance =
        Provenance { slices: vec![slice.record(folder, start)], ..document.provenance.clone() };
    let manifest = Manifest {
        own: own.collect(),
        made: Some(made.clone()),
        provenance,
        base,
        devices: plan.devices.records.clone(),
        notes: plan.notes.clone(),
        ..slice.manifest(folder, start.clone(), &plan.inputs.request)
    };
    manifest.write(&folder.path)
}

fn own_series(own: &Own, checked: &Checked) -> OwnSeries {
    let threshold = |placed: &Placed| OwnThreshold {
        text: placed.threshold.text.clone(),
        origin: placed.origin.clone(),
        place: placed.place.clone(),
    };
    OwnSeries {
        position: own.series,
        description: checked.planned.series.clone(),
        columns: checked.columns.clone(),
        sections: checked.sections.clone(),
        thresholds: checked.thresholds.iter().map(threshold).collect(),
        positions: own.configurations.clone(),
        configurations: checked.planned.configurations.clone(),
    }
}

/// Ends a slice without work: that is not a failure.
///
/// # Errors
/// Its files cannot be written (exit code 110).
pub(super) fn end_empty(inputs: &Inputs) -> Result<()> {
    let Some(slice) = &inputs.slice else { return Ok(()) };
    console::say(divide::empty(slice.partition));
    if inputs.request.dry_run {
        return Ok(());
    }
    let start = scheduler::start()?;
    let record = slice.record(&inputs.folder, &start);
    let manifest = slice.manifest(&inputs.folder, start, &inputs.request);
    manifest.write(&inputs.folder.path)?;
    let provenance = Provenance {
        tool_version: manifest.plan.tool_version.clone(),
        started: manifest.start.at.clone(),
        slices: vec![record],
        ..Provenance::default()
    };
    let run = Run {
        schema_version: SCHEMA_VERSION,
        id: inputs.folder.id.clone(),
        provenance,
        series: Vec::new(),
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    };
    inputs.folder.save(&run, None, ExitCode::Success, false)
}
