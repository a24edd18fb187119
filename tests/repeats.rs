//! How many processes time a configuration: more where they differ, on a fake GPU with noise.

use std::fs;

use crate::support::replay::{ISOLATIONS, workshop};
use crate::support::{FakeGpu, Outcome};
use serde_json::Value;

/// A run of configurations with blocks of 64 and of 128 threads; the processes of those of 64
/// differ.
fn run(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    start(gpu, more).exits_with(0)
}

fn start(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    let run = ["run", "--package", "vector", "scale", "--replay-mode", "none", "--no-config"];
    let arguments = [&run[..], &["--message-format", "json"], more].concat();
    gpu.tool(&workshop(), &arguments).env("FAKE_CUDA_NOISE", "64:4").run()
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
fn a_run_that_was_killed_before_the_last_processes_of_a_configuration_continues_with_them() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let arguments = [&["--repeat", "2..4"], isolation].concat();
        let outcome = run(&gpu, &arguments);
        let id = outcome.events_of("run-started")[0]["id"].as_str().unwrap().to_owned();
        let journal = workshop().run_folder(&id).join("journal.jsonl");
        let whole = fs::read_to_string(&journal).unwrap();
        // The inputs of the run, and two passes of each; then one of the two that only one of them
        // needs.
        for lines in [5, 6] {
            let first: String = whole.split_inclusive('\n').take(lines).collect();
            fs::write(&journal, first).unwrap();
            let resumed = run(&gpu, &[&arguments[..], &["--resume", &id]].concat());
            assert_eq!(of_both(&resumed), [4, 2], "{lines} {isolation:?}");
        }
    }
}

#[test]
fn a_plain_repeat_is_the_exact_number_of_processes() {
    assert_eq!(processes(&["--repeat", "3", "--interleave", "none"]), [3, 3]);
}

/// A run in which blocks of 64 lie at both sides of a limit, one process after the other.
fn limited(gpu: &FakeGpu, more: &[&str]) -> Outcome {
    let quiet = run(&FakeGpu::new(), &["--repeat", "1"]);
    let rows = quiet.events_of("configuration-finished");
    let of_64 = rows.iter().find(|row| row["axes"]["block"] == "64").expect("it was measured");
    let limit = 1.02 * of_64["metrics"]["duration"]["value"].as_f64().expect("it has a duration");
    let threshold = format!("every duration <= {limit:.0} ns");
    run(gpu, &[&["--threshold", &threshold, "--isolate", "kernel"], more].concat())
}

#[test]
fn only_configurations_left_open_by_an_absolute_limit_get_more_rounds() {
    let of = |more: &[&str]| of_both(&limited(&FakeGpu::new(), more));
    assert_eq!(of(&["--repeat", "7", "--max-repeat", "20"]), [15, 7]);
    assert_eq!(of(&["--repeat", "7", "--max-repeat", "21"]), [21, 7]);
    for none in [&["--max-repeat", "7"], &["--time-budget", "1ms"]] {
        assert_eq!(of(&[&["--repeat", "7"], &none[..]].concat()), [7, 7], "{none:?}");
    }
    assert_eq!(of(&["--repeat", "7", "--no-gate"]), [7, 7]);
}

/// Processes of the configurations that have blocks of 64 threads, of so many in doubt.
fn of_doubtful(sizes: &str) -> Vec<Value> {
    let series = format!("n={sizes}");
    let outcome = limited(&FakeGpu::new(), &["--repeat", "7", "--series", &series]);
    let rows = outcome.events_of("configuration-finished");
    rows.iter()
        .filter(|row| row["axes"]["block"] == "64")
        .map(|row| row["metrics"]["duration"]["statistics"]["processes"].clone())
        .collect()
}

#[test]
fn the_last_undecided_configurations_get_more_rounds() {
    assert_eq!(of_doubtful("4096"), [431]);
    assert_eq!(of_doubtful("4096,4095,4094,4093"), [112; 4]);
}

#[test]
fn an_undecided_run_reports_its_rounds_and_what_would_decide() {
    let gpu = FakeGpu::new();
    let outcome = limited(&gpu, &["--repeat", "7", "--max-repeat", "15"]);
    let end = &outcome.events_of("run-finished")[0]["conclusion"];
    let sentence = end["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("Undecided: 1 of 2 judged configurations, none failed; "),
        "{sentence}"
    );
    assert!(sentence.ends_with("11.0 processes on average."), "{sentence}");
    let reason = end["undecided"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("15 processes do not decide: their mean is "), "{reason}");
    assert!(reason.contains(" would decide"), "{reason}");
    let id = outcome.events_of("run-started")[0]["id"].as_str().unwrap().to_owned();
    // A stored run is judged as it was when it ended, and a killed one ends in the same way.
    let again = gpu.tool(&workshop(), &["report", &id]).run().exits_with(0);
    assert!(
        again.stdout.contains("\n A configuration took 7 to 15 processes.\n"),
        "{}",
        again.stdout
    );
    let journal = workshop().run_folder(&id).join("journal.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    for lines in [4, 17] {
        let first: String = whole.split_inclusive('\n').take(lines).collect();
        fs::write(&journal, first).unwrap();
        let more = ["--repeat", "7", "--max-repeat", "15", "--resume", &id];
        assert_eq!(of_both(&limited(&gpu, &more)), [15, 7], "{lines}");
    }
}

/// The baseline's side cannot grow, so its possible decisions are reported before anything is
/// measured.
#[test]
fn a_stored_baseline_of_too_few_processes_is_reported_before_the_run() {
    let gpu = FakeGpu::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("base.json").display().to_string();
    run(&gpu, &["--repeat", "2", "--export-json", &file]);
    let few = start(&gpu, &["--repeat", "3", "--baseline", &file]).exits_with(106).stderr;
    let told = "cannot decide 2 of 2 comparisons, which will be inconclusive: a difference needs 3 \
                processes a side, and there are 2 in the baseline and 3 here; --base REV measures";
    assert!(few.contains(told), "{few}");
    run(&gpu, &["--repeat", "7", "--export-json", &file]);
    let more = run(&gpu, &["--repeat", "7", "--baseline", &file]).stderr;
    assert!(more.contains("has 7 processes a configuration, this run 7: about "), "{more}");
    assert!(more.contains("(noisiest: block=64,n="), "{more}");
}
