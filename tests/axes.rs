//! Axes from the attribute to the table: every way to combine them, on the emulated driver.

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;
use serde_json::Value;

fn gpuprof(arguments: &[&str]) -> Outcome {
    let run = ["run", "--package", "tiles", "--backend", "emulator", "--quiet"];
    Workspace::fixture("workshop").gpuprof(&[&run, arguments].concat())
}

/// Configuration, status, entry point and reason, a line each.
fn rows(arguments: &[&str]) -> String {
    let outcome = gpuprof(&[&["--message-format", "json"], arguments].concat()).exits_with(0);
    let row = |event: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verified = if event["verified"] == true { " verified" } else { "" };
        let shared = &event["metrics"]["static_shared"]["value"];
        let told = format!(
            "{} {}{verified} {shared}",
            text(&event["configuration"]),
            text(&event["status"])
        );
        format!("{told} {}\n", text(&event["status_reason"])).trim_end().to_owned() + "\n"
    };
    outcome.events_of("configuration-finished").iter().map(row).collect()
}

#[test]
fn constants_zips_formulas_and_conditions_make_one_entry_point_each_and_verify() {
    assert_snapshot!(rows(&["reverse"]), @"
    TILE=32,DOUBLE=false,n=1024,label=small,block=16 finished verified 128.0
    TILE=32,DOUBLE=false,n=2048,label=large,block=16 finished verified 128.0
    TILE=32,DOUBLE=true,n=1024,label=small,block=16 finished verified 128.0
    TILE=32,DOUBLE=true,n=2048,label=large,block=16 finished verified 128.0
    TILE=64,DOUBLE=false,n=2048,label=large,block=32 finished verified 256.0
    TILE=64,DOUBLE=true,n=2048,label=large,block=32 finished verified 256.0
    ");
}

#[test]
fn blocks_of_three_dimensions_run_and_the_emulator_refuses_clusters() {
    assert_snapshot!(rows(&["ones"]), @"
    block=4x4x2,shared=0,cluster=1 finished verified 0.0
    block=4x4x2,shared=0,cluster=2 invalid null the emulated driver has no thread block clusters
    block=4x4x2,shared=1024,cluster=1 finished verified 0.0
    block=4x4x2,shared=1024,cluster=2 invalid null the emulated driver has no thread block clusters
    block=8x2x2,shared=0,cluster=1 finished verified 0.0
    block=8x2x2,shared=0,cluster=2 invalid null the emulated driver has no thread block clusters
    block=8x2x2,shared=1024,cluster=1 finished verified 0.0
    block=8x2x2,shared=1024,cluster=2 invalid null the emulated driver has no thread block clusters
    ");
    let text = gpuprof(&["ones", "--all"]).exits_with(0).stdout;
    assert!(text.contains("the emulated driver has no thread block clusters"), "{text}");
}

#[test]
fn the_command_line_chooses_among_compiled_values_and_adds_conditions() {
    let chosen = ["reverse", "--series", "TILE=64", "--series", "where DOUBLE==true"];
    assert_snapshot!(rows(&chosen), @"TILE=64,DOUBLE=true,n=2048,label=large,block=32 finished verified 256.0");
    let outcome = gpuprof(&["reverse", "--series", "TILE=128"]).exits_with(2);
    assert_snapshot!(outcome.stderr, @"error: axis `TILE` of tiles::reverse is compiled \
                                       for 32, 64, not for 128; choose one of these, or add it to \
                                       const TILE at tiles/src/lib.rs:22");
}

#[test]
fn sample_and_max_configs_limit_the_configurations() {
    assert_eq!(rows(&["reverse", "--sample", "3"]).lines().count(), 3);
    let outcome = gpuprof(&["--max-configs", "10"]).exits_with(2);
    assert!(outcome.stderr.contains("more than 10 configurations"), "{}", outcome.stderr);
}

#[test]
fn a_view_narrows_the_table_and_nothing_else() {
    let view =
        ["reverse", "--filter", "TILE == 32", "--columns", "TILE,n,static_shared", "--top", "2"];
    let outcome = gpuprof(&view).exits_with(0);
    assert_snapshot!(outcome.stdout, @r"
    tiles::reverse  tiles/src/lib.rs:22  on the emulated H200 (sm_90), counters only

     TILE     n  static_shared [B]
    ───────────────────────────────
       32  1024                128
       32  2048                128

     --filter keeps 4 of 6 rows
     --top shows 2 of 4 rows, in series order
     no row is best: the rows have buffers of different sizes, and the annotation declares no work (`bytes`, `flops`); `cargo gpuprof report --best-by METRIC` chooses by one metric

     verified  every row: equal to the reference (y: 1024 to 2048 elements)
     checks    every row: init, race in 76 of 192 blocks; memory, sync in all

     advice
     50% of use  a block of 16 threads leaves 16 lanes of its last warp empty at TILE=32,DOUBLE=false,n=1024,label=small,block=16 and 3 more (certain). Launch a multiple of 32 threads; 128 to 256 suit most kernels.
     50% of use  of the 32 threads of a warp, 16.0 take part in an instruction on average at TILE=32,DOUBLE=false,n=1024,label=small,block=16 and 3 more (certain). Let the threads of a warp take the same way: sort or compact the work, branch by warp, and launch whole warps.

    6 configurations of 1 series: 6 finished; no thresholds
    ");
    let wrong = gpuprof(&["--filter", "TIEL == 32"]).exits_with(2);
    assert!(wrong.stderr.contains("did you mean `TILE`?"), "{}", wrong.stderr);
}
