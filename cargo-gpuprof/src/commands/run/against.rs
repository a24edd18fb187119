//! The baseline of a run: read before anything runs, and kept after all has.

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::run::{Run, Status};

use super::request::Request;
use crate::commands::Source;
use crate::commands::selection::Named;
use crate::commands::settings::Settings;
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_engine::store::baseline::{self, Baselines, Found};
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::{Failure, Result};

/// The baseline of the run, read before anything runs.
///
/// # Errors
/// There is none of that name, unless nothing is gated or this run is to become it.
pub(super) fn read(
    request: &Request,
    settings: &Settings,
    baselines: &Baselines,
    source: &Source,
) -> Result<Option<Against>> {
    let Some(name) = settings.baseline_of(&source.root()) else { return Ok(None) };
    let scope = scope(request, source);
    let makes_it = request.save_baseline.as_ref() == Some(&name);
    let run = found(baselines, &name, settings, makes_it)?.into();
    let across_devices = settings.across_devices.value;
    Ok(Some(Against { name, run, across_devices, in_rounds: false, scope }))
}

/// The baseline of a run next to a revision without a harness: its `name`, and what it lacks. A
/// note says that the run measures this revision alone.
pub(super) fn absent(
    (name, reason): (String, String),
    request: &Request,
    settings: &Settings,
    source: &Source,
) -> Against {
    let reason = format!("the base {name} has nothing to compare with: {reason}");
    settings.notes().say(format_args!("{reason}; this revision is measured alone"));
    let across_devices = settings.across_devices.value;
    Against {
        name,
        run: Err(reason),
        across_devices,
        in_rounds: true,
        scope: scope(request, source),
    }
}

/// The scope of a run of this `request`, for its comparison.
pub(super) fn scope(request: &Request, source: &Source) -> Scope {
    let Named { series, filters } = request.named.clone();
    Scope {
        whole: series.is_empty() && request.given.sample.is_none(),
        filters,
        other_packages: source.other_packages(),
        targets: source.bench_targets().to_vec(),
    }
}

/// The baseline called `name`; if it is missing, only a run that gates nothing or that `makes_it`
/// continues.
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

/// Keeps `run`, which ended with `outcome`, as a baseline, unless a part of it failed: neither a
/// bad run nor an incomplete one may become the reference.
pub(in crate::commands) fn save(
    name: &str,
    path: &Utf8Path,
    (run, outcome): (&Run, RunOutcome),
    notes: Notes,
) -> Result<()> {
    let kept = |status: &Status| matches!(status, Status::Finished | Status::Invalid { .. });
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    let RunOutcome { exit_code, judged: code, gate } = outcome;
    let obstacle = if !rows.all(|row| kept(&row.status)) {
        "not every configuration finished"
    } else if code == ExitCode::ThresholdFailed {
        "a threshold failed; `cargo gpuprof baseline accept` keeps it anyway"
    } else if code == ExitCode::NoSeries {
        "nothing of a series was measured; `cargo gpuprof baseline accept` keeps it anyway"
    } else if gate.strict && code == ExitCode::NotJudged {
        "a threshold was not judged, which --strict does not accept; `cargo gpuprof baseline \
         accept` keeps it anyway"
    } else if exit_code == ExitCode::NotPossible {
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

/// Whether a duration is unstable.
fn is_unstable(run: &Run) -> bool {
    let mut rows = run.series.iter().flat_map(|series| &series.configurations);
    rows.any(|row| row.metrics.get("duration").is_some_and(|duration| duration.unstable))
}
