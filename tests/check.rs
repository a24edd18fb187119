//! `cargo gpuprof check`: all checks in all blocks of every configuration, and nothing else.

use std::fs;

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;
use serde_json::{Value, json};

fn check(arguments: &[&str]) -> Outcome {
    Workspace::fixture("workshop").gpuprof(&[&["check", "--quiet"], arguments].concat())
}

#[test]
fn a_check_finds_a_fault_in_a_block_that_a_run_skips() {
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
    faults::races_late  faults/src/lib.rs:104  on the emulated H200 (sm_90), counters only

     grid  ptx_instructions  global_sectors
    ────────────────────────────────────────
       17               680             136
       40            failed

     failed  grid=40: kernel 'races_late' at faults/src/lib.rs:113:52 (in gpuprof-0.1.0/src/device/shared.rs:89:25), block (17,0,0), thread (0,0,0): reads 4 bytes of shared memory at 0xfc, which thread (63,0,0) wrote at faults/src/lib.rs:109:14 (in gpuprof-0.1.0/src/device/shared.rs:106:25): a race; a barrier (bar.sync; in Rust block::sync(), in CUDA C++ __syncthreads()) must order the two

     unverified  every finished row: compared with no reference: there is no `verify`
     checks      every finished row: memory, init, race, sync in all 17 blocks

    2 configurations of 1 series: 1 finished, 1 failed; no thresholds; 1 not verified: no reference

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
fn a_check_compares_results_whatever_the_configuration_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    fs::write(&file, "verify = false\n").unwrap();
    let file = file.display().to_string();
    let selection = ["--package", "faults", "differs", "--config-file", &file];
    let outcome = check(&selection).exits_with(105);
    assert!(!outcome.stdout.contains("not verified"), "{}", outcome.stdout);
}

#[test]
fn a_check_of_no_series_fails() {
    let outcome = check(&["--package", "vector", "nothing_like_it"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(4), ""), "{}", outcome.stderr);
}

#[test]
fn an_annotation_selects_checks_and_a_report_says_what_its_verification_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("junit.xml").display().to_string();
    let arguments = ["run", "--package", "faults", "races_unseen", "--quiet"];
    let export = ["--export-junit", &path];
    let outcome = Workspace::fixture("workshop").gpuprof(&[&arguments[..], &export].concat());
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    faults::races_unseen  faults/src/lib.rs:126  on the emulated H200 (sm_90), counters only

     grid  ptx_instructions  global_sectors
    ────────────────────────────────────────
        1                34               8
       40             1,360             320

     no row is best: the rows have buffers of different sizes, and the annotation declares no work (`bytes`, `flops`); `cargo gpuprof report --best-by METRIC` chooses by one metric

     verified (no race check)  every row: equal to the reference (y: 64 to 2560 elements)
     checks                    every row: init in 20 of 41 blocks; memory, sync in all

     not checked  `race` in 2 of 2 configurations

    2 configurations of 1 series: 2 finished; no thresholds; not checked: `race` in 2 of 2 configurations

    ----- stderr -----
    ");
    let junit = fs::read_to_string(&path).unwrap();
    for (name, value) in [
        ("verified", "true (no race check)"),
        ("checks", "init in 19 of 40 blocks; memory, sync in all"),
    ] {
        let property = format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert!(junit.contains(&property), "{property}: {junit}");
    }
}

#[test]
fn the_configuration_file_overrides_the_annotation_and_the_command_line_both() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.toml");
    fs::write(&file, "check = \"race\"\n").unwrap();
    let file = file.display().to_string();
    let faults = |command: &[&str], more: &[&str]| {
        let selection = ["--package", "faults", "races_unseen"];
        Workspace::fixture("workshop").gpuprof(&[command, &selection, more].concat())
    };
    let run = ["run", "--message-format", "json"];
    let of_file = faults(&run, &["--config-file", &file]).exits_with(105);
    let rows = of_file.events_of("configuration-finished");
    assert!(rows.iter().all(|row| row["status_reason"].to_string().contains("a race;")));
    let both = faults(&run, &["--config-file", &file, "--check", "none"]).exits_with(0);
    let none = json!({ "init": false, "race": false, "checked_blocks": 0, "blocks": 1 });
    assert_eq!(both.events_of("configuration-finished")[0]["checks"], none);

    let annotated = "    check: memory,init,sync  [attribute]\n";
    let shown = faults(&["show-config"], &[]).exits_with(0).stdout;
    assert!(shown.contains(annotated), "{shown}");
    let shown = faults(&["show-config"], &["--config-file", &file]).exits_with(0).stdout;
    assert!(!shown.contains("[attribute]\n") && shown.contains("memory,race,sync"), "{shown}");
}
