//! The default isolation on a fake GPU: if a configuration goes wrong where those of its kernel are
//! counted together, it is counted alone, the others keep their results, and a note names it.
//!
//! The fixture goes wrong only next to others here, so that every configuration ends well.

use serde_json::Value;

use crate::support::replay::{ISOLATIONS, arguments, values, workshop};
use crate::support::{FakeGpu, Outcome, with_limit};

/// Runs the four configurations, of which the one with 2048 elements goes wrong in this way in the
/// second counter pass, next to others.
fn crowded(gpu: &FakeGpu, wrong: &str, more: &[&str]) -> Outcome {
    let tool = gpu.tool(&workshop(), &arguments(&["crowd"], more));
    tool.env("GOES_WRONG", format!("next-to-{wrong} 1 2048")).run()
}

/// The configurations that were measured again alone, each with the reason.
fn retried(outcome: &Outcome) -> Vec<(String, String)> {
    let rows = outcome.events_of("configuration-finished");
    let again = |row: &Value| {
        let key = row["configuration"].as_str().unwrap_or_default().to_owned();
        Some((key, row["retried"].as_str()?.to_owned()))
    };
    rows.iter().filter_map(again).collect()
}

/// Asserts that all four were counted: the configuration that went wrong, for this `reason`, alone
/// from then on, and the others together.
fn assert_apart(gpu: &FakeGpu, outcome: &Outcome, wrong: &str, reason: &str) {
    let of = |n: u64| [n / 32, n / 8, n / 32, 4 * n].map(|value| value as f64).to_vec();
    let expected = [1024, 2048, 3072, 4096].map(|n| (format!("n={n}"), of(n)));
    assert_eq!(values(outcome), expected.into(), "{wrong}: {outcome:#?}");
    let [(key, why)] = &retried(outcome)[..] else { panic!("{wrong}: {outcome:#?}") };
    assert!(key == "n=2048" && why.contains(reason), "{wrong}: {key}: {why}");
    for pass in 0..4 {
        let lines = gpu.logged(&format!("collected pass {pass}"));
        let shows = |line: &String, grid: u64| line.contains(&format!("[crowd {grid}x64]"));
        for grid in [16, 32, 48, 64] {
            let once = lines.iter().filter(|line| shows(line, grid)).count() == 1;
            assert!(once, "{wrong}, pass {pass}: {lines:#?}");
        }
        let with_others =
            |line: &String| shows(line, 32) && [16, 48, 64].iter().any(|&grid| shows(line, grid));
        assert_eq!(lines.iter().any(with_others), pass == 0, "{wrong}, pass {pass}: {lines:#?}");
    }
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn a_configuration_that_fails_next_to_others_is_retried_alone() {
    for (wrong, reason) in [
        ("panics", "the harness panicked at crowd/src/lib.rs"),
        ("faults", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("aborts", "the process was killed by SIGABRT (signal 6)"),
        ("resizes", "it changed CU_LIMIT_MALLOC_HEAP_SIZE of the context from 8388608 to 16777216"),
    ] {
        let gpu = FakeGpu::new();
        let outcome = crowded(&gpu, wrong, &[]).exits_with(0);
        assert_apart(&gpu, &outcome, wrong, reason);
    }
}

#[test]
fn a_configuration_that_hangs_next_to_others_is_retried_alone() {
    let gpu = FakeGpu::new();
    let within = |limit: &str| {
        gpu.forget();
        crowded(&gpu, "hangs", &["--timeout", limit])
    };
    let (seconds, outcome) = with_limit(within, |outcome| outcome.code == Some(0));
    let reason = format!("the process ran for {seconds} s and was killed (");
    assert_apart(&gpu, &outcome.exits_with(0), "hangs", &reason);
}

#[test]
fn a_configuration_whose_launch_differs_next_to_others_is_retried_alone() {
    let gpu = FakeGpu::new();
    let outcome = crowded(&gpu, "narrows", &[]).exits_with(0);
    let [(key, why)] = &retried(&outcome)[..] else { panic!("{outcome:#?}") };
    let reason = "counter pass 2: replay diverged: launch 1 is `crowd` grid 32x1x1 block 64x1x1";
    assert!(key == "n=2048" && why.starts_with(reason), "{key}: {why}");
    let counted = values(&outcome);
    assert_eq!(counted["n=2048"], [64.0, 256.0, 64.0, 8192.0]);
    assert_eq!(counted["n=4096"], [128.0, 512.0, 128.0, 16384.0]);
    assert_eq!(gpu.logged("collected pass 1").len(), 2, "together, and that one again");
    assert_eq!(gpu.logged("collected pass 3").len(), 2, "apart");
}

#[test]
fn on_the_emulated_driver_every_isolation_counts_the_same() {
    for selection in [["vector", "gather"], ["tiles", "reverse"], ["settles", "spends"]] {
        let counted = ISOLATIONS.map(|isolation| {
            values(&workshop().gpuprof(&arguments(&selection, isolation)).exits_with(0))
        });
        assert!(!counted[0].is_empty());
        assert!(counted.iter().all(|values| *values == counted[0]), "{counted:#?}");
    }
}
