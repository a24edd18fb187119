//! Snapshots of the formats for other tools, and of comparisons with a baseline.

use gpuprof_model::code::{AccessCost, CostlyLine};
use gpuprof_model::measurement::Unverified;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::Weight;

use super::tests::{emulator_run, gpu_run, troubled_run, unwrapped, written, written_whole};
use super::*;
use gpuprof_analysis::fixture::finished;
use gpuprof_analysis::fixture::{gpu_pass, point};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::outcome::{Gate, RunOutcome};
use gpuprof_analysis::gate::run::rejudge;
use gpuprof_model::ExitCode;
use gpuprof_model::units::Nanoseconds;

/// `run` compared with `baseline` by the conditions.
fn compared(baseline: Run, run: Run, conditions: &[&str]) -> Run {
    let against = Against {
        name: "main".into(),
        run: Ok(baseline),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let thresholds: Vec<Threshold> =
        conditions.iter().map(|text| Threshold::parse(text).unwrap()).collect();
    rejudge(&Catalogue::built_in(), run, &thresholds, &against)
}

/// Counters that got worse at one configuration, a vanished one, and a new one.
fn regressed() -> Run {
    let mut run = emulator_run();
    let rows = &mut run.series[0].configurations;
    for (at, factor) in [(0, 1.5), (1, 2.0), (2, 0.5)] {
        for name in ["global_sectors", "ptx_instructions"] {
            let metric = rows[at].metrics.get_mut(name).unwrap();
            metric.value = metric.value.clone().map(|value| value * factor);
        }
    }
    let mut baseline = emulator_run();
    let gone = baseline.series[0].clone();
    baseline.series[0].configurations.remove(3);
    baseline.series.push(gone);
    baseline.series[1].id.kernel = "removed".into();
    baseline.provenance.kernel_toolchain = Some("rustc 1.94.0".into());
    compared(baseline, run, &[])
}

fn timed(factor: f64) -> Run {
    let mut run = gpu_run();
    let row = |block: u64, base: f64| -> ConfigurationResult {
        let passes: Vec<_> = [1.0, 1.001, 0.999, 1.0005]
            .map(|place| {
                let samples: Vec<f64> =
                    (0..5).map(|i| base * place * factor + 32.0 * f64::from(i)).collect();
                gpu_pass(block, 1 << 26, &samples)
            })
            .into();
        finished(point(block, 1 << 26), &passes)
    };
    run.series[0].configurations = vec![row(64, 262_000.0), row(256, 191_000.0)];
    run
}

#[test]
fn the_table_of_a_run_that_got_worse_than_its_baseline() {
    insta::assert_snapshot!(written(&Table { colour: false, width: None }, &regressed()));
}

#[test]
fn the_markdown_of_a_run_that_got_worse_than_its_baseline() {
    insta::assert_snapshot!(written(&Markdown::default(), &regressed()));
}

#[test]
fn the_table_of_times_against_a_baseline() {
    let conditions = [
        "every duration <= baseline + 2%",
        "warn every throughput >= baseline - 1%",
        "on \"A100\" every duration <= 1 ms",
    ];
    let run = compared(timed(1.0), timed(1.03), &conditions);
    insta::assert_snapshot!(written(&Table { colour: false, width: None }, &run));
}

#[test]
fn the_table_of_a_run_on_another_device_than_its_baseline() {
    let run = compared(gpu_run(), emulator_run(), &["ptx_instructions <= baseline"]);
    insta::assert_snapshot!(written(&Table { colour: false, width: None }, &run));
}

#[test]
fn the_junit_of_a_run_that_got_worse_than_its_baseline() {
    insta::assert_snapshot!(written(&Junit::default(), &regressed()));
}

#[test]
fn junit_fails_exactly_if_the_exit_code_is_not_zero() {
    let unknown = compared(gpu_run(), emulator_run(), &["every duration <= 1 ms"]);
    let same = compared(emulator_run(), emulator_run(), &["every ptx_instructions <= baseline"]);
    for run in [regressed(), unknown, same] {
        for (strict, gated) in [(false, false), (false, true), (true, false), (true, true)] {
            let gate = Gate { strict, gated, ..Gate::default() };
            let outcome = RunOutcome::decide(&run, gate, []);
            let junit = written(&Junit { outcome: Some(outcome) }, &run);
            let passes = outcome.exit_code == ExitCode::Success;
            assert_eq!(!junit.contains("<failure"), passes, "{outcome:?} {junit}");
        }
    }
}

/// The case of the run as a whole.
fn whole(junit: &str) -> &str {
    let (_, rest) = junit.split_once(r#"<testcase name="the run as a whole""#).expect(junit);
    rest.split_once("</testsuite>").expect(junit).0
}

#[test]
fn every_possible_exit_code_of_a_run_is_shown() {
    let passed = compared(emulator_run(), emulator_run(), &["every ptx_instructions <= baseline"]);
    let mut unjudged = emulator_run();
    unjudged.series[0].judgements.clear();
    let signal = [ExitCode::Signal(2)];
    let all = ExitCode::TABLE.iter().map(|(code, _)| *code).chain(signal);
    for code in all.filter(|&code| code != ExitCode::Success) {
        for run in [&passed, &unjudged] {
            let outcome = RunOutcome::decide(run, Gate::default(), [code]);
            let junit = written(&Junit { outcome: Some(outcome) }, run);
            let failure = matches!(code, ExitCode::ThresholdFailed | ExitCode::NotJudged);
            let element = if failure { "<failure" } else { "<error" };
            assert!(whole(&junit).contains(element), "{code:?} {junit}");
            let meaning = format!("exit code {}: {}", code.code(), code.meaning());
            assert!(failure || whole(&junit).contains(&meaning), "{code:?} {junit}");
            let github = written(&GithubAnnotations { outcome: Some(outcome) }, run);
            assert!(github.starts_with("::error title=cargo gpuprof::"), "{code:?} {github}");
            let ended = format!("exit code {}", code.code());
            let markdown = written(&Markdown { outcome: Some(outcome) }, run);
            assert!(markdown.starts_with("## ❌ "), "{code:?} {markdown}");
            assert!(failure || markdown.contains(&ended), "{code:?} {markdown}");
            let page = written(&Html { outcome: Some(outcome) }, run);
            assert!(page.contains(r#"<p class="verdict bad">✘ "#), "{code:?} {page}");
            assert!(failure || page.contains(&ended), "{code:?} {page}");
        }
    }
    assert!(!written(&Junit::default(), &passed).contains("<failure"));
    assert!(!written(&Junit::default(), &unjudged).contains("the run as a whole"));
}

#[test]
fn no_format_claims_success_for_exit_codes_106_and_107() {
    let exact = ["every ptx_instructions <= baseline"];
    let held = compared(emulator_run(), emulator_run(), &exact);
    let mut head = emulator_run();
    head.series[0].configurations[0].unverified = Some(Unverified::NothingChanged);
    let unverified = compared(emulator_run(), head, &exact);
    let denied = compared(emulator_run(), emulator_run(), &["every duration <= 1 ms"]);
    for (run, others, heading) in [
        (&unverified, None, "Undecided: the reference of 1 configuration rejects no result, none "),
        (&denied, Some(ExitCode::NotPossible), "Undecided: 1 threshold without a verdict, none "),
        // Such as a merge without all slices.
        (&held, Some(ExitCode::NotJudged), "The run ended with exit code 106: "),
    ] {
        let gate = Gate { strict: true, ..Gate::default() };
        let outcome = Some(RunOutcome::decide(run, gate, others));
        let markdown = written(&Markdown { outcome }, run);
        assert!(markdown.starts_with(&format!("## ❌ {heading}")), "{markdown}");
        let junit = written(&Junit { outcome }, run);
        assert!(whole(&junit).contains(&format!("message=\"{heading}")), "{junit}");
        let github = written(&GithubAnnotations { outcome }, run);
        assert!(github.starts_with(&format!("::error title=cargo gpuprof::{heading}")), "{github}");
        let page = written(&Html { outcome }, run);
        assert!(page.contains(&format!("✘ {heading}")), "{page}");
        let table = written(&Table::default(), run);
        assert!(others == Some(ExitCode::NotJudged) || table.starts_with(heading), "{table}");
    }
}

#[test]
fn junit_blames_denied_counters_for_thresholds_without_a_value() {
    let run = compared(emulator_run(), emulator_run(), &["every duration <= 1 ms"]);
    let case = |others: &[ExitCode]| -> String {
        let outcome = RunOutcome::decide(&run, Gate::default(), others.iter().copied());
        let junit = written(&Junit { outcome: Some(outcome) }, &run);
        let (_, rest) = junit.split_once("every duration").expect(&junit);
        rest.split_once("</testcase>").expect(&junit).0.to_owned()
    };
    assert!(case(&[]).contains("<skipped"));
    assert!(case(&[ExitCode::NotPossible]).contains("<error"));
}

#[test]
fn junit_of_a_slice_skips_a_series_that_others_measure() {
    let mut run = emulator_run();
    run.series[0].configurations.clear();
    run.series[0].judgements.clear();
    for (slice, element, code) in
        [(true, "<skipped", ExitCode::Success), (false, "<error", ExitCode::NoSeries)]
    {
        let outcome = RunOutcome::decide(&run, Gate { slice, ..Gate::default() }, []);
        assert_eq!(outcome.exit_code, code);
        let junit = written(&Junit { outcome: Some(outcome) }, &run);
        assert!(junit.contains(element) && !junit.contains("<failure"), "{junit}");
        assert_eq!(junit.contains("<error"), !slice, "{junit}");
    }
}

#[test]
fn every_format_shows_soft_thresholds_as_warnings_with_values() {
    let run = compared(
        emulator_run(),
        regressed(),
        &["warn every ptx_instructions <= 1", "every ptx_instructions <= 1"],
    );
    let line = |text: &str, from: &str| -> String {
        text.lines().find(|line| line.contains(from)).unwrap_or_default().to_owned()
    };
    let table = written_whole(&Table::default(), &run);
    assert!(line(&table, "warn every").starts_with(" WARNING "), "{table}");
    assert!(table.contains("; thresholds: 2 passed, 3 failed, 1 warned"), "{table}");
    let markdown = written(&Markdown::default(), &run);
    assert!(line(&markdown, "| warn every").starts_with("| ⚠ warning |"), "{markdown}");
    let github = written(&GithubAnnotations::default(), &run);
    assert!(line(&github, "::warn every").contains("title=saxpy warning::"), "{github}");
    let junit = written(&Junit::default(), &run);
    let skipped = line(&junit, "<skipped");
    assert!(skipped.ends_with(r#"type="warning"/>"#), "{junit}");
    let others = run.series[0].judgements[0].violations.iter().skip(1);
    assert_eq!(others.clone().count(), 3);
    for other in others {
        let value = format!("{}: {}", other.configuration, other.value);
        for text in
            [&table, &line(&markdown, "| warn every"), &line(&github, "::error file"), &junit]
        {
            assert!(text.contains(&value), "{value} in {text}");
        }
    }
}

#[test]
fn noisy_values_have_an_interval_and_exact_ones_none() {
    let run = compared(gpu_run(), timed(1.0), &["every duration <= 100 us", "registers <= 8"]);
    let table = unwrapped(&written_whole(&Table::default(), &run));
    // Four processes: the interval is all of them, with the level that this has.
    let interval = "(limit 100 µs, 162.1% beyond); 88% interval 261.8 µs … 262.3 µs [";
    assert!(table.contains(interval), "{table}");
    assert!(table.contains("(limit 8, 100.0% beyond) ["), "{table}");
    assert_eq!(run.series[0].judgements[0].violations[1].interval.unwrap().level, 0.875);
}

#[test]
fn junit_has_the_time_of_warm_up_and_samples() {
    let mut run = gpu_run();
    for timing in run.series[0].configurations.iter_mut().flat_map(|row| &mut row.timings) {
        (timing.warmup_ns, timing.samples_ns) = (Nanoseconds(2e9), vec![0.25e9; 2]);
    }
    let junit = written(&Junit::default(), &run);
    let rows = run.series[0].configurations.len();
    assert_eq!(junit.matches(r#" time="7.500""#).count(), rows, "{junit}");
    let suite = junit.lines().find(|line| line.contains("<testsuite name=\"saxpy")).unwrap();
    assert!(suite.contains(&format!(r#" time="{:.3}""#, 7.5 * rows as f64)), "{junit}");
    assert!(!written(&Junit::default(), &emulator_run()).contains(" time="));
}

#[test]
fn the_junit_of_a_troubled_run() {
    insta::assert_snapshot!(written(&Junit::default(), &troubled_run()));
}

#[test]
fn the_github_annotations_of_a_run_that_got_worse_than_its_baseline() {
    insta::assert_snapshot!(written(&GithubAnnotations::default(), &regressed()));
}

#[test]
fn a_costly_line_is_in_the_table_of_failures_and_has_the_annotation() {
    let mut run = regressed();
    let line = |line: &str| CostlyLine {
        cost: AccessCost::GlobalLoadExcess,
        line: line.to_owned(),
        inlined_at: None,
        other_calls: 0,
        before: None,
        amount: 7,
        total: 8,
        emulated: false,
    };
    let judgements = run.series.iter_mut().flat_map(|series| &mut series.judgements);
    let failed: Vec<_> = judgements.filter(|it| it.weight() == Weight::Bad).collect();
    let mut lines = ["src/helper.rs:31", "/rustc/1/library/core/src/ptr.rs:9"].into_iter().cycle();
    failed.into_iter().for_each(|it| it.costly = lines.next().map(line));
    let markdown = written(&Markdown::default(), &run);
    let (table, _) = markdown.split_once("### ").unwrap();
    assert!(table.contains(" | src/helper.rs:31 |"), "{table}");
    let annotations = written(&GithubAnnotations::default(), &run);
    let whole = annotations.lines().next().unwrap();
    assert!(whole.contains(", most by src/helper.rs:31"), "{whole}");
    let mut grown = run.clone();
    for judgement in grown.series.iter_mut().flat_map(|series| &mut series.judgements) {
        judgement.costly.iter_mut().for_each(|it| it.before = Some(1));
    }
    let grown = written(&GithubAnnotations::default(), &grown);
    assert!(grown.lines().next().unwrap().contains(", changed most at src/helper.rs:31"));
    let here = annotations.lines().find(|it| it.contains("7 of 8")).unwrap();
    assert!(here.starts_with("::error file=src/helper.rs,line=31,title="), "{here}");
    // GitHub has no such file: the kernel's own line is the next best.
    let outside = annotations.lines().rfind(|it| it.contains("7 of 8")).unwrap();
    assert!(outside.starts_with("::error file=examples/saxpy/src/lib.rs,line=12,"), "{outside}");
}

#[test]
fn the_github_annotations_of_a_troubled_run() {
    let text = written(&GithubAnnotations::default(), &troubled_run());
    for line in text.lines() {
        assert!(line.starts_with("::error ") || line.starts_with("::warning "), "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_bencher_metric_format_of_a_gpu_run() {
    insta::assert_snapshot!(written(&Bmf, &gpu_run()));
}

#[test]
fn the_github_action_benchmark_of_a_gpu_run() {
    insta::assert_snapshot!(written(&GithubActionBenchmark, &gpu_run()));
}

#[test]
fn a_run_compared_with_itself_is_the_same_in_every_format() {
    for run in [gpu_run(), emulator_run()] {
        let judged = compared(run.clone(), run, &[]);
        let text = written(&Table { colour: false, width: None }, &judged);
        assert!(!text.contains("FAIL") && !text.contains("worse"), "{text}");
    }
}
