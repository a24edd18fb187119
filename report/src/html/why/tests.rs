use gpuprof_analysis::fixture::{emulated, measured, run, series};
use gpuprof_analysis::gate::baseline::{Against, Scope};
use gpuprof_analysis::gate::run::rejudge;
use gpuprof_analysis::view::View;
use gpuprof_model::Threshold;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run, SectionColumns, SectionRow, SectionTable};

use crate::{Html, Report};

const DRAM: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";

fn page(run: &Run) -> String {
    let mut out = Vec::new();
    Html::default().write_as(&View::default(), run, &mut out).unwrap();
    String::from_utf8(out).unwrap().split("<script>").next().unwrap().to_owned()
}

fn row(block: u64, ns: f64, reads: f64) -> ConfigurationResult {
    let values = [("duration", ns), (DRAM, 9e5 / ns), ("dram__sectors_read.sum", reads)];
    measured(block, &values)
}

fn tables() -> SectionColumns {
    let line = |label: &str, name: &str| SectionRow {
        label: label.into(),
        cells: vec![name.into(), String::new()],
    };
    SectionColumns {
        id: "Mine".into(),
        title: "Mine".into(),
        needs: None,
        columns: Vec::new(),
        sampled: Vec::new(),
        tables: vec![SectionTable {
            title: "Device <memory>".into(),
            columns: vec!["Sectors".into(), "Bytes".into()],
            rows: vec![
                line("Loads", "dram__sectors_read.sum"),
                line("Stores", "dram__sectors_write.sum"),
            ],
        }],
    }
}

#[test]
fn best_and_worst_rows_are_explained_and_missing_sections_named() {
    let mut series = series(vec![row(64, 9e3, 5.0), row(128, 1e4, 0.0), row(256, 2e4, 7.0)]);
    series.sections.push(tables());
    let page = page(&run("1", vec![series]));
    assert!(page.contains("<summary>The best: block=64</summary>"));
    assert!(page.contains("<summary>The worst: block=256</summary>"));
    // The others are there, below everything.
    let (named, others) = page.split_once("<summary>Any other configuration</summary>").unwrap();
    assert!(!named.contains("block=128</summary>"));
    assert!(others.contains(r#"id="s0w1"><summary>block=128</summary>"#));
    assert!(page.contains("Nearest its peak: DRAM at 100.0%."));
    assert!(page.contains("Nearest its peak: DRAM at 45.0%. None is near it"));
    // Of tables, what was measured; a cell names its metric.
    assert!(page.contains("Device &lt;memory&gt;"));
    assert!(page.contains(r#"<td class="number" title="dram__sectors_read.sum">7</td>"#));
    assert!(!page.contains("Stores</th>"), "it was not measured");
    let asked = "roofline (<code>--set roofline</code>)";
    assert!(page.contains("Not measured: ") && page.contains(asked));
    assert!(!page.contains("<code>--set basic</code>"), "the limits are there");
}

/// A configuration that violates a threshold is explained, and open.
#[test]
fn a_violating_row_is_explained_instead_of_the_worst() {
    let rows = vec![row(64, 9e3, 5.0), row(128, 1e4, 0.0), row(256, 2e4, 7.0)];
    let run = run("1", vec![series(rows)]);
    let against = Against {
        name: "main".into(),
        run: Err("there is none".into()),
        across_devices: false,
        in_rounds: false,
        scope: Scope::whole(),
    };
    let limit = Threshold::parse("where block==128 duration <= 9.5 us").unwrap();
    let page = page(&rejudge(&Catalogue::built_in(), run, &[limit], &against));
    let beyond = r#"open id="s0w1"><summary>Beyond its limit: block=128</summary>"#;
    assert!(page.contains(beyond), "{page}");
    assert!(page.contains(r#"id="s0w2"><summary>The worst: block=256</summary>"#));
}

#[test]
fn an_emulated_run_shows_its_traffic() {
    let page = page(&run("1", vec![series(vec![emulated(64, 1 << 20)])]));
    assert!(page.contains("98.3 k inst") && page.contains("not measured"));
    assert!(!page.contains("NaN"));
}
