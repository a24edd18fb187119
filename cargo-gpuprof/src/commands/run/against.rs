//! The baseline of a run: read before anything runs, and kept after all has.

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::run::{Run, Status};

use crate::commands::Source;
use crate::commands::settings::Settings;
use crate::options::RunOptions;
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::run::Gate;
use gpuprof_engine::store::baseline::{self, Baselines, Found};
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::{Failure, Result};

/// The baseline that the run is held against, read before anything runs.
///
/// # Errors
/// There is none of that name, unless nothing is gated or this run is to be it.
pub(super) fn read(
    options: &RunOptions,
    settings: &Settings,
    baselines: &Baselines,
    source: &Source,
) -> Result<Option<Against>> {
    let Some(name) = settings.baseline_of(&source.root()) else { return Ok(None) };
    let scope = scope(options, source);
    let makes_it = options.gate.save_baseline.as_ref() == Some(&name);
    let run = found(baselines, &name, settings, makes_it)?.into();
    let across_devices = settings.across_devices.value;
    Ok(Some(Against { name, run, across_devices, in_rounds: false, scope }))
}

/// What a run with these `options` was to hold of what it is compared with.
pub(super) fn scope(options: &RunOptions, source: &Source) -> Scope {
    let selection = &options.selection;
    Scope {
        whole: selection.series.is_empty() && selection.sample.is_none(),
        filters: selection.filters.clone(),
        exact: selection.exact,
        other_packages: source.other_packages(),
        targets: options.cargo.bench.clone(),
    }
}

/// The baseline called `name`; where it is missing, only a run that gates nothing or that
/// `makes_it` goes on.
///
/// # Errors
/// It is missing (exit code 2, or 96 where the configuration file names it), or no run.
pub(in crate::commands) fn found(
    baselines: &Baselines,
    name: &str,
    settings: &Settings,
    makes_it: bool,
) -> Result<Found> {
    match baselines.read(name)? {
        Found::Missing(reason) if settings.gate.value && !makes_it => {
            let message = format!("{reason}\n--no-gate continues without a baseline");
            Err(settings.baseline.blamed(Failure::usage(message)))
        }
        found => Ok(found),
    }
}

/// Keeps `run`, which ended with the code `ended`, as a baseline, unless something of it failed: a
/// bad run must not become the measure, nor one that lacks what the next is to be held against.
pub(in crate::commands) fn save(
    name: &str,
    path: &Utf8Path,
    (run, ended): (&Run, ExitCode),
    (gate, notes): (Gate, Notes),
) -> Result<()> {
    let kept = |status: &Status| matches!(status, Status::Finished | Status::Invalid { .. });
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    let code = Gate { gated: true, ..gate }.exit_code(run);
    let obstacle = if !rows.all(|row| kept(&row.status)) {
        "not every configuration finished"
    } else if code == ExitCode::ThresholdFailed {
        "a threshold failed; `cargo gpuprof baseline accept` keeps it anyway"
    } else if code == ExitCode::NoSeries {
        "nothing of a series was measured; `cargo gpuprof baseline accept` keeps it anyway"
    } else if gate.strict && code == ExitCode::NotJudged {
        "a threshold was not judged, which --strict does not accept; `cargo gpuprof baseline \
         accept` keeps it anyway"
    } else if ended == ExitCode::NotPossible {
        "thresholds need hardware counters, which could not be collected; `cargo gpuprof baseline \
         accept` keeps it anyway"
    } else if is_unstable(run) {
        "a time is unstable because the GPU was throttled, so no later run could be compared with \
         it; run again, or `cargo gpuprof baseline accept` keeps it anyway"
    } else {
        let lost = baseline::lost(path, run);
        baseline::write(path, run)?;
        notes.say(format_args!("kept as baseline `{name}` in {path}"));
        lost.iter().for_each(console::say);
        return Ok(());
    };
    console::say(format_args!("not kept as baseline `{name}`: {obstacle}"));
    Ok(())
}

/// Whether a duration could not be told.
fn is_unstable(run: &Run) -> bool {
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    rows.any(|row| row.metrics.get("duration").is_some_and(|duration| duration.unstable))
}
