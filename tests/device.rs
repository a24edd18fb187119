//! The device while it is measured, end to end on a fake GPU: the lock, locked clocks, slowdowns.

use std::io::{BufRead, BufReader};
use std::process::Child;

use crate::support::replay::{METRICS, arguments, workshop};
use crate::support::{FakeGpu, Outcome, Workspace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The fake driver's UUID of its GPU: "gpuprof-fake-gpu" in hexadecimal.
const UUID: &str = "GPU-67707570-726f-662d-6661-6b652d677075";

/// Times `scale` on `gpu`, and collects nothing.
fn timed(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    let more = [&["--replay-mode", "none"], more].concat();
    gpu.tool(&workshop(), &arguments(&["vector", "scale"], &more)).run()
}

/// Starts a run with a first counter pass that hangs, and returns when it has begun.
fn hanging(gpu: &FakeGpu, workspace: &Workspace, more: &[&str]) -> Child {
    let tool = gpu.tool(workspace, &arguments(&["vector", "scale"], more));
    let child = tool.env("FAKE_CUPTI_TROUBLE", "hang pass=0").into_command().spawn();
    let mut child = child.expect("it can be started");
    gpu.wait_for(&mut child, "hangs in pass 0");
    child
}

fn locked_and_reset() -> [String; 2] {
    [format!("{UUID} locked to tdp..tdp"), format!("{UUID} reset")]
}

#[test]
fn clocks_are_locked_for_the_run_and_part_of_its_conditions() {
    let gpu = FakeGpu::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let file = file.to_str().unwrap();
    timed(&gpu, &["--clock-control", "base", "--export-json", file]).exits_with(0);
    assert_eq!(gpu.nvml_log(), locked_and_reset());
    let run: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(run["provenance"]["clock_control"], "base");
    // At other clocks it is another measurement.
    let against = timed(&gpu, &["--baseline", file, "--strict"]).exits_with(106);
    let differs = against.stdout.contains("clock control");
    assert!(differs && against.stdout.contains("incomparable"), "{}", against.stdout);
    assert_eq!(gpu.nvml_log().len(), 2, "without the option no clock is touched");
}

#[test]
fn without_permission_to_lock_nothing_is_started() {
    let gpu = FakeGpu::new();
    gpu.nvml("deny", "");
    let outcome = timed(&gpu, &["--clock-control", "boost"]).exits_with(107);
    let start = format!(
        "error: --clock-control boost cannot lock the clocks of {UUID}: the current user does not"
    );
    assert!(outcome.stderr.contains(&start), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    assert_eq!(gpu.nvml_log(), [""; 0]);
    // Without NVML it is nothing that an administrator could allow.
    let more = ["--clock-control", "boost", "--nvml-path", "/nonexistent/nvml.so"];
    let stderr = timed(&FakeGpu::new(), &more).exits_with(107).stderr;
    assert!(stderr.contains("NVML (/nonexistent/nvml.so) does not work: "), "{stderr}");
    assert!(stderr.contains(". Use --clock-control none, "), "{stderr}");
    assert!(!stderr.contains("administrator"), "{stderr}");
}

#[test]
fn a_killed_run_leaves_neither_locked_clocks_nor_a_lock() {
    let (gpu, workspace) = (FakeGpu::new(), workshop());
    let mut child = hanging(&gpu, &workspace, &["--clock-control", "base"]);
    assert_eq!(gpu.nvml_log(), locked_and_reset()[..1]);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    // Waits only for the guard.
    timed(&gpu, &["--no-wait"]).exits_with(0);
    assert_eq!(gpu.nvml_log(), locked_and_reset());
}

#[test]
fn an_interrupted_run_puts_the_clocks_back() {
    let (gpu, workspace) = (FakeGpu::new(), workshop());
    let child = hanging(&gpu, &workspace, &["--clock-control", "base"]);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(143));
    assert_eq!(gpu.nvml_log(), locked_and_reset());
}

#[test]
fn a_second_run_waits_and_names_the_owner() {
    let (gpu, workspace) = (FakeGpu::new(), workshop());
    let mut first = hanging(&gpu, &workspace, &[]);
    let busy = timed(&gpu, &["--no-wait"]).exits_with(107);
    let named = format!("another gpuprof is measuring on {UUID} (process {} of ", first.id());
    assert!(busy.stderr.contains(&named), "{}", busy.stderr);
    let second = arguments(&["vector", "scale"], &["--replay-mode", "none"]);
    let mut second = gpu.tool(&workspace, &second).into_command().spawn().unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(second.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    let waiting = format!(
        "gpuprof: waiting for {UUID}: another gpuprof is measuring on it (process {} of ",
        first.id()
    );
    assert!(line.starts_with(&waiting), "{line}");
    assert!(line.contains(": cargo gpuprof run --package vector scale"), "{line}");
    assert_eq!(second.try_wait().unwrap(), None);
    kill_process(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
    assert_eq!(second.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn the_emulated_device_needs_no_lock() {
    let run = ["run", "--package", "vector", "scale", "--quiet"];
    let tool = workshop().tool(&run).env("GPUPROF_LOCK_DIR", "/nonexistent");
    tool.run().exits_with(0);
}

#[test]
fn a_time_of_a_gpu_that_stays_slow_is_unstable_and_its_counters_are_kept() {
    let gpu = FakeGpu::new();
    // NVML's "hardware thermal slowdown", from the first batch on: how many there are before the
    // time for samples is over depends on the machine.
    gpu.nvml("reasons", "0 0 64");
    let threshold = ["--threshold", "every duration <= 1 s"];
    let name = format!("slow-{}", std::process::id());
    let more = [&threshold[..], &["--save-baseline", &name]].concat();
    let run = arguments(&["vector", "scale/block=64"], &more);
    let outcome = gpu.tool(&workshop(), &run).run().exits_with(106);
    // It would be a measure that holds no time, against which every time is as good.
    let said = format!("not kept as baseline `{name}`: a time is unstable");
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    let row = &outcome.events_of("configuration-finished")[0];
    let reason =
        row["metrics"]["duration"]["unstable"].as_str().unwrap_or_else(|| panic!("{row:#}"));
    assert!(
        reason.starts_with("the GPU was throttled by its temperature (hardware slowdown)"),
        "{reason}"
    );
    assert!(row["metrics"]["duration"]["value"].is_null(), "{row:#}");
    for name in METRICS {
        assert!(row["metrics"][name]["value"].is_number(), "{row:#}");
    }
    let judged = &outcome.events_of("threshold-judged")[0];
    assert_eq!(judged["judgement"]["verdict"], "inconclusive", "{judged:#}");
}

#[test]
fn samples_of_a_slow_moment_are_taken_again() {
    let gpu = FakeGpu::new();
    // In the first batch, for the same reason.
    gpu.nvml("reasons", "0 0 128 0");
    let run =
        ["run", "--package", "vector", "scale/block=64", "--repeat", "1", "--replay-mode", "none"];
    let outcome = gpu.tool(&workshop(), &[&run[..], &["--all"]].concat()).run().exits_with(0);
    assert!(outcome.stdout.contains("8 samples were discarded and retaken"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("unstable"), "{}", outcome.stdout);
}

#[test]
fn results_of_a_virtual_gpu_name_it_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = |gpu: &FakeGpu, trouble: &str, more: &[&str]| {
        let common =
            ["run", "--package", "vector", "scale", "--no-config", "--repeat", "1", "--metrics"];
        let tool = gpu.tool(&workshop(), &[&common[..], &METRICS[..1], more].concat());
        tool.env("FAKE_CUPTI_TROUBLE", trouble).run()
    };
    let recorded = |file: &str| {
        let run: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        run["provenance"]["device"]["virtual_gpu"].clone()
    };
    let (whole, shared, refused) = (file("whole"), file("shared"), file("refused"));
    let gpu = FakeGpu::new();
    let outcome = run(&gpu, "", &["--export-json", &whole]).exits_with(0);
    assert!(outcome.stdout.contains("  on Fake H200\n"), "{}", outcome.stdout);
    assert_eq!(recorded(&whole), false);

    // NVML says so, and counters can be had.
    gpu.nvml("vgpu", "2");
    let against = ["--export-json", &shared, "--baseline", &whole, "--strict"];
    let outcome = run(&gpu, "", &against).exits_with(106);
    assert!(outcome.stdout.contains("  on Fake H200, a virtual GPU\n"), "{}", outcome.stdout);
    let differs = outcome.stdout.contains("virtual GPU: no in the baseline, yes here");
    assert!(differs && outcome.stdout.contains("incomparable"), "{}", outcome.stdout);
    assert_eq!(recorded(&shared), true);
    let markdown = workshop().gpuprof(&["report", &shared, "--format", "markdown"]);
    assert!(markdown.exits_with(0).stdout.contains("on Fake H200, a virtual GPU"));

    // Without NVML it is CUPTI that refuses one: by its support query, or when a session is opened,
    // also where the plan of an earlier run is kept and the first pass finds it out.
    let more = ["--nvml-path", "/nonexistent/nvml.so", "--export-json", &refused];
    for (gpu, trouble) in [
        (FakeGpu::new(), "support vGpu 2"),
        (FakeGpu::new(), "fail cuptiRangeProfilerEnable 40"),
        (gpu, "fail cuptiRangeProfilerEnable 33"),
    ] {
        let outcome = run(&gpu, trouble, &more).exits_with(0);
        assert!(outcome.stdout.contains("  on Fake H200, a virtual GPU\n"), "{}", outcome.stdout);
        assert_eq!(recorded(&refused), true);
    }
    run(&FakeGpu::new(), "fail cuptiRangeProfilerEnable 35", &more).exits_with(0);
    assert_eq!(recorded(&refused), Value::Null, "nobody told");
}
