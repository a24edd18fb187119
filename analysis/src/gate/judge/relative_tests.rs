use gpuprof_model::metric::{Catalogue, Class, Perturbation};
use gpuprof_model::run::{ConfigurationResult, ProcessValue};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};
use proptest::prelude::*;

use crate::fixture::finished;
use crate::fixture::{failed, gpu_pass, invalid, judge, point, row, rows};
use crate::gate::judge::Baseline;

const N: u64 = 1 << 20;

fn judged(text: &str, before: &[ConfigurationResult], after: &[ConfigurationResult]) -> Judgement {
    let baseline = Baseline::Held { configurations: before, whole: true, in_rounds: false };
    judge(
        &Catalogue::built_in(),
        &Threshold::parse(text).unwrap(),
        "attribute",
        after,
        None,
        &baseline,
    )
}

fn verdict(text: &str, before: &[ConfigurationResult], after: &[ConfigurationResult]) -> Verdict {
    judged(text, before, after).verdict
}

/// A configuration `block` with these median durations of its processes.
fn timed(block: u64, medians: &[f64]) -> ConfigurationResult {
    let passes: Vec<_> =
        medians.iter().map(|&m| gpu_pass(block, N, &[m - 32.0, m, m + 32.0])).collect();
    finished(point(block, N), &passes)
}

fn around(center: f64) -> [f64; 5] {
    [0.999, 1.0, 1.001, 1.0005, 0.9995].map(|factor| factor * center)
}

#[test]
fn exact_metrics_fail_by_one_and_improve_by_one() {
    let before = rows("global_sectors", &[100.0, 200.0]);
    let text = "global_sectors <= baseline";
    assert_eq!(verdict(text, &before, &before), Verdict::Pass);
    assert_eq!(verdict(text, &before, &rows("global_sectors", &[100.0, 201.0])), Verdict::Fail);
    assert_eq!(verdict(text, &before, &rows("global_sectors", &[100.0, 199.0])), Verdict::Improved);
    assert_eq!(verdict(text, &before, &rows("global_sectors", &[101.0, 199.0])), Verdict::Fail);
    let within = "global_sectors <= baseline + 5% and at least 10";
    assert_eq!(verdict(within, &before, &rows("global_sectors", &[110.0, 210.0])), Verdict::Pass);
    assert_eq!(verdict(within, &before, &rows("global_sectors", &[111.0, 200.0])), Verdict::Fail);
    assert_eq!(verdict(within, &before, &rows("global_sectors", &[91.0, 191.0])), Verdict::Pass);
    let zero = rows("bank_conflicts", &[0.0]);
    assert_eq!(verdict("bank_conflicts == baseline", &zero, &zero), Verdict::Pass);
    let one = rows("bank_conflicts", &[1.0]);
    assert_eq!(verdict("bank_conflicts <= baseline + 50%", &zero, &one), Verdict::Fail);
}

/// `global_sectors` of a GPU, counted by patched code in a kernel that diverges.
fn moved(value: f64) -> Vec<ConfigurationResult> {
    let mut rows = rows("global_sectors", &[value]);
    let result = rows[0].metrics.get_mut("global_sectors").unwrap();
    result.class = Class::Noisy;
    result.perturbation = Some(Perturbation::Divergence);
    result.processes = vec![ProcessValue { median: value, p95: value, min: value, mean: value }];
    rows
}

#[test]
fn a_counter_moved_by_patching_is_judged_by_its_value_with_a_reason() {
    let reason = |judgement: &Judgement| {
        let cases = judgement.violations.iter().chain(&judgement.undecided);
        let reasons = cases.filter_map(|case| case.reason.as_deref());
        reasons.chain(judgement.reason.as_deref()).any(|text| text.contains("lanes diverge"))
    };
    for before in [rows("global_sectors", &[100.0]), moved(100.0)] {
        for (value, expected) in [(101.0, Verdict::Fail), (100.0, Verdict::Pass)] {
            let relative = judged("global_sectors <= baseline", &before, &moved(value));
            assert_eq!((relative.verdict, reason(&relative)), (expected, true), "{relative:?}");
            let absolute = judged("global_sectors <= 100", &before, &moved(value));
            assert_eq!((absolute.verdict, reason(&absolute)), (expected, true), "{absolute:?}");
        }
    }
}

#[test]
fn every_failure_is_reported_with_its_values_and_the_worst_decides() {
    let before = rows("global_sectors", &[100.0, 100.0, 100.0]);
    let after = rows("global_sectors", &[110.0, 100.0, 150.0]);
    let judgement = judged("global_sectors <= baseline + 5%", &before, &after);
    assert_eq!(judgement.configuration.as_deref(), Some("block=2"));
    let number = |q: Option<gpuprof_model::Quantity>| q.unwrap().value;
    assert_eq!(
        (number(judgement.value), number(judgement.limit), number(judgement.baseline)),
        (150.0, 105.0, 100.0)
    );
    let told: Vec<(&str, f64)> =
        judgement.violations.iter().map(|v| (v.configuration.as_str(), v.value.value)).collect();
    assert_eq!(told, [("block=2", 150.0), ("block=0", 110.0)]);
    assert!((judgement.margin_percent.unwrap() + 100.0 * 45.0 / 105.0).abs() < 1e-9);
}

#[test]
fn time_needs_significance_and_magnitude() {
    let before = [timed(64, &around(100_000.0))];
    let text = "duration <= baseline + 2%";
    assert_eq!(verdict(text, &before, &[timed(64, &around(100_000.0))]), Verdict::Pass);
    assert_eq!(verdict(text, &before, &[timed(64, &around(101_000.0))]), Verdict::Pass);
    let fail = judged(text, &before, &[timed(64, &around(103_000.0))]);
    assert_eq!(fail.verdict, Verdict::Fail);
    assert!(fail.confidence.unwrap().p_value < 0.001);
    assert_eq!(verdict(text, &before, &[timed(64, &around(97_000.0))]), Verdict::Improved);
}

#[test]
fn a_difference_within_the_noise_is_inconclusive() {
    let noisy = [66_000.0, 84_000.0, 71_000.0, 78_000.0];
    let before = [timed(64, &noisy)];
    let beyond =
        judged("duration <= baseline + 2%", &before, &[timed(64, &noisy.map(|t| t * 1.03))]);
    assert_eq!(beyond.verdict, Verdict::Inconclusive);
    assert!(beyond.reason.unwrap().starts_with("the difference is within the noise (95% interval"));
    // An interval beyond the limit is not noise: only the certainty for all questions at once is
    // missing.
    let alone = judged(
        "duration <= baseline + 2%",
        &[timed(64, &[99_000.0, 101_000.0, 100_000.0, 98_500.0, 101_500.0])],
        &[timed(64, &[101_100.0, 103_100.0, 102_100.0, 100_600.0, 103_600.0])],
    );
    assert_eq!(alone.verdict, Verdict::Inconclusive);
    let told = alone.reason.unwrap();
    assert!(told.starts_with("the difference is sure enough alone, and not among all"), "{told}");
    let same = judged("duration <= baseline + 2%", &before, &before);
    assert_eq!(same.verdict, Verdict::Inconclusive);
    assert!(
        same.reason
            .unwrap()
            .starts_with("the noise interval reaches beyond the limit (95% interval")
    );
    assert_eq!(verdict("duration <= baseline + 50%", &before, &before), Verdict::Pass);
    let few = judged("duration <= baseline + 2%", &[timed(64, &noisy[..2])], &before);
    assert_eq!(few.verdict, Verdict::Inconclusive);
}

#[test]
fn an_inconclusive_verdict_names_the_repeat_that_would_decide() {
    // A standard deviation of 1.5 %, three processes a side. Inside the limit of 2 % with 95 %
    // takes t(0.95) 1.5 % √(2/n) < 2 %: five; a difference of 3 % at 1 % takes t(0.99) 1.5 % √(2/n)
    // < 3 %: five as well.
    let spread = [100_000.0, 101_500.0, 98_500.0];
    let before = [timed(64, &spread)];
    let text = "duration <= baseline + 2%";
    for (factor, beginning) in [
        (1.0, "the noise interval reaches beyond the limit (95% interval"),
        (1.03, "the difference is within the noise (95% interval"),
    ] {
        let reason = judged(text, &before, &[timed(64, &spread.map(|t| t * factor))]).reason;
        let reason = reason.unwrap();
        let end = "; --repeat 5 for both the run and its baseline would decide";
        assert!(reason.starts_with(beginning) && reason.ends_with(end), "{reason}");
    }
    let narrow = judged("duration <= baseline + 0.1%", &before, &before).reason.unwrap();
    let end = "; no --repeat up to 50 would decide: the limit is too tight for this noise";
    assert!(narrow.ends_with(end), "{narrow}");
    let one = [timed(64, &spread[..1])];
    assert_eq!(
        judged(text, &one, &before).reason.unwrap(),
        "a difference needs 3 processes a side; the baseline has 1, this run 3 (--repeat 7 for both)"
    );
}

#[test]
fn a_lower_rate_fails_and_a_higher_one_improves() {
    let before = [timed(64, &around(100_000.0))];
    let text = "best throughput >= baseline - 2%";
    assert_eq!(verdict(text, &before, &[timed(64, &around(104_000.0))]), Verdict::Fail);
    assert_eq!(verdict(text, &before, &[timed(64, &around(100_500.0))]), Verdict::Pass);
    assert_eq!(verdict(text, &before, &[timed(64, &around(90_000.0))]), Verdict::Improved);
}

#[test]
fn a_missing_required_improvement_fails() {
    let before = [timed(64, &around(100_000.0))];
    let (text, at) = ("duration <= baseline - 5%", |t: f64| [timed(64, &around(t))]);
    for (after, expected) in [
        (100_000.0, Verdict::Fail),
        // Surely better, and surely not by 5 %.
        (98_000.0, Verdict::Fail),
        (103_000.0, Verdict::Fail),
        (95_050.0, Verdict::Inconclusive),
        (94_000.0, Verdict::Improved),
    ] {
        assert_eq!(verdict(text, &before, &at(after)), expected, "{after}");
    }
    let rate = "throughput >= baseline + 5%";
    assert_eq!(verdict(rate, &before, &at(100_000.0)), Verdict::Fail);
    assert_eq!(verdict(rate, &before, &at(94_000.0)), Verdict::Improved);
    let doubt = judged(text, &before, &at(95_050.0)).reason.unwrap();
    assert!(doubt.starts_with("the noise interval reaches the limit (95% interval -5"), "{doubt}");
    assert!(doubt.ends_with(" for both the run and its baseline would decide"), "{doubt}");
    assert_eq!(
        verdict(
            "global_sectors <= baseline - 5%",
            &rows("global_sectors", &[100.0]),
            &rows("global_sectors", &[96.0])
        ),
        Verdict::Fail
    );
}

#[test]
fn a_limit_on_the_better_side_is_enforced() {
    let before = [timed(64, &around(100_000.0))];
    // A kernel that suddenly takes half the time has lost half its work.
    let text = "duration >= baseline - 20%";
    assert_eq!(verdict(text, &before, &[timed(64, &around(50_000.0))]), Verdict::Fail);
    assert_eq!(verdict(text, &before, &[timed(64, &around(90_000.0))]), Verdict::Pass);
}

#[test]
fn a_clock_step_is_as_insignificant_for_a_rate_as_for_a_time() {
    let (before, after) = ([timed(64, &[5024.0; 3])], [timed(64, &[5056.0; 3])]);
    let p = |text: &str| judged(text, &before, &after).confidence.unwrap().p_value;
    let (time, rate) = (p("duration <= baseline"), p("throughput >= baseline"));
    assert!(time > 0.01 && (rate / time - 1.0).abs() < 0.1, "{time} {rate}");
}

#[test]
fn best_compares_the_best_configurations_of_both_sides() {
    let before = rows("global_sectors", &[100.0, 90.0]);
    let after = rows("global_sectors", &[90.0, 120.0]);
    assert_eq!(verdict("best global_sectors <= baseline", &before, &after), Verdict::Pass);
    assert_eq!(verdict("every global_sectors <= baseline", &before, &after), Verdict::Fail);
}

#[test]
fn vanished_configurations_are_missing_and_new_ones_ignored() {
    let text = "global_sectors <= baseline";
    let two = rows("global_sectors", &[1.0, 1.0]);
    let one = rows("global_sectors", &[1.0]);
    let missing = judged(text, &two, &one);
    assert_eq!(missing.verdict, Verdict::Missing);
    assert_eq!(missing.reason.as_deref(), Some("block=1 is in the baseline and not in this run"));
    assert_eq!(verdict(text, &one, &two), Verdict::Pass);
    assert_eq!(
        verdict(text, &two, &[row(0, "global_sectors", Ok(1.0)), failed(1)]),
        Verdict::Missing
    );
    let refused = [row(0, "global_sectors", Ok(1.0)), invalid(1)];
    let no_longer = judged(text, &two, &refused);
    assert_eq!(no_longer.verdict, Verdict::Missing);
    assert_eq!(
        no_longer.reason.as_deref(),
        Some(
            "block=1 ran in the baseline and is invalid here: a block of 1 threads is above the 1024 that this \
             device takes"
        )
    );
    assert_eq!(verdict(text, &refused, &refused), Verdict::Pass);
    let nowhere = judged("where block==7 global_sectors <= baseline", &two, &two);
    assert_eq!(nowhere.reason.as_deref(), Some("no configuration has block=7"));
    let gone = [row(0, "global_sectors", Ok(1.0)), row(1, "global_sectors", Err("no GPU"))];
    assert_eq!(verdict(text, &two, &gone), Verdict::Unavailable);
    assert_eq!(verdict(text, &gone, &two), Verdict::Missing);
    assert_eq!(verdict(text, &[], &one), Verdict::Missing);
    assert_eq!(verdict(text, &two, &[row(0, "global_sectors", Ok(2.0)), failed(1)]), Verdict::Fail);
}

#[test]
fn a_filtered_series_has_no_missing_configurations() {
    let two = rows("global_sectors", &[1.0, 1.0]);
    let baseline = Baseline::Held { configurations: &two, whole: false, in_rounds: false };
    let threshold = Threshold::parse("global_sectors <= baseline").unwrap();
    assert_eq!(
        judge(&Catalogue::built_in(), &threshold, "x", &two[..1], None, &baseline).verdict,
        Verdict::Pass
    );
}

#[test]
fn without_a_comparable_baseline_nothing_passes() {
    let threshold = Threshold::parse("global_sectors <= baseline").unwrap();
    let one = rows("global_sectors", &[1.0]);
    let of = |baseline: &Baseline<'_>| {
        judge(&Catalogue::built_in(), &threshold, "x", &one, None, baseline)
    };
    let absent = of(&Baseline::none());
    assert_eq!(absent.verdict, Verdict::Missing);
    assert_eq!(absent.reason.as_deref(), Some("no baseline was given (--baseline NAME)"));
    let other = of(&Baseline::Incomparable("device: A in the baseline, B here".into()));
    assert_eq!(other.verdict, Verdict::Incomparable);
}

proptest! {
    #[test]
    fn a_run_against_itself_never_fails(
        medians in prop::collection::vec(prop::collection::vec(1e3..1e6_f64, 1..6), 1..5),
        percent in 0.0..10.0_f64,
    ) {
        let all: Vec<_> = medians.iter().zip(0..).map(|(m, at)| timed(64 + at, m)).collect();
        let text = format!("duration <= baseline + {percent:.3}%");
        let verdict = verdict(&text, &all, &all);
        prop_assert!(matches!(verdict, Verdict::Pass | Verdict::Inconclusive), "{verdict}");
    }

    #[test]
    fn one_more_of_an_exact_count_always_fails(
        counts in prop::collection::vec(0..1_u32 << 30, 1..6), at in 0..6_usize,
    ) {
        let before: Vec<f64> = counts.iter().map(|&c| f64::from(c)).collect();
        let mut after = before.clone();
        let at = at % after.len();
        after[at] += 1.0;
        let verdict = verdict(
            "global_sectors <= baseline", &rows("global_sectors", &before), &rows("global_sectors", &after),
        );
        prop_assert_eq!(verdict, Verdict::Fail);
    }

    #[test]
    fn widening_a_tolerance_never_turns_a_pass_into_a_failure(
        before in 1.0..1e6_f64, after in 1.0..1e6_f64, narrow in 0.0..50.0_f64, more in 0.0..50.0_f64,
    ) {
        let judge = |percent: f64| verdict(
            &format!("global_sectors <= baseline + {percent}%"),
            &rows("global_sectors", &[before]), &rows("global_sectors", &[after]),
        );
        prop_assert!(judge(narrow) == Verdict::Fail || judge(narrow + more) != Verdict::Fail);
    }
}
