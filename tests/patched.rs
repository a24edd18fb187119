//! Counters of patched instructions on a fake GPU, at configurations with and without divergent
//! lanes.

use std::fs;

use serde_json::Value;

use crate::support::{FakeGpu, Workspace};

const REASON: &str = "lanes diverge, and the patched code that counts may change how they run";

#[test]
fn patched_counters_are_exact_only_where_no_lanes_diverge() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let export = folder.path().join("run.json").display().to_string();
    let workspace = Workspace::fixture("workshop");
    let run = ["run", "--package", "vector", "scale/block=64", "--quiet", "--repeat", "1"];
    let more = ["--series", "n=4096,4010", "--export-json", &export];
    let limit = ["--threshold", "every load_sectors_per_request <= 4"];
    let all = [&run[..], &more, &limit].concat();
    let outcome = FakeGpu::new().tool(&workspace, &all).run().exits_with(0);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "patched load_sectors_per_request at block=64,n=4010: not exact: ";
    let shown = words(&outcome.stdout);
    assert!(shown.contains(&format!("{note}{REASON}")), "{}", outcome.stdout);
    let text = fs::read_to_string(&export).expect("it was exported");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    let series = &run["series"][0];
    let marks = |name: &str| {
        let rows = series["configurations"].as_array().expect("there are configurations");
        rows.iter().map(|row| row["metrics"][name]["perturbation"].clone()).collect::<Vec<_>>()
    };
    let moved = [Value::Null, Value::from("divergence")];
    assert_eq!(marks("load_sectors_per_request"), moved, "{series:#}");
    assert_eq!(marks("smsp__warps_launched.sum"), [Value::Null, Value::Null]);
    for format in ["markdown", "html"] {
        let page = workspace.gpuprof(&["report", &export, "--format", format]).exits_with(0);
        assert!(page.stdout.contains(REASON), "{format}: {}", page.stdout);
    }
}
