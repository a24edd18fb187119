//! `cargo gpuprof run`: builds, plans, executes, judges, reports, stores.
//!
//! Input: the command line. Output: one exit code, and the run. A run is prepared, measured and
//! concluded: `prepare` makes values that nothing changes afterwards, the `engine` measures
//! what they say and tells its listeners in `measure` what happens, and `conclude` judges,
//! writes and shows what they collected.

pub(super) mod against;
mod backend;
mod base;
mod beforehand;
mod conclude;
mod costs;
mod counters;
mod devices;
mod dry_run;
mod exports;
mod inputs;
mod kernels;
mod loaded;
mod measure;
mod prepare;
mod prepared;
mod presenter;
mod progress;
mod provenance;
mod refusal;
mod results;
mod resume_key;
mod scheduler;
mod sides;
mod slice;
mod slicing;
mod stopwatch;

use std::io::Write;

use gpuprof_model::ExitCode;
use gpuprof_model::run::{Run, Spent};

use super::{StandardOutput, browser};
use crate::options::RunOptions;
use gpuprof_system::console;
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;
use inputs::Inputs;
use presenter::Table;
use refusal::Blocked;
use stopwatch::Stopwatch;

pub(super) use conclude::prune;
pub(super) use exports::Exports;
pub(super) use prepare::{NO_NOISE, planned_for};
pub(super) use presenter::Presenter;

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
        return loaded::run(name, options, stdout, out);
    }
    profile(options, &mut Table(stdout), interrupt, out).map(|(code, _)| code)
}

/// Measures and concludes; `presenter` shows the run, which is none with `--dry-run`.
///
/// # Errors
/// As [`run`].
pub(super) fn profile(
    options: &RunOptions,
    presenter: &mut dyn Presenter,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<(ExitCode, Option<Run>)> {
    let mut watch = Stopwatch::start();
    let inputs = || prepare::inputs(options, interrupt);
    let mut inputs = watch.times(Spent::Build, "builds harnesses", inputs)?;
    let (checked, notes) = prepare::series(options, &mut inputs, interrupt)?;
    if checked.is_empty() {
        slicing::end_empty(options, &inputs)?;
        return Ok((ExitCode::Success, None));
    }
    let chosen = (inputs, checked, notes);
    let (plan, holds) = prepare::plan(options, chosen, (interrupt, &mut watch))?;
    let refused = prepare::check_counters(&plan);
    if options.dry_run {
        dry_run::show(&plan, refused.err().as_ref(), out)?;
        return Ok((ExitCode::Success, None));
    }
    refused.map_err(Blocked::into_failure)?;
    beforehand::tell(&plan);
    let prepared =
        watch.times(Spent::Build, "builds kernels", || prepare::build(plan, interrupt))?;
    interrupt.keep();
    let tells_events = presenter.tells_events();
    let measured = measure::measure(&prepared, tells_events, watch, interrupt, out)?;
    drop(holds);
    let (code, run) = conclude::conclude(&prepared, measured, interrupt.signal(), presenter, out)?;
    if options.output.open {
        let Inputs { folder, view, .. } = &prepared.plan.inputs;
        // The run is whole, and its code is its own, whether or not somebody sees it.
        if let Err(failure) = browser::show(&run, &view.view, &folder.path.join("report.html")) {
            console::warn(&failure.message);
        }
    }
    Ok((code, Some(run)))
}
