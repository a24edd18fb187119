//! `cargo gpuprof check`: every configuration on the emulated driver, with all checks.
//!
//! Input: a selection. Output: the table of a run without thresholds, and one exit code: 105 if a
//! check or `verify` found something.

use std::io::Write;

use gpuprof_model::ExitCode;

use super::StandardOutput;
use super::run::{Table, profile};
use crate::options::CheckOptions;
use gpuprof_system::error::Result;
use gpuprof_system::interrupt::Interrupt;

/// Runs all selected configurations with all checks in all blocks.
///
/// # Errors
/// As [`super::run::run`].
pub fn check(
    options: &CheckOptions,
    stdout: StandardOutput,
    interrupt: &Interrupt,
    out: &mut impl Write,
) -> Result<ExitCode> {
    profile(options.into(), &mut Table(stdout), interrupt, out)
}
