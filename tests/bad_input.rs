//! Bad input: each incomprehensible or impossible request is refused with a message and its exit
//! code.

use std::fs;

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;

fn run(arguments: &[&str]) -> Outcome {
    let start = ["run", "--package", "vector", "--quiet"];
    Workspace::fixture("workshop").gpuprof(&[&start[..], arguments].concat())
}

#[test]
fn an_unknown_option_is_refused() {
    assert_snapshot!(run(&["--serie", "block=64"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: unexpected argument '--serie' found

      tip: a similar argument exists: '--series'

    Usage: cargo gpuprof run --package <SPEC> --quiet --series <AXIS=VALUES> [FILTER]...

    For more information, try '--help'.
    ");
}

#[test]
fn an_unwritable_target_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let target = file.join("target").display().to_string();
    let outcome = run(&["--target-dir", &target]);
    assert_eq!(outcome.code, Some(110), "{}", outcome.stderr);
    let expected = format!("error: cannot write {target}/gpuprof: Not a directory (os error 20)\n");
    assert_eq!(outcome.stderr, expected);
}

#[test]
fn an_unknown_axis_is_refused_with_the_nearest() {
    assert_snapshot!(run(&["--series", "blocks=64..128"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no series has an axis `blocks`: did you mean `block`?
    ");
}

#[test]
fn an_unknown_axis_without_a_near_name_is_refused() {
    assert_snapshot!(run(&["--series", "colour=64..128"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no series has an axis `colour`: the axes are block, stride, n
    ");
}

#[test]
fn an_axis_without_values_is_refused() {
    assert_snapshot!(run(&["--series", "block="]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: expected values
      --> --series
       |
       | block=
       |       ^
       = help: write a range such as 64..=1024 or a list such as 64,96,128
    ");
}

#[test]
fn a_descending_range_is_refused() {
    assert_snapshot!(run(&["--series", "block=1024..64"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: the range 1024..64 is empty: it runs downwards
      --> --series
       |
       | block=1024..64
       |       ^^^^^^^^
       = help: write 64..=1024
    ");
}

#[test]
fn a_range_that_misses_its_end_is_refused() {
    assert_snapshot!(run(&["--series", "block=64..1000"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: the range never reaches its end 1000: the last value below it is 512
      --> --series
       |
       | block=64..1000
       |       ^^^^^^^^
       = help: both ends belong to a range: end it at 512, or list the values
    ");
}

#[test]
fn a_block_of_zero_threads_is_refused() {
    assert_snapshot!(run(&["--series", "block=0,32"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: axis `block` cannot be 0: a launch needs at least 1
      --> --series
       |
       | block=0,32
       |       ^
    ");
}

#[test]
fn words_for_an_axis_of_numbers_are_refused() {
    assert_snapshot!(run(&["--series", "n=many"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: axis `n` of vector::gather takes whole numbers, but --series gives words
    ");
}

#[test]
fn a_repeat_of_zero_is_refused() {
    assert_snapshot!(run(&["--repeat", "0"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: invalid value '0' for '--repeat <N[..M]>': it must be at least 1

    For more information, try '--help'.
    ");
}

#[test]
fn a_block_over_the_limit_is_invalid_and_the_sweep_continues() {
    assert_snapshot!(run(&["scale", "--series", "block=512..2048"]).transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::scale  vector/src/lib.rs:40  on the emulated H200 (sm_90), counters only

     block     n  load_sectors_per_request  ptx_instructions  global_sectors
    ─────────────────────────────────────────────────────────────────────────
       512  4096                         4             2,048           1,024
      1024  4096                         4             2,048           1,024
      2048  4096                   invalid

     invalid  block=2048,n=4096: a block of 2048 threads exceeds the device's limit of 1024

     verified  every finished row: equal to the reference (y: 4096 elements)
     checks    every finished row: memory, init, race, sync in all 12 blocks

    3 configurations of 1 series: 2 finished, 1 invalid; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn a_series_of_invalid_configurations_fails() {
    assert_snapshot!(run(&["scale", "--series", "block=2048"]).transcript(), @"
    exit code: 4
    ----- stdout -----
    vector::scale  vector/src/lib.rs:40  on the emulated driver: no pass finished

     block     n  load_sectors_per_request
    ───────────────────────────────────────
      2048  4096                   invalid

     invalid  block=2048,n=4096: a block of 2048 threads exceeds the device's limit of 1024

     unmeasured  vector::scale: its only configuration is invalid

    1 configuration of 1 series: 1 invalid; no thresholds

    ----- stderr -----
    ");
}

#[test]
fn a_series_whose_conditions_keep_nothing_fails() {
    let outcome = run(&["--series", "where block>64"]);
    let expected = " unmeasured  vector::gather: no configuration meets its conditions";
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(outcome.stdout.contains(expected), "{}", outcome.stdout);
}

#[test]
fn two_documents_for_standard_output_are_refused() {
    for (arguments, expected) in [
        (&["--export-csv", "-", "--export-json", "-"][..], "--export-csv and --export-json both"),
        (
            &["--export-json", "-", "--message-format", "json"],
            "--export-json and --message-format json both",
        ),
    ] {
        let refused = run(arguments).exits_with(2);
        assert_eq!(
            refused.stderr,
            format!("error: {expected} write to standard output: give one of them a file\n")
        );
    }
    let refused = run(&["--export-csv", "same", "--export-junit", "same"]).exits_with(2);
    let expected =
        "--export-csv and --export-junit both write to same: give one of them another file";
    assert_eq!(refused.stderr, format!("error: {expected}\n"));
}

#[test]
fn an_override_is_checked_against_selected_series_only() {
    let stride = ["--series", "stride=words"];
    run(&stride).exits_with(2);
    run(&[&["scale"], &stride[..]].concat()).exits_with(2);
    let scaled = ["scale", "--series", "block=32", "--series", "n=64", "--dry-run"];
    run(&scaled).exits_with(0);
}

#[test]
fn an_unknown_metric_on_the_command_line_is_refused() {
    assert_snapshot!(run(&["--metrics", "througput"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no metric is named `througput`: did you mean `throughput`?
      --> --metrics
    ");
}

#[test]
fn an_unknown_metric_without_a_near_name_is_refused() {
    assert_snapshot!(run(&["--metrics", "zzz"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no metric is named `zzz`: see `cargo gpuprof metrics` for the names
      --> --metrics
    ");
}

#[test]
fn an_unknown_metric_in_a_threshold_is_refused() {
    assert_snapshot!(run(&["--threshold", "best troughput >= 1 TB/s"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no metric is named `troughput`: did you mean `throughput`?
      --> --threshold
       |
       | best troughput >= 1 TB/s
       |      ^^^^^^^^^
    ");
}

#[test]
fn an_unknown_axis_in_a_threshold_is_refused() {
    let threshold = ["gather", "--threshold", "where strid==2 load_sectors_per_request <= 8"];
    assert_snapshot!(run(&threshold).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: vector::gather has no axis `strid`
      --> --threshold
       |
       | where strid==2 load_sectors_per_request <= 8
       |       ^^^^^
       = help: did you mean `stride`?
    ");
}

#[test]
fn a_malformed_threshold_is_refused_with_a_caret() {
    assert_snapshot!(run(&["--threshold", "every load_sectors_per_request =< 4"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: expected a comparison: >=, <=, >, < or ==
      --> --threshold
       |
       | every load_sectors_per_request =< 4
       |                                ^^
    ");
}

#[test]
fn a_threshold_in_a_wrong_unit_is_refused() {
    assert_snapshot!(run(&["--threshold", "best duration <= 5 TB/s"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: `duration` needs a limit in ns, us, µs, ms or s, and this is a limit in B/s
      --> --threshold
       |
       | best duration <= 5 TB/s
       |                  ^^^^^^
    ");
}

#[test]
fn an_impossible_threshold_is_refused() {
    assert_snapshot!(run(&["--threshold", "best duration <= nan us"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: `nan` is not a finite number
      --> --threshold
       |
       | best duration <= nan us
       |                  ^^^
    ");
}

#[test]
fn a_filter_without_matches_is_refused() {
    assert_snapshot!(run(&["scales"]).transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: no series matches `scales`: did you mean `scale`?
    there are:
      vector::gather
      vector::scale
    ");
}

#[test]
fn a_missing_package_is_refused() {
    let outcome = Workspace::fixture("workshop").gpuprof(&["run", "--package", "vectors"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no package of the workspace is named `vectors`: did you mean `vector`?
    ");
}

#[test]
fn a_missing_bench_target_is_refused() {
    assert_snapshot!(run(&["--bench", "kernel"]).transcript(), @"
    exit code: 2
    ----- stdout -----

    ----- stderr -----
    error: no bench target is named `kernel`: did you mean `kernels`?
    ");
}

#[test]
fn an_export_that_cannot_be_written_is_reported_before_anything_runs() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = folder.path().display().to_string();
    let outcome = Workspace::fixture("workshop").gpuprof(&[
        "run",
        "--package",
        "vector",
        "--export-csv",
        &path,
    ]);
    let transcript = outcome.transcript().replace(&path, "[FOLDER]");
    assert_snapshot!(transcript, @"
    exit code: 110
    ----- stdout -----

    ----- stderr -----
    error: cannot write [FOLDER]: Is a directory (os error 21)
    ");
}

#[test]
fn a_missing_workspace_is_refused() {
    let outcome =
        Workspace::fixture("workshop").gpuprof(&["run", "--manifest-path", "elsewhere/Cargo.toml"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 102
    ----- stdout -----

    ----- stderr -----
    error: cargo metadata failed: `cargo metadata` exited with an error: error: manifest path `elsewhere/Cargo.toml` does not exist
    ");
}

/// Runs in a workspace that has `config` as its configuration file and would not build.
fn with_config(config: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let manifest = "[package]\nname = \"misconfigured\"\n[workspace]\n";
    let files =
        [("Cargo.toml", manifest), ("src/lib.rs", "not Rust"), (".config/gpuprof.toml", config)];
    Workspace::of(folder.path(), &files).gpuprof(&["run"])
}

#[test]
fn an_unknown_key_in_the_configuration_file_is_refused() {
    assert_snapshot!(with_config("repeat = 3\ntresholds = [\"duration <= 5 us\"]\n").transcript(), @r#"
    exit code: 96
    ----- stdout -----

    ----- stderr -----
    error: .config/gpuprof.toml is not a valid configuration
    TOML parse error at line 2, column 1
      |
    2 | tresholds = ["duration <= 5 us"]
      | ^^^^^^^^^
    unknown field `tresholds`, expected one of `thresholds`, `metrics`, `backend`, `chip`, `devices`, `expect-device`, `repeat`, `max-repeat`, `time-budget`, `timeout`, `fail-fast`, `retries`, `cache-control`, `clock-control`, `nvml-path`, `wait`, `replay-mode`, `range`, `nvtx`, `isolate`, `ahead`, `interleave`, `cupti-path`, `verify`, `check`, `estimate`, `sets`, `sections`, `advice`, `rules`, `max-passes`, `app-replay-match`, `app-replay-mode`, `sample`, `sample-seed`, `max-configs`, `kernel-arch`, `kernel-toolchain`, `gate`, `strict`, `baseline`, `base`, `across-devices`, `best-by`, `reference`, `filter`, `columns`, `sort`, `top`, `pareto`, `message-format`, `export-csv`, `export-html`, `export-json`, `export-junit`, `export-markdown`, `export-svg`, `color`, `quiet`, `profile`, `features`, `all-features`, `default-features`, `bench`, `keep-runs`, `series`, `preset`
    help: did you mean `thresholds`?
    "#);
}

#[test]
fn text_of_a_configuration_file_is_escaped() {
    let hostile = "x = 1\n\u{1b}[2J\u{202e} = \"\"\"\n::error::gone\n\"\"\" ##[error]\n";
    let stderr = with_config(hostile).exits_with(96).stderr;
    assert!(
        stderr.starts_with("error: .config/gpuprof.toml is not a valid configuration\n"),
        "{stderr}"
    );
    assert!(!stderr.contains(['\u{1b}', '\u{202e}']), "{stderr:?}");
    let line = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    assert!(!stderr.lines().any(line), "{stderr}");
}

#[test]
fn a_wrong_type_in_the_configuration_file_is_refused() {
    assert_snapshot!(with_config("timeout = \"soon\"\n").transcript(), @r#"
    exit code: 96
    ----- stdout -----

    ----- stderr -----
    error: .config/gpuprof.toml is not a valid configuration
    TOML parse error at line 1, column 11
      |
    1 | timeout = "soon"
      |           ^^^^^^
    invalid type: string "soon", expected a nonzero u32
    "#);
}

#[test]
fn a_malformed_threshold_in_the_configuration_file_is_refused() {
    assert_snapshot!(with_config("thresholds = [\"duration less than 5 us\"]\n").transcript(), @"
    exit code: 96
    ----- stdout -----

    ----- stderr -----
    error: expected a comparison: >=, <=, >, < or ==
      --> .config/gpuprof.toml:1
       |
       | duration less than 5 us
       |          ^^^^
    ");
}

#[test]
fn an_unknown_metric_in_the_configuration_file_is_refused() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("gpuprof.toml");
    fs::write(&file, "thresholds = [\"duratoin <= 5 us\"]\n").expect("it can be written");
    let outcome = run(&["--config-file", &file.display().to_string()]);
    let transcript = outcome.transcript().replace(&folder.path().display().to_string(), "[FOLDER]");
    assert_snapshot!(transcript, @"
    exit code: 96
    ----- stdout -----

    ----- stderr -----
    error: no metric is named `duratoin`: did you mean `duration`?
      --> [FOLDER]/gpuprof.toml:1
       |
       | duratoin <= 5 us
       | ^^^^^^^^
    ");
}

#[test]
fn a_missing_configuration_file_is_refused() {
    assert_snapshot!(run(&["--config-file", "elsewhere.toml"]).transcript(), @"
    exit code: 96
    ----- stdout -----

    ----- stderr -----
    error: cannot read elsewhere.toml: No such file or directory (os error 2)
    ");
}

fn run_package(package: &str) -> Outcome {
    Workspace::fixture("workshop").gpuprof(&["run", "--package", package])
}

#[test]
fn a_harness_without_series_is_refused() {
    assert_snapshot!(run_package("empty").transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: the harnesses hold no series. Annotate functions with #[gpuprof::kernel] or #[gpuprof::series], and list every crate with kernels in gpuprof::main!(…): the linker leaves out crates that no code names
    ");
}

#[test]
fn a_package_without_a_harness_is_refused() {
    assert_snapshot!(run_package("plain").transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    error: no harness found in plain; add a bench target with `harness = false` that calls gpuprof::main!(…) to a package that depends on gpuprof
    ");
}

#[test]
fn a_bench_target_without_a_harness_is_not_started() {
    assert_snapshot!(run_package("foreign").transcript(), @"
    exit code: 4
    ----- stdout -----

    ----- stderr -----
    gpuprof: the bench target `kernels` of foreign is skipped: it requires --features gpu
    error: none of the bench targets (timings) calls gpuprof::main!(…)
    ");
}

#[test]
fn a_harness_of_another_protocol_is_refused() {
    assert_snapshot!(run_package("newer").transcript(), @"
    exit code: 104
    ----- stdout -----

    ----- stderr -----
    error: harness `kernels` of package `newer` was built with gpuprof 9.9.9, which speaks protocol 99; this is cargo-gpuprof 0.1.0 with protocol 10. To go on, install gpuprof 9.9.9 from its clone: cargo install --path cargo-gpuprof --locked
    ");
}

/// Asserts that a build failed with `ours` as the last words, and that rustc, in its own words,
/// pointed at `place`.
fn assert_does_not_build(package: &str, place: &str, ours: &str) {
    let outcome = run_package(package).exits_with(101);
    assert_eq!(outcome.stdout, "");
    assert!(outcome.stderr.contains(&format!("--> {place}\n")), "{}", outcome.stderr);
    let (_, last) = outcome.stderr.rsplit_once("\nerror: ").expect("there is an error of the tool");
    assert_eq!(last, ours);
}

#[test]
fn a_kernel_that_does_not_build_is_shown_in_the_users_source() {
    let ours = "the harness did not build; cargo's errors are above\n";
    assert_does_not_build("mistyped", "mistyped/src/lib.rs:10:35", ours);
}

#[test]
fn a_kernel_that_builds_for_the_host_only_is_shown_in_the_users_source() {
    let ours = "the kernels of package `broken` did not build for nvptx64-nvidia-cuda; rustc's errors are \
                above.\nKernels and the dependencies of their package are compiled without std: mark \
                host-only items with #[gpuprof::host], and keep host-only dependencies under\n\
                [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\n";
    assert_does_not_build("broken", "broken/src/lib.rs:8:15", ours);
}

#[test]
fn a_build_that_selects_two_cuda_versions_for_cudarc_says_how_to_select_one() {
    let arguments = ["list", "--package", "vector", "--features", "gpuprof/cuda-13000"];
    let stderr = Workspace::fixture("workshop").gpuprof(&arguments).exits_with(101).stderr;
    let hint = "error: the harness did not build; cargo's errors are above. cudarc is built for one \
                CUDA version, and this build selects cuda-12060 and cuda-13000: give gpuprof \
                `default-features = false` and the feature of your version\n";
    assert!(stderr.ends_with(hint), "{stderr}");
}
