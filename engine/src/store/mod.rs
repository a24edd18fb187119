//! What gpuprof keeps below the target folder: runs, their passes, and the emulated driver.
//!
//! Every file is written whole or not at all.

pub mod baseline;
pub mod document;
mod file_lock;
pub mod history;
pub mod journal;
mod keep_runs;
pub mod manifest;
pub mod named;
mod order;
pub mod plans;
pub mod prune;
mod run_folder;
pub mod runs;
pub mod slices;
mod untrusted;

use std::fs;
use std::io;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::verdict_document::{SCHEMA_VERSION, SeriesJudgements, VerdictDocument};

use gpuprof_system::error::{Failure, Result};

pub use keep_runs::KeepRuns;
pub use run_folder::RunFolder;

/// Makes sure that `path` can be written, and its folder there, before work is done for it.
///
/// # Errors
/// It cannot (exit code 110).
pub fn check_writable(path: &Utf8Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|p| !p.as_str().is_empty() && !p.exists()) {
        fs::create_dir_all(parent).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    }
    let existed = path.exists();
    fs::File::options()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|e| Failure::output(path.as_std_path(), &e))?;
    if !existed {
        // An empty file would look like a result if the run ended here.
        fs::remove_file(path).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    }
    Ok(())
}

/// What `verdict.json` says of `run`.
pub fn verdict_document(run: &Run, exit_code: ExitCode, gated: bool) -> VerdictDocument {
    let judgements = |s: &SeriesResult| SeriesJudgements {
        series: s.id.to_string(),
        file: s.file.clone(),
        line: s.line,
        thresholds: s.judgements.clone(),
        not_applicable: s.not_applicable.clone(),
    };
    VerdictDocument {
        schema_version: SCHEMA_VERSION,
        run: run.id.clone(),
        exit_code,
        meaning: match (exit_code, gated) {
            (ExitCode::Success, false) => "thresholds did not decide",
            _ => exit_code.meaning(),
        }
        .to_owned(),
        gated,
        judgements: run.series.iter().map(judgements).collect(),
        comparison: run.comparison.clone(),
        conclusion: run.conclusion.clone(),
    }
}

/// Makes sure that something can be written below `target_directory`, before anything is built
/// there: where cargo finds it out, it looks like a failed build.
///
/// # Errors
/// It cannot be written (exit code 110).
pub fn writable(target_directory: &Utf8Path) -> Result<()> {
    let folder = target_directory.join("gpuprof");
    let write = || -> io::Result<()> {
        fs::create_dir_all(&folder)?;
        tempfile::tempfile_in(&folder).map(drop)
    };
    write().map_err(|e| Failure::output(folder.as_std_path(), &e))
}
