//! The end of a run: everything is written and shown, and what could not be is told.
//!
//! Input: a run, also one that was cut short. Output: files, standard output and one exit
//! code, the same in `verdict.json`, in the last event and of the process. What must stay true: a
//! full disk, or a folder that is gone, keeps nothing of what was measured from standard output.

use std::io::{self, Write};
use std::path::Path;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::run::Run;

use super::exports::Exports;
use crate::config::DEFAULT_PATH;
use crate::error::{Failure, Result};
use crate::options::KeepRuns;
use crate::store::RunFolder;
use crate::store::prune;
use gpuprof_analysis::gate::run::Gate;

/// Where a run goes when it ends.
pub(super) struct Ending<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) exports: &'a Exports,
    pub(super) gate: Gate,
    /// The signal that ended it early.
    pub(super) signal: Option<u8>,
    /// Why a threshold could not be met, where a pass found that counters cannot be had.
    pub(super) denied: Option<String>,
    pub(super) quiet: bool,
}

impl Ending<'_> {
    /// Writes and shows `run`, whose sweep came to `swept`; `show` writes it to `out`.
    ///
    /// # Errors
    /// The first thing that went wrong, in the sweep or here. All the others were tried.
    pub(super) fn write<W: Write>(
        &self,
        run: &Run,
        swept: Result<()>,
        out: &mut W,
        show: impl FnOnce(ExitCode, &mut W) -> io::Result<()>,
    ) -> Result<ExitCode> {
        let mut judged = self.signal.map_or_else(|| self.gate.exit_code(run), ExitCode::Signal);
        if let Some(text) = &self.denied {
            eprintln!("gpuprof: {text}");
            judged = judged.or_worse(ExitCode::NotPossible);
        }
        let code = |outcome: &Result<()>| match outcome {
            Ok(()) => judged,
            Err(failure) => judged.or_worse(failure.code),
        };
        let cut_short = swept.is_err() || self.signal.is_some();
        let outcome = swept.and(self.exports.write_files(run));
        let saved = self.folder.save(run, code(&outcome), self.gate.gated);
        let outcome = outcome.and(saved);
        let code = code(&outcome);
        let shown = show(code, out)
            .and_then(|()| self.exports.write_streams(run, out))
            .and_then(|()| out.flush())
            .map_err(|e| Failure::output(Path::new("standard output"), &e));
        if cut_short && !self.quiet {
            let id = &self.folder.id;
            eprintln!("gpuprof: to go on where it stopped, add --resume {id} to the same command");
        }
        outcome.and(shown)?;
        Ok(code)
    }
}

/// Removes the oldest runs, and says so.
pub(super) fn prune(target_directory: &Utf8Path, keep: KeepRuns, quiet: bool) {
    let removed = prune::prune(target_directory, keep);
    if !removed.is_empty() && !quiet {
        let runs = if removed.len() == 1 { "run" } else { "runs" };
        eprintln!(
            "gpuprof: removed {} {runs} older than the last {keep} (keep-runs in {DEFAULT_PATH} \
             says how many stay; baselines always do)",
            removed.len()
        );
    }
}
