//! The end of a run: writes and shows everything, and reports failed writes.
//!
//! Input: the measurements, even of a run that was cut short. Output: files, standard output and
//! one exit code, the same in `verdict.json`, in the last event and of the process. Invariant: a
//! full disk, or a missing folder, keeps no measurement from standard output.

use std::fs;
use std::io::Write;
use std::time::Duration;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::comparison::Comparison;
use gpuprof_model::failure::Denial;
use gpuprof_model::run::Run;

use super::baseline::prediction;
use super::counters::CounterSetup;
use super::counters::missing;
use super::measure::Measured;
use crate::commands::run::baseline::new_baseline::NewBaseline;
use crate::commands::run::measure::results::Collected;
use crate::commands::run::output::exports::{Ended, Storage};
use crate::commands::run::output::presenter::Presenter;
use crate::commands::run::prepare::inputs::Inputs;
use crate::commands::run::prepare::prepared::{Plan, Prepared};
use crate::config::DEFAULT_PATH;
use crate::options::{KeepRuns, ReplayMode};
use gpuprof_analysis::advice;
use gpuprof_analysis::gate::conclusion;
use gpuprof_analysis::gate::outcome::RunOutcome;
use gpuprof_analysis::sequential::Most;
use gpuprof_engine::store::prune;
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::Result;

/// Judges, writes and shows what was `measured`; a `signal` may have cut it short.
///
/// # Errors
/// The first thing that went wrong, in the engine or here. All the others were tried.
pub(super) fn conclude(
    prepared: &Prepared,
    measured: Measured,
    signal: Option<u8>,
    presenter: &mut dyn Presenter,
    out: &mut impl Write,
) -> Result<(RunOutcome, Run)> {
    let Plan { inputs, .. } = &prepared.plan;
    let Inputs { settings, against, save_to, source, .. } = inputs;
    let Measured { found, took, outcome } = measured;
    let Collected { mut run, base, denied, budget } = found;
    let base_run = base.as_ref().and_then(|base| base.run.as_ref().ok());
    run.provenance.seconds_per_process =
        took.and_then(|took| seconds_per_process(took, &run, base_run));
    forget_denied(&prepared.plan, &denied);
    let stored = base.is_none();
    let against = base.as_ref().or(against.as_ref());
    let notes = prepared.plan.notes.clone();
    let compared = against.map(|against| against.compare(&mut run, &prepared.plan.catalogue));
    run.comparison = compared.map(|comparison| Comparison { notes, ..comparison });
    let in_rounds = base.as_ref().is_some_and(|base| base.in_rounds);
    let able = prediction::once_measured(&prepared.plan, &run);
    let known = conclusion::MeasurementContext {
        base: base_run.filter(|_| in_rounds),
        stored,
        ability: able.as_ref(),
        budget: Some(&budget),
        most_rounds: prepared.plan.most_rounds.map(Most::single_limit),
        slice: inputs.gate.slice,
        seconds: took.map(|took| took.as_secs()),
    };
    run.conclusion = conclusion::conclude(&run, &known);
    run.advice = advice::of_run(&run, &prepared.plan.rules, &prepared.plan.catalogue);
    let obstacle = thresholds_without_counters(&prepared.plan, &run, &denied);
    obstacle.iter().for_each(console::say);
    let cut_short = outcome.is_err() || signal.is_some();
    let ended = outcome.and(presenter.accept(&run));
    let others = signal.map(ExitCode::Signal).into_iter();
    let others = others.chain(obstacle.map(|_| ExitCode::NotPossible));
    let others = others.chain(ended.as_ref().err().map(|failure| failure.code));
    let outcome = RunOutcome::decide(&run, inputs.gate, others);
    let baseline =
        save_to.as_ref().map(|(name, path)| NewBaseline::new(name, path, &run, outcome, None));
    let ended = Ended { outcome, result: ended };
    let save = |outcome: RunOutcome| {
        inputs.folder.save(&run, base_run, outcome.exit_code, inputs.gate.gated)
    };
    let storage = Storage { save, baseline };
    let concluded = inputs.exports.conclude(&run, ended, storage, out, |outcome, out| {
        presenter.show(&run, outcome, (settings, &inputs.view.view), out)
    });
    print_how_to_continue(inputs, cut_short);
    let outcome = concluded?;
    if inputs.slice.is_none() {
        prune(&source.stored, settings.keep_runs.value, inputs.notes());
    }
    Ok((outcome, run))
}

/// How long measuring took for each process of a configuration that took times on a GPU.
fn seconds_per_process(took: Duration, run: &Run, base: Option<&Run>) -> Option<f64> {
    let device = run.provenance.device.as_ref().filter(|device| !device.emulated);
    let series = [Some(run), base].into_iter().flatten().flat_map(|run| &run.series);
    let timed: usize =
        series.flat_map(|series| &series.configurations).map(|row| row.timings.len()).sum();
    let timed = u32::try_from(timed).ok().filter(|timed| *timed > 0);
    device.and(timed).map(|timed| took.as_secs_f64() / f64::from(timed))
}

/// If a device turned out to deny its counters, the next run asks CUPTI again and learns it before
/// it starts.
fn forget_denied(plan: &Plan, denied: &[Option<Denial>]) {
    for (denied, setup) in denied.iter().zip(&plan.setups) {
        if let (Some(_), CounterSetup::Planned(planned)) = (denied, setup) {
            plan.plans.forget(&planned.key);
        }
    }
}

/// The note on thresholds that could not be decided because a device gave no counters.
fn thresholds_without_counters(
    plan: &Plan,
    run: &Run,
    denied: &[Option<Denial>],
) -> Option<String> {
    if !plan.inputs.gate.gated || plan.inputs.settings.replay_mode.value == ReplayMode::None {
        return None;
    }
    denied.iter().zip(&plan.setups).enumerate().find_map(|(at, (found_out, setup))| {
        let (counters, reason) = setup.denied(found_out.as_ref())?;
        missing::found_out(&plan.catalogue, run, &counters, &plan.devices.blamed(at, reason))
    })
}

/// Prints how to continue a run that was `cut_short`, or a slice.
fn print_how_to_continue(inputs: &Inputs, cut_short: bool) {
    let Inputs { folder, slice, .. } = inputs;
    let notes = inputs.notes();
    match slice {
        _ if cut_short => {
            let id = if slice.is_some() { "auto" } else { &folder.id };
            notes.say(format_args!(
                "to continue where it stopped, add --resume {id} to the same command"
            ));
        }
        Some(slice) => notes.say(slice.describe_measured(&folder.path)),
        None => {}
    }
}

/// Removes the oldest runs, and says so once for each number that is to be kept: from then on every
/// run removes as many as it adds.
pub(in crate::commands) fn prune(stored: &Utf8Path, keep: KeepRuns, notes: Notes) {
    let removed = prune::prune(stored, keep);
    let (told, limit) = (stored.join("gpuprof/pruned-to"), keep.to_string());
    let is_told = fs::read_to_string(&told).is_ok_and(|before| before == limit);
    if !removed.is_empty() && !is_told && !notes.quiet() {
        let runs = if removed.len() == 1 { "run" } else { "runs" };
        notes.say(format_args!(
            "removed {} {runs} older than the last {keep} (set keep-runs in \
             {DEFAULT_PATH} to keep more; baselines are never removed)",
            removed.len()
        ));
        // If it cannot be written, the next run repeats the note.
        let _ = fs::write(told, limit);
    }
}
