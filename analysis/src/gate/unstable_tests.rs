//! An unknown time: the state from the pass to the verdict.

use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, MetricResult};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::fixture::{SLOWED, finished, h200, held_and_slowed, judge, pass_slowed, point};
use crate::gate::judge::Baseline;

const N: u64 = 1 << 20;

fn judged(text: &str, rows: &[ConfigurationResult], baseline: &Baseline<'_>) -> Judgement {
    judge(
        &Catalogue::built_in(),
        &Threshold::parse(text).unwrap(),
        "attribute",
        rows,
        Some(&h200()),
        baseline,
    )
}

#[test]
fn unstable_times_and_derived_metrics_have_no_value() {
    let rows = held_and_slowed(N);
    let metric = |name: &str| -> &MetricResult { &rows[1].metrics[name] };
    for name in ["duration", "sm_clock", "sm_cycles", "throughput", "throughput_of_copy"] {
        let result = metric(name);
        assert!(
            result.unstable && result.processes.is_empty() && result.statistics.is_none(),
            "{name}"
        );
        assert!(result.value.as_ref().unwrap_err().contains(SLOWED), "{name}: {:?}", result.value);
    }
    for name in ["registers", "copy_bandwidth", "bytes"] {
        assert!(metric(name).value.is_ok() && !metric(name).unstable, "{name}");
    }
    assert!(!metric("dram_throughput").unstable, "it is not collected, and that is another thing");
    assert!(rows[0].metrics["duration"].value.is_ok());
    assert_eq!(rows[1].timings.len(), 2, "what was sampled is kept");
}

#[test]
fn a_threshold_on_unstable_times_is_inconclusive() {
    let rows = held_and_slowed(N);
    let verdict = |text: &str| judged(text, &rows, &Baseline::none()).verdict;
    assert_eq!(verdict("every duration <= 1 s"), Verdict::Inconclusive);
    assert_eq!(verdict("every duration <= 1 ns"), Verdict::Fail);
    assert_eq!(verdict("best duration <= 1 s"), Verdict::Pass);
    assert_eq!(verdict("every registers <= 16"), Verdict::Pass);
    let alone = judged("every duration <= 1 s", &rows[1..], &Baseline::none());
    assert_eq!(alone.verdict, Verdict::Inconclusive);
    assert!(alone.reason.unwrap().ends_with(SLOWED));
}

#[test]
fn unstable_times_are_inconclusive_against_a_baseline() {
    let before =
        vec![finished(point(128, N), &[pass_slowed(128, N, false), pass_slowed(128, N, false)])];
    let baseline = Baseline::Held { configurations: &before, whole: true, in_rounds: false };
    for text in ["every duration <= baseline + 5%", "best duration <= baseline + 5%"] {
        let judgement = judged(text, &held_and_slowed(N)[1..], &baseline);
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{text}");
        assert!(judgement.reason.unwrap().contains(SLOWED), "{text}");
    }
}
