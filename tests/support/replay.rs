//! Shared code of the tests of replay: four counters in a pass each, the command line that requests
//! them, and outcomes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::{Outcome, Workspace};

/// Four counters, each in a separate pass: CUPTI collects the last by patching.
pub const METRICS: [&str; 4] = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__warps_launched.sum",
    "smsp__sass_data_bytes_mem_global_op_ld.sum",
];

/// Arguments with which every test runs, once each: the ways in which processes are isolated.
pub const ISOLATIONS: [&[&str]; 3] =
    [&[], &["--isolate", "configuration"], &["--isolate", "kernel"]];

/// Whether the configurations of a kernel share processes under this one of [`ISOLATIONS`].
pub fn shares_processes(isolation: &[&str]) -> bool {
    !isolation.contains(&"configuration")
}

/// The common arguments of every run here: JSON, except for a dry run with a plan for people; one
/// timed process; the four counters.
pub fn arguments<'a>(selection: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    static JOINED: LazyLock<String> = LazyLock::new(|| METRICS.join(","));
    let common = ["--repeat", "1", "--no-config", "--metrics", &JOINED];
    [&["run", "--package"], selection, &common, format_of(more), more].concat()
}

/// In which format a run with these arguments is read.
pub fn format_of(arguments: &[&str]) -> &'static [&'static str] {
    if arguments.contains(&"--dry-run") { &[] } else { &["--message-format", "json"] }
}

/// The fixtures.
pub fn workshop() -> Workspace {
    Workspace::fixture("workshop")
}

/// How the configurations of a run ended: status and reason by the value of `block`.
fn statuses(outcome: &Outcome) -> BTreeMap<String, (String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |event: &Value| {
        let key = text(&event["configuration"]);
        let block = key.split(',').find_map(|part| part.strip_prefix("block=")).unwrap_or(&key);
        (block.to_owned(), (text(&event["status"]), text(&event["status_reason"])))
    };
    outcome.events_of("configuration-finished").iter().map(of).collect()
}

/// The values of the [`METRICS`] of `scale`, for any block: 128 warps load 4096 elements of 4
/// bytes.
pub const SCALE: [f64; 4] = [128.0, 512.0, 128.0, 16384.0];

/// The outcomes of the configurations with blocks of 64 and of 128 threads: status and reason.
///
/// # Panics
/// One of them is missing.
pub fn of_both(outcome: &Outcome) -> [(String, String); 2] {
    let all = statuses(outcome);
    ["64", "128"].map(|block| all.get(block).cloned().unwrap_or_else(|| panic!("{outcome:#?}")))
}

/// The outcome of a configuration without an error.
pub fn finished() -> (String, String) {
    ("finished".to_owned(), String::new())
}

/// The values of [`METRICS`] by configuration; a missing one is NaN.
pub fn values(outcome: &Outcome) -> BTreeMap<String, Vec<f64>> {
    let of = |event: &Value| {
        let key = event["configuration"].as_str().unwrap_or_default().to_owned();
        let value = |name: &&str| event["metrics"][*name]["value"].as_f64().unwrap_or(f64::NAN);
        (key, METRICS.iter().map(value).collect())
    };
    outcome.events_of("configuration-finished").iter().map(of).collect()
}
