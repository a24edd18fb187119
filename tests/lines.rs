//! Counts by line, stored with a run.

use crate::support::Workspace;
use serde_json::Value;

/// The document of a run of `package` in `workspace`.
fn document(workspace: &Workspace, package: &str) -> Value {
    workspace.gpuprof(&["run", "--quiet", "--no-gate", "--package", package]).exits_with(0);
    let report = workspace.gpuprof(&["report", "--format", "json"]).exits_with(0);
    serde_json::from_str(&report.stdout).expect("it is JSON")
}

/// The sum of a packed column.
fn sum(column: &Value) -> u64 {
    let numbers = column.as_array().cloned().unwrap_or_default();
    let numbers: Vec<u64> = numbers.iter().filter_map(Value::as_u64).collect();
    numbers.chunks(2).map(|run| run[0] * run[1]).sum()
}

/// That the lines of every row add up to its metrics; the rows.
fn add_up(document: &Value) -> usize {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut rows = 0;
    for series in all(&document["series"]) {
        for row in all(&series["configurations"]) {
            let total = |column: &str| -> u64 {
                all(&row["code"]).iter().map(|code| sum(&code["counts"][column])).sum()
            };
            let metric = |name: &str| row["metrics"][name]["value"].as_f64().unwrap_or_default();
            let conflicts = total("wavefronts") - total("ideal_wavefronts");
            for (lines, name) in [
                (total("instructions"), "ptx__inst_executed.sum"),
                (total("thread_instructions"), "ptx__thread_inst_executed.sum"),
                (total("sectors"), "global_sectors"),
                (total("divergent_branches"), "ptx__branches_divergent.sum"),
                (conflicts, "bank_conflicts"),
            ] {
                assert_eq!(lines as f64, metric(name), "{name} of {}", row["configuration"]);
            }
            rows += 1;
        }
    }
    rows
}

#[test]
fn the_lines_of_a_row_add_up_to_its_metrics() {
    let workshop = Workspace::fixture("workshop");
    assert_eq!(add_up(&document(&workshop, "vector")), 6);
}
