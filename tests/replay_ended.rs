//! Runs that end while a counter pass collects: a signal, a kill, and continuing afterwards, on a
//! fake GPU.
//!
//! The fake CUPTI hangs in the second counter pass of the second configuration, so that the run
//! ends there.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use crate::support::replay::{
    ISOLATIONS, SCALE, arguments, finished, of_both, shares_processes, values, workshop,
};
use crate::support::{FakeGpu, Workspace, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The hang, in the configuration that runs second.
const TROUBLE: &str = "hang pass=1 block=128";

/// In the order of the series, so that it is known which configuration is the second.
const IN_ORDER: [&str; 2] = ["--interleave", "none"];

/// Runs `scale` until its second configuration hangs, and sends `signal`. The run's name, the exit
/// code, and the rest of standard output.
fn ended_by(
    signal: Signal,
    gpu: &FakeGpu,
    workspace: &Workspace,
    isolation: &[&str],
) -> (String, Option<i32>, String) {
    let more = [&IN_ORDER[..], isolation].concat();
    let tool = gpu.tool(workspace, &arguments(&["vector", "scale"], &more));
    let mut command = tool.env("FAKE_CUPTI_TROUBLE", TROUBLE).into_command();
    let mut child: Child = command.spawn().expect("it can be started");
    gpu.wait_for(&mut child, "hangs in pass 1");
    kill_process(Pid::from_child(&child), signal).expect("it still runs");
    let mut stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let (mut first, mut rest) = (String::new(), String::new());
    stdout.read_line(&mut first).expect("it is UTF-8");
    stdout.read_to_string(&mut rest).expect("it is UTF-8");
    let code = child.wait().expect("it can be waited for").code();
    let started: Value = serde_json::from_str(&first).expect("the first line is JSON");
    (started["id"].as_str().expect("runs have names").to_owned(), code, rest)
}

/// Waits until no process of the machine is left: a kill takes a moment to arrive.
fn all_gone(gpu: &FakeGpu) {
    wait_for("the end of every process", || gpu.survivors().is_empty().then_some(()));
}

/// Resumes the run `id` on a GPU that works again; its results are those of a whole run, and
/// earlier measurements were not repeated.
fn goes_on(id: &str, gpu: &FakeGpu, workspace: &Workspace, isolation: &[&str]) {
    let more = [&IN_ORDER[..], isolation].concat();
    gpu.forget();
    let resumed = [&more[..], &["--resume", id]].concat();
    let outcome =
        gpu.tool(workspace, &arguments(&["vector", "scale"], &resumed)).run().exits_with(0);
    assert_eq!(of_both(&outcome), [finished(), finished()]);
    for (configuration, values) in values(&outcome) {
        assert_eq!(values, SCALE, "{configuration}");
    }
    // A process' results are kept as a whole: if both configurations were in the process that hung,
    // both run again.
    let ranges = if shares_processes(isolation) {
        "0 [scale 64x64] 1 [scale 32x128]"
    } else {
        "0 [scale 32x128]"
    };
    let expected: Vec<String> =
        (1..4).map(|pass| format!("collected pass {pass} of 4: {ranges}")).collect();
    assert_eq!(gpu.logged("collected"), expected);
}

#[test]
fn a_killed_runner_takes_its_processes_along_and_the_run_continues() {
    for isolation in ISOLATIONS {
        let (gpu, workspace) = (FakeGpu::new(), workshop());
        let (id, code, _) = ended_by(Signal::KILL, &gpu, &workspace, isolation);
        assert_eq!(code, None);
        all_gone(&gpu);
        goes_on(&id, &gpu, &workspace, isolation);
    }
}

#[test]
fn passes_of_two_replay_modes_are_not_mixed() {
    let (gpu, workspace) = (FakeGpu::new(), workshop());
    let (id, ..) = ended_by(Signal::INT, &gpu, &workspace, &[]);
    let more = [&IN_ORDER[..], &["--resume", &id, "--replay-mode", "kernel"]].concat();
    let outcome = gpu.tool(&workspace, &arguments(&["vector", "scale"], &more)).run().exits_with(2);
    let why = "--replay-mode was `application` when it began, and is `kernel` now";
    assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
}

#[test]
fn an_interrupted_pass_keeps_what_was_measured_and_the_run_continues() {
    for isolation in ISOLATIONS {
        let (gpu, workspace) = (FakeGpu::new(), workshop());
        let (id, code, rest) = ended_by(Signal::INT, &gpu, &workspace, isolation);
        assert_eq!(code, Some(130), "{rest}");
        all_gone(&gpu);
        let rows: Vec<Value> = rest
            .lines()
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .filter(|event: &Value| event["reason"] == "configuration-finished")
            .collect();
        let row = |row: &Value| format!("{} {}", row["configuration"], row["status"]);
        let first = if shares_processes(isolation) { "skipped" } else { "finished" };
        assert_eq!(
            rows.iter().map(row).collect::<Vec<_>>(),
            [
                format!("\"block=64,n=4096\" \"{first}\""),
                r#""block=128,n=4096" "skipped""#.to_owned()
            ]
        );
        goes_on(&id, &gpu, &workspace, isolation);
    }
}
