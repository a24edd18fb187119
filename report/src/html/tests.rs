use std::collections::BTreeSet;
use std::sync::Arc;

use gpuprof_analysis::fixture::{
    emulated, failed, finished, gpu_pass, judge, point, row, run, series,
};
use gpuprof_analysis::gate::judge::Baseline;
use gpuprof_analysis::view::View;
use gpuprof_model::code::{
    CountedCode, Counter, InlinedCall, LineCounts, ListedLine, Listing, MachineLine,
};
use gpuprof_model::comparison::{Change, Comparison, Outcome};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, Status};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::{Quantity, Unit};

use super::Html;
use crate::Report;

fn page(run: &Run) -> String {
    let mut out = Vec::new();
    Html::default().write_as(&View::default(), run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Three block sizes at two problem sizes, each timed by three processes, and a failed
/// configuration.
fn measured() -> Run {
    let row = |at: u64, n: u64, ns: f64| {
        let passes: Vec<_> = [0.99, 1.0, 1.02]
            .map(|noise| gpu_pass(at, n, &[ns * noise - 32.0, ns * noise, ns * noise + 32.0]))
            .into();
        finished(point(at, n), &passes)
    };
    let mut rows = vec![
        row(64, 1 << 20, 9_000.0),
        row(128, 1 << 20, 7_000.0),
        row(256, 1 << 20, 7_050.0),
        row(64, 1 << 22, 31_000.0),
        row(128, 1 << 22, 25_000.0),
        row(256, 1 << 22, 26_000.0),
    ];
    rows.push(failed(512));
    run("20261123T010203-1", vec![series(rows)])
}

#[test]
fn a_page_has_charts_marks_rows_and_reasons() {
    let page = page(&measured());
    for part in ["<svg class=\"chart\"", "class=\"best\"", "exit status 3", "Every process: "] {
        assert!(page.contains(part), "{part}");
    }
    // A row for each configuration, and a link to it from its mark.
    for at in 0..7 {
        assert!(page.contains(&format!("<tr id=\"s0r{at}\"")), "{at}");
    }
    assert!(page.contains("href=\"#s0r1\""));
    let drawn = page.split("<script>").next().unwrap();
    assert!(!drawn.contains("NaN") && !drawn.contains("inf "), "a place that is no number");
}

#[test]
fn a_page_loads_nothing_and_its_policy_forbids_everything_else() {
    let page = page(&measured());
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src="));
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    // An attribute `style` would need a looser policy, and so would handlers.
    assert!(!page.contains(" style=\"") && !page.contains(" onclick"));
}

#[test]
fn hostile_names_are_escaped() {
    let mut run = measured();
    let hostile = "</script><img src=x onerror=alert(1)>";
    run.series[0].id.kernel = hostile.into();
    run.series[0].file = hostile.into();
    run.id = hostile.into();
    run.series[0].configurations[0].configuration.0[0].0 = hostile.into();
    let page = page(&run);
    assert!(!page.contains("<img"), "the name became an element");
    assert_eq!(page.matches("</script>").count(), 1);
}

#[test]
fn quoted_text_in_a_note_is_code() {
    let mut failed = failed(512);
    failed.status = Status::Failed { reason: "`<cudaLaunch>` failed".into() };
    let page = page(&run("20261123T010203-1", vec![series(vec![failed])]));
    assert!(page.contains("<code>&lt;cudaLaunch&gt;</code> failed"), "{page}");
}

#[test]
fn a_run_without_a_measurement_has_a_page_with_the_reasons() {
    let page = page(&run("20261123T010203-1", vec![series(vec![failed(64), failed(128)])]));
    assert!(page.contains("Nothing was measured: none of 2 configurations finished."));
    assert!(page.contains("exit status 3") && page.contains("cargo gpuprof doctor"));
    assert!(!page.contains("<svg class=\"chart\""));
    assert!(super::super::summary_line(&run("1", Vec::new())).contains("0 configurations"));
}

#[test]
fn reasons_of_failures_come_before_the_series() {
    let broken = |at: u64| {
        let mut row = failed(64 * at);
        let word = ["one", "two", "three", "four", "five"][at as usize - 1];
        row.status = Status::Failed { reason: format!("reason {word}") };
        row
    };
    let page = page(&run("1", vec![series((1..=5).map(broken).collect())]));
    let (top, below) = page.split_once("id=\"series-").or(page.split_once("<section")).unwrap();
    assert!(
        top.contains("block=64") && top.contains("reason one") && top.contains("reason three"),
        "{top}"
    );
    assert!(
        !top.contains("reason four") && top.contains("2 more reasons are in the notes"),
        "{top}"
    );
    assert!(below.contains("reason five"));
}

/// 500 configurations of 40 metrics are a page of less than a megabyte.
#[test]
fn a_page_of_a_large_run_is_below_a_megabyte() {
    let passes = |at: u64| -> Vec<_> {
        (0..7).map(|p| gpu_pass(64, 1 << 20, &[9e3 + at as f64 + f64::from(p)])).collect()
    };
    let mut rows: Vec<_> =
        (0..500).map(|at| finished(point(64 + at, 1 << 20), &passes(at))).collect();
    let mut columns = vec!["duration".to_owned()];
    for row in &mut rows {
        let like = row.metrics["duration"].clone();
        for at in 0..39 {
            row.metrics.insert(format!("sm__made_up_{at}.sum"), like.clone());
        }
    }
    columns.extend((0..39).map(|at| format!("sm__made_up_{at}.sum")));
    let mut run = run("20261123T010203-1", vec![series(rows)]);
    run.series[0].columns = columns;
    let length = page(&run).len();
    assert!(length < 1_000_000, "{length} bytes");
}

/// The page of a run of any size is limited, and names the omitted parts.
#[test]
fn a_page_is_limited_to_1000_rows() {
    let rows: Vec<_> = (0..5_000).map(|at| row(64 + at, "duration", Ok(9e3 + at as f64))).collect();
    let run = run("20261123T010203-1", vec![series(rows)]);
    let text = page(&run);
    assert_eq!(text.matches("<tr id=").count(), 1000);
    assert!(
        text.contains("1000 of 5000 rows") && text.contains("cargo gpuprof report --all has all")
    );
    let mut out = Vec::new();
    Html::default().write_as(&View { all: true, ..View::default() }, &run, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap().matches("<tr id=").count(), 5_000);
}

/// Passing thresholds are folded if they would push important parts off the screen.
#[test]
fn passing_thresholds_are_folded_and_violated_ones_are_not() {
    let mut run = run("1", vec![series(vec![row(64, "duration", Ok(9e3))])]);
    let judged = |text: &str| {
        let threshold = Threshold::parse(text).unwrap();
        let rows = &run.series[0].configurations;
        let catalogue = Catalogue::built_in();
        judge(&catalogue, &threshold, "attribute", rows, None, &Baseline::none())
    };
    let passed = (0..9).map(|at| judged(&format!("every duration <= {} us", 20 + at)));
    let violated = judged("every duration <= 2 us");
    let all: Vec<_> = passed.chain([violated]).collect();
    run.series[0].judgements = all;
    let (open, folded) = page(&run).split_once("9 thresholds passed").map(own).unwrap();
    assert!(open.contains("&lt;= 2 us") && !open.contains("&lt;= 20 us"), "{open}");
    assert!(open.ends_with("<details><summary>") && folded.contains("&lt;= 28 us"), "{folded}");
    run.series[0].judgements.remove(0);
    assert!(!page(&run).contains("thresholds passed"));
}

fn own((before, after): (&str, &str)) -> (String, String) {
    (before.to_owned(), after.to_owned())
}

#[test]
fn equal_exact_values_are_equal_and_not_hidden_by_noise() {
    let mut more = emulated(128, 1 << 20);
    more.metrics.get_mut("global_sectors").unwrap().value = Ok(1e9);
    let rows = vec![emulated(64, 1 << 20), emulated(256, 1 << 20), more];
    let mut series = series(rows);
    series.columns = vec!["global_sectors".into()];
    let page = page(&run("20261123T010203-1", vec![series]));
    let sentence = page.split("<p class=\"best\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(sentence.contains("; equal: block=256,n=1048576 (○)"), "{sentence}");
    assert!(!sentence.contains("indistinguishable"), "{sentence}");
}

#[test]
fn a_series_that_failed_comes_first_and_rows_have_the_value_of_the_base() {
    let named = |name: &str, rows| {
        let mut series = series(rows);
        series.id.kernel = name.to_owned();
        series
    };
    let run = run(
        "1",
        vec![
            named("settled", vec![row(64, "duration", Ok(9e3)), row(128, "duration", Ok(8e3))]),
            named("broken", vec![row(64, "duration", Ok(9e3)), failed(128)]),
        ],
    );
    let text = page(&run);
    let at = |name: &str| text.find(&format!("::{name}</h2>")).unwrap();
    assert!(at("broken") < at("settled"));
}

#[test]
fn a_series_without_a_best_row_has_a_chart_without_a_star() {
    let rows = [20, 21, 22, 23, 24].map(|size| emulated(64, 1 << size));
    let text = page(&run("1", vec![series(rows.into())]));
    assert!(text.contains("no row is best"), "{text}");
    let chart = text.split("<svg class=\"chart\"").nth(1).expect("a chart");
    assert!(!chart.split("</svg>").next().unwrap().contains('★'), "{chart}");
}

#[test]
fn every_change_is_on_the_page_and_many_are_folded() {
    let rows: Vec<_> = (0..30).map(|at| row(64 + at, "duration", Ok(9e3))).collect();
    let mut series = series(rows);
    series.changes = (0..30)
        .map(|at| Change {
            configuration: format!("block={}", 64 + at),
            metric: "duration".to_owned(),
            baseline: Some(Quantity::new(8e3, Unit::Nanoseconds)),
            value: Some(Quantity::new(9e3, Unit::Nanoseconds)),
            percent: Some(12.5),
            outcome: Outcome::Worse,
            confidence: None,
            cycles_percent: None,
            reason: None,
        })
        .collect();
    let text = page(&run("1", vec![series]));
    assert_eq!(text.matches("8 µs → 9 µs (+12.50%)").count(), 30);
    assert!(text.contains("10 more changes"));
    assert!(text.contains("base [µs]") && text.contains("+12.50%</td>"), "{text}");
}

#[test]
fn source_is_shown_next_to_ptx_and_revisions_side_by_side() {
    let mut before = run("20261123T010203-1", vec![series(vec![emulated(64, 1 << 20)])]);
    let mut after = before.clone();
    for (run, index, sectors) in [(&mut before, "i", 256), (&mut after, "8 * i", 2048)] {
        let source = format!("fn kernel() {{\n    let a = x[{index}];\n}}\n");
        run.provenance.sources.add("src/lib.rs", &source, &BTreeSet::from([2]));
        let line = ListedLine(10, 1, 2, format!("ld.global.f32 %f1, [%rd{index}];"));
        let listing = Listing {
            kernel: "kernel".into(),
            files: vec!["src/lib.rs".into()],
            lines: vec![line],
            ..Listing::default()
        };
        let mut counts = LineCounts::default();
        (counts[Counter::Requests], counts[Counter::Sectors]) = (64, sectors);
        let code = CountedCode::new(listing, &[counts]);
        run.series[0].configurations[0].code = vec![code];
    }
    let alone = page(&after);
    let row = "<td class=\"code\">    let a = x[8 * i];</td><td class=\"number\">2,048</td>";
    assert!(alone.contains(row), "{alone}");
    assert!(alone.contains("title=\"PTX line 10: requests: 64\nsectors: 2,048\""), "{alone}");
    assert!(!alone.contains("class=\"diff\"") && !alone.contains("SASS"));
    let with_machine = |run: &Run, text: &str| {
        let mut run = run.clone();
        let code = &mut run.series[0].configurations[0].code[0];
        let machine = vec![MachineLine(0x1a0, 10, 7, text.into())];
        Arc::make_mut(&mut code.listing).machine = machine;
        run
    };
    let (older, mut newer) =
        (with_machine(&before, "LDG.E R4, [R6]"), with_machine(&after, "LDG.E.64 R4, [R6]"));
    let text = page(&newer);
    let column = "<td class=\"code\"><div title=\"offset 0x1a0, PTX line 10: 7 live registers\">\
                  LDG.E.64 R4, [R6]</div></td>";
    assert!(text.contains(column) && text.contains("<th scope=\"col\">SASS</th>"), "{text}");
    let code = gpuprof_analysis::code::changes(&older, &newer);
    newer.comparison = Some(Comparison { code, ..Comparison::default() });
    let both = page(&newer);
    let sass = "<td class=\"number\">1a0</td><td class=\"code gone\">LDG.E R4, [R6]</td>\
                <td class=\"number\">1a0</td><td class=\"code new\">LDG.E.64 R4, [R6]</td>";
    assert!(both.contains(sass) && both.contains("SASS opcodes in the code"), "{both}");
    let row = "<td class=\"code gone\">    let a = x[i];</td><td class=\"number\">2</td>\
               <td class=\"code new\">    let a = x[8 * i];</td>";
    assert!(both.contains(row), "{both}");
    let link = "<a href=\"#s0-0-2\">src/lib.rs:2</a>";
    let told = format!("the loads of {link} went from 4 to 32 sectors a request");
    assert!(both.contains(&told) && both.contains("<tr id=\"s0-0-2\""), "{both}");
    (newer.series[0].file, newer.series[0].line) = ("src/lib.rs".into(), 1);
    let heading = "<p class=\"place\"><a href=\"#s0-0-2\">src/lib.rs:1</a> ";
    let page = page(&newer);
    assert!(page.contains(heading), "{page}");
}

#[test]
fn the_call_of_an_inlined_function_is_a_link() {
    let mut row = emulated(64, 1 << 20);
    let line = |ptx, line| ListedLine(ptx, 1, line, "add.f32 %f1, %f1, %f1;".into());
    let listing = Listing {
        files: vec!["my dir/lib.rs".into()],
        lines: vec![line(10, 2), line(11, 5)],
        calls: vec![InlinedCall(10, 1, 5)],
        ..Listing::default()
    };
    let mut counts = LineCounts::default();
    counts[Counter::Instructions] = 64;
    row.code = vec![CountedCode::new(listing, &[counts; 2])];
    let page = page(&run("now", vec![series(vec![row])]));
    let call = "<small>  inlined at <a href=\"#s0-0-5\">my dir/lib.rs:5</a></small>";
    assert!(page.contains(call), "{page}");
}
