//! How many processes time a configuration: more where they differ, on a fake GPU with noise.

use std::fs;

use crate::support::replay::{ISOLATIONS, workshop};
use crate::support::{FakeGpu, Outcome};
use serde_json::Value;

/// A run of configurations with blocks of 64 and of 128 threads; the processes of those of 64
/// differ.
fn run(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    let run = ["run", "--package", "vector", "scale", "--replay-mode", "none", "--no-config"];
    let arguments = [&run[..], &["--message-format", "json"], more].concat();
    gpu.tool(&workshop(), &arguments).env("FAKE_CUDA_NOISE", "64:4").run().exits_with(0)
}

/// Processes that timed each of them.
fn processes(more: &[&str]) -> [Value; 2] {
    of_both(&run(&FakeGpu::new(), more))
}

fn of_both(outcome: &Outcome) -> [Value; 2] {
    let rows = outcome.events_of("configuration-finished");
    ["64", "128"].map(|block| {
        let of = |row: &&Value| row["axes"]["block"] == block;
        let row = rows.iter().find(of).unwrap_or_else(|| panic!("{rows:#?}"));
        assert_eq!(row["status"], "finished");
        row["metrics"]["duration"]["statistics"]["processes"].clone()
    })
}

#[test]
fn a_configuration_whose_processes_differ_is_timed_more_often() {
    assert_eq!(processes(&["--isolate", "kernel"]), [10, 7]);
    for isolation in ISOLATIONS {
        assert_eq!(processes(&[&["--repeat", "2..4"], isolation].concat()), [4, 2]);
        assert_eq!(processes(&[&["--repeat", "2..4", "--ahead", "1"], isolation].concat()), [4, 2]);
    }
}

#[test]
fn a_run_that_was_killed_before_the_last_processes_of_a_configuration_goes_on_with_them() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let arguments = [&["--repeat", "2..4"], isolation].concat();
        let outcome = run(&gpu, &arguments);
        let id = outcome.events_of("run-started")[0]["id"].as_str().unwrap().to_owned();
        let journal = workshop().run_folder(&id).join("journal.jsonl");
        let whole = fs::read_to_string(&journal).unwrap();
        // What the run is made of, and two passes of each; then one of the two that only one of
        // them wants.
        for lines in [5, 6] {
            let first: String = whole.split_inclusive('\n').take(lines).collect();
            fs::write(&journal, first).unwrap();
            let resumed = run(&gpu, &[&arguments[..], &["--resume", &id]].concat());
            assert_eq!(of_both(&resumed), [4, 2], "{lines} {isolation:?}");
        }
    }
}

#[test]
fn a_plain_number_is_that_number() {
    assert_eq!(processes(&["--repeat", "3", "--interleave", "none"]), [3, 3]);
}

/// The baseline's side cannot grow, so what it can decide is said before anything is measured.
#[test]
fn a_stored_baseline_of_too_few_processes_is_told_before_the_run() {
    let gpu = FakeGpu::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json").display().to_string();
    run(&gpu, &["--repeat", "2", "--export-json", &file]);
    let few = run(&gpu, &["--repeat", "3", "--baseline", &file]).stderr;
    let told = "cannot decide 2 of 2 comparisons, which will be inconclusive: a difference needs 3 \
                processes a side, and there are 2 in the baseline and 3 here; --base REV measures";
    assert!(few.contains(told), "{few}");
    run(&gpu, &["--repeat", "7", "--export-json", &file]);
    let more = run(&gpu, &["--repeat", "7", "--baseline", &file]).stderr;
    assert!(more.contains("has 7 processes a configuration, this run 7: about "), "{more}");
    assert!(more.contains("(noisiest: block=64,n="), "{more}");
}
