//! A profiler shared by all devices of the machine, as before Hopper, on fake devices: a counting
//! process has it alone, and no process gets the error that the hardware is busy.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::support::replay::{ISOLATIONS, METRICS, SCALE, arguments, workshop};
use crate::support::{FakeGpu, Happening, Tool};
use serde_json::Value;

const FIRST: &str = "GPU-67707570-726f-662d-6661-6b652d677075";

/// The last digits of the second one.
const SECOND: &str = "677031";

/// Two GPUs, of compute capability 8.0 by their name.
const TWINS: &str = "Fake A100,Fake A100";

/// Two configurations for each of two devices.
const FOUR: [&str; 2] = ["--series", "block=64,128,256,512"];

/// Counts on those of the GPUs that are asked for, in four passes.
fn counted(gpu: &FakeGpu, more: &[&str]) -> Tool {
    gpu.tool(&workshop(), &arguments(&["vector", "scale"], more)).env("FAKE_GPUS", TWINS)
}

/// How many configurations of a run have all counters, by its output.
fn with_counters(stdout: &str) -> usize {
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let counter = |event: &Value, at: usize| event["metrics"][METRICS[at]]["value"] == SCALE[at];
    let has = |event: &Value| {
        event["reason"] == "configuration-finished" && (0..4).all(|at| counter(event, at))
    };
    events.filter(has).count()
}

/// Pairs of processes that took counters at the same time.
fn met(timeline: &[Happening]) -> usize {
    let counts: Vec<&Happening> = timeline.iter().filter(|h| h.what == "counts").collect();
    let beside = |a: &&&Happening| counts.iter().any(|b| a.process != b.process && a.meets(b));
    counts.iter().filter(beside).count()
}

#[test]
fn devices_that_share_a_profiler_take_turns_and_all_have_their_counters() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        // A session lasts for four passes, each of them slow: without the lock those of two lanes
        // meet.
        let both = [&FOUR[..], &["--devices", "all", "--replay-mode", "range"]].concat();
        let tool = counted(&gpu, &[&both[..], isolation].concat()).env("FAKE_TIMELINE", "20");
        let outcome = tool.run().exits_with(0);
        assert_eq!(with_counters(&outcome.stdout), 4, "{}", outcome.stdout);
        let timeline = gpu.timeline();
        assert_eq!(met(&timeline), 0, "{timeline:#?}");
    }
}

#[test]
fn a_hanging_pass_is_killed_and_the_waiting_one_continues() {
    let gpu = FakeGpu::new();
    // Whoever comes second waits for as long as the hanging one may take, and for its own two
    // seconds after that.
    let trouble = format!("hang pass=0 device={SECOND}");
    let arguments = [&FOUR[..], &["--devices", "all", "--timeout", "2"]].concat();
    let outcome = counted(&gpu, &arguments).env("FAKE_CUPTI_TROUBLE", &trouble).run();
    let outcome = outcome.exits_with(105);
    let events = outcome.events_of("configuration-finished");
    assert_eq!(events.len(), 4);
    for event in events {
        let expected = if event["device"] == FIRST { "finished" } else { "timeout" };
        assert_eq!(event["status"], expected, "{event:#}");
    }
    assert_eq!(with_counters(&outcome.stdout), 2);
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn runs_on_two_devices_wait_for_each_others_counters_and_say_so() {
    let gpu = FakeGpu::new();
    let hanging = counted(&gpu, &["--devices", "1"]);
    let mut hanging = hanging.env("FAKE_CUPTI_TROUBLE", "hang pass=0").into_command();
    let mut hanging = hanging.stdout(Stdio::null()).spawn().unwrap();
    gpu.wait_for(&mut hanging, "hangs in pass 0");
    let doctor = gpu.tool(&workshop(), &["doctor", "--devices", "0"]).env("FAKE_GPUS", TWINS);
    let doctor = doctor.run().exits_with(0).stdout;
    let said = format!(
        "warn  counters     not tested: another gpuprof is using the profiler, which GPUs before \
         Hopper share (process {} of ",
        hanging.id()
    );
    assert!(doctor.contains(&said), "{doctor}");

    let mut other = counted(&gpu, &["--devices", "0", "--no-wait"]).into_command();
    let mut other = other.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(other.stderr.take().unwrap()).lines();
    let said = format!(
        "gpuprof: waiting for the profiler, which GPUs before Hopper share: another gpuprof has it (process {} of ",
        hanging.id()
    );
    let waits = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with(&said));
    assert!(waits, "it ended without waiting");
    hanging.kill().unwrap();
    hanging.wait().unwrap();
    let ended = other.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(with_counters(&String::from_utf8(ended.stdout).unwrap()), 2);
}

#[test]
fn a_dry_run_says_that_counters_are_collected_in_turn() {
    let planned = |names: &str| {
        let run = ["run", "--package", "vector", "--no-config", "scale", "--dry-run"];
        let more = ["--devices", "all", "--metrics", METRICS[0]];
        let gpu = FakeGpu::new();
        gpu.tool(&workshop(), &[&run[..], &more].concat())
            .env("FAKE_GPUS", names)
            .run()
            .exits_with(0)
    };
    let said =
        "GPUs before Hopper share a profiler: counters are collected on one of them at a time\n";
    assert!(planned(TWINS).stdout.contains(said));
    assert!(!planned("Fake H200,Fake H200").stdout.contains(said));
    assert!(!planned("Fake A100").stdout.contains(said));
}
