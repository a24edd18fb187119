//! Runs that share a target folder: at the same time, and one after the other.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use crate::support::{Packed, Workspace, wait_beside};
use insta::assert_snapshot;
use serde_json::Value;

fn succeeded(mut child: Child) {
    let status = child.wait().expect("it can be waited for");
    assert!(status.success(), "{status}");
}

fn names(runs: &[PathBuf]) -> Vec<String> {
    runs.iter().map(|run| run.file_name().expect("runs have names").display().to_string()).collect()
}

#[test]
fn concurrent_runs_do_not_mix() {
    let packed = Packed::new();
    let sweep = ["gather", "--series", "stride=1..12 step 1"];
    let children: Vec<Child> = (0..3).map(|_| packed.start(&sweep)).collect();
    children.into_iter().for_each(succeeded);
    let runs = packed.runs();
    assert_eq!(runs.len(), 3);
    for (run, id) in runs.iter().zip(names(&runs)) {
        assert_eq!(Packed::document(run), Packed::document(&runs[0]));
        let verdict = fs::read(run.join("verdict.json")).expect("it is kept");
        let verdict: Value = serde_json::from_slice(&verdict).expect("it is JSON");
        assert_eq!((&verdict["run"], &verdict["exit_code"]), (&id.into(), &0.into()));
    }
    let latest = packed.other(&["report", "latest", "--format", "json"]).run().exits_with(0);
    let latest: Value = serde_json::from_str(&latest.stdout).expect("it is JSON");
    assert_eq!(latest["id"].as_str(), names(&runs).last().map(String::as_str));
    let beside = fs::read(packed.path().join("target/gpuprof/verdict.json")).expect("it is kept");
    let beside: Value = serde_json::from_slice(&beside).expect("one of the three, and whole");
    assert!(names(&runs).iter().any(|id| beside["run"] == **id));
}

#[test]
fn concurrent_builds_do_not_mix() {
    let workspace = Workspace::fixture("workshop");
    let run = ["run", "--package", "vector", "scale", "--message-format", "json"];
    let start = |_| workspace.tool(&run).into_command().spawn().expect("it can be started");
    let children: Vec<Child> = (0..2).map(start).collect();
    let mut ids: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it can be waited for");
            assert!(output.status.success(), "{output:?}");
            let first = output.stdout.split(|&b| b == b'\n').next().expect("it has a line");
            let first: Value = serde_json::from_slice(first).expect("every line is JSON");
            first["id"].as_str().expect("runs have names").to_owned()
        })
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 2);
    let [one, other] = [0, 1].map(|at: usize| Packed::document(&workspace.run_folder(&ids[at])));
    assert_eq!(one, other);
}

#[test]
fn a_run_keeps_its_kernels_during_another_build() {
    let packed = Packed::new();
    let sweep = ["gather", "--series", "stride=1..40 step 1", "--extract-to", "built"];
    let mut child = packed.start(&sweep);
    wait_beside(&mut child, "the first pass", || {
        let run = packed.runs().pop()?;
        fs::read_to_string(run.join("journal.jsonl"))
            .ok()?
            .contains("\"line\":\"pass\"")
            .then_some(())
    });
    // Another build replaces every executable and every kernel.
    let mut folders = vec![packed.path().join("built")];
    let mut replaced = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it can be listed").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                fs::remove_file(entry.path()).expect("it can be removed");
                fs::write(entry.path(), "something else").expect("it can be written");
                replaced += 1;
            }
        }
    }
    assert!(replaced >= 3, "{replaced}");
    succeeded(child);
    let document = Packed::document(&packed.runs()[0]);
    let rows = document["series"][0]["configurations"].as_array().expect("it has rows");
    assert_eq!(rows.len(), 40);
    assert!(rows.iter().all(|row| row["status"]["status"] == "finished"));
}

#[test]
fn the_oldest_runs_are_removed_and_that_is_reported_once() {
    let packed = Packed::new();
    fs::write(packed.path().join("few.toml"), "keep-runs = 2\n").expect("it can be written");
    let run = |more: &[&str]| {
        let arguments = ["gather", "--series", "stride=1", "--config-file", "few.toml"];
        packed
            .tool(&[&arguments, more].concat())
            .without("GPUPROF_KEEP_RUNS")
            .run()
            .exits_with(0)
            .stderr
    };
    let said = |stderr: String| -> String {
        stderr.lines().filter(|line| line.starts_with("gpuprof: ")).collect()
    };
    assert_eq!(said(run(&["--save-baseline", "kept"])).matches("gpuprof: ").count(), 1);
    assert_eq!(said(run(&[])), "");
    let before = packed.runs();
    assert_snapshot!(said(run(&[])), @"gpuprof: removed 1 run older than the last 2 (set keep-runs \
                                       in .config/gpuprof.toml to keep more; baselines are never \
                                       removed)");
    assert_eq!(packed.runs()[0], before[1], "the first is gone");
    assert_eq!(packed.runs().len(), 2);
    assert_eq!(said(run(&[])), "", "from now on every run removes one");
    assert_eq!(run(&["--quiet"]), "");
    assert_eq!(packed.runs().len(), 2);
    assert_eq!(run(&["--quiet", "--dry-run"]), "");
    assert_eq!(packed.runs().len(), 2, "a dry run leaves nothing");
    assert!(packed.path().join("target/gpuprof/baselines/kept.json").exists());
}
