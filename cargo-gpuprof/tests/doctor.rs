//! `cargo gpuprof doctor` on machines that lack something, through the real binary.

use std::path::Path;
use std::process::Command;

/// The doctor where programs are found in `path` only, and no toolchain elsewhere.
fn doctor(path: &Path) -> (Option<i32>, String) {
    doctor_with(path, &[])
}

fn doctor_with(path: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"))
        .args(["gpuprof", "doctor", "--backend", "emulator"])
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .env("__GPUPROF_RUSTUP", "/nonexistent/rustup")
        .env("__GPUPROF_SYSTEM_RUSTC", "/nonexistent/rustc")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_machine_for_archives_needs_no_toolchain() {
    let empty = tempfile::tempdir().unwrap();
    let (code, out) = doctor(empty.path());
    assert_eq!(code, Some(0), "{out}");
    let line = out.lines().find(|line| line.contains("toolchain  ")).unwrap();
    assert!(line.starts_with(
        "warn  toolchain    neither cargo nor a kernel toolchain is installed. Archives need \
         neither"
    ));
    assert!(out.contains("ok    ptxas        not installed; only the registers of"), "{out}");
}

#[test]
fn a_machine_that_builds_needs_one() {
    let folder = tempfile::tempdir().unwrap();
    // A cargo that answers, and no rustc.
    std::os::unix::fs::symlink("/bin/true", folder.path().join("cargo")).unwrap();
    let (code, out) = doctor(folder.path());
    assert_eq!(code, Some(101), "{out}");
    assert!(
        out.contains("fail  toolchain    kernels need the source of Rust's core library"),
        "{out}"
    );
    assert!(out.ends_with("kernels cannot be built here\n"), "{out}");
}

#[test]
fn the_report_is_also_one_document_with_the_same_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let json = ["--message-format", "json"];
    let (code, out) = doctor_with(folder.path(), &json);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["exit_code"]), (Some(0), &0.into()));
    assert_eq!((&document["reason"], &document["schema_version"]), (&"doctor".into(), &1.into()));
    let states: Vec<_> = document["checks"].as_array().unwrap().iter().collect();
    let of =
        |check: &str| states.iter().find(|line| line["check"] == check).unwrap()["state"].clone();
    assert_eq!((of("toolchain"), of("emulator")), ("warn".into(), "ok".into()));
    std::os::unix::fs::symlink("/bin/true", folder.path().join("cargo")).unwrap();
    let (code, out) = doctor_with(folder.path(), &json);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &document["exit_code"]), (Some(101), &101.into()));
    assert_eq!(document["conclusion"], "kernels cannot be built here");
}
