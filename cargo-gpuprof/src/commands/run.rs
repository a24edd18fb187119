//! `cargo gpuprof run`: builds, plans, executes, judges, reports, stores.
//!
//! Input: the command line. Output: one exit code, and the run. A run is prepared, measured and
//! concluded: `prepare` makes values that never change afterwards, the `engine` measures and sends
//! its events to the listeners in `measure`, and `conclude` judges, writes and shows the results.

pub(super) mod baseline;
mod conclude;
mod counters;
mod measure;
mod output;
mod prepare;

use std::io::Write;

use gpuprof_model::ExitCode;
use gpuprof_model::run::Spent;

use super::{StandardOutput, browser};
use crate::options::{Given, GivenValue, RunOptions};
use counters::missing::Blocked;
use gpuprof_engine::passes::Stopwatch;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use prepare::inputs::Inputs;

pub(super) use conclude::prune;
pub(super) use output::exports::{Exports, Storage, StoredView};
pub(super) use output::presenter::{Presenter, Table};
pub(super) use prepare::NO_NOISE;
pub(super) use prepare::request::Request;
pub(super) use prepare::selected::{PlannedRequest, planned_for};

/// Runs; the code says how it ended.
///
/// # Errors
/// Whatever keeps the run from starting or its results from being written.
pub fn run(
    options: &RunOptions,
    stdout: StandardOutput,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    if let Some(name) = &options.gate.load_baseline {
        return baseline::load_baseline::run(name, options, stdout, out);
    }
    refuse_for_quick(options)?;
    profile(options.into(), &mut Table(stdout), interrupt, out)
}

/// Refuses options that a quick run would ignore; clap refuses the others, which no variable sets.
///
/// # Errors
/// One is given (exit code 2).
fn refuse_for_quick(options: &RunOptions) -> Result<()> {
    fn on_command_line<T>(given: &Option<GivenValue<T>>) -> bool {
        given.as_ref().is_some_and(|given| !given.by_variable)
    }
    let Given { repeat, max_repeat, time_budget, baseline, .. } = &options.given;
    let given = [
        (on_command_line(repeat), "--repeat"),
        (on_command_line(max_repeat), "--max-repeat"),
        (on_command_line(time_budget), "--time-budget"),
        (on_command_line(baseline), "--baseline"),
        (options.slice.wanted().is_some(), "--partition"),
    ];
    match given.into_iter().find(|(given, _)| *given && options.quick) {
        Some((_, option)) => Err(Failure::usage(format!(
            "{option} cannot be combined with --quick: a quick run takes times in one process, \
             and judges and compares nothing"
        ))),
        None => Ok(()),
    }
}

/// Measures and concludes; `presenter` shows the run, which is none with `--dry-run`.
///
/// # Errors
/// As [`run`].
pub(super) fn profile(
    request: Request,
    presenter: &mut dyn Presenter,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    let mut watch = Stopwatch::start();
    let inputs = || prepare::inputs(request, interrupt);
    let mut inputs = watch.times(Spent::Build, "builds harnesses", inputs)?;
    let chosen = prepare::series(&mut inputs, interrupt)?;
    if chosen.checked.is_empty() {
        prepare::slice::end_empty(&inputs)?;
        return Ok(ExitCode::Success);
    }
    let (plan, holds) = prepare::plan(inputs, chosen, interrupt, &mut watch)?;
    let refused = counters::missing::check(&plan);
    if plan.inputs.request.dry_run {
        output::dry_run::show(&plan, refused.err().as_ref(), out)?;
        return Ok(ExitCode::Success);
    }
    refused.map_err(Blocked::into_failure)?;
    baseline::prediction::tell(&plan);
    let prepared =
        watch.times(Spent::Build, "builds kernels", || prepare::build(plan, interrupt))?;
    interrupt.keep();
    let tells_events = presenter.tells_events();
    let measured = measure::measure(&prepared, tells_events, watch, interrupt, out)?;
    drop(holds);
    let (outcome, run) =
        conclude::conclude(&prepared, measured, interrupt.signal(), presenter, out)?;
    if prepared.plan.inputs.request.open {
        let Inputs { folder, view, .. } = &prepared.plan.inputs;
        // The run is complete, and its code does not depend on the browser.
        let page = folder.path.join("report.html");
        if let Err(failure) = browser::show(&run, Some(outcome), &view.view, &page) {
            console::warn(&failure.message);
        }
    }
    Ok(outcome.exit_code)
}
