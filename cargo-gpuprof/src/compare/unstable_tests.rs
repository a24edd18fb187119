//! A time that could not be told: the state from the pass to the table and the verdict.

use gpuprof_model::measurement::PassResult;
use gpuprof_model::run::{ConfigurationResult, MetricResult, Provenance, Run, SCHEMA_VERSION};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};

use super::collect::finished;
use super::fixture::{gpu_pass, h200, point, series};
use super::judge::{Baseline, judge};
use crate::report::{Report, Table};

const N: u64 = 1 << 20;
const REASON: &str = "the GPU was slowed down by its temperature";

fn pass(block: u64, unstable: bool) -> PassResult {
    let mut pass = gpu_pass(block, N, &[1000.0, 1010.0]);
    if let Some(timing) = pass.timing.as_mut().filter(|_| unstable) {
        timing.discarded = 64;
        timing.unstable = Some(REASON.to_owned());
    }
    pass
}

/// `block=64` held still; one of the two processes of `block=128` did not.
fn rows() -> Vec<ConfigurationResult> {
    let steady = finished(point(64, N), &[pass(64, false), pass(64, false)]);
    vec![steady, finished(point(128, N), &[pass(128, false), pass(128, true)])]
}

fn judged(text: &str, rows: &[ConfigurationResult], baseline: &Baseline<'_>) -> Judgement {
    judge(&Threshold::parse(text).unwrap(), "attribute", rows, Some(&h200()), baseline)
}

#[test]
fn times_and_all_that_is_made_of_them_are_no_numbers() {
    let rows = rows();
    let metric = |name: &str| -> &MetricResult { &rows[1].metrics[name] };
    for name in ["duration", "sm_clock", "sm_cycles", "throughput", "throughput_of_copy"] {
        let result = metric(name);
        assert!(
            result.unstable && result.processes.is_empty() && result.statistics.is_none(),
            "{name}"
        );
        assert!(result.value.as_ref().unwrap_err().contains(REASON), "{name}: {:?}", result.value);
    }
    for name in ["registers", "copy_bandwidth", "bytes"] {
        assert!(metric(name).value.is_ok() && !metric(name).unstable, "{name}");
    }
    assert!(!metric("dram_throughput").unstable, "it is not collected, and that is another thing");
    assert!(rows[0].metrics["duration"].value.is_ok());
    assert_eq!(rows[1].timings.len(), 2, "what was sampled is kept");
}

#[test]
fn a_threshold_on_them_is_in_doubt_unless_others_decide_it() {
    let rows = rows();
    let verdict = |text: &str| judged(text, &rows, &Baseline::none()).verdict;
    assert_eq!(verdict("every duration <= 1 s"), Verdict::Inconclusive);
    assert_eq!(verdict("every duration <= 1 ns"), Verdict::Fail);
    assert_eq!(verdict("best duration <= 1 s"), Verdict::Pass);
    assert_eq!(verdict("every registers <= 16"), Verdict::Pass);
    let alone = judged("every duration <= 1 s", &rows[1..], &Baseline::none());
    assert_eq!(alone.verdict, Verdict::Inconclusive);
    assert!(alone.reason.unwrap().ends_with(REASON));
}

#[test]
fn against_a_baseline_they_are_in_doubt_too() {
    let before = vec![finished(point(128, N), &[pass(128, false), pass(128, false)])];
    let baseline = Baseline::Held { configurations: &before, whole: true };
    for text in ["every duration <= baseline + 5%", "best duration <= baseline + 5%"] {
        let judgement = judged(text, &rows()[1..], &baseline);
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{text}");
        assert!(judgement.reason.unwrap().contains(REASON), "{text}");
    }
}

fn table(rows: Vec<ConfigurationResult>) -> String {
    let run = Run {
        schema_version: SCHEMA_VERSION,
        id: "now".into(),
        provenance: Provenance {
            backend: "cuda".into(),
            device: Some(h200()),
            ..Provenance::default()
        },
        series: vec![series(rows)],
        comparison: None,
    };
    let mut text = Vec::new();
    Table { colour: false, width: None }.write(&run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn samples_that_were_taken_again_are_told() {
    let mut slowed = pass(64, false);
    slowed.timing.as_mut().unwrap().discarded = 16;
    let text = table(vec![finished(point(64, N), &[slowed, pass(64, false)])]);
    let note = text.lines().find(|line| line.trim_start().starts_with("slowed ")).unwrap();
    assert!(note.contains("16 samples were discarded and taken again"), "{text}");
    assert!(!table(rows()).contains("slowed  "), "the unstable one says so itself");
}

#[test]
fn the_table_says_the_word_and_the_reason() {
    let text = table(rows());
    let row = text.lines().find(|line| line.trim_start().starts_with("128 ")).unwrap();
    assert!(row.contains("unstable"), "{text}");
    let note = text.lines().find(|line| line.trim_start().starts_with("unstable ")).unwrap();
    assert!(note.contains("duration at block=128,n=1048576") && note.contains(REASON), "{text}");
}
