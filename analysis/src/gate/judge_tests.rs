use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{Statistics, Status};
use proptest::prelude::*;

use super::{Baseline, ConfigurationResult, Judgement, Threshold, Verdict};
use crate::fixture::{emulated, failed, gpu, h200, invalid, judge, row, rows};
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::Catalogue;

fn judged(text: &str, configurations: &[ConfigurationResult]) -> Judgement {
    let threshold = Threshold::parse(text).unwrap();
    judge(
        &Catalogue::built_in(),
        &threshold,
        "attribute",
        configurations,
        Some(&h200()),
        &Baseline::none(),
    )
}

fn verdict(text: &str, configurations: &[ConfigurationResult]) -> Verdict {
    judged(text, configurations).verdict
}

#[test]
fn a_verdict_names_the_deciding_value_and_configuration() {
    let all = rows("duration", &[90.0, 70.0, 80.0]);
    let at = |text: &str| {
        let j = judged(text, &all);
        (j.verdict, j.value.unwrap().value, j.configuration.unwrap())
    };
    assert_eq!(at("best duration <= 75 ns"), (Verdict::Pass, 70.0, "block=1".into()));
    assert_eq!(at("best duration <= 65 ns"), (Verdict::Fail, 70.0, "block=1".into()));
    assert_eq!(at("every duration <= 100 ns"), (Verdict::Pass, 90.0, "block=0".into()));
    assert_eq!(at("every duration <= 75 ns"), (Verdict::Fail, 90.0, "block=0".into()));
    assert_eq!(at("where block==2 duration <= 75 ns"), (Verdict::Fail, 80.0, "block=2".into()));
    assert_eq!(at("duration > 70 ns"), (Verdict::Fail, 70.0, "block=1".into()));
}

#[test]
fn limited_by_is_compared_with_the_name_of_a_unit() {
    let [sm, dram] = [1.0, 4.0];
    let judgement = judged("every limited_by == dram", &rows("limited_by", &[dram, sm]));
    assert_eq!((judgement.verdict, judgement.margin_percent), (Verdict::Fail, None));
    assert_eq!(judgement.value.unwrap().to_string(), "sm");
    assert_eq!(judgement.limit.unwrap().to_string(), "dram");
    assert_eq!(judgement.configuration.as_deref(), Some("block=1"));
    assert_eq!(verdict("every limited_by == dram", &rows("limited_by", &[dram])), Verdict::Pass);
}

#[test]
fn all_names_of_a_counter_have_one_direction() {
    for name in ["ipc", "sm__inst_executed.avg.per_cycle_active", "retire_ipc"] {
        let all = rows(name, &[1.0, 2.0]);
        assert_eq!(verdict(&format!("best {name} >= 1.5"), &all), Verdict::Pass, "{name}");
        let turned = format!("best {name} >= 1.5, lower is better");
        assert_eq!(verdict(&turned, &all), Verdict::Fail, "{name}");
    }
}

#[test]
fn without_a_direction_the_operator_says_which_is_best() {
    let all = rows("launch__grid_size", &[4.0, 8.0]);
    let at = |text: &str| {
        let j = judged(text, &all);
        (j.verdict, j.value.map(|value| value.value))
    };
    assert_eq!(at("best launch__grid_size <= 5"), (Verdict::Pass, Some(4.0)));
    assert_eq!(at("best launch__grid_size >= 5"), (Verdict::Pass, Some(8.0)));
    assert_eq!(at("every launch__grid_size <= 5"), (Verdict::Fail, Some(8.0)));
    assert_eq!(at("best launch__grid_size == 4"), (Verdict::Incomparable, None));
    assert_eq!(at("best launch__grid_size == 4, lower is better"), (Verdict::Pass, Some(4.0)));
}

#[test]
fn percent_of_peak_is_a_share_of_the_devices_dram_bandwidth() {
    let all = [gpu(64, 1 << 20, &[10_000.0])];
    let pass = judged("best throughput >= 25% of peak", &all);
    assert_eq!(pass.verdict, Verdict::Pass);
    assert_eq!(pass.limit, Some(Quantity::new(1.2e12, Unit::BytesPerSecond)));
    assert_eq!(verdict("best throughput >= 27% of peak", &all), Verdict::Fail);
    let threshold = Threshold::parse("best throughput >= 25% of peak").unwrap();
    for device in [None, Some(DeviceRecord { dram_peak_bytes_per_second: None, ..h200() })] {
        let judgement = judge(
            &Catalogue::built_in(),
            &threshold,
            "attribute",
            &all,
            device.as_ref(),
            &Baseline::none(),
        );
        assert_eq!(judgement.verdict, Verdict::Unavailable);
        assert_eq!(
            judgement.reason.unwrap(),
            "the peak DRAM bandwidth of this device is not known"
        );
    }
}

#[test]
fn statistics_are_used_where_there_are_samples() {
    let all = [gpu(64, 1 << 20, &[1000.0, 2000.0, 9000.0])];
    assert_eq!(judged("duration <= 1 us", &all).value.unwrap().value, 2000.0);
    assert_eq!(judged("duration.p95 <= 1 us", &all).value.unwrap().value, 9000.0);
    assert_eq!(judged("duration.min <= 1 us", &all).value.unwrap().value, 1000.0);
    assert_eq!(judged("duration.mean <= 1 us", &all).value.unwrap().value, 4000.0);
    assert_eq!(judged("registers <= 32", &all).value.unwrap().value, 16.0);
}

#[test]
fn a_missing_metric_is_unavailable_with_its_reason() {
    let judgement = judged("best throughput >= 60% of peak", &[emulated(64, 1 << 20)]);
    assert_eq!(judgement.verdict, Verdict::Unavailable);
    assert_eq!(judgement.reason.unwrap(), "needs `duration`: no time was estimated");
    assert_eq!((judgement.value, judgement.configuration), (None, None));
}

#[test]
fn counters_are_compared_exactly() {
    let all = rows("bank_conflicts", &[0.0, 0.0]);
    assert_eq!(verdict("bank_conflicts == 0", &all), Verdict::Pass);
    let all = rows("bank_conflicts", &[0.0, 1.0]);
    assert_eq!(verdict("bank_conflicts == 0", &all), Verdict::Fail);
}

#[test]
fn a_violation_fails_even_if_other_configurations_did_not_finish() {
    let all = [row(0, "duration", Ok(90.0)), failed(1)];
    assert_eq!(verdict("every duration <= 80 ns", &all), Verdict::Fail);
    let missing = judged("every duration <= 100 ns", &all);
    assert_eq!(missing.verdict, Verdict::Missing);
    assert_eq!(missing.reason.unwrap(), "block=1 failed");
    assert_eq!(verdict("where block==1 duration <= 100 ns", &all), Verdict::Missing);
    let two = [failed(1), row(0, "duration", Ok(90.0)), failed(2)];
    let reason = judged("every duration <= 100 ns", &two).reason.unwrap();
    assert_eq!(reason, "block=1 failed, and 1 more did not finish");
}

#[test]
fn best_ignores_unfinished_configurations() {
    let all = [row(0, "duration", Ok(90.0)), failed(1), row(2, "duration", Err("no"))];
    assert_eq!(verdict("best duration <= 100 ns", &all), Verdict::Pass);
    assert_eq!(verdict("best duration <= 80 ns", &all), Verdict::Fail);
    // A better value could violate the limit here, so the missing one is needed.
    assert_eq!(verdict("best duration >= 80 ns", &all), Verdict::Missing);
    assert_eq!(verdict("best duration >= 80 ns", &all[..1]), Verdict::Pass);
    assert_eq!(verdict("best duration <= 100 ns", &all[1..2]), Verdict::Missing);
}

#[test]
fn invalid_configurations_are_ignored_unless_all_are_invalid() {
    let all = [row(0, "duration", Ok(90.0)), invalid(2048)];
    assert_eq!(verdict("every duration <= 100 ns", &all), Verdict::Pass);
    let judgement = judged("where block==2048 duration <= 100 ns", &all);
    assert_eq!(judgement.verdict, Verdict::Missing);
    assert_eq!(
        judgement.reason.unwrap(),
        "block=2048 is invalid: a block of 2048 threads is above the 1024 that this device takes"
    );
    let reason = judged("duration <= 1 s", &[invalid(2048), invalid(4096)]).reason.unwrap();
    assert!(reason.starts_with("every configuration is invalid, such as block=2048: "), "{reason}");
}

#[test]
fn a_condition_without_configurations_is_missing() {
    let all = rows("duration", &[1.0]);
    let judgement = judged("where block==96 and n==5 duration <= 1 s", &all);
    assert_eq!(judgement.verdict, Verdict::Missing);
    assert_eq!(judgement.reason.unwrap(), "no configuration has block=96 and n=5");
    assert_eq!(verdict("duration <= 1 s", &[]), Verdict::Missing);
}

#[test]
fn unknown_metrics_and_wrong_units_are_never_judged() {
    let all = rows("duration", &[1.0]);
    let unknown = judged("duratio <= 1 s", &all);
    assert_eq!(unknown.verdict, Verdict::Missing);
    assert!(unknown.reason.unwrap().contains("did you mean `duration`"));
    assert_eq!(verdict("duration <= 1 GB/s", &all), Verdict::Incomparable);
}

#[test]
fn nan_never_passes() {
    for text in ["best duration >= 0 ns", "duration >= 0 ns", "duration <= 1 s"] {
        let all = rows("duration", &[f64::NAN]);
        assert_eq!(verdict(text, &all), Verdict::Unavailable, "{text}");
    }
    let mut row = row(0, "duration", Ok(1.0));
    row.metrics.get_mut("duration").unwrap().statistics = Some(Box::new(Statistics {
        count: 1,
        processes: 1,
        p95: f64::NAN,
        ..Statistics::default()
    }));
    assert_eq!(verdict("duration.p95 <= 1 s", &[row]), Verdict::Unavailable);
}

/// Values of a configuration: a number, not a number, not to be had, failed, or invalid.
fn outcome(at: u64) -> impl Strategy<Value = ConfigurationResult> {
    prop_oneof![
        6 => (0..200_u32).prop_map(move |v| row(at, "duration", Ok(f64::from(v)))),
        1 => Just(row(at, "duration", Ok(f64::NAN))),
        1 => Just(row(at, "duration", Err("not here"))),
        1 => Just(failed(at)),
        1 => Just(invalid(at)),
    ]
}

fn outcomes() -> impl Strategy<Value = Vec<ConfigurationResult>> {
    (0..6_u64).prop_flat_map(|n| (0..n).map(outcome).collect::<Vec<_>>())
}

/// Comparisons that a noisy metric may have: `==` is refused of one.
fn ordering() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("<="), Just("<"), Just(">="), Just(">")]
}

fn comparison() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => ordering(), 1 => Just("==")]
}

proptest! {
    #[test]
    fn every_passes_only_if_all_values_are_within_the_limit(
        all in outcomes(), comparison in ordering(), limit in 0..200_u32,
    ) {
        let text = format!("every duration {comparison} {limit} ns");
        let threshold = Threshold::parse(&text).unwrap();
        let holds = |c: &ConfigurationResult| {
            crate::view::best::value(c, "duration")
                .is_some_and(|v| threshold.comparison.holds(v, f64::from(limit)))
        };
        let needed: Vec<_> =
            all.iter().filter(|c| !matches!(c.status, Status::Invalid { .. })).collect();
        let all_hold = !needed.is_empty() && needed.iter().all(|c| holds(c));
        prop_assert_eq!(verdict(&text, &all) == Verdict::Pass, all_hold);
    }

    #[test]
    fn adding_a_configuration_never_heals_a_failed_every(
        mut all in outcomes(), more in outcome(9), comparison in comparison(), limit in 0..200_u32,
    ) {
        let text = format!("every duration {comparison} {limit} ns");
        let before = verdict(&text, &all);
        all.push(more);
        let after = verdict(&text, &all);
        if before == Verdict::Fail {
            prop_assert_eq!(after, Verdict::Fail);
        }
    }

    #[test]
    fn best_agrees_with_brute_force(all in outcomes(), limit in 0..200_u32) {
        let text = format!("best duration <= {limit} ns");
        let least = all
            .iter()
            .filter_map(|c| crate::view::best::value(c, "duration"))
            .fold(f64::INFINITY, f64::min);
        let judgement = judged(&text, &all);
        match least.is_finite() {
            true => {
                let expected =
                    if least <= f64::from(limit) { Verdict::Pass } else { Verdict::Fail };
                prop_assert_eq!(judgement.verdict, expected);
                prop_assert_eq!(judgement.value.unwrap().value, least);
            }
            false => prop_assert!(matches!(judgement.verdict, Verdict::Missing | Verdict::Unavailable)),
        }
    }

    #[test]
    fn every_verdict_has_a_deciding_value_or_a_reason(
        all in outcomes(), comparison in comparison(), best: bool, limit in 0..200_u32,
    ) {
        let selector = if best { "best" } else { "every" };
        let judgement = judged(&format!("{selector} duration {comparison} {limit} ns"), &all);
        let decided = matches!(judgement.verdict, Verdict::Pass | Verdict::Fail);
        prop_assert_eq!(decided, judgement.value.is_some());
        prop_assert_eq!(decided, judgement.configuration.is_some());
        prop_assert_eq!(decided, judgement.reason.is_none());
        if let Some(value) = judgement.value {
            prop_assert!(value.value.is_finite());
        }
    }
}
