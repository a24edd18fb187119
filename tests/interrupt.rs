//! SIGINT and SIGTERM: what was measured is kept.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use crate::support::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Starts a sweep whose second configuration takes a minute, and sends `signal` when it is there.
/// Returns the exit code and standard output.
fn interrupted(workspace: &Workspace, signal: Signal, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = [&["run", "--package", "endings", "sleeps"], arguments].concat();
    let mut child: Child =
        workspace.tool(&arguments).into_command().spawn().expect("it can be started");
    let mut stderr = BufReader::new(child.stderr.take().expect("standard error is piped"));
    let mut line = String::new();
    while !line.starts_with("[1/3]") {
        line.clear();
        assert!(
            stderr.read_line(&mut line).expect("it is UTF-8") > 0,
            "it ended before its first row"
        );
    }
    kill_process(Pid::from_child(&child), signal).expect("it still runs");
    let mut stdout = String::new();
    child
        .stdout
        .take()
        .expect("standard output is piped")
        .read_to_string(&mut stdout)
        .expect("it is UTF-8");
    (child.wait().expect("it can be waited for").code(), stdout)
}

#[test]
fn what_was_measured_before_an_interrupt_is_shown_and_kept() {
    let workspace = Workspace::fixture("workshop");
    let (code, stdout) = interrupted(&workspace, Signal::INT, &["--message-format", "json"]);
    assert_eq!(code, Some(130), "{stdout}");
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect();
    let rows: Vec<String> = events
        .iter()
        .filter(|event| event["reason"] == "configuration-finished")
        .map(|row| format!("{} {} {}", row["configuration"], row["status"], row["status_reason"]))
        .collect();
    assert_eq!(
        rows,
        [
            r#""milliseconds=1" "finished" null"#,
            r#""milliseconds=60000" "skipped" "the run was interrupted""#,
            r#""milliseconds=2" "skipped" "the run was interrupted""#,
        ]
    );
    assert_eq!(events.last().map(|end| &end["exit_code"]), Some(&130.into()));
    let id = events[0]["id"].as_str().expect("runs have names");
    let read = |name| -> Value {
        let bytes = fs::read(workspace.run_folder(id).join(name)).expect("the run is kept");
        serde_json::from_slice(&bytes).expect("it is JSON")
    };
    let (run, verdict) = (read("run.json"), read("verdict.json"));
    assert_eq!(verdict["exit_code"], 130);
    assert_eq!(verdict["meaning"], "ended by a signal, with what was measured kept");
    let kept = &run["series"][0]["configurations"];
    assert_eq!(kept[0]["metrics"]["sm__ctas_launched.sum"]["value"], 1.0);
    assert_eq!(
        kept[1]["status"],
        serde_json::json!({"status": "skipped", "reason": "the run was interrupted"})
    );
    assert_eq!(kept.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_request_to_terminate_ends_the_run_in_the_same_way() {
    let workspace = Workspace::fixture("workshop");
    let (code, stdout) = interrupted(&workspace, Signal::TERM, &[]);
    assert_eq!(code, Some(143), "{stdout}");
    insta::assert_snapshot!(stdout, @"
    endings::kernels::sleeps  endings/src/lib.rs:58  on the emulated H200 (sm_90), counters only

     milliseconds  ptx_instructions  global_sectors
    ────────────────────────────────────────────────
                1                 1               0
            60000           skipped
                2           skipped

     skipped  milliseconds=60000, milliseconds=2: the run was interrupted

    3 configurations of 1 series: 1 finished, 2 skipped; no thresholds
    ");
}
