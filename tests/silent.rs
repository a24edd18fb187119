//! Conditions that weaken a comparison without differing between its sides: the report, the run
//! document and `verdict.json` name them, and a lost verification is not a pass.

use std::fs;

use crate::support::{Outcome, Packed};
use serde_json::Value;

const UNVERIFIED: &str = "no result is compared with a reference (--no-verify), and a wrong one may \
                          be the faster one";

/// A run of `gather` on the emulator next to the same archive, with a configuration file.
fn beside_itself(packed: &Packed, configuration: &str, arguments: &[&str]) -> Outcome {
    fs::write(packed.path().join("own.toml"), configuration).unwrap();
    let base = ["gather", "--base-archive", "packed.tar.zst", "--strict"];
    let file = ["--config-file", "own.toml"];
    packed.tool(&[&base[..], &file, arguments].concat()).run()
}

/// That every place says `note` of the only run: the report, Markdown, the run and the verdict.
fn is_told(packed: &Packed, outcome: &Outcome, note: &str) {
    let line = format!("\n note  {note}\n");
    assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let [run] = &packed.runs()[..] else { panic!("one run") };
    for document in ["run.json", "verdict.json"] {
        let bytes = fs::read(run.join(document)).unwrap();
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["comparison"]["notes"], serde_json::json!([note]), "{document}");
    }
    for format in ["markdown", "html", "table"] {
        let again = packed.other(&["report", "latest", "--format", format]).run().exits_with(0);
        // Markdown and HTML escape some of it.
        let beginning = note.split(['`', '(', '_']).next().unwrap();
        assert!(again.stdout.contains(beginning), "{format}: {}", again.stdout);
    }
}

#[test]
fn neither_side_is_verified() {
    let packed = Packed::new();
    let outcome = beside_itself(&packed, "", &["--no-verify"]).exits_with(0);
    is_told(&packed, &outcome, UNVERIFIED);
    let verified = beside_itself(&Packed::new(), "", &[]).exits_with(0);
    assert!(!verified.stdout.contains(" note "), "{}", verified.stdout);
}

#[test]
fn a_file_turns_the_direction_of_a_metric_for_both_sides() {
    let packed = Packed::new();
    let turned = "[metrics.global_sectors]\ndirection = \"higher\"\n";
    let outcome = beside_itself(&packed, turned, &[]).exits_with(0);
    let note = "direction of global_sectors set in own.toml: higher is better";
    is_told(&packed, &outcome, note);
}

#[test]
fn a_file_narrows_the_axes_of_both_sides() {
    let packed = Packed::new();
    let narrowed = "[series.\"gather\"]\naxes = [\"stride=1\"]\n";
    let outcome = beside_itself(&packed, narrowed, &[]).exits_with(0);
    let note = "3 of 4 configurations of vector::kernels::gather are left out by `stride=1` of \
                [series.\"gather\"] in own.toml";
    is_told(&packed, &outcome, note);
}

#[test]
fn a_run_that_does_not_verify_what_its_baseline_did_is_no_pass() {
    let packed = Packed::new();
    packed.tool(&["gather", "--save-baseline", "main"]).run().exits_with(0);
    let weaker = ["gather", "--baseline", "main", "--no-verify", "--strict"];
    let outcome = packed.tool(&weaker).run().exits_with(106);
    let missing = "\n missing  vector::kernels::gather: verification by its reference is in the \
                   baseline `main` and not in this run\n";
    assert!(outcome.stdout.contains(missing), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(&format!("\n note  {UNVERIFIED}\n")), "{}", outcome.stdout);
}

#[test]
fn a_direction_that_a_file_turned_since_the_baseline_is_no_improvement() {
    let packed = Packed::new();
    packed.tool(&["gather", "--save-baseline", "main"]).run().exits_with(0);
    let turned = "[metrics.global_sectors]\ndirection = \"higher\"\n";
    fs::write(packed.path().join("own.toml"), turned).unwrap();
    let compared = ["gather", "--baseline", "main", "--strict", "--config-file", "own.toml"];
    let outcome = packed.tool(&compared).run().exits_with(106);
    assert!(outcome.stdout.contains(" INCOMPARABLE  "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("improved"), "{}", outcome.stdout);
}
