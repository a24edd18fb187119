//! The data below the target folder: runs, their passes, and the emulated driver.
//!
//! Every file is written whole or not at all.

pub mod baselines;
pub mod document;
mod file_lock;
pub mod history;
pub mod journal;
mod keep_runs;
pub mod manifest;
pub mod own_folder;
pub mod plans;
pub mod prune;
mod run_folder;
pub mod run_name;
mod run_order;
pub mod runs;
pub mod slices;
mod untrusted;

use std::fs;
use std::io;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::estimate::EstimateModel;
use gpuprof_model::measurement::Source;
use gpuprof_model::run::{Run, SeriesResult, Status};
use gpuprof_model::verdict::Judgement;
use gpuprof_model::verdict_document::{
    SCHEMA_VERSION, SeriesJudgements, UnverifiedConfiguration, VerdictDocument,
};

use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::remove_leftovers;

pub use keep_runs::KeepRuns;
pub use run_folder::RunFolder;

/// Makes sure that `path` can be written, before work is done for it. Its folder must be there: a
/// mistyped one is no place for a result.
///
/// # Errors
/// It cannot (exit code 110).
pub fn check_writable(path: &Utf8Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|p| !p.as_str().is_empty() && !p.exists()) {
        let message = format!("cannot write {path}: there is no folder {parent}");
        return Err(Failure::new(ExitCode::OutputFailed, message));
    }
    let folder = path.parent().filter(|parent| !parent.as_str().is_empty());
    remove_leftovers(folder.unwrap_or(Utf8Path::new(".")));
    let existed = path.exists();
    fs::File::options().append(true).create(true).open(path).map_err(Failure::writing(path))?;
    if !existed {
        // An empty file would look like a result if the run ended here.
        fs::remove_file(path).map_err(Failure::writing(path))?;
    }
    Ok(())
}

/// The entry of `verdict.json` on `run`.
pub fn verdict_document(run: &Run, exit_code: ExitCode, gated: bool) -> VerdictDocument {
    let judgements = |s: &SeriesResult| SeriesJudgements {
        series: s.id.to_string(),
        file: s.file.clone(),
        line: s.line,
        thresholds: s.judgements.clone(),
        estimated_by: estimated_by(s),
        not_applicable: s.not_applicable.clone(),
        unverified: unverified(s),
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
        not_verified: run.provenance.not_verified.clone(),
        quick: run.provenance.quick,
        judgements: run.series.iter().map(judgements).collect(),
        comparison: run.comparison.clone(),
        conclusion: run.conclusion.clone(),
    }
}

/// The model of the estimates that decided a threshold of `series`.
fn estimated_by(series: &SeriesResult) -> Option<EstimateModel> {
    let by_estimate = |judgement: &Judgement| judgement.source == Some(Source::Estimated);
    let mut estimates = series.configurations.iter().filter_map(|row| row.estimate.as_ref());
    series.judgements.iter().any(by_estimate).then(|| Some(estimates.next()?.by())).flatten()
}

fn unverified(series: &SeriesResult) -> Vec<UnverifiedConfiguration> {
    let rows = series.configurations.iter();
    rows.filter(|row| row.status == Status::Finished && !row.verified)
        .map(|row| UnverifiedConfiguration {
            configuration: row.configuration.to_string(),
            reason: row.unverified,
        })
        .collect()
}

/// Checks that `target_directory` is writable before anything is built there: cargo's own error
/// looks like a failed build.
///
/// # Errors
/// It cannot be written (exit code 110).
pub fn writable(target_directory: &Utf8Path) -> Result<()> {
    let folder = target_directory.join("gpuprof");
    let write = || -> io::Result<()> {
        fs::create_dir_all(&folder)?;
        tempfile::tempfile_in(&folder).map(drop)
    };
    write().map_err(Failure::writing(&folder))
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_analysis::gate::judge::Baseline;
    use gpuprof_model::measurement::Unverified;
    use gpuprof_model::metric::Catalogue;
    use gpuprof_model::threshold::Threshold;

    use super::*;

    #[test]
    fn the_verdict_names_the_model_of_the_times_that_decided_it() {
        let row = fixture::estimated(64, 1024, 1000.0);
        let threshold = Threshold::parse("every duration <= 1 s").unwrap();
        let (catalogue, none) = (Catalogue::built_in(), Baseline::none());
        let mut series = fixture::series(vec![row]);
        let rows = &series.configurations;
        let judgement = fixture::judge(&catalogue, &threshold, "attribute", rows, None, &none);
        let of = |series: &SeriesResult| {
            let run = fixture::run("20251121T01-1", vec![series.clone()]);
            verdict_document(&run, ExitCode::Success, true).judgements[0].estimated_by.clone()
        };
        assert_eq!(of(&series), None, "nothing was judged");
        series.judgements.push(judgement);
        let by = of(&series).unwrap();
        assert_eq!((by.chip.as_str(), by.model, by.characterised), ("H200", 1, true));
    }

    #[test]
    fn the_verdict_names_the_finished_configurations_that_were_not_verified() {
        let mut verified = fixture::emulated(64, 1024);
        verified.verified = true;
        let mut without = fixture::emulated(128, 1024);
        (without.verified, without.unverified) = (false, Some(Unverified::NoReference));
        let series = fixture::series(vec![verified, without, fixture::failed(256)]);
        let run = fixture::run("20251121T01-1", vec![series]);
        let document = verdict_document(&run, ExitCode::Success, true);
        let unverified = serde_json::to_value(&document.judgements[0].unverified).unwrap();
        assert_eq!(
            unverified,
            serde_json::json!([{ "configuration": "block=128,n=1024", "reason": "no-reference" }])
        );
    }
}
