//! `cargo gpuprof check`: every configuration on the emulated driver, with all checks.
//!
//! Input: a selection. Output: the table of a run without thresholds, and one exit code: 105 if a
//! check or `verify` found something.

use std::io::Write;

use gpuprof_model::ExitCode;

use super::StandardOutput;
use super::run::run;
use crate::options::{Backend, CheckOptions, Checks, GateOptions, JudgingOptions};
use crate::options::{Purpose, RunOptions};
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// Runs all selected configurations with all checks in all blocks.
///
/// # Errors
/// As [`run`].
pub fn check(
    options: &CheckOptions,
    stdout: StandardOutput,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    run(&run_options(options), stdout, interrupt, out)
}

/// The run that `options` describe.
fn run_options(options: &CheckOptions) -> RunOptions {
    let CheckOptions { selection, cargo, kernels, timeout, configuration, output } = options;
    let judging = JudgingOptions { no_gate: true, ..JudgingOptions::default() };
    RunOptions {
        purpose: Purpose::Check,
        selection: selection.clone(),
        cargo: cargo.clone(),
        kernels: kernels.clone(),
        backend: Some(Backend::Emulator),
        check: Some(Checks::ALL),
        timeout: *timeout,
        gate: GateOptions { judging, ..GateOptions::default() },
        configuration: configuration.clone(),
        output: output.clone(),
        ..RunOptions::default()
    }
}
