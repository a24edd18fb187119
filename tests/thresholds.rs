//! Thresholds from the attribute, the command line and the configuration file, and their outcomes.

use std::fs;

use crate::support::{FakeGpu, Outcome, Workspace};
use insta::assert_snapshot;

/// `cargo gpuprof run` on one series of the workshop with `thresholds` of the command line.
fn gated(series: &str, thresholds: &[&str], options: &[&str]) -> Outcome {
    let mut arguments = vec!["run", "--package", "vector", series, "--quiet"];
    arguments.extend(thresholds.iter().flat_map(|text| ["--threshold", text]));
    arguments.extend(options);
    Workspace::fixture("workshop").gpuprof(&arguments)
}

/// Exit code, verdicts and the last line. The tables above them are asserted in `main_job.rs`.
fn conclusion(outcome: &Outcome) -> String {
    assert_eq!(outcome.stderr, "");
    let verdicts = ["PASS", "FAIL", "UNAVAILABLE"];
    let is_verdict = |line: &&str| verdicts.iter().any(|word| line.trim_start().starts_with(word));
    let stdout = outcome.tidy_stdout();
    let counts = |line: &&str| line.contains(" series: ");
    let is_case = |line: &&str| line.starts_with("        ") && line.contains("(limit ");
    let (last, rest): (Vec<&str>, Vec<&str>) = stdout.lines().partition(counts);
    let rest = rest.into_iter().filter(|line| is_verdict(line) || is_case(line));
    let rest: Vec<&str> = rest.collect();
    let code = outcome.code.unwrap_or(-1);
    format!("exit code: {code}\n{}\n\n{}", rest.join("\n"), last.join("\n"))
}

#[test]
fn thresholds_of_the_attribute_and_of_the_configuration_file_are_judged() {
    assert_snapshot!(conclusion(&gated("gather", &[], &[])), @"
    exit code: 0
     PASS  best load_sectors_per_request <= 4    4 at block=64,stride=1,n=4096 (limit 4)  [attribute]
     PASS  every store_sectors_per_request <= 4  4 at block=64,stride=1,n=4096 (limit 4)  [.config/gpuprof.toml:2]

    4 configurations of 1 series: 4 finished; thresholds: 2 passed
    ");
}

#[test]
fn a_threshold_that_fails_ends_with_100_and_the_value_and_configuration_that_decided() {
    let outcome = gated("gather", &["every load_sectors_per_request <= 12"], &[]);
    assert_snapshot!(conclusion(&outcome), @"
    exit code: 100
     FAIL  every load_sectors_per_request <= 12  32 at block=64,stride=8,n=4096 (limit 12, 166.7% beyond); most by vector/src/lib.rs:19: 3,584 of 3,584 sectors of global loads beyond the ideal ones  [--threshold]
             block=64,stride=4,n=4096: 16 (limit 12, 33.3% beyond)
     PASS  best load_sectors_per_request <= 4    4 at block=64,stride=1,n=4096 (limit 4)  [attribute]
     PASS  every store_sectors_per_request <= 4  4 at block=64,stride=1,n=4096 (limit 4)  [.config/gpuprof.toml:2]

    4 configurations of 1 series: 4 finished; thresholds: 2 passed, 1 failed
    ");
}

/// A run of `gather` with a limit on the sectors that its configurations with this stride load.
fn gather_where(stride: u32, limit: &str, more: &[&str]) -> Outcome {
    gated("gather", &[&format!("where stride=={stride} load_sectors_per_request {limit}")], more)
}

#[test]
fn where_limits_a_threshold_to_its_configurations() {
    let held = gather_where(2, "== 8", &[]);
    assert_eq!(held.code, Some(0), "{held:#?}");
    let violated = gather_where(4, "== 8", &[]);
    assert_eq!(violated.code, Some(100), "{violated:#?}");
    let line = "FAIL  where stride==4 load_sectors_per_request == 8  16 at block=64,stride=4,n=4096 (limit 8, 100.0% beyond)";
    assert!(violated.stdout.contains(line), "{}", violated.stdout);
}

#[test]
fn a_run_that_judges_nothing_says_so_and_exits_with_106() {
    let outcome = gated("scale", &["best duration <= 5 us"], &[]);
    assert_snapshot!(conclusion(&outcome), @"
    exit code: 106
     UNAVAILABLE  best duration <= 5 us  no time was estimated  [--threshold]

    2 configurations of 1 series: 2 finished; threshold: 1 unavailable; nothing judged: no time was estimated
    ");
    let ungated = gated("scale", &["best duration <= 5 us"], &["--no-gate"]).exits_with(0);
    let line = " not gated  thresholds do not decide: --no-gate";
    assert!(ungated.stdout.contains(line), "{}", ungated.stdout);
    gated("scale", &["warn best duration <= 5 us"], &[]).exits_with(0);
}

#[test]
fn a_run_that_judges_a_part_exits_with_0_and_with_106_under_strict() {
    let thresholds = ["best duration <= 5 us", "every load_sectors_per_request <= 4"];
    let lax = gated("scale", &thresholds, &[]).exits_with(0);
    let part = "thresholds: 1 passed, 1 unavailable; not judged: no time was estimated\n";
    assert!(lax.stdout.contains(part), "{}", lax.stdout);
    let strict = gated("scale", &thresholds, &["--strict"]).exits_with(106);
    assert_eq!(lax.stdout, strict.stdout);
    gated("scale", &thresholds, &["--strict", "--no-strict"]).exits_with(0);
}

#[test]
fn a_threshold_that_applies_to_no_configuration_is_refused_before_anything_is_measured() {
    let refused = gather_where(3, "<= 4", &[]).exits_with(2);
    assert_eq!(refused.stdout, "");
    assert_snapshot!(refused.stderr, @"
    error: the threshold applies to no configuration: axis `stride` has no value 3: it has 1, 2, 4, 8
      --> --threshold
       |
       | where stride==3 load_sectors_per_request <= 4
       | ^^^^^^^^^^^^^^^
    ");
    gather_where(4, "<= 4", &["--series", "stride=1,2"]).exits_with(0);
}

#[test]
fn a_failed_threshold_outranks_unjudged_ones() {
    let thresholds = ["best duration <= 5 us", "every load_sectors_per_request <= 3"];
    let outcome = gated("scale", &thresholds, &["--strict"]);
    assert_snapshot!(conclusion(&outcome), @"
    exit code: 100
     FAIL         every load_sectors_per_request <= 3  4 at block=64,n=4096 (limit 3, 33.3% beyond); most by vector/src/lib.rs:44: 512 of 512 sectors of global loads  [--threshold]
                    block=128,n=4096: 4 (limit 3, 33.3% beyond)
     UNAVAILABLE  best duration <= 5 us                no time was estimated  [--threshold]

    2 configurations of 1 series: 2 finished; thresholds: 1 failed, 1 unavailable; not judged: no time was estimated
    ");
}

#[test]
fn a_violation_on_a_gpu_names_the_line_that_the_emulated_driver_counts() {
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let threshold = format!("every {sectors} <= 100");
    let run = ["run", "--package", "vector", "scale", "--quiet", "--no-config", "--repeat", "1"];
    let run = [&run[..], &["--metrics", sectors, "--threshold", &threshold]].concat();
    let outcome = FakeGpu::new().tool(&Workspace::fixture("workshop"), &run).run().exits_with(100);
    let failed = outcome.stdout.lines().find(|line| line.starts_with(" FAIL"));
    let failed = failed.unwrap_or_else(|| panic!("{}", outcome.stdout));
    let line = "; most by vector/src/lib.rs:44: 512 of 512 sectors of global loads on the emulated \
                driver  [--threshold]";
    assert!(failed.ends_with(line), "{failed}");
    // A threshold on something else asks nothing of it.
    let other = ["sm__ctas_launched.sum", "--threshold", "sm__ctas_launched.sum == 7"];
    let run = [&run[..9], &other[..]];
    let outcome = FakeGpu::new().tool(&Workspace::fixture("workshop"), &run.concat()).run();
    assert!(!outcome.exits_with(100).stdout.contains("most by"));
}

#[test]
fn a_failed_configuration_outranks_a_failed_threshold() {
    let arguments = ["run", "--package", "faults", "writes_beyond", "--quiet", "--threshold"];
    let outcome = Workspace::fixture("workshop")
        .gpuprof(&[&arguments[..], &["sm__ctas_launched.sum == 7"]].concat());
    assert_eq!(outcome.code, Some(105), "{outcome:#?}");
    assert!(outcome.stdout.contains("thresholds: 1 failed, 1 missing"), "{}", outcome.stdout);
}

#[test]
fn a_named_configuration_file_replaces_the_default_one() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("strict.toml");
    let text = "strict = true\n\
                metrics = [\"store_sectors_per_request\"]\n\
                thresholds = [\"every registers <= 32\"]\n";
    fs::write(&file, text).expect("it can be written");
    let file = file.display().to_string();
    let outcome = gated("gather", &[], &["--config-file", &file]);
    let transcript = outcome.transcript().replace(&folder.path().display().to_string(), "[FOLDER]");
    assert_snapshot!(transcript, @r"
    exit code: 106
    ----- stdout -----
    vector::gather  vector/src/lib.rs:15  on the emulated H200 (sm_90), counters only

     UNAVAILABLE  every registers <= 32  ptxas assigns registers, and none was found (/nonexistent/ptxas: cannot be started: No such file or directory (os error 2)): install it with `python3 -m pip install nvidia-cuda-nvcc`, or name it with GPUPROF_PTXAS  [[FOLDER]/strict.toml:3]

     block  stride     n  store_sectors_per_request
    ────────────────────────────────────────────────
        64       1  4096                          4
        64       2  4096                          4
        64       4  4096                          4
        64       8  4096                          4

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 80 of 256 blocks; memory, sync in all

     advice
     88% of use  88% of the sectors of global loads are wasted: 32.0 sectors for each request of a warp, and 12% of their bytes are used; most by vector/src/lib.rs:19 at block=64,stride=8,n=4096 and 2 more (certain). Let neighbouring threads load neighbouring addresses: a structure of arrays, another order of indices, or a tile that is loaded in rows into shared memory. In Rust, shared!([f32; N]) is such a tile.

     PASS  best load_sectors_per_request <= 4  4 at block=64,stride=1,n=4096 (limit 4)  [attribute]

    4 configurations of 1 series: 4 finished; thresholds: 1 passed, 1 unavailable; not judged: ptxas assigns registers, and none was found (/nonexistent/ptxas: cannot be started…

    ----- stderr -----
    ");
    let without = gated("gather", &[], &["--no-config"]).exits_with(0);
    assert!(without.stdout.contains("threshold: 1 passed"), "{}", without.stdout);
}

#[test]
fn the_command_line_wins_over_the_configuration_file() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("gpuprof.toml");
    let text = "strict = true\nmetrics = [\"store_sectors_per_request\"]\n";
    fs::write(&file, text).expect("it can be written");
    let file = file.display().to_string();
    let options =
        ["--config-file", &file, "--no-strict", "--metrics", "sm__ctas_launched.sum,waves"];
    let outcome = gated("scale", &["waves <= 1"], &options);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 106
    ----- stdout -----
    vector::scale  vector/src/lib.rs:40  on the emulated H200 (sm_90), counters only

     UNAVAILABLE  waves <= 1  it depends on registers, which the emulator does not assign  [--threshold]

     block     n  sm__ctas_launched.sum
    ────────────────────────────────────
        64  4096                     64
       128  4096                     32

     -  waves: it depends on registers, which the emulator does not assign

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 38 of 96 blocks; memory, sync in all

    2 configurations of 1 series: 2 finished; threshold: 1 unavailable; nothing judged: it depends on registers, which the emulator does not assign

    ----- stderr -----
    ");
}

#[test]
fn a_failure_names_the_line_of_the_configuration_file() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("gpuprof.toml");
    let text = "strict = true\n\n[preset.ci]\nthresholds = [\n  \"every load_sectors_per_request <= 3\",\n]\n";
    fs::write(&file, text).expect("it can be written");
    let name = file.display().to_string();
    let outcome = gated("scale", &[], &["--config-file", &name, "-P", "ci"]).exits_with(100);
    assert!(outcome.stdout.contains(&format!("[preset ci, {name}:5]")), "{}", outcome.stdout);
    let place = format!("preset ci, {name}:5");
    // Another test's run may be the latest by now.
    let export = folder.path().join("run.json").display().to_string();
    let options = ["--config-file", &name, "-P", "ci", "--export-json", &export];
    gated("scale", &[], &options).exits_with(100);
    for format in ["junit", "github"] {
        let arguments = ["report", &export, "--format", format];
        let written = Workspace::fixture("workshop").gpuprof(&arguments).exits_with(0).stdout;
        assert!(written.contains(&place), "{format}: {written}");
    }
}

#[test]
fn show_config_names_the_layer_of_every_setting() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("gpuprof.toml");
    let text = "sets = [\"basic\"]\nsections = [\"Occupancy\"]\nthresholds = [\"registers <= 32\"]\n\
                [preset.ci]\nmax-passes = 4\nstrict = true\n";
    fs::write(&file, text).expect("it can be written");
    let name = file.display().to_string();
    let shown = |more: &[&str]| {
        let arguments =
            ["show-config", "--package", "vector", "scale", "--config-file", &name, "-P", "ci"];
        let outcome = Workspace::fixture("workshop").gpuprof(&[&arguments[..], more].concat());
        let outcome = outcome.exits_with(0);
        outcome.tidy_stdout().replace(&folder.path().display().to_string(), "[FOLDER]")
    };
    let human = shown(&["--set", "memory,roofline"]);
    let (untouched, said): (Vec<&str>, Vec<&str>) =
        human.lines().partition(|line| line.ends_with("  [default]"));
    assert!(untouched.len() > 30, "{human}");
    assert!(untouched.contains(&"repeat            7..10  [default]"), "{human}");
    assert_snapshot!(said.join("\n"), @"
    backend           emulator  [GPUPROF_BACKEND]
    sets              memory, roofline  [--set]
    sections          Occupancy  [[FOLDER]/gpuprof.toml]
    max-passes        4  [preset ci]
    strict            true  [preset ci]
    keep-runs         all  [GPUPROF_KEEP_RUNS]

    vector::scale  vector/src/lib.rs:40
        metrics: load_sectors_per_request
        registers <= 32  [[FOLDER]/gpuprof.toml:3]
    ");
    let json: serde_json::Value =
        serde_json::from_str(&shown(&["--message-format", "json"])).expect("it is JSON");
    assert_eq!(json["sets"]["value"], serde_json::json!(["basic"]));
    assert_eq!(json["max-passes"], serde_json::json!({ "value": 4, "origin": "preset ci" }));
    assert_eq!(json["series"][0]["thresholds"][0]["place"]["line"], 3);
}
