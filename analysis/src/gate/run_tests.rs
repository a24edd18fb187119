use gpuprof_model::measurement::LaunchRecord;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::run::{ConfigurationResult, Provenance, Status};
use gpuprof_model::timeline::Timeline;
use gpuprof_model::{ExitCode, Filters, Verdict};

use super::*;
use crate::fixture::{self, h200, row, rows, series};
use crate::gate::baseline::Scope;
use crate::gate::outcome::{Gate, unmeasured};
use crate::metrics::LAUNCHED_NOTHING;
use crate::metrics::collect::unfinished;

fn run(of: Vec<SeriesResult>) -> Run {
    let provenance = Provenance { device: Some(h200()), ..Provenance::default() };
    Run { provenance, ..fixture::run("r", of) }
}

fn counted(kernel: &str, value: f64) -> SeriesResult {
    let mut series = series(rows("global_sectors", &[value]));
    series.id.kernel = kernel.into();
    series.columns = vec!["global_sectors".into()];
    series
}

fn judged(run: Run, baseline: Run, thresholds: &[&str]) -> Run {
    judged_within(Scope::whole(), run, baseline, thresholds)
}

fn judged_within(scope: Scope, run: Run, baseline: Run, thresholds: &[&str]) -> Run {
    let thresholds: Vec<_> = thresholds.iter().map(|t| Threshold::parse(t).unwrap()).collect();
    let against = Against {
        name: "main".into(),
        run: Ok(baseline),
        across_devices: false,
        in_rounds: false,
        scope,
    };
    rejudge(&Catalogue::built_in(), run, &thresholds, &against)
}

fn verdicts(series: &SeriesResult) -> Vec<(&str, Verdict)> {
    series.judgements.iter().map(|j| (j.threshold.text.as_str(), j.verdict)).collect()
}

const STRICT: Gate = Gate { strict: true, gated: true, slice: false, first: false };

#[test]
fn a_series_without_device_work_is_not_judged() {
    let idle = || row(64, "global_sectors", Err(LAUNCHED_NOTHING));
    let empty = || series(vec![idle(), fixture::invalid(2048)]);
    let why = "no work of the device lies in its measured range";
    assert_eq!(unmeasured(&empty()).as_deref(), Some(why));
    let mixed = run(vec![counted("fine", 1.0), empty()]);
    for gate in [Gate::default(), STRICT] {
        assert_eq!(gate.exit_code(&mixed), ExitCode::NoSeries, "{gate:?}");
    }
    let slice = Gate { slice: true, ..Gate::default() };
    assert_eq!(slice.exit_code(&run(vec![empty()])), ExitCode::Success);
    for thresholds in [&[][..], &["every global_sectors <= 5"]] {
        let both = judged(run(vec![empty()]), run(vec![empty()]), thresholds);
        assert_eq!(Gate::default().exit_code(&both), ExitCode::NoSeries, "{thresholds:?}");
    }
    // Copies and other rows that launch are measured.
    let copies = ConfigurationResult { timeline: Some(Timeline::default()), ..idle() };
    assert_eq!(unmeasured(&series(vec![copies.clone(), idle()])), None);
    let outside = LaunchRecord { outside: true, ..LaunchRecord::default() };
    let nothing_inside = ConfigurationResult { launches: vec![outside], ..copies };
    assert_eq!(unmeasured(&series(vec![nothing_inside])).as_deref(), Some(why));
}

#[test]
fn a_series_without_a_measurement_is_not_judged() {
    let invalid = || fixture::invalid(2048);
    let skipped =
        || unfinished(fixture::block(64), Status::Skipped { reason: "interrupted".into() });
    let finished = || rows("global_sectors", &[1.0]).remove(0);
    for (rows, why) in [
        (vec![], "no configuration meets its conditions; `cargo gpuprof list` shows them"),
        (vec![invalid()], "its only configuration is invalid"),
        (vec![invalid(), invalid()], "all of its 2 configurations are invalid"),
        (vec![skipped(), skipped()], "all of its 2 configurations were skipped"),
        (vec![invalid(), skipped()], "of its 2 configurations 1 are invalid, 1 skipped"),
    ] {
        let nothing = series(rows);
        assert_eq!(unmeasured(&nothing).unwrap(), why);
        let all = run(vec![counted("fine", 1.0), nothing]);
        assert_eq!(Gate::default().exit_code(&all), ExitCode::NoSeries, "{why}");
    }
    let something = run(vec![series(vec![invalid(), finished()])]);
    assert_eq!(Gate::default().exit_code(&something), ExitCode::Success);
}

#[test]
fn a_threshold_for_another_device_does_not_take_the_default_gate_away() {
    let (before, after) = (run(vec![counted("a", 1.0)]), run(vec![counted("a", 2.0)]));
    let other = "on \"A100\" every duration <= baseline + 5%";
    let run = judged(after.clone(), before.clone(), &[other]);
    assert_eq!(verdicts(&run.series[0]), [("every global_sectors <= baseline", Verdict::Fail)]);
    let kept = NotApplicable { threshold: other.into(), origin: Layer::CommandLine };
    assert_eq!(run.series[0].not_applicable, [kept]);
    assert_eq!(STRICT.exit_code(&run), ExitCode::ThresholdFailed);
    let here = "on \"H200\" every global_sectors <= baseline + 100%";
    assert_eq!(verdicts(&judged(after, before, &[here]).series[0]), [(here, Verdict::Pass)]);
}

#[test]
fn a_new_kernel_is_not_compared_with_the_baseline() {
    let before = run(vec![counted("a", 1.0)]);
    let after = run(vec![counted("a", 1.0), counted("fresh", 9.0)]);
    let run = judged(after, before, &["global_sectors <= baseline", "global_sectors <= 10"]);
    assert_eq!(verdicts(&run.series[1]), [("global_sectors <= 10", Verdict::Pass)]);
    assert_eq!(run.comparison.as_ref().unwrap().appeared, ["saxpy::fresh"]);
    assert_eq!(STRICT.exit_code(&run), ExitCode::Success);
}

#[test]
fn a_meaningless_reference_fails_a_strict_run() {
    let of = |why| {
        let mut series = counted("a", 1.0);
        series.configurations[0].unverified = Some(why);
        run(vec![series])
    };
    for (why, strict) in [
        (Unverified::NothingCompared, ExitCode::Success),
        (Unverified::NothingChanged, ExitCode::NotJudged),
        (Unverified::AnythingAccepted, ExitCode::NotJudged),
        (Unverified::HalfAccepted, ExitCode::NotJudged),
        (Unverified::MostlyNan, ExitCode::NotJudged),
    ] {
        assert_eq!(STRICT.exit_code(&of(why)), strict);
        assert_eq!(Gate::default().exit_code(&of(why)), ExitCode::Success);
        assert_eq!(Gate { gated: false, ..STRICT }.exit_code(&of(why)), ExitCode::Success);
    }
}

#[test]
fn a_configuration_that_was_invalid_in_the_baseline_is_new() {
    let mut after = counted("a", 9.0);
    after.configurations = rows("global_sectors", &[9.0, 7.0]);
    let mut before = after.clone();
    before.configurations[0] = fixture::invalid(64);
    before.configurations[0].configuration = after.configurations[0].configuration.clone();
    let told = |ours: &SeriesResult, theirs: &SeriesResult| {
        let threshold = ["every global_sectors <= baseline"];
        let run = judged(run(vec![ours.clone()]), run(vec![theirs.clone()]), &threshold);
        (run.series[0].judgements[0].verdict, STRICT.exit_code(&run))
    };
    assert_eq!(told(&after, &before), (Verdict::Pass, ExitCode::Success));
    // The other way round, something is gone.
    assert_eq!(told(&before, &after), (Verdict::Missing, ExitCode::NotJudged));
}

#[test]
fn a_series_with_nothing_finished_in_the_baseline_does_not_pass() {
    let after = || run(vec![counted("a", 9.0), counted("b", 1.0)]);
    let reason = || "crashed".to_owned();
    let with = |status: Option<Status>, values: bool| {
        let mut before = run(vec![counted("a", 1.0), counted("b", 1.0)]);
        match status {
            Some(status) => before.series[0].configurations[0].status = status,
            None => before.series[0].configurations.clear(),
        }
        if !values {
            before.series[0].configurations.iter_mut().for_each(|row| row.metrics.clear());
        }
        before
    };
    for status in [
        Some(Status::Failed { reason: reason() }),
        Some(Status::Timeout { reason: reason() }),
        Some(Status::Skipped { reason: reason() }),
        Some(Status::Invalid { reason: reason() }),
        None,
    ] {
        for values in [false, true] {
            let what = format!("{status:?}, values: {values}");
            let run = judged(after(), with(status.clone(), values), &["global_sectors <= 10"]);
            let unheld = &run.comparison.as_ref().unwrap().unheld;
            assert_eq!(unheld, &["saxpy::a"], "{what}");
            assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged, "{what}");
            assert_eq!(Gate::default().exit_code(&run), ExitCode::Success, "{what}");
            let sentence = run.conclusion.unwrap().sentence;
            assert!(sentence.starts_with("Undecided: the baseline has no finished"), "{sentence}");
        }
    }
    // A series that is new, or that did not finish here either, is not a lack of the baseline.
    let without = run(vec![counted("b", 1.0)]);
    let failed = with(Some(Status::Failed { reason: reason() }), false);
    for (after, before) in [(after(), without), (failed.clone(), failed)] {
        let run = judged(after, before, &[]);
        assert_eq!(run.comparison.unwrap().unheld, [] as [&str; 0]);
    }
}

#[test]
fn only_compared_configurations_count_as_judged_against_the_baseline() {
    let sentence = |before: Vec<SeriesResult>| {
        let after = run(vec![counted("a", 9.0), counted("b", 1.0)]);
        judged(after, run(before), &["global_sectors <= 10"]).conclusion.unwrap().sentence
    };
    for (before, begins) in [
        (
            vec![counted("a", 9.0), counted("b", 1.0)],
            "No regression: 2 configurations judged against the baseline `main`, by",
        ),
        (
            vec![counted("b", 1.0)],
            "No regression: 2 configurations judged, 1 of them against the baseline `main`, by",
        ),
    ] {
        let sentence = sentence(before);
        assert!(sentence.starts_with(begins), "{sentence}");
    }
}

#[test]
fn a_filter_that_selects_nothing_of_the_baseline_compares_nothing() {
    let (before, after) = (run(vec![counted("search", 1.0)]), run(vec![counted("find", 9.0)]));
    let thresholds = ["global_sectors <= baseline", "global_sectors <= 10"];
    let filtered = |filters: &[&str]| {
        let filters = Filters::of_texts(filters.iter().copied());
        let scope = Scope { filters, ..Scope::whole() };
        judged_within(scope, after.clone(), before.clone(), &thresholds)
    };
    let run = filtered(&["find"]);
    let absent = run.comparison.as_ref().unwrap().absent.clone();
    assert_eq!(absent.as_deref(), Some("the baseline `main` holds none of the selected series"));
    assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged);
    // Without a filter, or with a filter that selects it, the vanished series is missing.
    for filters in [&[][..], &["search", "find"]] {
        let run = filtered(filters);
        assert_eq!(run.comparison.as_ref().unwrap().absent, None);
        assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged);
    }
}

#[test]
fn only_a_hard_threshold_on_the_same_metric_and_every_configuration_replaces_a_default_one() {
    let default = "every global_sectors <= baseline";
    let (before, after) = (run(vec![counted("a", 1.0)]), run(vec![counted("a", 4.0)]));
    let of = |own: &str| judged(after.clone(), before.clone(), &[own]);
    for own in [
        "warn every global_sectors <= baseline + 900%",
        "where block==0 global_sectors <= baseline + 900%",
        "best global_sectors <= baseline + 900%",
        "every global_bytes <= baseline + 900%",
        "every duration <= baseline + 3%",
        "every global_sectors >= baseline - 50%",
        "every global_sectors <= 900",
    ] {
        let run = of(own);
        assert_eq!(verdicts(&run.series[0]).last(), Some(&(default, Verdict::Fail)), "{own}");
        assert_eq!(STRICT.exit_code(&run), ExitCode::ThresholdFailed, "{own}");
    }
    for own in ["every global_sectors <= baseline + 900%", "global_sectors < baseline + 900%"] {
        let run = of(own);
        assert_eq!(verdicts(&run.series[0]), [(own, Verdict::Pass)]);
        assert_eq!(STRICT.exit_code(&run), ExitCode::Success);
    }
}

#[test]
fn an_exact_metric_that_became_noisy_does_not_pass() {
    let before = run(vec![counted("a", 1.0)]);
    let mut after = before.clone();
    for row in &mut after.series[0].configurations {
        row.metrics.get_mut("global_sectors").unwrap().class = gpuprof_model::metric::Class::Noisy;
    }
    let run = judged(after, before, &[]);
    assert_eq!(
        verdicts(&run.series[0]),
        [("every global_sectors <= baseline", Verdict::Incomparable)]
    );
    assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged);
}

#[test]
fn an_empty_baseline_is_not_judged() {
    let run = judged(run(vec![counted("a", 1.0)]), run(Vec::new()), &[]);
    let comparison = run.comparison.as_ref().unwrap();
    assert_eq!(comparison.absent.as_deref(), Some("the baseline `main` holds no series"));
    assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged);
}

#[test]
fn a_time_that_grows_from_zero_fails() {
    let timed = |nanoseconds: f64| {
        let mut row = fixture::gpu(64, 1 << 20, &[100.0]);
        row.metrics.retain(|name, _| name == "duration");
        let duration = row.metrics.get_mut("duration").unwrap();
        duration.value = Ok(nanoseconds);
        duration.processes = (0..5)
            .map(|_| gpuprof_model::run::ProcessValue {
                median: nanoseconds,
                p95: nanoseconds,
                min: nanoseconds,
                mean: nanoseconds,
            })
            .collect();
        run(vec![series(vec![row])])
    };
    let run = judged(timed(1_000.0), timed(0.0), &[]);
    assert_eq!(verdicts(&run.series[0]), [("every duration <= baseline + 2%", Verdict::Fail)]);
}

#[test]
fn a_metric_with_a_changed_direction_does_not_pass() {
    use gpuprof_model::metric::Direction;
    let (before, after) = (run(vec![counted("a", 1.0)]), run(vec![counted("a", 8.0)]));
    for (direction, default) in [
        (Direction::Higher, "every global_sectors >= baseline"),
        (Direction::Neither, "every global_sectors <= baseline"),
    ] {
        let turned = [("global_sectors", direction)];
        let catalogue = Catalogue::built_in().with_directions(turned, "gpuprof.toml").unwrap();
        let against = Against {
            name: "main".into(),
            run: Ok(before.clone()),
            across_devices: false,
            in_rounds: false,
            scope: Scope::whole(),
        };
        let run = rejudge(&catalogue, after.clone(), &[], &against);
        assert_eq!(verdicts(&run.series[0]), [(default, Verdict::Incomparable)]);
        assert_eq!(STRICT.exit_code(&run), ExitCode::NotJudged, "{direction:?}");
        let outcomes: Vec<_> = run.series[0].changes.iter().map(|change| change.outcome).collect();
        assert_eq!(outcomes, [gpuprof_model::comparison::Outcome::Incomparable]);
    }
}
