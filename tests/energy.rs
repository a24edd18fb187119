//! The energy of launches, by a counter of the fake GPU that rises by 300 W while the device works.

use serde_json::Value;

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Outcome};

/// The arguments that measure a kernel that changes its input.
const SORT: [&str; 9] = [
    "run",
    "--package",
    "in-place",
    "in-place::kernels::bitonic_step/block=64",
    "--replay-mode",
    "none",
    "--no-config",
    "--message-format",
    "json",
];

fn on_gpu(gpu: &FakeGpu, more: &[&str], code: i32) -> Outcome {
    gpu.tool(&workshop(), &[&SORT[..], more].concat()).run().exits_with(code)
}

fn verdict(run: &Outcome) -> Value {
    run.events_of("threshold-judged")[0]["judgement"]["verdict"].clone()
}

fn metrics(run: &Outcome) -> Value {
    run.events_of("configuration-finished")[0]["metrics"].clone()
}

#[test]
fn energy_is_measured_in_separate_processes_for_the_launch_alone() {
    let gpu = FakeGpu::new();
    let limits = ["--threshold", "every energy <= 1 J", "--threshold", "every energy >= 1 J"];
    let run = on_gpu(&gpu, &[&["--repeat", "2"], &limits[..]].concat(), 100);
    let metrics = metrics(&run);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("none in {metrics:#}"));
    let found = &metrics["energy"];
    // 300 W are 0.3 µJ a nanosecond; the copy that restores the keys is not the launch's, and would
    // add 7 %. Launches of a busy computer are not evenly spread between two changes.
    let expected = 0.3e-6 * number(&metrics["duration"]["value"]);
    let resolution = number(&found["statistics"]["step"]);
    let off = (number(&found["value"]) - expected).abs();
    assert!(off <= 0.03 * expected, "{off} J of {expected} J: {found:#}");
    assert!(resolution > 0.0 && resolution < 0.1 * expected, "{found:#}");
    let told = ["unit", "class", "source", "direction"].map(|key| found[key].clone());
    assert_eq!(told, ["J", "noisy", "measured", "lower"], "{found:#}");
    assert_eq!(found["statistics"]["processes"], 2, "{found:#}");
    let verdicts = run.events_of("threshold-judged");
    let verdicts: Vec<&Value> =
        verdicts.iter().map(|judged| &judged["judgement"]["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "fail"]);
}

#[test]
fn a_gpu_without_a_counter_has_no_energy_and_judges_none() {
    let gpu = FakeGpu::new();
    gpu.nvml("no-energy", "");
    let run = on_gpu(&gpu, &["--repeat", "1", "--threshold", "every energy <= 1 J"], 106);
    let reason = "NVML counts no energy of this GPU";
    assert_eq!(metrics(&run)["energy"]["unavailable"], reason);
    assert_eq!(verdict(&run), "unavailable");
}

#[test]
fn without_a_gpu_there_is_no_energy_and_nothing_is_judged() {
    let arguments = [&SORT[..], &["--threshold", "every energy <= 1 J"]].concat();
    let run = workshop().tool(&arguments).run().exits_with(106);
    let reason = "it is read from a GPU, and the emulated driver uses none";
    assert_eq!(metrics(&run)["energy"]["unavailable"], reason);
    assert_eq!(verdict(&run), "unavailable");
}

#[test]
fn energy_is_not_measured_unless_requested() {
    let run = on_gpu(&FakeGpu::new(), &["--repeat", "1"], 0);
    let reason = "it was not measured in this run; name it in --metrics";
    assert_eq!(metrics(&run)["energy"]["unavailable"], reason);
}
