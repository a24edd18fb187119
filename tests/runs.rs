//! `cargo gpuprof runs`: stored runs are listed, shown and removed, and one under way is not; the
//! page of one is opened in the browser.

use std::fs;

use crate::support::{Packed, Tool, repository_folder, script, wait_beside, wait_for};
use rustix::process::{Pid, Signal, kill_process};

/// Two runs, the second of which fails a threshold, by their ids.
fn two_runs(packed: &Packed) -> Vec<String> {
    let run = ["scale", "--series", "block=64", "--quiet"];
    packed.tool(&run).run().exits_with(0);
    let threshold = ["--threshold", "every load_sectors_per_request <= 1"];
    packed.tool(&[&run[..], &threshold].concat()).run().exits_with(100);
    let ids = packed.runs().into_iter();
    ids.map(|run| run.file_name().expect("runs have names").display().to_string()).collect()
}

#[test]
fn runs_are_listed_shown_and_removed() {
    let packed = Packed::new();
    let none = packed.other(&["runs", "list"]).run().exits_with(0);
    assert_eq!(none.stderr, "gpuprof: no runs yet; `cargo gpuprof run` makes one\n");
    let ids = two_runs(&packed);

    let listed = packed.other(&["runs", "list"]).run().exits_with(0);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", listed.stdout);
    for ((line, id), code) in lines.iter().zip(&ids).zip(["exit 0", "exit 100"]) {
        assert!(line.starts_with(&format!("{id}  2")) && line.contains(" UTC  "), "{line}");
        assert!(line.contains(&format!("  {code}  ")), "{line}");
        assert!(line.ends_with("  1 configuration of vector::scale"), "{line}");
    }
    let list = ["runs", "list", "--message-format", "json"];
    let events = packed.other(&list).run().exits_with(0).events_of("run");
    assert_eq!(events[1]["id"], ids[1].as_str());
    assert_eq!((&events[1]["state"], &events[1]["exit_code"]), (&"ended".into(), &100.into()));
    assert_eq!(events[1]["series"], serde_json::json!(["vector::scale"]));
    assert_eq!(events[1]["configurations"], 1);
    assert!(events[1]["bytes"].as_u64().is_some_and(|bytes| bytes > 1000), "{}", events[1]);

    let shown = packed.other(&["runs", "show", &ids[1]]).run().exits_with(0);
    assert!(shown.stdout.contains(" FAIL  every load_sectors_per_request <= 1"));
    for arguments in [&["runs", "rm"][..], &["runs", "rm", &ids[0], "--all"]] {
        packed.other(arguments).run().exits_with(2);
    }
    let unknown = packed.other(&["runs", "rm", &ids[0], "19"]).run().exits_with(2);
    assert!(unknown.stderr.contains("no run is named `19`"), "{}", unknown.stderr);
    packed.other(&["runs", "rm", "--older-than", "1h"]).run().exits_with(0);
    assert_eq!(packed.runs().len(), 2, "neither is an hour old");

    let removed = packed.other(&["runs", "rm", &ids[0]]).run().exits_with(0);
    assert!(removed.stderr.starts_with("gpuprof: removed 1 run, "), "{}", removed.stderr);
    assert_eq!(packed.runs().len(), 1);
    packed.other(&["runs", "rm", "--older-than", "0s"]).run().exits_with(0);
    assert_eq!(packed.runs().len(), 0);
}

#[test]
fn a_running_run_is_listed_as_running_and_not_removed() {
    let packed = Packed::new();
    let mut child = packed.start(&["sleeps", "--series", "milliseconds=60000"]);
    let run = wait_beside(&mut child, "a journal", || {
        packed.runs().into_iter().find(|run| run.join("journal.jsonl").exists())
    });
    let id = run.file_name().expect("runs have names").display().to_string();
    let listed = packed.other(&["runs", "list"]).run().exits_with(0);
    assert!(listed.stdout.contains("  under way"), "{}", listed.stdout);
    let refused = packed.other(&["runs", "rm", &id]).run().exits_with(2);
    let told = format!("error: run {id} is under way and is not removed; nothing was removed\n");
    assert_eq!(refused.stderr, told);
    let all = packed.other(&["runs", "rm", "--all"]).run().exits_with(0);
    assert!(all.stderr.starts_with(&format!("gpuprof: run {id} is under way and stays\n")));
    assert!(run.is_dir());

    kill_process(Pid::from_child(&child), Signal::KILL).expect("it still runs");
    child.wait().expect("it can be waited for");
    let listed = packed.other(&["runs", "list"]).run().exits_with(0);
    assert!(listed.stdout.contains("  unfinished  to be continued by --resume "), "{listed:?}");
    packed.other(&["runs", "rm", "--all"]).run().exits_with(0);
    assert!(fs::metadata(&run).is_err());
}

#[test]
fn the_page_is_opened_by_the_system_or_its_path_is_printed() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let there = folder.path();
    let (programs, asked) = (there.join("bin"), there.join("asked"));
    fs::create_dir(&programs).expect("it can be made");
    let run = repository_folder().join("cargo-gpuprof/tests/golden/h200-saxpy-60.json");
    let report = ["report", run.to_str().expect("its name is text"), "--open"];
    let report = [&report[..], &["--output", "page.html"]].concat();
    let tool = || Tool::new(&report, there, &there.join("target")).env("PATH", &programs);
    let outcome = tool().run().exits_with(107);
    let expected = "no program here opens page.html: ";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let page = fs::read_to_string(there.join("page.html")).expect("the page is there");
    assert!(page.contains("<!DOCTYPE html>"));
    let text = format!("#!/bin/sh\necho \"$1\" > {0}.tmp\n/bin/mv {0}.tmp {0}\n", asked.display());
    script(&programs.join("xdg-open"), &text);
    tool().run().exits_with(0);
    let opened = wait_for("the program to be asked", || fs::read_to_string(&asked).ok());
    assert_eq!(opened, "page.html\n");
}
