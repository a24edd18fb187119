#[path = "conclusion/sensitivity_tests.rs"]
mod sensitivity_tests;

use gpuprof_model::measurement::{Unverified, Verification};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, MissingSlices};
use gpuprof_model::threshold::Threshold;

use super::*;
use crate::fixture::{self, emulated_pass, failed, finished, gh100, gpu_pass, h200, point, series};
use crate::gate::baseline::{Against, Scope};
use crate::gate::outcome::RunOutcome;
use crate::gate::run::rejudge;
use crate::stats::random::SplitMix;

const N: u64 = 1 << 20;

/// 100 µs with a noise of `percent`, in so many rounds, each `slower` by a share.
fn timed(
    at: u64,
    rounds: u32,
    percent: f64,
    slower: f64,
    random: &mut SplitMix,
) -> ConfigurationResult {
    let passes: Vec<_> = (0..rounds)
        .map(|_| 100_000.0 * (1.0 + slower) * (1.0 + percent / 100.0 * random.normal()))
        .map(|median| gpu_pass(32 * at, N, &[median - 32.0, median, median + 32.0]))
        .collect();
    finished(point(32 * at, N), &passes)
}

fn run(rows: Vec<ConfigurationResult>) -> Run {
    let mut run = fixture::run("r", vec![series(rows)]);
    run.provenance.device = Some(h200());
    run
}

fn against(base: Run, in_rounds: bool) -> Against {
    Against {
        name: "main".into(),
        run: Ok(base),
        across_devices: false,
        in_rounds,
        scope: Scope::whole(),
    }
}

/// Both sides in so many rounds with a noise of `percent`, one configuration for each of the
/// `slower` shares.
fn sides(rounds: u32, percent: f64, slower: &[f64]) -> (Run, Run) {
    let mut random = SplitMix(5);
    let mut side = |changed: bool| {
        let of = |(slower, at): (&f64, u64)| {
            timed(at, rounds, percent, if changed { *slower } else { 0.0 }, &mut random)
        };
        run(slower.iter().zip(1..).map(of).collect())
    };
    (side(false), side(true))
}

fn concluded(rounds: u32, slower: &[f64]) -> Conclusion {
    let (base, head) = sides(rounds, 0.4, slower);
    rejudge(&Catalogue::built_in(), head, &[], &against(base, true)).conclusion.unwrap()
}

fn counted(sectors: [f64; 2]) -> Run {
    let row = |(block, sectors): (u64, f64)| {
        let mut row = finished(point(block, N), &[emulated_pass(block, N)]);
        row.metrics.get_mut("global_sectors").unwrap().value = Ok(sectors);
        row
    };
    let mut run =
        fixture::run("r", vec![series([64, 128].into_iter().zip(sectors).map(row).collect())]);
    run.provenance.device = Some(gh100());
    run
}

fn of_counters(head: Run) -> Conclusion {
    let against = against(counted([1000.0, 1000.0]), false);
    rejudge(&Catalogue::built_in(), head, &[], &against).conclusion.unwrap()
}

#[test]
fn unchanged_configurations_have_no_regression() {
    let found = concluded(15, &[0.0; 5]);
    assert_eq!(
        found.sentence,
        "No regression: 5 configurations judged, slowdowns of 2.5 % would have been caught with \
         over 99 % probability; 15 processes a side."
    );
    assert_eq!((found.ending, found.false_alarms), (Ending::Holds, Some(0.01)));
    assert!(found.failed.is_empty() && found.improved.is_empty() && found.undecided.is_empty());
}

#[test]
fn one_slower_configuration_is_a_regression() {
    let found = concluded(21, &[0.0, 0.05, 0.0]);
    assert_eq!(
        found.sentence,
        "Regression: 1 of 3 judged configurations failed, worst: saxpy at block=64,n=1048576 \
         (duration +5.0 %); 21 processes a side."
    );
    let [slower] = found.failed.as_slice() else { panic!("{found:#?}") };
    assert_eq!(slower.metric.as_deref(), Some("duration"));
    assert_eq!(slower.threshold.as_deref(), Some("every duration <= baseline + 2%"));
    let interval = slower.interval.unwrap();
    assert!(interval.low > 4.0 && interval.high < 6.0, "{interval:?}");
    assert!((slower.cycles_percent.unwrap() - 5.0).abs() < 1.0, "{slower:?}");
    assert!(slower.value.unwrap().value > slower.baseline.unwrap().value);
}

#[test]
fn a_missed_improvement_is_not_a_regression() {
    let catalogue = Catalogue::built_in();
    let threshold = "every global_sectors <= baseline - 5%";
    let threshold = Threshold::parse(threshold).unwrap();
    let against = against(counted([1000.0, 1000.0]), false);
    for (sectors, word) in [([1000.0, 980.0], "Threshold violated: 2"), ([900.0, 1001.0], "Reg")] {
        let run = rejudge(&catalogue, counted(sectors), std::slice::from_ref(&threshold), &against);
        let sentence = run.conclusion.unwrap().sentence;
        assert!(sentence.starts_with(word), "{sentence}");
    }
}

#[test]
fn failures_of_absolute_thresholds_are_counted_separately() {
    let limits = ["every global_sectors <= baseline", "where block==64 global_sectors <= 900"];
    let limits = limits.map(|text| Threshold::parse(text).unwrap());
    let against = against(counted([1000.0, 1000.0]), false);
    let sentence = |sectors| {
        let run = rejudge(&Catalogue::built_in(), counted(sectors), &limits, &against);
        run.conclusion.unwrap().sentence
    };
    let apart = sentence([1000.0, 1500.0]);
    let lead = "Regression: 2 of 2 judged configurations failed, 1 of them only by other limits, ";
    assert!(apart.starts_with(lead), "{apart}");
    for sectors in [[1500.0, 1500.0], [1000.0, 1000.0]] {
        let all = sentence(sectors);
        assert!(!all.contains("other limits"), "{all}");
    }
}

#[test]
fn an_improvement_below_the_shown_digits_is_omitted() {
    let improved = |before, after| {
        let against = against(counted([before, 1000.0]), false);
        let run = rejudge(&Catalogue::built_in(), counted([after, 1000.0]), &[], &against);
        run.conclusion.unwrap().improved.len()
    };
    assert_eq!([improved(5.1239, 5.1238), improved(5.1239, 5.1228)], [0, 1]);
    assert_eq!(improved(480_001.0, 480_000.0), 1);
}

#[test]
fn a_faster_configuration_is_listed_once_by_duration() {
    let found = concluded(15, &[0.0, -0.05, -0.1]);
    assert!(found.sentence.starts_with("No regression: 3 configurations judged, 2 improved, "));
    let told: Vec<_> = found.improved.iter().map(|f| f.metric.as_deref().unwrap()).collect();
    assert_eq!(told, ["duration", "duration"], "{found:#?}");
    assert!(found.improved[0].percent < found.improved[1].percent, "the most first");
}

#[test]
fn a_significant_improvement_within_the_limit_is_reported() {
    let small = |rounds| concluded(rounds, &[0.0, -0.015, 0.0, 0.0]).improved.len();
    assert_eq!((small(6), small(29)), (0, 1));
}

#[test]
fn undecided_configurations_say_how_many_rounds_would_decide() {
    let found = concluded(15, &[0.0, 0.022, 0.0]);
    assert!(
        found.sentence.starts_with("Undecided: 1 of 3 judged configurations, none failed, "),
        "{found:#?}"
    );
    let [open] = found.undecided.as_slice() else { panic!("{found:#?}") };
    assert_eq!(open.configuration.as_deref(), Some("block=64,n=1048576"));
    assert!(open.rounds > Some(15), "{open:?}");
    assert!(open.reason.as_ref().unwrap().contains("15 rounds do not decide"), "{open:?}");
    assert_eq!(
        (found.ending, found.weight()),
        (Ending::Undecided, gpuprof_model::verdict::Weight::Doubtful)
    );
}

#[test]
fn too_few_rounds_give_the_reason_for_unknown_sensitivity() {
    let found = concluded(3, &[0.0, 0.0]);
    assert_eq!(
        found.sentence,
        "Undecided: 2 of 2 judged configurations, none failed; 3 processes a side."
    );
    assert_eq!(found.sensitivity, None);
    assert_eq!(
        found.sensitivity_unknown.as_deref(),
        Some("it takes 15 processes a side of a configuration, and none has as many")
    );
    assert_eq!(found.undecided[0].rounds, Some(15));
}

#[test]
fn a_run_of_counters_alone_is_exact() {
    let found = of_counters(counted([1000.0, 1000.0]));
    assert_eq!(
        found.sentence,
        "No regression: 2 configurations judged against the baseline `main`, by exact metrics and \
         not by time."
    );
    assert_eq!((found.false_alarms, found.sensitivity_unknown), (None, None));
    let found = of_counters(counted([1000.0, 1500.0]));
    assert_eq!(
        found.sentence,
        "Regression: 1 of 2 judged configurations failed, worst: saxpy at block=128,n=1048576 \
         (global_sectors +50.0 %)."
    );
    let found = of_counters(counted([500.0, 1000.0]));
    assert_eq!(found.improved.len(), 1, "{found:#?}");
    assert_eq!(found.improved[0].percent, Some(-50.0));
}

#[test]
fn a_run_that_judges_nothing_says_why() {
    let (_, head) = sides(6, 0.4, &[0.0]);
    let absent =
        Against { run: Err("no baseline is called `main`".into()), ..against(run(vec![]), false) };
    let found = rejudge(&Catalogue::built_in(), head, &[], &absent).conclusion.unwrap();
    assert_eq!(found.sentence, "Nothing judged: no baseline is called `main`.");
    assert_eq!(found.ending, Ending::NothingJudged);
}

#[test]
fn vanished_configurations_leave_the_run_undecided() {
    let mut head = counted([1000.0, 1000.0]);
    head.series[0].configurations.pop();
    let found = of_counters(head);
    assert_eq!(
        found.sentence,
        "Undecided: 1 entry of the baseline is missing here, none of 1 judged configuration failed, by \
         exact metrics and not by time."
    );
}

/// Every end with exit code 106 or 4 that no threshold without a verdict explains.
#[test]
fn every_nonzero_exit_of_a_strict_run_is_explained() {
    let same = || counted([1000.0, 1000.0]);
    let mut unverified = same();
    unverified.series[0].configurations[0].unverified = Some(Unverified::NothingChanged);
    let mut unmeasured = same();
    let mut nothing = series(vec![fixture::invalid(2048)]);
    nothing.id.kernel = "other".into();
    unmeasured.series.push(nothing.clone());
    let mut vanished = same();
    vanished.series.push(nothing);
    let mut unheld = same();
    unheld.series[0].configurations = vec![failed(64), failed(128)];
    let verified = |elements| {
        let mut run = same();
        let row = &mut run.series[0].configurations[0];
        row.verified = true;
        row.verification = Some(Verification { elements, ..Verification::default() });
        run
    };
    for (head, base, clause) in [
        (verified(1), verified(2), "1 check is weaker than in the baseline"),
        (unverified, same(), "the reference of 1 configuration rejects no result"),
        (unmeasured, same(), "nothing of 1 series was measured"),
        (same(), vanished, "1 entry of the baseline is missing here"),
        (same(), unheld, "the baseline `main` has no configuration that was measured here"),
        (same(), fixture::run("b", vec![]), "the baseline `main` holds no series"),
    ] {
        let limit = Threshold::parse("every global_sectors <= 2000").unwrap();
        let mut base = against(base, false);
        base.run.as_mut().unwrap().provenance = head.provenance.clone();
        let run = rejudge(&Catalogue::built_in(), head, &[limit], &base);
        let strict = Gate { strict: true, ..Gate::default() };
        assert_ne!(strict.exit_code(&run), ExitCode::Success, "{clause}");
        let found = run.conclusion.unwrap();
        let lead = match found.ending {
            Ending::Undecided => "Undecided: ",
            Ending::NothingJudged => "Nothing compared: ",
            _ => panic!("{found:#?}"),
        };
        let sentence = found.sentence;
        assert!(sentence.starts_with(lead) && sentence.contains(clause), "{sentence}");
    }
}

#[test]
fn series_of_other_slices_are_not_missing_from_a_slice() {
    let mut run = counted([1000.0, 1000.0]);
    run.series.push(series(Vec::new()));
    run.comparison = Some(against(counted([1.0, 1.0]), false).comparison(&counted([1.0, 1.0])));
    let limit = Threshold::parse("every global_sectors <= 2000").unwrap();
    let none = crate::gate::judge::Baseline::none();
    let rows = &run.series[0].configurations;
    let judgement = fixture::judge(&Catalogue::built_in(), &limit, "attribute", rows, None, &none);
    run.series[0].judgements.push(judgement);
    let ending = |slice| {
        let context = MeasurementContext { slice, ..MeasurementContext::default() };
        conclude(&run, &context).unwrap().ending
    };
    assert_eq!((ending(true), ending(false)), (Ending::Holds, Ending::Undecided));
}

#[test]
fn a_crash_outranks_everything() {
    let mut head = counted([1000.0, 1500.0]);
    head.series[0].configurations.push(failed(7));
    let found = of_counters(head);
    assert_eq!(
        found.sentence,
        "Unfinished: 1 of 3 configurations did not finish, of 2 judged 1 failed."
    );
}

#[test]
fn absolute_thresholds_have_a_conclusion_and_an_unjudged_run_has_none() {
    let judged = |text: &str| {
        let mut run = counted([1000.0, 1500.0]);
        let threshold = Threshold::parse(text).unwrap();
        let rows = &run.series[0].configurations;
        let none = crate::gate::judge::Baseline::none();
        let judgement =
            fixture::judge(&Catalogue::built_in(), &threshold, "attribute", rows, None, &none);
        run.series[0].judgements.push(judgement);
        conclude(&run, &MeasurementContext::default()).unwrap().sentence
    };
    assert_eq!(
        judged("every global_sectors <= 2000"),
        "Every threshold holds: 2 configurations judged."
    );
    assert_eq!(
        judged("every global_sectors <= 1200"),
        "Threshold violated: 1 of 2 judged configurations failed, worst: saxpy at \
         block=128,n=1048576 (global_sectors 1,500)."
    );
    assert_eq!(
        judged("warn every global_sectors <= 1200"),
        "Every threshold holds: 2 configurations judged, 1 warning."
    );
    assert_eq!(conclude(&counted([1.0, 1.0]), &MeasurementContext::default()), None);
}

#[test]
fn a_document_without_a_conclusion_gets_one_from_its_judgements() {
    let mut run = counted([1000.0, 1500.0]);
    let base = against(counted([1000.0, 1000.0]), false);
    run = rejudge(&Catalogue::built_in(), run, &[], &base);
    let stored = run.conclusion.take().unwrap();
    let found = stored_or_new(&run).unwrap().into_owned();
    assert_eq!((found.sentence, found.failed), (stored.sentence, stored.failed));
}

#[test]
fn a_long_list_is_cut_to_examples_of_every_threshold() {
    let found = concluded(21, &[0.05; 30]);
    assert_eq!(found.failed.len(), 30);
    let shown = cut(&found.failed);
    assert_eq!((shown.shown.len(), shown.rest), (8, 0));
    assert_eq!(shown.shown.iter().map(|shown| shown.more).sum::<usize>(), 22);
    let mut all = found.failed;
    for (at, finding) in all.iter_mut().enumerate() {
        finding.series = at.to_string();
    }
    let shown = cut(&all);
    assert_eq!((shown.shown.len(), shown.rest), (8, 22));
    assert!(shown.shown.iter().all(|shown| shown.more == 0));
}

#[test]
fn a_merged_run_without_all_slices_holds_only_if_they_are_accepted() {
    let lacking = |accepted| {
        let mut run = counted([1000.0, 1000.0]);
        let missing = MissingSlices { numbers: vec![2, 3], of: 5, accepted };
        run.provenance.missing_slices = Some(missing);
        let against = against(counted([1000.0, 1000.0]), false);
        let run = rejudge(&Catalogue::built_in(), run, &[], &against);
        let code = RunOutcome::decide(&run, Gate::default(), []).exit_code;
        let found = run.conclusion.unwrap();
        (found.ending, found.sentence, code)
    };
    let missing = "slices 2, 3 of 5 are missing or partial";
    let (ending, sentence, code) = lacking(false);
    assert_eq!((ending, code), (Ending::Undecided, ExitCode::NotJudged));
    assert!(sentence.starts_with(&format!("Undecided: {missing}, none of 2 ")), "{sentence}");
    let (ending, sentence, code) = lacking(true);
    assert_eq!((ending, code), (Ending::Holds, ExitCode::Success));
    assert!(sentence.contains(missing), "{sentence}");
}
