//! The end of a run: everything is written and shown, and what could not be is told.
//!
//! Input: what was measured, also of a run that was cut short. Output: files, standard output and
//! one exit code, the same in `verdict.json`, in the last event and of the process. What must stay
//! true: a full disk, or a folder that is gone, keeps nothing of what was measured from standard
//! output.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::comparison::Comparison;
use gpuprof_model::failure::Denial;
use gpuprof_model::run::Run;

use super::counters::CounterSetup;
use super::inputs::Inputs;
use super::measure::Measured;
use super::prepared::{Plan, Prepared};
use super::presenter::Presenter;
use super::results::FoundOut;
use super::{against, beforehand, refusal};
use crate::config::DEFAULT_PATH;
use crate::options::{KeepRuns, ReplayMode};
use gpuprof_analysis::advice;
use gpuprof_analysis::gate::conclusion;
use gpuprof_analysis::gate::run::Gate;
use gpuprof_analysis::sequential::Most;
use gpuprof_engine::store::prune;
use gpuprof_system::console::{self, Notes};
use gpuprof_system::error::{Failure, Result};

/// Judges, writes and shows what was `measured`; a `signal` may have cut it short.
///
/// # Errors
/// The first thing that went wrong, in the engine or here. All the others were tried.
pub(super) fn conclude(
    prepared: &Prepared<'_>,
    measured: Measured,
    signal: Option<u8>,
    presenter: &mut dyn Presenter,
    out: &mut impl Write,
) -> Result<(ExitCode, Run)> {
    let Plan { inputs, .. } = &prepared.plan;
    let Inputs { settings, against, save_to, source, .. } = inputs;
    let Measured { found, took, outcome } = measured;
    let FoundOut { mut run, base, denied, budget } = found;
    run.provenance.seconds_per_process = took.and_then(|took| {
        let base = base.as_ref().and_then(|base| base.run.as_ref().ok());
        seconds_per_process(took, &run, base)
    });
    forget_denied(&prepared.plan, &denied);
    let stored = base.is_none();
    let against = base.as_ref().or(against.as_ref());
    let notes = prepared.plan.notes.clone();
    run.comparison = against.map(|against| Comparison { notes, ..against.comparison(&run) });
    let in_rounds = base.as_ref().filter(|base| base.in_rounds);
    let able = beforehand::once_measured(&prepared.plan, &run);
    let known = conclusion::Measured {
        base: in_rounds.and_then(|base| base.run.as_ref().ok()),
        stored,
        ability: able.as_ref(),
        budget: Some(&budget),
        most_rounds: prepared.plan.most_rounds.map(Most::of_one),
        seconds: took.map(|took| took.as_secs()),
    };
    run.conclusion = conclusion::of(&run, &known);
    run.advice = advice::of_run(&run, &prepared.plan.rules, &prepared.plan.catalogue);
    let gate = inputs.gate;
    let ending = Ending {
        inputs,
        base: base.as_ref().and_then(|base| base.run.as_ref().ok()),
        gate,
        signal,
        denied: thresholds_without_counters(&prepared.plan, gate, &run, &denied),
    };
    let code = ending.write(&run, outcome, out, |code, out| {
        presenter.show(&run, code, (settings, &inputs.view.view), out)
    })?;
    if let Some((name, path)) = save_to {
        against::save(name, path, (&run, code), (gate, inputs.notes()))?;
    }
    if inputs.slice.is_none() {
        prune(&source.target_directory, settings.keep_runs.value, inputs.notes());
    }
    Ok((code, run))
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

/// The next run asks CUPTI again where a device turned out to deny its counters, and is told before
/// it starts anything.
fn forget_denied(plan: &Plan<'_>, denied: &[Option<Denial>]) {
    for (denied, setup) in denied.iter().zip(&plan.setups) {
        if let (Some(_), CounterSetup::Planned(planned)) = (denied, setup) {
            plan.plans.forget(&planned.key);
        }
    }
}

/// What to say of thresholds that could not be decided, where a device gave no counters.
fn thresholds_without_counters(
    plan: &Plan<'_>,
    gate: Gate,
    run: &Run,
    denied: &[Option<Denial>],
) -> Option<String> {
    if !gate.gated || plan.inputs.settings.replay_mode.value == ReplayMode::None {
        return None;
    }
    denied.iter().zip(&plan.setups).enumerate().find_map(|(at, (found_out, setup))| {
        let (counters, reason) = setup.denied(found_out.as_ref())?;
        refusal::found_out(&plan.catalogue, run, &counters, &plan.devices.blamed(at, reason))
    })
}

/// Where a run goes when it ends.
struct Ending<'a> {
    inputs: &'a Inputs,
    /// The other revision, where it was measured as well.
    base: Option<&'a Run>,
    gate: Gate,
    /// The signal that ended it early.
    signal: Option<u8>,
    /// Why a threshold could not be met, where a pass found that counters cannot be had.
    denied: Option<String>,
}

impl Ending<'_> {
    /// Writes and shows `run`, whose engine came to `outcome`; `show` writes it to `out`.
    ///
    /// # Errors
    /// The first thing that went wrong, in the engine or here. All the others were tried.
    fn write(
        &self,
        run: &Run,
        outcome: Result<()>,
        out: &mut dyn Write,
        show: impl FnOnce(ExitCode, &mut dyn Write) -> io::Result<()>,
    ) -> Result<ExitCode> {
        let Inputs { exports, folder, .. } = self.inputs;
        let mut judged = self.signal.map_or_else(|| self.gate.exit_code(run), ExitCode::Signal);
        if let Some(text) = &self.denied {
            console::say(text);
            judged = judged.or_worse(ExitCode::NotPossible);
        }
        if self.inputs.slice.is_some() && judged == ExitCode::NoSeries {
            // It was measured; what that comes to is said when all slices are merged.
            judged = ExitCode::Success;
        }
        let code = |outcome: &Result<()>| match outcome {
            Ok(()) => judged,
            Err(failure) => judged.or_worse(failure.code),
        };
        let cut_short = outcome.is_err() || self.signal.is_some();
        let outcome = outcome.and(exports.write_files(run));
        let saved = folder.save(run, self.base, code(&outcome), self.gate.gated);
        let outcome = outcome.and(saved);
        let code = code(&outcome);
        let shown = exports
            .show(run, self.inputs.notes(), out, |out| show(code, out))
            .map_err(|e| Failure::output(Path::new("standard output"), &e));
        let notes = self.inputs.notes();
        if cut_short {
            let id = if self.inputs.slice.is_some() { "auto" } else { &folder.id };
            notes.say(format_args!(
                "to continue where it stopped, add --resume {id} to the same command"
            ));
        } else if let Some(slice) = &self.inputs.slice {
            notes.say(slice.measured(&folder.path));
        }
        if let Err(failure) = &shown {
            // What could not be shown is in the file all the same.
            folder.save(run, self.base, code.or_worse(failure.code), self.gate.gated).ok();
        }
        outcome.and(shown).map_err(|mut failure| {
            failure.code = code.or_worse(failure.code);
            failure
        })?;
        Ok(code)
    }
}

/// Removes the oldest runs, and says so once for each number that is to be kept: from then on every
/// run removes as many as it adds.
pub(in crate::commands) fn prune(target_directory: &Utf8Path, keep: KeepRuns, notes: Notes) {
    let removed = prune::prune(target_directory, keep);
    let (told, limit) = (target_directory.join("gpuprof/pruned-to"), keep.to_string());
    let is_told = fs::read_to_string(&told).is_ok_and(|before| before == limit);
    if !removed.is_empty() && !is_told && !notes.quiet() {
        let runs = if removed.len() == 1 { "run" } else { "runs" };
        notes.say(format_args!(
            "removed {} {runs} older than the last {keep} (set keep-runs in \
             {DEFAULT_PATH} to keep more; baselines are never removed)",
            removed.len()
        ));
        // Where it cannot be written, the next run says it again.
        let _ = fs::write(told, limit);
    }
}
