//! Measured ranges of several launches that are not the run's own: those of a library, on its own
//! stream and from its own thread.

use std::fs;

use serde_json::Value;

use crate::support::FakeGpu;
use crate::support::replay::workshop;

const LIBRARY: [&str; 7] = [
    "run",
    "--package",
    "ranges",
    "ranges::kernels::library/block=64",
    "--repeat",
    "1",
    "--no-config",
];

/// The launches of the first configuration in the result of [`LIBRARY`], on a fake GPU or else on
/// the emulated driver.
fn launches(gpu: Option<&FakeGpu>) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let arguments = [&LIBRARY[..], &["--export-json", &file]].concat();
    let run = match gpu {
        Some(gpu) => gpu.tool(&workshop(), &arguments).run(),
        None => workshop().gpuprof(&arguments),
    };
    run.exits_with(0);
    let text = fs::read_to_string(&file).expect("it was exported");
    let result: Value = serde_json::from_str(&text).expect("it is JSON");
    let launches = &result["series"][0]["configurations"][0]["launches"];
    launches.as_array().expect("launches").clone()
}

#[test]
fn every_launch_of_a_library_is_in_the_result_with_its_thread_stream_and_time() {
    let told = |launch: &Value| {
        let text = |key: &str| launch[key].to_string();
        let keys = ["kernel", "grid", "block", "stream", "thread"].map(text).join(" ");
        (keys, launch["start_ns"].as_u64(), launch["duration_ns"].is_u64())
    };
    let found: Vec<_> = launches(Some(&FakeGpu::new())).iter().map(told).collect();
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(found[0].0, r#""once" [16,1,1] [64,1,1] 0 0"#);
    assert_eq!(found[1].0, r#""twice" [16,1,1] [64,1,1] 1 1"#);
    assert_eq!(found[2].0, r#""once" [8,1,1] [128,1,1] 0 0"#);
    assert_eq!(found[0].1, Some(0));
    assert!(found.windows(2).all(|pair| pair[0].1 < pair[1].1), "{found:#?}");
    assert!(found.iter().all(|(_, _, timed)| *timed), "{found:#?}");
}

#[test]
fn the_emulated_driver_gives_the_same_launches_without_times() {
    let found = launches(None);
    let told =
        |launch: &Value| ["kernel", "grid", "stream"].map(|key| launch[key].to_string()).join(" ");
    let told: Vec<_> = found.iter().map(told).collect();
    assert_eq!(told, [r#""once" [16,1,1] 0"#, r#""twice" [16,1,1] 1"#, r#""once" [8,1,1] 0"#]);
    assert!(found.iter().all(|launch| launch["duration_ns"].is_null()), "{found:#?}");
}

/// The closure of [`LIBRARY`] has 128 requests: two launches of 32 warps that load once, and one of
/// as many that load twice.
const COUNTED: &str = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
/// A quotient, which does not add up over launches.
const RATIO: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";

/// Counts [`COUNTED`] and [`RATIO`] of [`LIBRARY`].
fn counted(gpu: &FakeGpu, more: &[&str]) -> Value {
    let metrics = format!("{COUNTED},{RATIO}");
    let arguments = [&LIBRARY[..], &["--metrics", &metrics, "--message-format", "json"], more];
    let run = gpu.tool(&workshop(), &arguments.concat()).run().exits_with(0);
    run.events_of("configuration-finished")[0]["metrics"].clone()
}

#[test]
fn a_closure_of_several_launches_is_one_range_in_every_replay_mode_and_has_rates() {
    for mode in ["application", "range", "kernel"] {
        let gpu = FakeGpu::new();
        let metrics = counted(&gpu, &["--replay-mode", mode]);
        assert_eq!(metrics[COUNTED]["value"], 128.0, "{mode}: {metrics:#}");
        assert_eq!(metrics[RATIO]["value"], 32.0, "{mode}: {metrics:#}");
        let collected = gpu.logged("collected");
        let range = ": closure [once 16x64, twice 16x64, once 8x128]";
        assert!(collected.iter().all(|line| line.ends_with(range)), "{mode}: {collected:#?}");
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn the_flush_of_the_cache_is_outside_of_the_closure() {
    let gpu = FakeGpu::new();
    let metrics = counted(&gpu, &["--cache-control", "all"]);
    assert_eq!(metrics[COUNTED]["value"], 128.0, "{metrics:#}");
    let collected = gpu.logged("collected");
    assert!(collected.iter().all(|line| !line.contains("gpuprof_flush")), "{collected:#?}");
}

#[test]
fn each_launch_is_a_range_if_asked_and_then_only_sums_add_up() {
    let gpu = FakeGpu::new();
    let metrics = counted(&gpu, &["--range", "launch"]);
    assert_eq!(metrics[COUNTED]["value"], 128.0, "{metrics:#}");
    let reason = metrics[RATIO]["unavailable"].as_str().unwrap_or_default();
    assert!(reason.contains("3 launches") && reason.contains("--range closure"), "{metrics:#}");
    let collected = gpu.logged("collected");
    let ranges = ": 0 [once 16x64] 1 [twice 16x64] 2 [once 8x128]";
    assert!(collected.iter().all(|line| line.ends_with(ranges)), "{collected:#?}");
}
