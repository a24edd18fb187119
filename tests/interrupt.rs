//! SIGINT, SIGTERM and SIGHUP: what was measured is kept.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, Read, Write, pipe};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::support::{Packed, Tool, Workspace, script, wait_beside, wait_for};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Starts a sweep with a second configuration that takes a minute, and sends `signal` when it runs.
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
fn results_before_an_interrupt_are_shown_and_kept() {
    let workspace = Workspace::fixture("workshop");
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let junit = folder.path().join("run.xml");
    let exported = ["--message-format", "json", "--export-junit", junit.to_str().expect("UTF-8")];
    let (code, stdout) = interrupted(&workspace, Signal::INT, &exported);
    assert_eq!(code, Some(130), "{stdout}");
    let junit = fs::read_to_string(junit).expect("it was written");
    assert!(junit.contains("<error message=\"The run ended with exit code 130: "), "{junit}");
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
fn sigterm_ends_the_run_like_an_interrupt() {
    let workspace = Workspace::fixture("workshop");
    let (code, stdout) = interrupted(&workspace, Signal::TERM, &[]);
    assert_eq!(code, Some(143), "{stdout}");
    insta::assert_snapshot!(stdout, @"
    endings::sleeps  endings/src/lib.rs:58  on the emulated H200 (sm_90), counters only

     milliseconds  ptx_instructions  global_sectors
    ────────────────────────────────────────────────
                1                 1               0
            60000           skipped
                2           skipped

     skipped  milliseconds=60000, milliseconds=2: the run was interrupted

     unverified  every finished row: compared with no reference: there is no `verify`
     checks      every finished row: memory, init, race, sync in 1 block

    3 configurations of 1 series: 1 finished, 2 skipped; no thresholds; 2 not measured: the run was interrupted; 1 not verified: no reference
    ");
}

#[test]
fn a_closed_terminal_ends_the_run_like_an_interrupt() {
    let status = fs::read_to_string("/proc/self/status").expect("the system says it");
    let ignored =
        status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it is there");
    if u64::from_str_radix(ignored.trim(), 16).expect("it is a mask") & 1 != 0 {
        // Under `nohup` the tool is to continue.
        return;
    }
    let (code, stdout) = interrupted(&Workspace::fixture("workshop"), Signal::HUP, &[]);
    assert_eq!(code, Some(129), "{stdout}");
    assert!(stdout.contains("3 configurations of 1 series: 1 finished, 2 skipped"), "{stdout}");
}

/// Sends SIGTERM to `child` as soon as it listens, and says how it ended.
fn terminated(child: &mut Child) -> Option<i32> {
    let status = format!("/proc/{}/status", child.id());
    // A bit of the signals that are caught: that of SIGTERM.
    let listens = |line: &str| {
        let caught = line.strip_prefix("SigCgt:")?;
        let caught = u64::from_str_radix(caught.trim(), 16).expect("it is a mask");
        (caught & (1 << 14) != 0).then_some(())
    };
    wait_beside(child, "a handler", || fs::read_to_string(&status).ok()?.lines().find_map(listens));
    kill_process(Pid::from_child(child), Signal::TERM).expect("it still runs");
    child.wait().expect("it can be waited for").code()
}

/// `tool` with a standard output that is full, and is not read as long as the other is there.
fn unread(tool: Tool) -> (Child, PipeReader) {
    let (reader, mut writer) = pipe().expect("there are pipes");
    let size = fcntl_setpipe_size(&writer, 4096).expect("it can be small");
    writer.write_all(&vec![0; size]).expect("that is what fits");
    let mut command = tool.into_command();
    let child = command.stdout(writer).stderr(Stdio::null()).spawn();
    (child.expect("it can be started"), reader)
}

#[test]
fn a_signal_ends_a_command_with_blocked_output() {
    let packed = Packed::new();
    let scale = ["scale", "--series", "block=64", "--quiet"];
    packed.tool(&[&scale[..], &["--export-json", "first.json"]].concat()).run().exits_with(0);
    packed.tool(&scale).run().exits_with(0);
    let printing = [
        &["runs", "list"][..],
        &["runs", "show", "latest"],
        &["report", "latest"],
        &["compare", "first.json", "latest"],
        &["metrics", "--chip", "GH100"],
        &["rules"],
        &["man"],
        &["completions", "bash"],
        &["doctor"],
        &["list", "--archive-file", "packed.tar.zst"],
    ];
    for arguments in printing {
        let (mut child, reader) = unread(packed.other(arguments));
        assert_eq!(terminated(&mut child), Some(143), "{arguments:?}");
        drop(reader);
    }
}

#[test]
fn a_signal_ends_a_run_with_blocked_output_and_results_are_kept() {
    let packed = Packed::new();
    let many = ["scale", "--series", "block=32..1024 step 32", "--message-format", "json"];
    let mut child = packed.tool(&many).into_command().spawn().expect("it can be started");
    let stdout = child.stdout.take().expect("standard output is piped");
    fcntl_setpipe_size(&stdout, 4096).expect("it can be small");
    // The output for 32 configurations is more than it holds.
    let journal = || fs::read_to_string(packed.runs().first()?.join("journal.jsonl")).ok();
    wait_beside(&mut child, "passes", || (journal()?.lines().count() > 1).then_some(()));
    assert_eq!(terminated(&mut child), Some(143));
    drop(stdout);
    let [run] = &*packed.runs() else { panic!("{:?}", packed.runs()) };
    let verdict = fs::read(run.join("verdict.json")).expect("the run is kept");
    let verdict: Value = serde_json::from_slice(&verdict).expect("it is JSON");
    assert_eq!(verdict["exit_code"], 143);
}

#[test]
fn a_signal_ends_a_build_and_its_processes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let files = [("Cargo.toml", manifest), ("src/lib.rs", "")];
    let workspace = Workspace::of(folder.path(), &files);
    let (cargo, begun) = (folder.path().join("cargo"), folder.path().join("begun"));
    script(
        &cargo,
        "#!/bin/sh\nsleep 600 &\necho $$ $! > \"$BEGUN.new\"\nmv \"$BEGUN.new\" \"$BEGUN\"\nwait\n",
    );
    let archive = ["archive", "--archive-file", "x.tar.zst"];
    for arguments in [&["run"][..], &["list"], &["show-config"], &["calibrate"], &archive] {
        let tool = workspace.tool(arguments).env("CARGO", &cargo).env("BEGUN", &begun);
        let mut child = tool.into_command().spawn().expect("it can be started");
        let started = wait_beside(&mut child, "its cargo", || fs::read_to_string(&begun).ok());
        assert_eq!(terminated(&mut child), Some(143), "{arguments:?}");
        for process in started.split_whitespace() {
            let process = PathBuf::from("/proc").join(process);
            wait_for("their end", || (!process.exists()).then_some(()));
        }
        fs::remove_file(&begun).expect("it was there");
    }
}
