//! Estimated times on the emulated driver: shown, judged, compared, and turned off.

use std::fs;

use crate::support::{Outcome, Workspace};
use serde_json::Value;

const GATHER: [&str; 4] = ["run", "--package", "vector", "gather"];

/// Runs `gather` at four strides with estimates, and with `more`.
fn run(more: &[&str]) -> Outcome {
    let arguments = [&GATHER[..], more].concat();
    Workspace::fixture("workshop").tool(&arguments).env("GPUEMU_ESTIMATE", "1").run()
}

/// Runs it against the document of an earlier run that `change` has changed row by row.
fn run_against(change: impl Fn(&mut Value)) -> Outcome {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = folder.path().join("baseline.json");
    let text = path.display().to_string();
    run(&["--export-json", &text]).exits_with(0);
    let bytes = fs::read(&path).expect("the run was written");
    let mut document: Value = serde_json::from_slice(&bytes).expect("it is JSON");
    let rows = document["series"][0]["configurations"].as_array_mut().expect("there are rows");
    rows.iter_mut().for_each(change);
    fs::write(&path, document.to_string()).expect("it can be written");
    run(&["--baseline", &text])
}

fn scale(row: &mut Value, factor: f64) {
    for place in ["/metrics/duration/value", "/estimate/duration_ns"] {
        let value = row.pointer_mut(place).expect("every row has an estimate");
        *value = (value.as_f64().expect("it is a number") * factor).into();
    }
}

#[test]
fn every_row_has_an_estimate_with_its_interval_and_its_limits() {
    let outcome = run(&["--message-format", "json"]).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert_eq!(rows.len(), 4);
    let table = run(&[]).exits_with(0).stdout;
    assert!(table.contains("(sm_90), times estimated\n"), "{table}");
    assert!(table.contains("duration [µs]") && table.contains("  ≈"), "{table}");
    assert!(table.contains("\n estimated  duration: by model "), "{table}");
    assert!(table.contains("\n limited    "), "{table}");
    assert!(!table.contains("measured ("), "{table}");
}

#[test]
fn a_threshold_on_a_statistic_of_an_estimate_is_not_judged() {
    for threshold in ["every duration.p95 <= 1 s", "every duration.mean <= 1 s"] {
        let alone = ["run", "--package", "vector", "scale", "--threshold", threshold];
        let workshop = Workspace::fixture("workshop");
        let outcome = workshop.tool(&alone).env("GPUEMU_ESTIMATE", "1").run().exits_with(106);
        let why = "nothing judged: an estimate is one number, without p95, min and mean";
        assert!(outcome.stdout.contains(why), "{}", outcome.stdout);
    }
}

#[test]
fn without_estimates_the_emulator_reports_no_times() {
    for more in [&["--no-estimate"][..], &["--no-estimate", "--message-format", "json"]] {
        let outcome = run(more).exits_with(0);
        assert!(!outcome.stdout.contains('≈'), "{}", outcome.stdout);
        let said = outcome.stdout.replace("no time was estimated", "");
        assert!(!said.contains("estimated"), "{said}");
    }
    let table = run(&["--no-estimate"]).stdout;
    assert!(table.contains("duration: no time was estimated\n"), "{table}");
}

#[test]
fn a_verdict_that_rests_on_an_estimate_says_so_in_every_format() {
    let failed = run(&["--threshold", "every duration <= 1 ns"]).exits_with(100);
    assert!(failed.stdout.contains("; estimated, 90% interval "), "{}", failed.stdout);
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let [csv, junit, markdown] =
        ["a.csv", "a.xml", "a.md"].map(|name| folder.path().join(name).display().to_string());
    run(&["--threshold", "every duration <= 1 s", "--export-csv", &csv, "--export-junit", &junit])
        .exits_with(0);
    let junit = fs::read_to_string(junit).expect("it was written");
    assert!(junit.contains("<property name=\"source\" value=\"estimated\"/>"), "{junit}");
    let csv = fs::read_to_string(csv).expect("it was written");
    let header = csv.lines().next().unwrap_or_default();
    assert!(header.contains(",rank,low,high,limit,limit_share,axis:block"), "{header}");
    assert!(csv.contains(",ns,estimated,exact,"), "{csv}");
    let limits = ["--threshold", "every duration <= 1 s", "--export-markdown", &markdown];
    run(&limits).exits_with(0);
    let markdown = fs::read_to_string(markdown).expect("it was written");
    assert!(markdown.contains("rests on estimated times"), "{markdown}");
}

#[test]
fn against_a_baseline_of_the_same_model_estimates_are_exact() {
    let same = run_against(|_| {}).exits_with(0);
    assert!(same.stdout.contains("by exact metrics and estimated times"), "{}", same.stdout);
    let slower = run_against(|row| scale(row, 0.9)).exits_with(100);
    let text = &slower.stdout;
    assert!(text.contains("every duration <= baseline + 2%"), "{text}");
    let changed = text.lines().find(|line| line.starts_with("  gather  block=64"));
    assert_eq!(changed.map(|line| line.matches(" ≈").count()), Some(2), "{text}");
    assert!(text.contains("the limit `") && text.contains("` grew most, by ≈"), "{text}");
}

#[test]
fn against_a_baseline_of_another_model_estimates_are_not_compared() {
    let other = run_against(|row| row["estimate"]["model"] = 0.into()).exits_with(0);
    let text = &other.stdout;
    assert!(text.contains("INCOMPARABLE  every duration <= baseline + 2%"), "{text}");
    assert!(text.contains("estimates of two models: model 0 of the H200"), "{text}");
}
