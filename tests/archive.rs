//! Build here, run there: an archive runs without cargo and source, and one with wrong contents is
//! refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::{Archive, Entry, Outcome, Packed, Tool, Workspace};
use insta::assert_snapshot;
use tempfile::TempDir;

/// An archive of the package `vector`, made once.
static ARCHIVE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("vector.tar.zst");
    make(&file).exits_with(0);
    fs::read(file).expect("the archive was made")
});

fn make(file: &Path) -> Outcome {
    let path = file.display().to_string();
    Workspace::fixture("workshop").gpuprof(&[
        "archive",
        "--package",
        "vector",
        "--archive-file",
        &path,
    ])
}

/// A folder with the archive.
fn archived() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("vector.tar.zst");
    fs::write(&file, &*ARCHIVE).expect("it can be written");
    (folder, file)
}

/// Runs the archive `file` in its folder as a machine without cargo would.
fn run_there(file: &Path, arguments: &[&str]) -> Outcome {
    let folder = file.parent().expect("archives lie in folders");
    let name = file.file_name().and_then(|name| name.to_str()).expect("its name is text");
    let arguments = [&["run", "--quiet", "--archive-file", name], arguments].concat();
    Tool::new(&arguments, folder, &folder.join("not-used"))
        .without("CARGO")
        .without("CARGO_HOME")
        .without("CARGO_TARGET_DIR")
        .without("HOME")
        .without("RUSTUP_HOME")
        .without("RUSTUP_TOOLCHAIN")
        .env("PATH", "/nonexistent")
        .run()
}

/// How `change` to an honest archive is refused.
fn refusal(change: impl FnOnce(Archive) -> Archive) -> String {
    let (_folder, file) = archived();
    change(Archive::read(&file)).write(&file);
    run_there(&file, &[]).transcript()
}

#[test]
fn an_archive_is_listed_and_checked_without_a_build() {
    let (_folder, file) = archived();
    let folder = file.parent().expect("archives lie in folders");
    let there = |command: &[&str]| {
        let arguments = [command, &["--archive-file", "vector.tar.zst"]].concat();
        Tool::new(&arguments, folder, &folder.join("not-used"))
            .without("CARGO")
            .env("PATH", "/nonexistent")
            .run()
    };
    let listed = there(&["list", "scale"]).exits_with(0);
    assert!(listed.stdout.starts_with("vector::scale  "), "{}", listed.stdout);
    assert!(listed.stdout.ends_with("    2 configurations\n"), "{}", listed.stdout);
    let checked = there(&["doctor"]).exits_with(0);
    let said = "ok    archive      vector.tar.zst: 1 harness starts here and holds 2 series\n";
    assert!(checked.stdout.contains(said), "{}", checked.stdout);
    assert!(!checked.stdout.contains("toolchain"), "{}", checked.stdout);
    Archive::truncate(&file);
    let broken = there(&["doctor"]).exits_with(103);
    assert!(broken.stdout.contains("fail  archive      vector.tar.zst: "), "{}", broken.stdout);
    assert!(broken.stdout.ends_with("the archive cannot be run here\n"), "{}", broken.stdout);
}

#[test]
fn making_an_archive_reports_its_contents() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let missing = folder.path().join("missing/vector.tar.zst");
    let refused = make(&missing).exits_with(110).stderr;
    assert!(refused.contains("there is no folder ") && !missing.parent().unwrap().exists());
    let file = folder.path().join("vector.tar.zst");
    let outcome = make(&file).exits_with(0);
    assert_eq!(outcome.stdout, "");
    let size = fs::metadata(&file).expect("the archive is there").len() as f64 / 1_048_576.0;
    let said = format!(
        "gpuprof: wrote {}: 2 series in 1 harness, 1 kernel module, {size:.1} MiB\n",
        file.display()
    );
    assert_eq!(outcome.stderr, said);
}

#[test]
fn an_archive_runs_without_cargo_and_gives_the_same_results() {
    let (_folder, file) = archived();
    let there = run_there(&file, &["gather"]).exits_with(0);
    let here = Workspace::fixture("workshop").gpuprof(&[
        "run",
        "--package",
        "vector",
        "gather",
        "--quiet",
    ]);
    assert_eq!(there.stdout, here.stdout);
    assert_eq!(there.stderr, "");
}

#[test]
fn the_counters_of_an_archive_are_those_of_the_workspace() {
    let (_folder, file) = archived();
    let rows = |outcome: Outcome| outcome.exits_with(0).events_of("configuration-finished");
    let json = ["--message-format", "json"];
    let here = Workspace::fixture("workshop")
        .gpuprof(&[&["run", "--package", "vector"], &json[..]].concat());
    assert_eq!(rows(run_there(&file, &json)), rows(here));
    let kept = file.with_file_name("target").join("gpuprof/runs");
    assert_eq!(fs::read_dir(kept).expect("runs are kept").count(), 1);
}

#[test]
fn a_line_without_source_text_shows_its_ptx() {
    let there = Packed::new();
    there.tool(&["gather", "--quiet", "--no-gate"]).run().exits_with(0);
    let shown = there.other(&["report", "--source"]).run().exits_with(0).stdout;
    assert!(shown.contains("vector/src/lib.rs  (its text was not available)\n"), "{shown}");
    let line = shown.lines().find(|line| line.contains("st.global"));
    assert!(line.is_some_and(|line| line.trim_start().starts_with(char::is_numeric)), "{shown}");
}

#[test]
fn a_table_that_matches_no_series_fails_a_strict_run() {
    let (folder, file) = archived();
    let table = "[series.\"nothing\"]\nthresholds = [\"registers <= 1\"]\n";
    fs::write(folder.path().join("own.toml"), table).expect("it can be written");
    let run =
        |more: &[&str]| run_there(&file, &[&["scale", "--config-file", "own.toml"], more].concat());
    let said =
        "own.toml: no series matches [series.\"nothing\"]: `cargo gpuprof list` names them\n";
    assert_eq!(run(&[]).exits_with(0).stderr, format!("gpuprof: {said}"));
    assert_eq!(run(&["--strict"]).exits_with(96).stderr, format!("error: {said}"));
}

#[test]
fn a_plan_is_available_as_json() {
    let (_folder, file) = archived();
    let plan = run_there(&file, &["scale", "--dry-run", "--message-format", "json"]).exits_with(0);
    let series = plan.events_of("series-planned");
    assert_eq!(series[0]["series"], "vector::scale");
    assert_eq!(series[0]["configurations"].as_array().map(Vec::len), Some(2), "{series:?}");
    let run = plan.events_of("run-planned");
    assert_eq!(run[0]["processes"]["most"], 2, "{run:?}");
}

#[test]
fn an_archive_is_unpacked_where_asked() {
    let (folder, file) = archived();
    run_there(&file, &["scale", "--extract-to", "unpacked"]).exits_with(0);
    assert!(folder.path().join("unpacked/harnesses/vector-kernels").is_file());
    assert!(folder.path().join("unpacked/kernels/vector.ptx").is_file());
}

#[test]
fn a_missing_archive_is_refused() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    assert_snapshot!(run_there(&folder.path().join("none.tar.zst"), &[]).transcript(), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: none.tar.zst: cannot be opened: No such file or directory (os error 2)
    ");
}

#[test]
fn a_file_that_is_not_an_archive_is_refused() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("notes.tar.zst");
    fs::write(&file, "not compressed").expect("it can be written");
    assert_snapshot!(run_there(&file, &[]).transcript(), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: notes.tar.zst: is truncated or not an archive: Unknown frame descriptor
    ");
}

#[test]
fn an_archive_of_another_program_is_refused() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("other.tar.zst");
    Archive(vec![Entry { path: "README".into(), bytes: b"hello".to_vec() }]).write(&file);
    assert_snapshot!(run_there(&file, &[]).transcript(), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: other.tar.zst: does not start with gpuprof-archive.json: it was not made by cargo gpuprof archive
    ");
}

#[test]
fn a_truncated_archive_is_refused() {
    let (_folder, file) = archived();
    Archive::truncate(&file);
    assert_snapshot!(run_there(&file, &[]).transcript(), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: is truncated or not an archive: incomplete frame
    ");
}

#[test]
fn a_file_missing_in_the_archive_is_refused() {
    let without_ptx = |mut archive: Archive| {
        archive.0.retain(|entry| entry.path != "kernels/vector.ptx");
        archive
    };
    assert_snapshot!(refusal(without_ptx), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: lacks `kernels/vector.ptx`, which its manifest lists
    ");
}

#[test]
fn a_file_missing_in_the_manifest_is_refused() {
    let with_guest = |mut archive: Archive| {
        archive.0.push(Entry { path: "kernels/guest.ptx".into(), bytes: Vec::new() });
        archive
    };
    assert_snapshot!(refusal(with_guest), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: holds `kernels/guest.ptx`, which its manifest does not list
    ");
}

#[test]
fn a_path_outside_its_folder_is_refused() {
    let with_escape = |mut archive: Archive| {
        archive.0.push(Entry { path: "../escaped".into(), bytes: Vec::new() });
        archive
    };
    assert_snapshot!(refusal(with_escape), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: holds `../escaped`, a path outside the archive
    ");
}

#[test]
fn a_name_that_is_a_ci_command_is_escaped() {
    let with_command = |mut archive: Archive| {
        let path = "kernels/\n::error::gone\u{1b}[2J".into();
        archive.0.push(Entry { path, bytes: Vec::new() });
        archive
    };
    assert_snapshot!(refusal(with_command), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: holds `kernels/
    : :error::gone`, which its manifest does not list
    ");
}

#[test]
fn an_archive_with_an_excessive_compression_ratio_is_refused() {
    let bomb = |archive: Archive| {
        let mut archive = archive.with_manifest(|manifest| {
            manifest["files"]["kernels/bomb.ptx"] = "00".into();
        });
        let bytes = vec![0; 200 << 20];
        archive.0.push(Entry { path: "kernels/bomb.ptx".into(), bytes });
        archive
    };
    let told = refusal(bomb);
    assert!(told.contains("error: vector.tar.zst: `kernels/bomb.ptx` unpacks "), "{told}");
    assert!(told.contains("no executable and no PTX is compressed that well"), "{told}");
}

#[test]
fn a_harness_path_outside_its_folder_is_refused() {
    let elsewhere = |archive: Archive| {
        archive.with_manifest(|manifest| {
            manifest["harnesses"][0]["file"] = "/bin/true".into();
            manifest["files"]["/bin/true"] = "00".into();
        })
    };
    assert_snapshot!(refusal(elsewhere), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: lacks `/bin/true`, which its manifest lists
    ");
}

#[test]
fn a_file_with_a_wrong_hash_is_refused() {
    let altered = |mut archive: Archive| {
        archive.entry("kernels/vector.ptx").bytes.push(b'\n');
        archive
    };
    assert_snapshot!(refusal(altered), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: `kernels/vector.ptx` does not match its SHA-256 in the manifest
    ");
}

#[test]
fn executables_for_another_architecture_are_refused() {
    let foreign = |archive: Archive| {
        archive.with_manifest(|manifest| manifest["platform"] = "riscv64-linux".into())
    };
    let here = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    assert_snapshot!(refusal(foreign).replace(&here, "[HERE]"), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: holds executables for riscv64-linux, but this machine is [HERE]; make the archive on a machine of this kind
    ");
}

#[test]
fn an_archive_of_another_format_is_refused() {
    let newer = |archive: Archive| archive.with_manifest(|manifest| manifest["format"] = 7.into());
    assert_snapshot!(refusal(newer), @"
    exit code: 103
    ----- stdout -----

    ----- stderr -----
    error: vector.tar.zst: has archive format 7, but this cargo-gpuprof reads format 1; make the archive again with this version
    ");
}

#[test]
fn an_archive_that_cannot_be_written_is_reported_before_anything_is_built() {
    let started = make(Path::new("/dev/null/vector.tar.zst"));
    assert_snapshot!(started.transcript(), @"
    exit code: 110
    ----- stdout -----

    ----- stderr -----
    error: cannot write /dev/null/vector.tar.zst: Not a directory (os error 20)
    ");
}
