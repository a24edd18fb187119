use gpuprof_model::comparison::Outcome;
use gpuprof_model::estimate::Estimate;
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::compared_pair::change;
use crate::fixture::{estimated, gpu, h200, judge, series};
use crate::gate::default_thresholds::default_thresholds;
use crate::gate::judge::Baseline;

const N: u64 = 1 << 20;

fn judged(text: &str, rows: &[ConfigurationResult], baseline: &Baseline<'_>) -> Judgement {
    let threshold = Threshold::parse(text).unwrap();
    judge(&Catalogue::built_in(), &threshold, "attribute", rows, Some(&h200()), baseline)
}

/// The judgement of a limit that is a number, for `block=64` and so on with these durations, each
/// with an interval from half to double.
fn absolute(text: &str, durations: &[f64]) -> Judgement {
    let rows: Vec<_> =
        durations.iter().zip(6..).map(|(&ns, log)| estimated(1 << log, N, ns)).collect();
    judged(text, &rows, &Baseline::none())
}

#[test]
fn a_limit_outside_the_interval_decides() {
    let of = |text: &str| absolute(text, &[1000.0]).verdict;
    assert_eq!(of("every duration <= 2 us"), Verdict::Pass);
    assert_eq!(of("every duration <= 499 ns"), Verdict::Fail);
    assert_eq!(of("every duration >= 500 ns"), Verdict::Pass);
    assert_eq!(of("every duration > 2 us"), Verdict::Fail);
    for inside in ["every duration <= 1999 ns", "every duration >= 501 ns"] {
        let judgement = absolute(inside, &[1000.0]);
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{inside}");
        let reason = "the limit lies inside the interval of the estimate";
        assert_eq!(judgement.reason.as_deref(), Some(reason));
        let interval = judgement.interval.unwrap();
        assert_eq!((interval.low, interval.high, interval.level), (500.0, 2000.0, 0.9));
        assert_eq!(judgement.source, Some(Source::Estimated));
    }
    // 12 B × 2^20 in 1 µs is 12.6 TB/s, and 20 % of the peak is 0.96 TB/s.
    assert_eq!(of("best throughput >= 20% of peak"), Verdict::Pass);
}

#[test]
fn best_passes_by_one_row_and_fails_by_all_rows() {
    let of = |durations: &[f64]| absolute("best duration <= 1 us", durations).verdict;
    assert_eq!(of(&[9000.0, 400.0]), Verdict::Pass);
    assert_eq!(of(&[9000.0, 800.0]), Verdict::Inconclusive);
    assert_eq!(of(&[9000.0, 8000.0]), Verdict::Fail);
}

#[test]
fn an_estimate_has_no_statistics_of_samples() {
    let judgement = absolute("every duration.p95 <= 9 us", &[1000.0]);
    assert_eq!(judgement.verdict, Verdict::Unavailable);
    let reason = "an estimate is one number, without p95, min and mean";
    assert_eq!(judgement.reason.as_deref(), Some(reason));
}

fn relative(before: &ConfigurationResult, after: &ConfigurationResult) -> Judgement {
    let configurations = std::slice::from_ref(before);
    let baseline = Baseline::Held { configurations, whole: true, in_rounds: false };
    judged("every duration <= baseline + 5%", std::slice::from_ref(after), &baseline)
}

#[test]
fn estimates_of_one_model_are_compared_as_exact_numbers() {
    let of = |ns: f64| relative(&estimated(64, N, 1000.0), &estimated(64, N, ns));
    assert_eq!(of(1050.0).verdict, Verdict::Pass);
    assert_eq!(of(940.0).verdict, Verdict::Improved);
    let failed = of(1051.0);
    assert_eq!(failed.verdict, Verdict::Fail);
    assert_eq!(failed.baseline, Some(Quantity::new(1000.0, Unit::Nanoseconds)));
    let grown = "the limit `dram` grew most, by ≈44.62 ns";
    assert_eq!(failed.reason.as_deref(), Some(grown));
    let change = change(
        "duration",
        Some(&estimated(64, N, 1000.0)),
        Some(&estimated(64, N, 1051.0)),
        (None, (None, None)),
    )
    .unwrap();
    assert_eq!((change.outcome, change.reason.as_deref()), (Outcome::Worse, Some(grown)));
}

#[test]
fn estimates_of_two_models_and_an_estimate_and_a_measurement_are_not_compared() {
    let row = estimated(64, N, 1000.0);
    let newer = ConfigurationResult {
        estimate: row.estimate.clone().map(|of| Estimate { model: 2, ..of }),
        ..row.clone()
    };
    let measured = gpu(64, N, &[1000.0]);
    for (before, after, reason) in [
        (&row, &newer, "model 1 of the H200 in the baseline, model 2 of the H200 here"),
        (&row, &measured, "`duration` is estimated in the baseline and measured here"),
        (&measured, &row, "`duration` is measured in the baseline and estimated here"),
    ] {
        let judgement = relative(before, after);
        assert_eq!(judgement.verdict, Verdict::Incomparable, "{reason}");
        let told = judgement.reason.unwrap();
        assert!(told.ends_with(reason), "{told}");
        let change = change("duration", Some(before), Some(after), (None, (None, None))).unwrap();
        assert_eq!((change.outcome, change.percent), (Outcome::Incomparable, None));
        assert_eq!(change.reason.as_deref(), Some(&*told));
    }
}

#[test]
fn the_default_gate_covers_estimated_durations() {
    let mut of = series(vec![estimated(64, N, 1000.0), estimated(128, N, 900.0)]);
    of.columns = ["duration", "throughput", "load_sectors_per_request"].map(String::from).into();
    let gates = default_thresholds(&Catalogue::built_in(), &of, Some(&of)).into_iter();
    let gates: Vec<String> = gates.map(|threshold| threshold.text).collect();
    assert!(gates.contains(&"every duration <= baseline + 2%".to_owned()), "{gates:?}");
    assert!(!gates.iter().any(|gate| gate.contains("throughput")), "{gates:?}");
    assert!(gates.contains(&"every load_sectors_per_request <= baseline".to_owned()), "{gates:?}");
}
