//! `cargo gpuprof run`: builds, plans, executes, judges, reports, stores.
//!
//! Input: the command line. Output: one exit code, and the run. A run is prepared, measured and
//! concluded: `prepare` makes values that nothing changes afterwards, the `engine` measures
//! what they say and tells its listeners in `measure` what happens, and `conclude` judges,
//! writes and shows what they collected.

mod against;
mod backend;
mod base;
mod conclude;
mod counters;
mod devices;
mod dry_run;
mod engine;
mod exports;
mod inputs;
mod kernels;
mod loaded;
mod measure;
mod prepare;
mod prepared;
mod progress;
mod provenance;
mod refusal;
mod results;
mod resume_key;
mod sides;

use std::io::Write;

use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use crate::error::Result;
use crate::execute::Interrupt;
use crate::options::RunOptions;
use crate::report::Screen;
use refusal::Blocked;

pub(super) use prepare::{NO_NOISE, planned_for};

/// Runs; the code says how it ended.
///
/// # Errors
/// Whatever keeps the run from starting or its results from being written.
pub fn run(
    options: &RunOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    profile(options, screen, interrupt, out).map(|(code, _)| code)
}

/// As [`run`], with the run; none with `--dry-run`.
///
/// # Errors
/// As [`run`].
pub fn profile(
    options: &RunOptions,
    screen: Screen,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<(ExitCode, Option<Run>)> {
    if let Some(name) = &options.gate.load_baseline {
        return loaded::run(name, options, screen, out);
    }
    let inputs = prepare::inputs(options)?;
    let (plan, holds) = prepare::plan(options, inputs, interrupt)?;
    let refused = prepare::check_counters(&plan);
    if options.dry_run {
        dry_run::show(&plan, refused.err().as_ref(), out)?;
        return Ok((ExitCode::Success, None));
    }
    refused.map_err(Blocked::into_failure)?;
    let prepared = prepare::build(plan)?;
    let measured = measure::measure(&prepared, interrupt, out)?;
    drop(holds);
    let (code, run) = conclude::conclude(&prepared, measured, interrupt.signal(), screen, out)?;
    Ok((code, Some(run)))
}
