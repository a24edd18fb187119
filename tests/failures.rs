//! Runs in which something fails: `--fail-fast`, `--retries` and `--no-capture`. And `--quick`,
//! which judges nothing.

use std::fs;

use crate::support::{Outcome, Packed};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A run of `endings` in a new folder, one process after the other.
fn run(arguments: &[&str]) -> (Packed, Outcome) {
    let packed = Packed::new();
    let tool = packed.tool(&[&["--ahead", "0"], arguments].concat());
    let outcome = tool.env("FLICKERS", packed.path()).run();
    (packed, outcome)
}

fn statuses(outcome: &Outcome) -> Vec<String> {
    let told = |row: &Value| {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("configuration"), text("status"))
    };
    outcome.events_of("configuration-finished").iter().map(told).collect()
}

/// A document of the only run in `packed`.
fn document(packed: &Packed, name: &str) -> Value {
    let [run] = &packed.runs()[..] else { panic!("one run") };
    serde_json::from_slice(&fs::read(run.join(name)).unwrap()).unwrap()
}

#[test]
fn fail_fast_ends_after_the_first_configuration_that_fails() {
    let (packed, outcome) =
        run(&["-E", "series(ends) | series(scale)", "--fail-fast", "--export-junit", "j.xml"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 105
    ----- stdout -----
    endings::ends  endings/src/lib.rs:34  on the emulated H200 (sm_90), counters only, 3 of 5 rows
     how      ptx_instructions  global_sectors
     returns                 1               0
     fails              failed
     panics            skipped
     failed  how=fails: the matrix is singular

    vector::scale  vector/src/lib.rs:40
     block     n  load_sectors_per_request
        64  4096                   skipped
       128  4096                   skipped

     cargo gpuprof report --all shows what is left out here

     unmeasured  vector::scale: all of its 2 configurations were skipped

    7 configurations of 2 series: 1 finished, 1 failed, 5 skipped; no thresholds; 5 not measured: --fail-fast: endings::ends/how=fails failed

    ----- stderr -----
    [1/7] endings::ends/how=returns  finished in [TIME]
    [2/7] endings::ends/how=fails  failed in [TIME]
    ");
    assert_eq!(document(&packed, "verdict.json")["exit_code"], 105);
    let junit = fs::read_to_string(packed.path().join("j.xml")).unwrap();
    let (_, skipped) = junit.split_once("<testsuite name=\"vector::scale\"").expect("it is there");
    assert!(!skipped.contains("<error"), "{skipped}");
    // The rest is measured when the run is resumed without it.
    let again = packed.tool(&["-E", "series(ends) | series(scale)", "--ahead", "0", "--resume"]);
    let outcome = again.run().exits_with(105);
    assert!(
        outcome.stdout.contains("7 configurations of 2 series: 3 finished, 4 failed"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn fail_fast_ends_after_the_first_series_that_violates_a_threshold() {
    let limit =
        ["vector", "--threshold", "every ptx_instructions <= 1", "--message-format", "json"];
    let (_, outcome) = run(&[&limit[..], &["--fail-fast"]].concat());
    let outcome = outcome.exits_with(100);
    let statuses = statuses(&outcome);
    assert_eq!(statuses.iter().filter(|row| row.ends_with("finished")).count(), 4, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|row| row.ends_with("skipped")).count(), 2, "{statuses:?}");
    let (packed, outcome) = run(&[&limit[..], &["--no-gate", "--fail-fast"]].concat());
    assert_eq!(outcome.exits_with(0).events_of("configuration-finished").len(), 6);
    // The configuration file has the key, and the command line overrides it.
    fs::write(packed.path().join("own.toml"), "fail-fast = true\n").unwrap();
    for (option, finished) in [("--strict", 4), ("--no-fail-fast", 6)] {
        let own = ["--config-file", "own.toml", "--ahead", "0", option];
        let outcome = packed.tool(&[&limit[..], &own].concat()).run().exits_with(100);
        let rows = outcome.events_of("configuration-finished");
        let count = rows.iter().filter(|row| row["status"] == "finished").count();
        assert_eq!(count, finished, "{option}");
    }
}

#[test]
fn a_process_that_fails_is_started_again_and_reported_as_flaky() {
    let (packed, outcome) =
        run(&["--exact", "flickers", "--retries", "2", "--export-junit", "j.xml"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    endings::flickers  endings/src/lib.rs:90  on the emulated H200 (sm_90), counters only

     how    ptx_instructions  global_sectors
    ─────────────────────────────────────────
     exits                 1               0
     fails                 1               0
     works                 1               0

     flaky  how=exits: passed attempt 2 (attempt 1: the process exited with code 4; the end of its stderr:
             out of paper)
     flaky  how=fails: passed attempt 2 (attempt 1: the paper is upside down)

     verified  every row: agreed with the reference
     checks    every row: memory, init, race, sync in all 3 blocks

    3 configurations of 1 series: 3 finished, 2 of them flaky; no thresholds

    ----- stderr -----
    [1/3] endings::flickers/how=exits  finished in [TIME]
    [2/3] endings::flickers/how=fails  finished in [TIME]
    [3/3] endings::flickers/how=works  finished in [TIME]
    ");
    let rows = document(&packed, "run.json")["series"][0]["configurations"].clone();
    assert_eq!(rows[0]["failed_attempts"].as_array().map(Vec::len), Some(1));
    assert_eq!(rows[2].get("failed_attempts"), None);
    let junit = fs::read_to_string(packed.path().join("j.xml")).unwrap();
    assert_eq!(junit.matches("<flakyError ").count(), 2, "{junit}");
    for format in ["markdown", "html"] {
        let report = packed.other(&["report", "latest", "--format", format]).run().exits_with(0);
        assert!(report.stdout.contains("the paper is upside down"), "{format}: {}", report.stdout);
    }
}

#[test]
fn without_enough_retries_a_configuration_fails() {
    let (_, outcome) = run(&["--exact", "flickers", "--message-format", "json"]);
    let failed = ["how=exits failed", "how=fails failed", "how=works finished"];
    assert_eq!(statuses(&outcome.exits_with(105)), failed);
    let (_, outcome) = run(&["--exact", "ends/how=panics", "--retries", "2"]);
    let table = outcome.exits_with(105).stdout;
    assert!(table.contains("attempts  how=panics: attempt 1: the harness panicked"), "{table}");
    assert!(table.contains("; attempt 2: the harness panicked"), "{table}");
}

#[test]
fn no_retry_makes_a_violated_threshold_hold() {
    let limit = ["gather", "--threshold", "every ptx_instructions <= 1", "--retries", "3"];
    let (packed, outcome) = run(&limit);
    outcome.exits_with(100);
    let rows = document(&packed, "run.json")["series"][0]["configurations"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row.get("failed_attempts").is_none()));
}

#[test]
fn without_capture_the_processes_write_to_standard_error() {
    let flickers = ["--exact", "flickers", "--no-capture", "--message-format", "json"];
    let (_, outcome) = run(&flickers);
    let outcome = outcome.exits_with(105);
    assert_eq!(outcome.stderr.matches("the printer is ").count(), 3, "{}", outcome.stderr);
    assert_eq!(outcome.stderr.matches("out of paper").count(), 1, "{}", outcome.stderr);
    // Standard output has the events alone.
    assert_eq!(outcome.events_of("configuration-finished").len(), 3);
    let (_, captured) = run(&["--exact", "flickers"]);
    assert!(!captured.stderr.contains("the printer is "), "{}", captured.stderr);
    assert!(captured.stdout.contains("out of paper"), "{}", captured.stdout);
}

#[test]
fn every_format_says_that_a_quick_run_judges_nothing() {
    let (packed, outcome) = run(&["gather", "--quick"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::gather  vector/src/lib.rs:15  on the emulated H200 (sm_90), counters only

     block  stride     n  global_sectors  vs best  load_sectors_per_request  store_sectors_per_request
    ───────────────────────────────────────────────────────────────────────────────────────────────────
        64       1  4096         * 1,024    1.00x                         4                          4
        64       2  4096           1,536    1.50x                         8                          4
        64       4  4096           2,560    2.50x                        16                          4
        64       8  4096           4,608    4.50x                        32                          4

     block  stride     n  ptx_instructions
    ───────────────────────────────────────
        64       1  4096             2,560
        64       2  4096             2,560
        64       4  4096             2,560
        64       8  4096             2,560

     -  duration: no time was estimated

     global_sectors along each axis, largest mean over smallest:
     stride  1 ▁▂▄█ 8  4.50x

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 80 of 256 blocks; memory, sync in all

     advice
     88% of use  88% of the sectors of global loads are wasted: 32.0 sectors for each request of a warp, and 12% of their bytes are used; most by vector/src/lib.rs:19 at block=64,stride=8,n=4096 and 2 more (certain). Let neighbouring threads load neighbouring addresses: a structure of arrays, another order of indices, or a tile that is loaded in rows into shared memory. In Rust, shared!([f32; N]) is such a tile.

     quick  one process and few samples a configuration; nothing is judged or compared

    4 configurations of 1 series: 4 finished; a quick run, in which nothing is judged

    ----- stderr -----
    [1/4] vector::gather/block=64,stride=1,n=4096  finished in [TIME]
    [2/4] vector::gather/block=64,stride=2,n=4096  finished in [TIME]
    [3/4] vector::gather/block=64,stride=4,n=4096  finished in [TIME]
    [4/4] vector::gather/block=64,stride=8,n=4096  finished in [TIME]
    ");
    assert_eq!(document(&packed, "verdict.json")["quick"], json!(true));
    assert_eq!(document(&packed, "verdict.json")["judgements"][0]["thresholds"], json!([]));
    assert_eq!(document(&packed, "run.json")["provenance"]["quick"], json!(true));
    for format in ["markdown", "html"] {
        let report = packed.other(&["report", "latest", "--format", format]).run().exits_with(0);
        assert!(report.stdout.contains("nothing is judged or compared"), "{format}");
    }
    let kept = packed.other(&["baseline", "accept", "main"]).run().exits_with(2);
    assert!(kept.stderr.contains("is a quick run: times of one process"), "{}", kept.stderr);
}

#[test]
fn options_that_a_quick_run_would_ignore_are_refused() {
    for option in [
        &["--repeat", "3"][..],
        &["--baseline", "main"],
        &["--save-baseline", "main"],
        &["--base", "HEAD"],
        &["--threshold", "every duration < 1 ms"],
        &["--partition", "slice:1/2"],
        &["--strict"],
    ] {
        let outcome = Packed::new().tool(&[&["--quick"], option].concat()).run().exits_with(2);
        assert!(outcome.stderr.contains("cannot be "), "{}", outcome.stderr);
    }
}
