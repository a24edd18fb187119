//! The conclusion of a run in every format: one in rounds with a failure, an improvement and an
//! undecided entry; and the other endings as far as they differ.

use gpuprof_analysis::fixture::{emulated, finished, gpu_pass, h200, point, series};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::run::rejudge;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run, Status};

use super::tests::{emulator_run, gpu_run, written, written_whole};
use super::*;

const N: u64 = 1 << 20;

/// So many rounds of a configuration around 100 µs with a noise of ±0.6 %, `slower` by a share.
fn timed(at: u64, rounds: u32, side: u32, slower: f64) -> ConfigurationResult {
    let noise = |round: u32| f64::from((round * 37 + side * 11 + u32::from(at as u8) * 5) % 25);
    let passes: Vec<_> = (0..rounds)
        .map(|round| 100_000.0 * (1.0 + slower) * (1.0 + 0.0005 * (noise(round) - 12.0)))
        .map(|median| gpu_pass(32 * at, N, &[median - 32.0, median, median + 32.0]))
        .collect();
    finished(point(32 * at, N), &passes)
}

/// A run of these configurations, with their rounds and slowdowns, next to a base.
fn beside(configurations: &[(u32, f64)]) -> Run {
    let side = |side: u32, changed: bool| {
        let of = |(&(rounds, slower), at): (&(u32, f64), u64)| {
            timed(at, rounds, side, if changed { slower } else { 0.0 })
        };
        let mut run = gpu_run();
        run.series = vec![series(configurations.iter().zip(1..).map(of).collect())];
        run.provenance.device = Some(h200());
        run
    };
    let head = side(1, true);
    let base = Run { id: Run::base_id(&head.id), ..side(0, false) };
    let against = Against {
        name: "origin/main".into(),
        run: Ok(base),
        across_devices: false,
        in_rounds: true,
        scope: Scope::whole(),
    };
    rejudge(&Catalogue::built_in(), head, &[], &against)
}

/// One of each: slower by 5 %, faster by 8 %, and slower by 3.6 % in too few rounds.
fn mixed() -> Run {
    beside(&[(15, 0.05), (15, 0.0), (15, -0.08), (11, 0.036)])
}

/// The text before the first series.
fn beginning(text: &str, series: &str) -> String {
    text.split_once(series).map(|(before, _)| before.to_owned()).unwrap_or_default()
}

#[test]
fn the_table_starts_with_the_conclusion() {
    let table = Table { colour: false, width: Some(80) };
    let text = written(&table, &mixed());
    insta::assert_snapshot!(beginning(&text, "\nsaxpy::"));
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(last[1], text.lines().next().unwrap(), "it is the end that a terminal shows");
}

#[test]
fn a_wide_table_has_columns_and_a_narrow_one_lines() {
    let of = |width| {
        let text = written(&Table { colour: false, width }, &mixed());
        beginning(&text, "\nsaxpy::")
    };
    insta::assert_snapshot!(of(None));
    // The heading names the only series before its values go.
    let narrow = of(Some(30));
    assert!(narrow.contains("\n failed of saxpy, in duration\n  configuration "), "{narrow}");
    let narrower = of(Some(24));
    assert!(narrower.contains("\n failed\n duration of saxpy at\n"), "{narrower}");
}

#[test]
fn markdown_starts_with_the_conclusion() {
    insta::assert_snapshot!(beginning(&written(&Markdown::default(), &mixed()), "\n### "));
}

#[test]
fn json_and_json_lines_hold_the_conclusion() {
    let document: serde_json::Value = serde_json::from_str(&written(&Json, &mixed())).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&document["conclusion"]).unwrap());
    let lines = written(&JsonLines::default(), &mixed());
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["reason"], "run-finished");
    assert_eq!(last["conclusion"], document["conclusion"]);
}

#[test]
fn junit_holds_the_conclusion() {
    let text = written(&Junit::default(), &mixed());
    insta::assert_snapshot!(beginning(&text, "    <testsuite name=\"saxpy"));
}

#[test]
fn github_annotations_start_with_the_conclusion() {
    let text = written(&GithubAnnotations::default(), &mixed());
    insta::assert_snapshot!(text.lines().next().unwrap());
}

#[test]
fn the_page_starts_with_the_conclusion() {
    let text = written(&Html::default(), &mixed());
    let (_, header) = text.split_once("<header>").unwrap();
    insta::assert_snapshot!(beginning(header, "</header>").replace("><", ">\n<"));
}

#[test]
fn every_format_for_people_begins_with_the_sentence() {
    let run = beside(&[(15, 0.0), (15, 0.0)]);
    let sentence = &run.conclusion.as_ref().unwrap().sentence;
    assert!(sentence.starts_with("No regression: 2 configurations judged, slowdowns of "));
    let first = |report: &dyn Report| written(report, &run).lines().next().unwrap().to_owned();
    assert_eq!(first(&Table::default()), *sentence);
    assert_eq!(first(&Markdown::default()), format!("## ✅ {sentence}"));
    assert!(
        first(&GithubAnnotations::default())
            .starts_with("::notice title=cargo gpuprof::No regression")
    );
    assert!(written(&Html::default(), &run).contains(&format!("✔ {sentence}")));
    assert!(written(&Junit::default(), &run).contains(sentence.as_str()));
}

#[test]
fn conclusions_without_times_or_judgements_say_so() {
    let first = |run: &Run| written(&Table::default(), run).lines().next().unwrap().to_owned();
    let held = |baseline: Result<Run, String>| Against {
        name: "main".into(),
        run: baseline,
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let catalogue = Catalogue::built_in();
    let same = rejudge(&catalogue, emulator_run(), &[], &held(Ok(emulator_run())));
    assert_eq!(
        first(&same),
        "No regression: 4 configurations judged against the baseline `main`, by exact metrics and \
         not by time."
    );
    let none = held(Err("no baseline is called `main`".into()));
    let nothing = rejudge(&catalogue, emulator_run(), &[], &none);
    assert_eq!(first(&nothing), "Nothing judged: no baseline is called `main`.");
    let mut plain = gpu_run();
    plain.series[0].judgements.clear();
    assert!(first(&plain).starts_with("saxpy::saxpy"), "no verdict, no sentence");
}

#[test]
fn the_end_of_a_programs_output_keeps_its_lines() {
    let mut run = mixed();
    let reason = "exit status 3; the end of its stderr: Cuda error\nin cudaSetDevice".into();
    run.series[0].configurations[0].status = Status::Failed { reason };
    let absent = Against {
        name: "main".into(),
        run: Err("no baseline is called `main`".into()),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let run = rejudge(&Catalogue::built_in(), run, &[], &absent);
    let table = written(&Table::default(), &run);
    let (_, list) = table.split_once("did not finish\n").unwrap();
    assert!(list.contains("the end of its stderr: Cuda error\n   in cudaSetDevice\n"), "{table}");
}

#[test]
fn incomparable_changes_are_folded_into_one_line() {
    let mut base = gpu_run();
    base.series = vec![series(vec![emulated(64, N), emulated(128, N)])];
    let mut head = base.clone();
    for (run, value) in [(&mut base, 5.0), (&mut head, 6.0)] {
        run.series[0].columns = ["dram_bytes", "dram_throughput"].map(str::to_owned).into();
        for row in &mut run.series[0].configurations {
            let noisy = gpu_run().series[0].configurations[0].metrics["duration"].clone();
            row.timings = gpu_run().series[0].configurations[0].timings.clone();
            for name in ["dram_bytes", "dram_throughput"] {
                let mut counted = noisy.clone();
                counted.processes.truncate(1);
                counted.value = Ok(value);
                row.metrics.extend([(name.to_owned(), counted)]);
            }
        }
    }
    let against = Against {
        name: "main".into(),
        run: Ok(base),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let run = rejudge(&Catalogue::built_in(), head, &[], &against);
    let text = written_whole(&Table::default(), &run);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(" inconclusive")).collect();
    assert_eq!(
        lines,
        [" inconclusive  2 configurations  2 metrics  one value a side: one process of a run \
          collects the counters, so their noise is not known"],
        "{text}"
    );
}
