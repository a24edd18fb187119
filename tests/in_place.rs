//! Timed samples of a kernel that changes its inputs, on a fake GPU with times that follow from the
//! launch; and kernels that change less than their reference.

use std::fs;

use serde_json::{Value, json};

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Outcome};

/// The times of `kernel` in nanoseconds and the state of its buffers, for blocks of 64 and of 128
/// threads.
fn timings(kernel: &str) -> Vec<(Vec<f64>, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let run = ["run", "--quiet", "--no-config", "--package", "in-place", "--replay-mode", "none"];
    let exported = ["--repeat", "1", "--export-json", file.to_str().unwrap()];
    let filter = format!("in-place::kernels::{kernel}");
    let arguments = [&run[..], &exported, &["--exact", &filter]].concat();
    FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0);
    let run: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let rows = run["series"][0]["configurations"].as_array().unwrap();
    let timing = |row: &Value| {
        assert_eq!(row["verified"], true, "{row:#}");
        let timing = &row["timings"][0];
        let samples = timing["samples_ns"].as_array().unwrap();
        let samples = samples.iter().map(|sample| sample.as_f64().unwrap()).collect();
        (samples, timing["in_place"].clone())
    };
    rows.iter().map(timing).collect()
}

#[test]
fn every_timed_sort_gets_the_original_keys() {
    let (each, once) = (timings("bitonic_step"), timings("bitonic_once"));
    assert_eq!((each.len(), once.len()), (2, 2));
    for ((each, said), (once, said_once)) in each.iter().zip(&once) {
        assert_eq!(*said, json!({"reset": "each", "buffers": ["keys"]}));
        assert_eq!(*said_once, json!({"reset": "once", "buffers": ["keys"]}));
        assert!(each.len() >= 20 && each.iter().all(|sample| *sample == each[0]), "{each:?}");
        // The launches before the first sample have sorted the pairs.
        assert!(once.iter().all(|sample| *sample < each[0]), "{once:?} {}", each[0]);
    }
}

#[test]
fn only_buffers_that_a_kernel_reads_are_restored() {
    for (samples, said) in timings("scan") {
        assert_eq!(said, json!({"reset": "each", "buffers": ["x"]}), "`total` is not read");
        assert!(samples.iter().all(|sample| *sample == samples[0]), "{samples:?}");
    }
}

/// A second launch would find no tickets left, also where launches warm the device up for counters.
#[test]
fn consumed_inputs_are_restored_for_every_launch() {
    for mode in ["application", "range", "kernel"] {
        let run = ["run", "--no-config", "--package", "in-place", "tickets", "--repeat", "1"];
        let gpu = FakeGpu::new();
        let arguments = [&run[..], &["--replay-mode", mode]].concat();
        let outcome = gpu.tool(&workshop(), &arguments).run().exits_with(0);
        assert!(outcome.stdout.contains("verified  every row"), "{mode}: {outcome:#?}");
    }
}

#[test]
fn sizes_are_not_ranked_by_time_without_declared_work() {
    let run = ["run", "--quiet", "--no-config", "--package", "in-place", "--replay-mode", "none"];
    let sizes = ["--repeat", "1", "bitonic_step", "--series", "n=1024,4096"];
    let table = |more: &[&str]| {
        let arguments = [&run[..], &sizes, more].concat();
        FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0).stdout
    };
    let text = table(&[]);
    let why = "no row is best: the rows have buffers of different sizes, and the annotation declares \
               no work (`bytes`, `flops`)";
    assert!(text.contains(why), "{text}");
    assert!(
        !text.contains("vs best") && !text.contains('*') && !text.contains("variance"),
        "{text}"
    );
    // Of one size, blocks are compared.
    assert!(table(&["--series", "n=4096"]).contains("vs best"));
}

/// The table of `kernel` on the emulated driver.
fn table(kernel: &str) -> Outcome {
    workshop().gpuprof(&["run", "--quiet", "--all", "--package", "in-place", kernel])
}

#[test]
fn a_kernel_that_writes_nothing_is_not_verified_however_small_the_values_and_wide_the_tolerance() {
    let outcome = table("writes_nothing").exits_with(105);
    let reason = "verify failed: `y` holds what it held before the launch, and the reference changes 64 of its 64 elements";
    assert!(outcome.stdout.contains(reason), "{outcome:#?}");
}

#[test]
fn small_values_get_a_tolerance_of_their_scale() {
    let outcome = table("halves").exits_with(105);
    assert!(
        outcome.stdout.contains("`y` differs from the host in 64 of 64 elements"),
        "{outcome:#?}"
    );
}

#[test]
fn the_table_says_what_was_verified_and_what_samples_found() {
    let run = ["run", "--quiet", "--no-config", "--package", "in-place", "--replay-mode", "none"];
    let arguments = [&run[..], &["--all", "--repeat", "1", "bitonic"]].concat();
    let text = FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0).stdout;
    for note in [
        " verified  every row: equal to the reference (keys: 4096 elements)\n",
        " reset     keys: restored before every sample, outside the timed window\n",
        " reset     keys: each sample continues from the previous one's output (reset = once)\n",
    ] {
        assert!(text.contains(note), "{note}\n{text}");
    }
}
