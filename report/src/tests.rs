//! Every format against a snapshot, for runs built by hand.

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::axis::AxisValue;
use gpuprof_model::checks::CheckRecord;
use gpuprof_model::code::Sources;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::exit_code::ExitCode;
use gpuprof_model::machine::{Backend, CacheControl, ClockControl};
use gpuprof_model::measurement::{DeviceRecord, Unverified};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::over_time::CountersOverTime;
use gpuprof_model::run::{
    ConfigurationResult, Provenance, Run, SCHEMA_VERSION, SectionColumn, SectionColumns,
    SeriesResult, Status,
};
use gpuprof_model::threshold::Threshold;

use super::*;
use gpuprof_analysis::fixture::finished;
use gpuprof_analysis::fixture::judge;
use gpuprof_analysis::fixture::{emulated_pass, gh100, gpu_pass, h200, point, series};
use gpuprof_analysis::gate::judge::Baseline;
use gpuprof_analysis::metrics::collect::unfinished;
use gpuprof_analysis::view::View;

fn run(device: DeviceRecord, series: Vec<SeriesResult>) -> Run {
    Run {
        schema_version: SCHEMA_VERSION,
        id: "2025-11-21T02-40-00Z".into(),
        provenance: Provenance {
            tool_version: "0.1.0".into(),
            started: "2025-11-21T02:40:00Z".into(),
            backend: Backend::of_device(device.emulated),
            device: Some(device),
            chips: BTreeMap::new(),
            devices: Vec::new(),
            cache_control: CacheControl::All,
            clock_control: ClockControl::None,
            replay_mode: None,
            counter_range: None,
            nvtx: Vec::new(),
            not_verified: None,
            not_gated: None,
            strict: false,
            quick: false,
            formulas: BTreeMap::new(),
            ptx_sha256: BTreeMap::from([("saxpy".to_owned(), "0123abcd".to_owned())]),
            input_sha256: BTreeMap::new(),
            kernel_toolchain: Some("rustc 1.95.0".into()),
            git_revision: Some("da5af21-dirty".into()),
            rules: Vec::new(),
            sources: Sources::default(),
            profile: Some("bench".into()),
            kernel_arch: Some("sm_80".into()),
            order: None,
            missing_slices: None,
            slices: Vec::new(),
            spans: Vec::new(),
            costs: Vec::new(),
            first_look: None,
            assembler: None,
            timer: None,
            seconds_per_process: None,
        },
        series,
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    }
}

fn judged(
    mut series: SeriesResult,
    device: &DeviceRecord,
    thresholds: &[(&str, &str)],
) -> SeriesResult {
    let verdict = |(text, origin): &(&str, &str)| {
        let threshold = Threshold::parse(text).unwrap();
        judge(
            &Catalogue::built_in(),
            &threshold,
            origin,
            &series.configurations,
            Some(device),
            &Baseline::none(),
        )
    };
    series.judgements = thresholds.iter().map(verdict).collect();
    series
}

/// saxpy in three processes a configuration, one problem size.
pub(super) fn gpu_run() -> Run {
    let row = |block: u64, base: f64| {
        let process = |place: f64| {
            let samples: Vec<f64> = (0..5).map(|i| base * place + 32.0 * f64::from(i)).collect();
            gpu_pass(block, 1 << 26, &samples)
        };
        finished(point(block, 1 << 26), &[process(1.0), process(1.01), process(1.02)])
    };
    let rows =
        vec![row(64, 262_000.0), row(128, 209_000.0), row(256, 191_400.0), row(512, 192_000.0)];
    let thresholds = [
        ("best throughput >= 60% of peak", "attribute"),
        ("every duration <= 240 us", "gpuprof.toml"),
        ("best dram_throughput >= 80%", "--threshold"),
    ];
    run(h200(), vec![judged(series(rows), &h200(), &thresholds)])
}

#[test]
fn too_few_processes_for_many_rows_are_reported() {
    let row = |block: u64, places: &[f64]| {
        let base = 100.0 * block as f64;
        let process = |place: &f64| gpu_pass(block, 1 << 26, &[base * place; 5]);
        finished(point(block, 1 << 26), &places.iter().map(process).collect::<Vec<_>>())
    };
    let of = |places: &[f64]| {
        let rows = (1..=12).map(|i| row(64 * i, places)).collect();
        unwrapped(&written(&table(None), &run(h200(), vec![series(rows)])))
    };
    let few = of(&[1.0, 1.05, 1.1]);
    let said =
        "3 processes per configuration are few for 12 configurations, and --repeat 7 separates";
    assert!(few.contains(said), "{few}");
    let many = of(&[1.0, 1.05, 1.1, 1.02, 1.07, 1.03, 1.08]);
    assert!(!many.contains("are few for"), "{many}");
    let close = of(&[1.0, 1.0001, 1.0002]);
    assert!(!close.contains("are few for"), "{close}");
}

/// saxpy on the emulator with two problem sizes.
pub(super) fn emulator_run() -> Run {
    let row = |block, n| finished(point(block, n), &[emulated_pass(block, n)]);
    let rows = vec![row(64, 1 << 20), row(64, 1 << 24), row(256, 1 << 20), row(256, 1 << 24)];
    let thresholds = [
        ("load_sectors_per_request <= 4", "attribute"),
        ("best throughput >= 60% of peak", "attribute"),
        ("ptx_instructions < 500_000", "gpuprof.toml"),
    ];
    run(gh100(), vec![judged(series(rows), &gh100(), &thresholds)])
}

/// Everything that can go wrong, with text that formats must not trip over.
pub(super) fn troubled_run() -> Run {
    let at = |variant: &str, block| {
        Configuration(vec![
            ("variant".into(), AxisValue::Word(variant.into())),
            ("block".into(), AxisValue::Int(block)),
        ])
    };
    let ended = |block, status| unfinished(at("naive", block), status);
    let mut no_loads = emulated_pass(128, 1 << 20);
    no_loads.counters.insert("smsp__sass_inst_executed_op_global_ld.sum".into(), 0);
    let rows: Vec<ConfigurationResult> = vec![
        finished(at("naive", 64), &[emulated_pass(64, 1 << 20)]),
        finished(at("naive", 128), &[no_loads]),
        ended(
            256,
            Status::Failed {
                reason: "exit status 101; its stderr ends with\n\u{1b}[31mthread 'main' panicked\u{1b}[0m: \
                         y[3] is 7, and the host has 9 | a \"quoted\", <b>\n"
                    .into(),
            },
        ),
        ended(512, Status::Timeout { reason: "no reply within 60 s".into() }),
        ended(2048, Status::Invalid { reason: "a block of 2048 threads, of at most 1024".into() }),
        ended(4096, Status::Skipped { reason: "interrupted by SIGINT".into() }),
        ended(8192, Status::Skipped { reason: "interrupted by SIGINT".into() }),
    ];
    let mut troubled = series(rows);
    troubled.id.kernel = "addiere_größen".into();
    troubled.file = "beispiele/größe/src/lib.rs".into();
    troubled.columns =
        ["load_sectors_per_request", "bytes", "duration", "occupancy"].map(str::to_owned).into();
    let thresholds = [
        ("every load_sectors_per_request <= 2", "attribute"),
        ("every ptx_instructions <= 1e9", "attribute"),
        ("where block==2048 ptx_instructions <= 1e9", "attribute"),
        ("best duration <= 10 µs", "--threshold"),
    ];
    let troubled = judged(troubled, &gh100(), &thresholds);
    let mut empty = series(Vec::new());
    empty.id.kernel = "nothing".into();
    let mut hopeless = series(vec![unfinished(
        Configuration::default(),
        Status::Failed { reason: "signal 11 (SIGSEGV)".into() },
    )]);
    hopeless.id.kernel = "hopeless".into();
    run(gh100(), vec![troubled, empty, hopeless])
}

/// `run` with two metrics a configuration, so that a snapshot can be read.
fn trimmed(mut run: Run) -> Run {
    let kept = ["duration", "load_sectors_per_request", "bytes"];
    for row in run.series.iter_mut().flat_map(|series| &mut series.configurations) {
        row.metrics.retain(|name, _| kept.contains(&name));
    }
    run
}

pub(super) fn written(report: &dyn Report, run: &Run) -> String {
    let mut out = Vec::new();
    report.write(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// As [`written`], with nothing left out.
pub(super) fn written_whole(report: &dyn Report, run: &Run) -> String {
    let mut out = Vec::new();
    report.write_as(&View { all: true, ..View::default() }, run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// `text` on one line.
pub(super) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn table(width: Option<u16>) -> Table {
    Table { colour: false, width }
}

#[test]
fn the_table_of_a_gpu_run() {
    insta::assert_snapshot!(written(&table(Some(120)), &gpu_run()));
}

#[test]
fn the_table_of_an_emulator_run() {
    insta::assert_snapshot!(written(&table(None), &emulator_run()));
}

#[test]
fn the_table_of_a_troubled_run() {
    insta::assert_snapshot!(written(&table(Some(120)), &troubled_run()));
}

#[test]
fn notes_and_verdicts_wrap_at_the_terminal_width() {
    for run in [gpu_run(), troubled_run()] {
        let whole = written_whole(&table(None), &run);
        for width in [80, 200] {
            let text = written_whole(&table(Some(width)), &run);
            let words = |text: &str| -> BTreeSet<String> {
                let words = text.split_whitespace().filter(|word| !word.contains('─'));
                words.map(str::to_owned).collect()
            };
            assert_eq!(words(&text), words(&whole), "nothing is lost at {width}");
            // Notes on the whole run are one line each.
            let of_series = text.split("\n unmeasured").next().unwrap_or_default();
            let mut lines = of_series.lines().filter(|line| line.starts_with(' '));
            let wide = lines.find(|line| line.chars().count() > width.into());
            assert_eq!(wide, None, "at {width}");
        }
    }
}

#[test]
fn a_narrow_table_is_cut_and_repeats_the_axes() {
    let text = written(&table(Some(60)), &gpu_run());
    let tables = text.split("\n\n").filter(|part| part.contains('─'));
    assert!(tables.clone().count() > 1);
    for line in tables.flat_map(str::lines) {
        assert!(line.chars().count() <= 60, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_table_is_written_at_any_width() {
    for width in [0, 1, 5, 20, u16::MAX] {
        for run in [gpu_run(), emulator_run(), troubled_run()] {
            let text = written(&table(Some(width)), &run);
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.windows(2).any(|pair| pair == ["configurations", "of"]), "{width}");
        }
    }
}

#[test]
fn a_digest_of_80_columns_says_why_a_metric_has_no_value() {
    let mut run = troubled_run();
    let missing = CountersOverTime::missing("the call is too short".to_owned());
    run.series[0].configurations[0].over_time = Some(missing);
    let text = written(&table(Some(80)), &run);
    let lines = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    for reason in [
        "-  counters over time at variant=naive,block=64: the call is too short",
        "-  duration: no time was estimated",
        "-  occupancy: it is a hardware counter, which needs a GPU",
    ] {
        assert!(lines.contains(reason), "{reason}: {text}");
    }
    // Its last line is no wider than the others.
    let begin = text.lines().position(|line| line.starts_with("8 configurations of 3 series"));
    let end = text.lines().skip(begin.expect("it ends with its counts"));
    assert!(end.clone().all(|line| line.chars().count() <= 80), "{text}");
    assert!(end.count() > 1, "{text}");
}

#[test]
fn colour_adds_styles_and_changes_no_text() {
    let coloured = written(&Table { colour: true, width: Some(120) }, &gpu_run());
    insta::assert_snapshot!(coloured.replace('\u{1b}', "␛"));
    let mut plain = String::new();
    let mut parts = coloured.split('\u{1b}');
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(plain, written(&table(Some(120)), &gpu_run()));
}

#[test]
fn the_markdown_of_a_gpu_run() {
    insta::assert_snapshot!(written(&Markdown::default(), &gpu_run()));
}

#[test]
fn the_markdown_of_a_troubled_run() {
    insta::assert_snapshot!(written(&Markdown::default(), &troubled_run()));
}

#[test]
fn the_csv_of_a_gpu_run() {
    insta::assert_snapshot!(written(&Csv, &gpu_run()));
}

#[test]
fn the_csv_of_a_troubled_run() {
    insta::assert_snapshot!(written(&Csv, &trimmed(troubled_run())));
}

#[test]
fn every_csv_row_has_every_column_and_reads_back() {
    for run in [gpu_run(), emulator_run(), troubled_run()] {
        let text = written(&Csv, &run);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers().unwrap().clone();
        let axes = headers.iter().filter(|title| title.starts_with("axis:")).count();
        assert_eq!(headers.len(), 19 + axes);
        for record in reader.records() {
            let record = record.unwrap();
            let value = &record[6];
            assert!(value.is_empty() || value.parse::<f64>().is_ok(), "{record:?}");
            assert_eq!(value.is_empty(), !record[17].is_empty(), "{record:?}");
            assert!(["", "best", "tied"].contains(&&record[18]), "{record:?}");
            assert!(!value.is_empty() || record[18].is_empty(), "{record:?}");
        }
    }
}

#[test]
fn the_json_of_an_emulator_run() {
    let run = trimmed(emulator_run());
    insta::assert_snapshot!(written(&Json, &run));
}

#[test]
fn json_reads_back_as_the_same_run() {
    for run in [gpu_run(), emulator_run(), troubled_run()] {
        assert_eq!(serde_json::from_str::<Run>(&written(&Json, &run)).unwrap(), run);
    }
}

#[test]
fn the_json_lines_of_a_troubled_run() {
    let run = trimmed(troubled_run());
    let lines = JsonLines { exit_code: Some(ExitCode::ProcessFailed) };
    insta::assert_snapshot!(written(&lines, &run));
}

#[test]
fn every_json_line_is_an_object_with_a_reason() {
    let text = written(&JsonLines::default(), &gpu_run());
    let reason = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        value["reason"].as_str().unwrap().to_owned()
    };
    let reasons: Vec<String> = text.lines().map(reason).collect();
    assert_eq!(reasons.first().map(String::as_str), Some("run-started"));
    assert_eq!(reasons.last().map(String::as_str), Some("run-finished"));
    assert_eq!(reasons.iter().filter(|r| *r == "configuration-finished").count(), 4);
    assert_eq!(reasons.iter().filter(|r| *r == "threshold-judged").count(), 3);
}

#[test]
fn the_summary_counts_and_knows_its_plurals() {
    let one = |text: &str| {
        let row = finished(point(64, 1 << 20), &[gpu_pass(64, 1 << 20, &[5_000.0])]);
        run(h200(), vec![judged(series(vec![row]), &h200(), &[(text, "attribute")])])
    };
    assert_eq!(
        summary_line(&one("duration <= 1 ms")),
        "1 configuration of 1 series: 1 finished; threshold: 1 passed"
    );
    assert_eq!(
        summary_line(&gpu_run()),
        "4 configurations of 1 series: 4 finished; thresholds: 1 passed, 1 failed, 1 unavailable; \
         not judged: it was not collected in this run; name it in --metrics"
    );
    assert_eq!(
        summary_line(&troubled_run()),
        "8 configurations of 3 series: 2 finished, 1 invalid, 2 failed, 1 timed out, 2 skipped; \
         thresholds: 1 failed, 2 missing, 1 unavailable; 2 not measured: interrupted by SIGINT; \
         not judged: addiere_größen: variant=naive,block=256 failed, and 3 more did not finish"
    );
    assert_eq!(
        summary_line(&run(h200(), Vec::new())),
        "0 configurations of 0 series; no thresholds"
    );
    let mut elsewhere = series(Vec::new());
    let threshold = serde_json::json!("on \"A100\" duration <= 1 ms");
    elsewhere.not_applicable = vec![serde_json::from_value(threshold).unwrap()];
    assert_eq!(
        summary_line(&run(h200(), vec![elsewhere])),
        "0 configurations of 1 series; no thresholds for this device"
    );
}

/// A GPU run with two sections, one of them with a metric that no row has.
fn run_with_sections() -> Run {
    let mut run = gpu_run();
    let column = |label: &str, name: &str| SectionColumn {
        label: label.into(),
        name: name.into(),
        largest_of: BTreeMap::new(),
    };
    let section = |id: &str, title: &str, columns: Vec<SectionColumn>| SectionColumns {
        id: id.into(),
        title: title.into(),
        needs: None,
        columns,
        sampled: Vec::new(),
        tables: Vec::new(),
    };
    run.series[0].sections = vec![
        section(
            "Launch",
            "Launch",
            vec![column("registers a thread", "registers"), column("waves", "waves")],
        ),
        section("Mine", "My own", vec![column("DRAM", "dram_throughput")]),
    ];
    run
}

#[test]
fn the_table_of_a_run_with_sections() {
    insta::assert_snapshot!(written(&table(None), &run_with_sections()));
}

#[test]
fn a_roofline_names_its_roof_and_is_omitted_without_work() {
    let mut run = gpu_run();
    let of = |needs: &str| SectionColumns {
        id: needs.into(),
        title: format!("Roofline of {needs}"),
        needs: Some(needs.into()),
        columns: vec![SectionColumn {
            label: "bound by".into(),
            name: "waves".into(),
            largest_of: [("few", "registers"), ("many", "flops"), ("none", "dram_throughput")]
                .map(|(label, name)| (label.to_owned(), name.to_owned()))
                .into(),
        }],
        sampled: Vec::new(),
        tables: Vec::new(),
    };
    run.series[0].sections = vec![of("flops"), of("static_shared"), of("dram_throughput")];
    for text in [written(&table(None), &run), written(&Markdown::default(), &run)] {
        assert!(text.contains("Roofline of flops") && text.contains("bound by"), "{text}");
        assert!(text.contains("many") && !text.contains("few"), "{text}");
        assert!(
            !text.contains("Roofline of static") && !text.contains("Roofline of dram"),
            "{text}"
        );
        // A requested remark is shown.
        let text = text.replace('\\', "");
        assert!(
            text.contains("static_shared: not shown: static_shared is zero everywhere"),
            "{text}"
        );
    }
}

#[test]
fn the_markdown_of_a_run_with_sections() {
    insta::assert_snapshot!(written(&Markdown::default(), &run_with_sections()));
}

#[test]
fn a_run_without_verification_says_what_turned_it_off() {
    let mut run = gpu_run();
    let said = |run: &Run| {
        [written(&table(None), run), written(&Markdown::default(), run)]
            .map(|text| text.contains("not verified"))
    };
    assert_eq!(said(&run), [false; 2]);
    run.provenance.not_verified = Some("--no-verify".into());
    assert_eq!(said(&run), [true; 2]);
}

#[test]
fn a_row_without_a_reference_or_without_checks_says_so() {
    let mut run = gpu_run();
    let row = &mut run.series[0].configurations[1];
    row.unverified = Some(Unverified::NoReference);
    row.checks = Some(CheckRecord {
        init: true,
        race: false,
        races_in_part: false,
        checked_blocks: 1,
        blocks: 1,
    });
    for text in [written(&table(None), &run), written(&Markdown::default(), &run)] {
        assert!(text.contains("; 1 not verified: no reference"), "{text}");
        assert!(text.contains("not checked") && text.contains("in 1 of 1 config"), "{text}");
    }
    run.series[0].configurations[1].unverified = Some(Unverified::NothingCompared);
    let text = written(&table(None), &run);
    assert!(text.contains("; 1 not verified: no elements"), "{text}");
}
