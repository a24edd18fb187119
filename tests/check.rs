//! `cargo gpuprof check`: all checks in all blocks of every configuration, and nothing else.

use std::fs;

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn check(arguments: &[&str]) -> Outcome {
    Workspace::fixture("workshop").gpuprof(&[&["check", "--quiet"], arguments].concat())
}

#[test]
fn a_fault_in_a_block_that_a_run_leaves_out_is_found() {
    let selection = ["--package", "faults", "races_late"];
    let arguments = [&["run", "--message-format", "json"], &selection[..]].concat();
    let run = Workspace::fixture("workshop").gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    let blocks: Vec<_> = rows
        .iter()
        .map(|row| (&row["checks"]["checked_blocks"], &row["checks"]["blocks"]))
        .collect();
    assert_eq!(blocks, [(&json!(17), &json!(17)), (&json!(19), &json!(40))]);
    assert_snapshot!(check(&selection).transcript(), @"
    exit code: 105
    ----- stdout -----
    faults::kernels::races_late  faults/src/lib.rs:104  on the emulated H200 (sm_90), counters only

     grid  ptx_instructions  global_sectors
    ────────────────────────────────────────
       17               680             136
       40            failed

     failed      grid=40: kernel 'races_late' at gpuprof-0.1.0/src/device/shared.rs:89:25, near faults/src/lib.rs:110:12, block (17,0,0), thread (0,0,0): reads 4 bytes of shared memory at 0xfc, which no thread of the block has written: on a GPU it holds anything. Write it first, with a barrier before others read it; the value is stored to global memory at faults/src/lib.rs:113:9
     unverified  every finished row: compared with no reference: the annotation has no `verify`

    2 configurations of 1 series: 1 finished, 1 failed; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn neither_thresholds_nor_settings_of_measurements_decide_a_check() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::fixture("workshop").copied_to(folder.path());
    let settings = "thresholds = [\"every ptx_instructions <= 1\"]\nsample = 1\n\
                    baseline = \"nowhere\"\nstrict = true\ncheck = \"none\"\n";
    fs::write(folder.path().join(".config/gpuprof.toml"), settings).unwrap();
    let arguments = ["--package", "vector", "gather", "--message-format", "json"];
    let outcome = workspace.gpuprof(&[&["check"], &arguments[..]].concat()).exits_with(0);
    let all = json!({ "init": true, "race": true, "checked_blocks": 64, "blocks": 64 });
    let rows = outcome.events_of("configuration-finished");
    let checks: Vec<&Value> = rows.iter().map(|row| &row["checks"]).collect();
    assert_eq!(checks, [&all; 4]);
    assert_eq!(outcome.events_of("threshold-judged"), Vec::<Value>::new());
}

#[test]
fn a_filter_that_matches_no_series_is_no_clean_check() {
    let outcome = check(&["--package", "vector", "nothing_like_it"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), ""), "{}", outcome.stderr);
}
