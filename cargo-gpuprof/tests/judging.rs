//! Settings of the exit code of `compare`: flags, the environment, the configuration file.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const OTHERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/h200-others-20.json");
const LACKING: &str = "lacking.json";

/// Writes a run that lacks a series of `OTHERS` to `LACKING` in `folder`.
fn write_lacking(folder: &Path) {
    let mut run: Value = serde_json::from_slice(&fs::read(OTHERS).unwrap()).unwrap();
    run["id"] = "lacking".into();
    run["series"].as_array_mut().unwrap().pop().expect("there is a series");
    fs::write(folder.join(LACKING), run.to_string()).unwrap();
}

/// The exit code of `compare` in `folder` of two runs, the second of which lacks a series.
fn compared(folder: &Path, strict: Option<&str>, flags: &[&str]) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"));
    command.args(["gpuprof", "compare", OTHERS, LACKING]).args(flags).current_dir(folder);
    command.env_remove("GPUPROF_STRICT").env_remove("GPUPROF_PRESET");
    command.envs(strict.map(|value| ("GPUPROF_STRICT", value)));
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    output.status.code()
}

#[test]
fn a_flag_overrides_the_environment_and_the_environment_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_lacking(folder);
    assert_eq!(compared(folder, None, &[]), Some(0));
    assert_eq!(compared(folder, None, &["--strict"]), Some(106));
    assert_eq!(compared(folder, None, &["--strict", "--no-strict"]), Some(0));
    assert_eq!(compared(folder, None, &["--strict", "--no-gate"]), Some(0));
    assert_eq!(compared(folder, Some("1"), &[]), Some(106));
    assert_eq!(compared(folder, Some("true"), &["--no-strict"]), Some(0));
    assert_eq!(compared(folder, Some("0"), &["--strict"]), Some(106));

    fs::create_dir(folder.join(".config")).unwrap();
    fs::write(folder.join(".config/gpuprof.toml"), "[preset.main]\nstrict = true\n").unwrap();
    assert_eq!(compared(folder, None, &[]), Some(0));
    assert_eq!(compared(folder, None, &["-P", "main"]), Some(106));
    assert_eq!(compared(folder, Some("false"), &["-P", "main"]), Some(0));
    assert_eq!(compared(folder, None, &["-P", "main", "--no-strict"]), Some(0));
}

#[test]
fn variables_of_run_do_not_affect_other_commands() {
    for value in ["1", "true", "no"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-gpuprof"));
        command.args(["gpuprof", "completions", "bash"]).env("GPUPROF_STRICT", value);
        assert!(command.output().unwrap().status.success(), "GPUPROF_STRICT={value}");
    }
}
