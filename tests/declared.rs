//! Declared kernels: from an annotation in Rust to a verdict on kernels that live in PTX or CUDA
//! C++.

use std::path::Path;

use crate::support::{Outcome, Tool, Workspace};
use insta::assert_snapshot;
use serde_json::Value;

fn run(package: &str, more: &[&str]) -> Outcome {
    let start = ["run", "--package", package, "--message-format", "json"];
    Workspace::fixture("declared").gpuprof(&[&start[..], more].concat())
}

/// Each configuration with its status, why it has that, and whether it was verified.
fn rows(outcome: &Outcome) -> String {
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verified = if row["verified"] == true { " verified" } else { "" };
        let reason = row["status"]["invalid"]["reason"].as_str().map(|why| format!(": {why}"));
        let status = match &row["status"] {
            Value::Object(status) => status.keys().next().cloned().unwrap_or_default(),
            other => text(other),
        };
        format!(
            "{}/{} {status}{verified}{}",
            text(&row["series"]["kernel"]),
            text(&row["configuration"]),
            reason.unwrap_or_default()
        )
    };
    let mut rows: Vec<String> =
        outcome.events_of("configuration-finished").iter().map(row).collect();
    rows.sort();
    rows.join("\n")
}

#[test]
fn kernels_in_ptx_are_swept_verified_and_judged() {
    let outcome = run("in-ptx", &[]).exits_with(0);
    assert_snapshot!(rows(&outcome), @"");
    let judged = outcome.events_of("threshold-judged");
    assert_eq!(judged[0]["verdict"], "pass", "{judged:#?}");
}

#[test]
fn a_declaration_that_does_not_fit_its_entry_point_is_shown_where_it_is_written() {
    let told = |feature: &str| {
        let stderr = run("in-ptx", &["--features", feature]).exits_with(101).stderr;
        let (_, told) = stderr.split_once("error: ").expect("there is an error");
        told.to_owned()
    };
    assert_snapshot!(told("sizes"), @"");
    assert_snapshot!(told("names"), @"");
}

#[test]
fn an_archive_holds_declared_kernels_and_needs_no_source() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("declared.tar.zst");
    let path = file.display().to_string();
    let archive = ["archive", "--package", "in-ptx", "--archive-file", &path];
    Workspace::fixture("declared").gpuprof(&archive).exits_with(0);
    let there = there(folder.path(), &["--series", "VALUE=2", "fill"]).exits_with(0);
    assert_snapshot!(rows(&there), @"");
}

/// Runs the archive in `folder` as a machine without cargo and source would.
fn there(folder: &Path, more: &[&str]) -> Outcome {
    let start = ["run", "--archive-file", "declared.tar.zst", "--message-format", "json"];
    Tool::new(&[&start[..], more].concat(), folder, &folder.join("not-used"))
        .without("CARGO")
        .without("HOME")
        .env("PATH", "/nonexistent")
        .run()
}
