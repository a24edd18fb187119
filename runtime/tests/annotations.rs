//! The attributes as a user meets them: annotations that compile, and the compiler's errors for
//! those that do not.
//!
//! Input: `tests/ui`, annotations with mistakes and next to each the messages it gets, and
//! `tests/pass`, annotations that compile, each of which checks its registered entries when it
//! runs. Messages are rustc's of the workspace's `rust-version`; `OVERWRITE=1 cargo test -p gpuprof
//! --test annotations` updates them.
//!
//! rustc compiles each program against the library that cargo has built for this test anyway:
//! trybuild builds it and everything below it twice more, which was a seventh of the whole suite.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

/// The built `gpuprof`. Asked for with the workspace's features, as `cargo test --workspace` builds
/// it, so that nothing is built again.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let executable = env::current_exe().expect("the test knows its executable");
    // TARGET/PROFILE/deps/EXECUTABLE
    let target = executable.ancestors().nth(3).expect("tests are built into a target folder");
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--workspace", "--test", "annotations", "--no-run", "--quiet"])
        .args(["--message-format", "json-render-diagnostics", "--target-dir"])
        .arg(target)
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let library = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == "gpuprof" && message["target"]["kind"][0] == "lib";
        let files = message["filenames"].as_array().filter(|_| ours)?;
        let rlib = |file: &&str| file.ends_with(".rlib");
        files.iter().filter_map(Value::as_str).find(rlib).map(PathBuf::from)
    };
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    messages.lines().find_map(library).expect("cargo says where the library is")
});

/// Compiles `program`, a path below the package, and writes the output of kind `emit` to `made`.
fn compile(program: &Path, emit: &str, made: &Path) -> Output {
    let deps = LIBRARY.parent().expect("cargo puts libraries next to their dependencies");
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "bin", "--color", "never"])
        .args(["--diagnostic-width", "140", "--emit", emit, "-o"])
        .arg(made)
        .arg("--extern")
        .arg(format!("gpuprof={}", LIBRARY.display()))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg(program)
        .output()
        .expect("rustc can be started")
}

/// The programs in `folder`, sorted.
fn programs(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("tests run in their package's folder");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let mut programs: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect();
    programs.sort();
    programs
}

/// The output of rustc, independent of other changes in this crate and of its folder: without the
/// summary at its end, and without the line in a file of the library.
fn messages(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr).replace(env!("CARGO_MANIFEST_DIR"), "[PACKAGE]");
    let own = text.lines().take_while(|line| !line.starts_with("error: aborting due to"));
    let line = |line: &str| match line.split_once(" runtime/") {
        Some((before, place)) if before.ends_with("-->") || before.ends_with(":::") => {
            let path = place.split(':').next().unwrap_or_default();
            format!("{before} runtime/{path}")
        }
        _ => line.to_owned(),
    };
    own.map(line).collect::<Vec<_>>().join("\n").trim_end().to_owned() + "\n"
}

#[test]
fn wrong_annotations_get_the_recorded_messages() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let programs = programs("tests/ui");
    assert!(programs.len() >= 13, "the programs are not whole: {programs:?}");
    let mut different = Vec::new();
    for program in programs {
        let outcome = compile(&program, "metadata", &folder.path().join("made"));
        assert!(!outcome.status.success(), "{} compiles", program.display());
        let (kept, now) = (program.with_extension("stderr"), messages(&outcome.stderr));
        if env::var_os("OVERWRITE").is_some() {
            fs::write(&kept, &now).expect("the messages can be written");
        }
        if fs::read_to_string(&kept).unwrap_or_default() != now {
            different.push(format!("{}:\n{now}", kept.display()));
        }
    }
    assert!(different.is_empty(), "rustc says something else now\n\n{}", different.join("\n"));
}

#[test]
fn valid_annotations_compile_and_register_their_kernels() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let programs = programs("tests/pass");
    assert!(programs.len() >= 5, "the programs are not whole: {programs:?}");
    for program in programs {
        let executable = folder.path().join("made");
        let compiled = compile(&program, "link", &executable);
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{}: {said}", program.display());
        let outcome = Command::new(&executable).output().expect("it can be started");
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert!(outcome.status.success(), "{}: {said}", program.display());
    }
}
