use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Provenance;
use gpuprof_model::{ExitCode, Threshold};

use super::*;
use crate::fixture::{self, gh100, h200, row, rows, series};
use crate::gate::baseline::{Against, Scope};
use crate::gate::outcome::Gate;
use crate::gate::run::rejudge;

const FIRST: Gate = Gate { strict: false, gated: true, slice: false, first: true };

fn run(of: Vec<ConfigurationResult>) -> Run {
    let provenance = Provenance { device: Some(h200()), ..Provenance::default() };
    Run { provenance, ..fixture::run("r", vec![series(of)]) }
}

fn counted(values: &[f64]) -> Run {
    run(rows("global_sectors", values))
}

fn untimed() -> ConfigurationResult {
    row(7, "duration", Err("needs a GPU"))
}

/// `run` judged by `thresholds` against `before`, or against nothing for that reason.
fn judged(run: Run, before: Result<Run, &str>, thresholds: &[&str]) -> Run {
    let thresholds: Vec<_> = thresholds.iter().map(|t| Threshold::parse(t).unwrap()).collect();
    let against = Against {
        name: "main".into(),
        run: before.map_err(str::to_owned),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    rejudge(&Catalogue::built_in(), run, &thresholds, &against)
}

/// As [`judged`] without a baseline.
fn alone(run: Run, thresholds: &[&str]) -> Run {
    Run { comparison: None, ..judged(run, Err("no baseline"), thresholds) }
}

fn code(run: &Run) -> ExitCode {
    Gate::default().exit_code(run)
}

fn sentence(run: &Run) -> &str {
    &run.conclusion.as_ref().unwrap().sentence
}

#[test]
fn a_run_without_values_for_its_thresholds_is_not_judged() {
    let of = || run(vec![untimed()]);
    let judged = alone(of(), &["every duration <= 5 us"]);
    assert_eq!(code(&judged), ExitCode::NotJudged);
    let ungated = Gate { gated: false, ..Gate::default() };
    let slice = Gate { slice: true, ..Gate::default() };
    for gate in [ungated, slice] {
        assert_eq!(gate.exit_code(&judged), ExitCode::Success, "{gate:?}");
    }
    // Nothing was to be judged.
    for thresholds in [&[][..], &["warn every duration <= 5 us"]] {
        assert_eq!(code(&alone(of(), thresholds)), ExitCode::Success, "{thresholds:?}");
    }
}

#[test]
fn a_reason_that_not_all_series_share_names_its_series() {
    let reason = |of: &[&str]| {
        let of = of.iter().zip(["one", "other"]).map(|(reason, kernel)| {
            let mut of = series(vec![row(7, "duration", Err(reason))]);
            of.id.kernel = kernel.to_owned();
            of
        });
        let run = Run { series: of.collect(), ..run(Vec::new()) };
        let found = found(&alone(run, &["every duration <= 5 us"]), false);
        found.expect("it judges nothing").words()
    };
    let shared = reason(&["needs a GPU", "needs a GPU"]);
    assert_eq!(reason(&["needs a GPU"]), shared);
    let several = reason(&["needs a GPU", "ended early"]);
    assert_eq!(several, shared.replace("judged: ", "judged: saxpy::one: "));
}

#[test]
fn a_partly_judged_run_has_the_exit_code_of_its_judged_part() {
    let all = || run(vec![row(1, "duration", Ok(4000.0)), untimed()]);
    assert_eq!(code(&alone(all(), &["every duration <= 5 us"])), ExitCode::Success);
    assert_eq!(code(&alone(all(), &["every duration <= 3 us"])), ExitCode::ThresholdFailed);
    let mixed = alone(counted(&[5.0]), &["every duration <= 5 us", "every global_sectors <= 5"]);
    assert_eq!(code(&mixed), ExitCode::Success);
}

#[test]
fn a_run_compared_with_nothing_is_not_judged() {
    let other = || {
        let mut other = counted(&[5.0]);
        other.series[0].id.kernel = "other".into();
        other
    };
    let emulated = || {
        let mut emulated = counted(&[5.0]);
        emulated.provenance.device = Some(gh100());
        emulated
    };
    let own = "every global_sectors <= 5";
    for (before, reason) in [
        (Err("no baseline is named `main`"), "no baseline is named `main`"),
        (Ok(other()), "the baseline `main` has no configuration that was measured here"),
        (Ok(emulated()), "device: GH100 (sm_90, 132 SMs) in the baseline, NVIDIA H200 (sm_90"),
    ] {
        let judged = judged(counted(&[5.0]), before, &[own]);
        assert_eq!(code(&judged), ExitCode::NotJudged, "{reason}");
        let found = sentence(&judged);
        assert!(found.starts_with(&format!("Nothing compared: {reason}")), "{found}");
        assert!(found.ends_with("1 configuration judged by other limits, none failed."), "{found}");
        assert_eq!(FIRST.exit_code(&judged), ExitCode::Success, "{reason}");
    }
    assert_eq!(code(&judged(counted(&[5.0]), Ok(counted(&[5.0])), &[own])), ExitCode::Success);
    // Other blocks of the same series.
    let moved = run(vec![row(64, "global_sectors", Ok(5.0))]);
    assert_eq!(code(&judged(moved, Ok(counted(&[5.0])), &[own])), ExitCode::NotJudged);
}

#[test]
fn the_first_baseline_is_exempt_from_relative_thresholds() {
    let relative = "every global_sectors <= baseline";
    let alone = alone(counted(&[5.0]), &[relative]);
    assert_eq!(code(&alone), ExitCode::NotJudged);
    assert_eq!(FIRST.exit_code(&alone), ExitCode::Success);
}
