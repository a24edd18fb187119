//! The table under views, against snapshots, for series built by hand.

use gpuprof_model::axis::AxisValue;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::expression::Expression;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult};

use super::Report;
use super::curve::Curve;
use super::paint::Paint;
use super::{Csv, Markdown, Table, axes, grid, mermaid};
use gpuprof_analysis::fixture::{self, failed, row, series};
use gpuprof_analysis::view::{Reference, Sort, View};

/// A matrix product over tile, block and type; `registers` is a trade for `duration`.
fn product(types: &[&str]) -> SeriesResult {
    let mut rows: Vec<ConfigurationResult> = Vec::new();
    for (at, dtype) in types.iter().enumerate() {
        for (tile, registers) in [(8_u64, 24.0), (16, 32.0), (32, 64.0)] {
            for (block, factor) in [(64_u64, 1.3), (128, 1.0), (256, 1.1)] {
                let base = 400_000.0 / tile as f64 * (at + 1) as f64;
                let mut one = row(0, "duration", Ok(base * factor));
                one.metrics.extend(row(0, "registers", Ok(registers)).metrics);
                one.configuration = Configuration(vec![
                    ("dtype".into(), AxisValue::Word((*dtype).into())),
                    ("TILE".into(), AxisValue::Int(tile)),
                    ("block".into(), AxisValue::Int(block)),
                ]);
                rows.push(one);
            }
        }
    }
    let mut product = series(rows);
    product.id.kernel = "product".into();
    product.columns = vec!["duration".into(), "registers".into()];
    product
}

fn written(series: &SeriesResult, view: &View, table: Table) -> String {
    let mut out = Vec::new();
    let mut run = fixture::run("r", vec![series.clone()]);
    run.provenance.device = Some(fixture::h200());
    table.write_as(view, &run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const PLAIN: Table = Table { colour: false, width: Some(100) };

#[test]
fn two_axes_make_a_grid_and_a_line_for_each() {
    insta::assert_snapshot!(written(&product(&["f32"]), &View::default(), PLAIN));
}

#[test]
fn more_axes_make_a_grid_for_each_combination_of_the_others() {
    let lines = grid::lines(&product(&["f32", "f64"]), "duration", Some(80), Paint(false));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn colour_runs_from_the_best_to_the_worst_and_changes_no_text() {
    let series = product(&["f32"]);
    let coloured = grid::lines(&series, "duration", Some(80), Paint(true)).join("\n");
    insta::assert_snapshot!(coloured.replace('\u{1b}', "␛"));
    let mut parts = coloured.split('\u{1b}');
    let mut plain = parts.next().unwrap().to_owned();
    plain.extend(parts.map(|part| part.split_once('m').unwrap().1));
    assert_eq!(plain, grid::lines(&series, "duration", Some(80), Paint(false)).join("\n"));
}

#[test]
fn a_narrow_terminal_cuts_grids_and_many_grids_are_counted() {
    let types: Vec<String> = (0..8).map(|i| format!("t{i}")).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    for width in [1, 10, 24, 80] {
        let lines = grid::lines(&product(&types), "duration", Some(width), Paint(false));
        assert_eq!(lines.last().unwrap(), "2 more grids are not shown; --filter chooses");
        if width >= 24 {
            let rows = &lines[1..lines.len() - 1];
            assert!(rows.iter().all(|line| line.chars().count() <= width.into()), "{width}");
        }
        let values =
            lines.iter().flat_map(|line| line.split_whitespace()).filter(|t| t.contains('.'));
        assert_eq!(values.count(), 6 * 9, "{width}");
    }
}

#[test]
fn a_view_shows_requested_parts_and_names_omitted_ones() {
    let view = View {
        best_by: Some("registers".into()),
        reference: Some(Reference::parse("block=128").unwrap()),
        filter: Some(Expression::parse("TILE >= 16 && dtype == f32").unwrap()),
        columns: vec!["TILE".into(), "block".into(), "duration".into()],
        sort: Some(Sort::parse("duration desc").unwrap()),
        top: Some(4),
        pareto: vec!["duration".into(), "registers".into()],
        all: false,
        verbose: false,
    };
    insta::assert_snapshot!(written(&product(&["f32", "f64"]), &view, PLAIN));
}

#[test]
fn top_alone_shows_the_best() {
    let view = View { top: Some(2), ..View::default() };
    insta::assert_snapshot!(written(&product(&["f32"]), &view, PLAIN));
}

#[test]
fn an_incomplete_product_says_why_it_has_no_effects() {
    let mut product = product(&["f32"]);
    let gone = product.configurations[4].configuration.clone();
    product.configurations[4] = ConfigurationResult { configuration: gone, ..failed(0) };
    assert_eq!(
        axes::lines(&product, "duration"),
        ["no effects of the axes on duration: it needs duration for every combination of TILE, \
          block, but has 8 of 9"]
    );
    let grid = grid::lines(&product, "duration", None, Paint(false)).join("\n");
    assert!(grid.lines().any(|line| line.starts_with("16") && line.contains("  -  ")), "{grid}");
}

#[test]
fn a_metric_chosen_by_best_by_has_its_best_row_marked() {
    use gpuprof_analysis::fixture::{gpu, series};
    let rows = series(vec![gpu(64, 1 << 20, &[100.0]), gpu(64, 1 << 24, &[900.0])]);
    let duration = |view: &View| {
        let text = written(&rows, view, PLAIN);
        let row = text.lines().find(|line| line.contains("1048576")).unwrap().to_owned();
        row.contains(" * 100")
    };
    assert!(duration(&View { best_by: Some("duration".into()), ..View::default() }));
    let csv = |view: &View| {
        let mut out = Vec::new();
        let run = Run { series: vec![rows.clone()], ..super::tests::gpu_run() };
        Csv.write_as(view, &run, &mut out).unwrap();
        String::from_utf8(out)
            .unwrap()
            .contains("100,ns,measured,noisy,100,100,100,100,100,0,1,,best")
    };
    assert!(csv(&View { best_by: Some("duration".into()), ..View::default() }));
    assert!(!csv(&View::default()));
    assert!(!duration(&View::default()), "a rate decides between rows of different work");
}

#[test]
fn a_metric_without_values_has_no_front() {
    let view = View { pareto: vec!["duration".into(), "waves".into()], ..View::default() };
    let text = written(&product(&["f32"]), &view, PLAIN);
    let remark = "no row has a value of all of duration, waves, so there is no front";
    assert!(text.contains(remark) && !text.contains("front:"), "{text}");
}

#[test]
fn an_axis_of_another_series_has_no_column() {
    let view = View {
        columns: vec!["block".into(), "stride".into(), "duration".into()],
        ..View::default()
    };
    let text = written(&product(&["f32"]), &view, PLAIN);
    assert!(text.contains(" block  duration") && !text.contains("stride"), "{text}");
}

#[test]
fn a_metric_without_values_has_no_best_row() {
    let view = View { best_by: Some("waves".into()), ..View::default() };
    let text = written(&product(&["f32"]), &view, PLAIN);
    assert!(text.contains("no row has a value of waves, so no row is best"), "{text}");
}

#[test]
fn a_section_has_the_rows_that_are_shown_in_their_order() {
    let mut series = product(&["f32"]);
    let column = |label: &str, name: &str| gpuprof_model::run::SectionColumn {
        label: label.into(),
        name: name.into(),
        largest_of: std::collections::BTreeMap::new(),
    };
    series.sections = vec![gpuprof_model::run::SectionColumns {
        id: "Launch".into(),
        title: "Launch".into(),
        needs: None,
        columns: vec![column("registers a thread", "registers")],
        sampled: Vec::new(),
        tables: Vec::new(),
    }];
    let view =
        View { sort: Some(Sort::parse("block desc").unwrap()), top: Some(2), ..View::default() };
    let text = written(&series, &view, PLAIN);
    let section: Vec<&str> = text
        .split("\nLaunch\n")
        .nth(1)
        .unwrap()
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    // A title, a line, two rows.
    assert!(section[2].starts_with(" f32       8    256"), "{text}");
    assert!(section[3].starts_with(" f32      16    256"), "{text}");
    assert_eq!(section.len(), 4, "{text}");
}

/// 300 configurations of two axes of numbers; the best is in the middle.
fn long() -> SeriesResult {
    let mut rows: Vec<ConfigurationResult> = Vec::new();
    for n in 1..=60_u64 {
        for (block, factor) in [(64_u64, 1.3), (128, 1.0), (256, 1.1), (512, 1.2), (1024, 1.5)] {
            let mut one = row(0, "duration", Ok(factor * (9_000.0 + (n.abs_diff(25) * 40) as f64)));
            one.configuration = Configuration(vec![
                ("block".into(), AxisValue::Int(block)),
                ("n".into(), AxisValue::Int(n * 1024)),
            ]);
            rows.push(one);
        }
    }
    rows[217] = failed(64);
    rows[217].configuration = rows[216].configuration.clone();
    rows[217].configuration.0[0].1 = AxisValue::Int(128);
    let mut long = series(rows);
    long.columns = vec!["duration".into()];
    long
}

#[test]
fn a_long_series_fits_a_screen_with_its_plot() {
    let text = written(&long(), &View::default(), Table { colour: false, width: Some(80) });
    insta::assert_snapshot!(text);
    let wide = |line: &&str| line.chars().count() > 80 && !line.contains("no effects of");
    assert_eq!(text.lines().find(wide), None, "{text}");
}

#[test]
fn all_shows_every_row() {
    let view = View { all: true, ..View::default() };
    let text = written(&long(), &view, Table { colour: false, width: Some(200) });
    let rows = text.lines().filter(|line| line.trim_start().starts_with(char::is_numeric));
    assert!(rows.count() >= 300, "{text}");
    assert!(!text.contains("--all"), "{text}");
}

#[test]
fn markdown_of_many_series_fits_the_limit_of_github() {
    let pages = [1, 40, 400].map(|count| {
        let all = (0..count).map(|at| {
            let mut series = long();
            series.id.kernel = format!("kernel{at}");
            series
        });
        let page = markdown(&gpuprof_analysis::fixture::run("r", all.collect()));
        assert!(page.len() <= 65_536, "{count} series: {} bytes", page.len());
        assert!(page.ends_with(" failed; no thresholds**\n"), "{page}");
        page
    });
    assert!(pages[0].contains("```mermaid\nxychart-beta\n"), "{}", pages[0]);
    assert!(pages[0].contains("<details><summary>250 of 300 rows</summary>"), "{}", pages[0]);
    assert!(!pages[0].contains("not on this page"));
    assert!(!pages[1].contains("<details>") && pages[1].contains("### saxpy::kernel39"));
    assert!(pages[2].contains(" more of 400 series are not on this page"));
}

fn markdown(run: &Run) -> String {
    let mut out = Vec::new();
    Markdown::default().write(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_chart_of_a_page_holds_the_best_along_the_longest_axis() {
    let long = long();
    insta::assert_snapshot!(mermaid::chart(&Curve::choose(&long, "duration").unwrap()));
}

#[test]
fn names_are_escaped_in_charts() {
    let mut long = long();
    for row in &mut long.configurations {
        row.configuration.0[1].0 = "n\"]\n```\n<b>".into();
    }
    let long = gpuprof_analysis::fixture::series(long.configurations);
    let chart = mermaid::chart(&Curve::choose(&long, "duration").unwrap());
    assert_eq!(chart.lines().count(), 5, "{chart}");
    assert!(!chart.contains('`') && !chart.contains('<'), "{chart}");
}
