//! The harness under libtest's users: a list of names that select their configurations.

use std::process::{Command, Output};

use crate::support::Workspace;
use insta::assert_snapshot;

fn listed(arguments: &[&str]) -> Output {
    let harness = Workspace::fixture("workshop").harness("vector");
    Command::new(harness).args(arguments).env_clear().output().expect("the harness can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it writes UTF-8")
}

#[test]
fn the_terse_list_has_a_line_for_each_configuration() {
    let output = listed(&["--list", "--format", "terse"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert_snapshot!(text(&output.stdout), @"
    vector::gather/block=64,stride=1,n=4096: benchmark
    vector::gather/block=64,stride=2,n=4096: benchmark
    vector::gather/block=64,stride=4,n=4096: benchmark
    vector::gather/block=64,stride=8,n=4096: benchmark
    vector::scale/block=64,n=4096: benchmark
    vector::scale/block=128,n=4096: benchmark
    ");
}

#[test]
fn every_listed_name_selects_exactly_itself() {
    let all = text(&listed(&["--list", "--format", "terse"]).stdout);
    assert_eq!(all.lines().count(), 6);
    for line in all.lines() {
        let name = line.strip_suffix(": benchmark").expect("every line names a benchmark");
        let found = listed(&[name, "--exact", "--list", "--format", "terse", "--bench"]);
        assert_eq!(text(&found.stdout), format!("{line}\n"));
    }
}

#[test]
fn names_of_the_list_select_configurations_of_a_run() {
    let workspace = Workspace::fixture("workshop");
    let name = "vector::gather/block=64,stride=1,n=4096";
    let run = ["run", "--package", "vector", name, "--exact", "--message-format", "json"];
    let outcome = workspace.gpuprof(&run).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["configuration"].as_str()).collect();
    assert_eq!(names, ["block=64,stride=1,n=4096"]);
}

#[test]
fn nothing_is_listed_as_ignored() {
    let output = listed(&["--list", "--format", "terse", "--ignored"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), ""));
}

#[test]
fn a_harness_started_by_cargo_bench_says_what_runs_it() {
    let output = listed(&["--bench", "scale"]);
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(text(&output.stdout) + &text(&output.stderr), @"

    test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out

    gpuprof: series are run by `cargo gpuprof run`, which builds the kernels first
    ");
}

#[test]
fn an_option_that_libtest_does_not_have_is_refused() {
    let output = listed(&["--frobnicate"]);
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(text(&output.stderr), "gpuprof: unknown option `--frobnicate`\n");
}

#[test]
fn the_list_of_the_subcommand_shows_axes_thresholds_and_counts() {
    let workspace = Workspace::fixture("workshop");
    assert_snapshot!(workspace.gpuprof(&["list", "--package", "vector"]).transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::gather  vector/src/lib.rs:15
        y[i] ← x[i · stride]
        block = 64
        stride = 1, 2, 4, 8
        n = 4096
        threshold: best load_sectors_per_request <= 4
        4 configurations
    vector::scale  vector/src/lib.rs:40
        y ← a·y
        block = 64, 128
        n = 4096
        2 configurations

    ----- stderr -----
    ");
}

#[test]
fn the_list_follows_filters_and_overrides() {
    let workspace = Workspace::fixture("workshop");
    let list =
        ["list", "--package", "vector", "gather/block=64,stride=1", "--series", "stride=1..16"];
    assert_snapshot!(workspace.gpuprof(&list).transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::gather  vector/src/lib.rs:15
        y[i] ← x[i · stride]
        block = 64
        stride = 1, 2, 4, 8, 16
        n = 4096
        threshold: best load_sectors_per_request <= 4
        2 of 5 configurations

    ----- stderr -----
    ");
}

#[test]
fn the_list_is_available_as_json() {
    let list = ["list", "--package", "vector", "scale", "--message-format", "json"];
    let events = Workspace::fixture("workshop").gpuprof(&list).exits_with(0).events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["reason"], "series");
    assert_eq!(events[0]["series"]["axes"][0]["name"], "block");
    assert_eq!(
        events[0]["configurations"],
        serde_json::json!(["block=64,n=4096", "block=128,n=4096"])
    );
}

#[test]
fn metrics_can_be_searched() {
    let outcome = Workspace::fixture("workshop").gpuprof(&["metrics", "4 for coalesced"]);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    sectors_per_request
        sectors a warp's global access touches; 4 for coalesced 32-bit accesses
        in a number; lower is better; exact; from: global_sectors / (smsp__sass_inst_executed_op_global_ld.sum + smsp__sass_inst_executed_op_global_st.sum + smsp__sass_inst_executed_op_global_red.sum + smsp__sass_inst_executed_op_global_atom.sum)
    load_sectors_per_request
        sectors a warp's global load touches; 4 for coalesced 32-bit loads
        in a number; lower is better; exact; from: smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum / smsp__sass_inst_executed_op_global_ld.sum
    store_sectors_per_request
        sectors a warp's global store touches; 4 for coalesced 32-bit stores
        in a number; lower is better; exact; from: smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum / smsp__sass_inst_executed_op_global_st.sum

    ----- stderr -----
    ");
}
