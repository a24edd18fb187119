//! A run that measures one slice of a plan.
//!
//! Input: the whole plan, which every slice makes for itself, and the slice's number. Output: the
//! part of the plan that is measured here, and the slice's folder with its manifest, before the
//! first pass. A slice decides nothing: its thresholds are judged on its part, and `merge` judges
//! them over the whole.

use gpuprof_model::ExitCode;
use gpuprof_model::run::{Provenance, Run, SliceRecord};

use crate::commands::run::baseline::selected_baseline;
use crate::commands::run::prepare::inputs::Inputs;
use crate::commands::run::prepare::prepared::Prepared;
use crate::commands::run::prepare::request::Request;
use crate::commands::run::prepare::scheduler;
use gpuprof_build::harnesses::Harness;
use gpuprof_engine::divide::{Division, Slice, describe_empty};
use gpuprof_engine::plan::{Checked, PlannedSeries};
use gpuprof_engine::store::journal::Start;
use gpuprof_engine::store::manifest::{Manifest, Outline, OwnBase};
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;

/// The default folder of slices, below the target folder.
const FOLDER: &str = "gpuprof/slices";

/// Refuses options that contradict each other.
///
/// # Errors
/// They do (exit code 2).
pub(in crate::commands) fn check(request: &Request) -> Result<()> {
    let refused = |text: &str| Err(Failure::usage(text));
    if request.slice.is_none() {
        return match request.resumes_or_begins {
            true => refused(
                "--resume=auto needs --slices DIR: only in a folder of its own can a run tell what \
                 it began from what others did; elsewhere --resume takes the id of a run",
            ),
            false => Ok(()),
        };
    }
    if request.save_baseline.is_some() {
        return refused(
            "--save-baseline belongs to `cargo gpuprof merge`: a slice is no whole run",
        );
    }
    if request.given.baseline.is_some() {
        return refused(
            "--baseline (GPUPROF_BASELINE) belongs to `cargo gpuprof merge`: a slice decides \
             nothing",
        );
    }
    if request.resume.is_some() && !request.resumes_or_begins {
        return refused(
            "a slice is resumed with --resume=auto: its folder follows from --slices and \
             --partition",
        );
    }
    Ok(())
}

/// Reduces the whole plan `checked` to the slice's part, if a slice is selected.
///
/// # Errors
/// As [`Division::new`].
pub(in crate::commands) fn cut(
    inputs: &Inputs,
    checked: Vec<Checked>,
) -> Result<(Vec<Checked>, Option<Slice>)> {
    let Inputs { request, source, base, settings, .. } = inputs;
    let Some(cut) = &request.slice else { return Ok((checked, None)) };
    let planned: Vec<&PlannedSeries> = checked.iter().map(|checked| &checked.planned).collect();
    let division = Division::new(cut, &planned, (&source.root(), &source.stored))?;
    division.describe_time(&planned).iter().for_each(|text| inputs.notes().say(text));
    let of_base = base.iter().flat_map(|base| &base.source.harnesses).map(Harness::hashed);
    let of_base = of_base.map(|(key, hash)| (format!("base/{key}"), hash));
    let outline = Outline {
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        method: cut.partition.method,
        unit: cut.by,
        slices: cut.partition.of.get(),
        settings: settings.texts_of_measurement(),
        harnesses: source.harnesses.iter().map(Harness::hashed).chain(of_base).collect(),
        base: base.as_ref().map(|base| base.name.clone()),
        scope: selected_baseline::scope(request, source),
        series: division.outline(&checked),
    };
    let slice = Slice::new(&division, &checked, outline, request.wanted.archive.clone());
    Ok((division.take(checked, |checked| &mut checked.planned), Some(slice)))
}

/// Gives the slice of `inputs` its folder.
///
/// # Errors
/// As [`RunFolder::place`](gpuprof_engine::store::RunFolder::place).
pub(in crate::commands) fn place(inputs: &mut Inputs, interrupt: &Interrupt) -> Result<()> {
    let Inputs { slice, request, source, folder, .. } = inputs;
    let Some(slice) = slice.as_ref().filter(|_| !request.dry_run) else { return Ok(()) };
    let below = request.slices.clone();
    let below = below.unwrap_or_else(|| source.target_directory.join(FOLDER));
    folder.place(&slice.folder(&below), (request.resumes_or_begins, request.patience), interrupt)
}

/// The record of the slice that `start` begins, if it is one.
pub(in crate::commands) fn records(inputs: &Inputs, start: &Start) -> Vec<SliceRecord> {
    inputs.slice.iter().map(|slice| slice.record(&inputs.folder, start)).collect()
}

/// Writes the manifest of the slice that `start` begins, if it is one.
///
/// # Errors
/// It cannot be written (exit code 110).
pub(in crate::commands) fn write(prepared: &Prepared, start: &Start) -> Result<()> {
    let Prepared { plan, document, made, base, .. } = prepared;
    let Inputs { slice, folder, base: other, .. } = &plan.inputs;
    let Some(slice) = slice else { return Ok(()) };
    let base = base.as_ref().zip(other.as_ref()).map(|(run, other)| OwnBase {
        name: other.name.clone(),
        provenance: run.provenance.clone(),
        known: plan.both.known.clone(),
        measured: plan.both.bases().iter().map(|c| c.planned.series.id.full_key()).collect(),
    });
    let slices = records(&plan.inputs, start);
    let manifest = Manifest {
        own: slice.own_series(plan.both.heads()),
        made: Some(made.clone()),
        provenance: Provenance { slices, ..document.provenance.clone() },
        base,
        devices: plan.devices.records.clone(),
        notes: plan.notes.clone(),
        ..slice.manifest(folder, start.clone())
    };
    manifest.write(&folder.path)
}

/// Ends a slice without work: that is not a failure.
///
/// # Errors
/// Its files cannot be written (exit code 110).
pub(in crate::commands) fn end_empty(inputs: &Inputs) -> Result<()> {
    let Inputs { slice: Some(slice), folder, .. } = inputs else { return Ok(()) };
    console::say(describe_empty(slice.partition));
    if inputs.request.dry_run {
        return Ok(());
    }
    let start = scheduler::start()?;
    let slices = records(inputs, &start);
    let manifest = slice.manifest(folder, start);
    manifest.write(&folder.path)?;
    let provenance = Provenance {
        tool_version: manifest.plan.tool_version.clone(),
        started: manifest.start.at.clone(),
        slices,
        ..Provenance::default()
    };
    let run = Run::unjudged(&folder.id, provenance, Vec::new());
    folder.save(&run, None, ExitCode::Success, false)
}
