//! Conditions that weaken a comparison without differing between its sides: the report, the run
//! document and `verdict.json` name them, and a lost verification is not a pass.

use std::fs;

use crate::support::{Outcome, Packed};
use serde_json::Value;

/// A run of `gather` on the emulator next to the same archive, with a configuration file.
fn run_against_itself(packed: &Packed, configuration: &str, arguments: &[&str]) -> Outcome {
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
fn two_unverified_sides_pass_with_a_note() {
    let packed = Packed::new();
    let outcome = run_against_itself(&packed, "", &["--no-verify"]).exits_with(0);
    is_unverified(&packed, &outcome, "--no-verify");
    let verified = run_against_itself(&Packed::new(), "", &[]).exits_with(0);
    assert!(!verified.stdout.contains(" not verified "), "{}", verified.stdout);
}

/// That every place says that the option or line `why` turned the verification of the only run off.
fn is_unverified(packed: &Packed, outcome: &Outcome, why: &str) {
    let line = format!("\n not verified  {why}\n");
    assert!(outcome.stdout.contains(&line), "{}", outcome.stdout);
    assert!(outcome.stderr.contains(&format!("not verified: {why}")), "{}", outcome.stderr);
    let [run] = &packed.runs()[..] else { panic!("one run") };
    let read = |document: &str| -> Value {
        serde_json::from_slice(&fs::read(run.join(document)).unwrap()).unwrap()
    };
    assert_eq!(read("run.json")["provenance"]["not_verified"], why);
    assert_eq!(read("verdict.json")["not_verified"], why);
    assert_eq!(
        read("verdict.json")["judgements"][0]["unverified"][0],
        serde_json::json!({ "configuration": "block=64,stride=1,n=4096" })
    );
    for (format, label) in [
        ("markdown", "* not verified: "),
        ("html", "<dt>not verified</dt>"),
        ("table", " not verified  "),
    ] {
        let again = packed.other(&["report", "latest", "--format", format]).run().exits_with(0);
        assert!(again.stdout.contains(label), "{format}: {}", again.stdout);
    }
}

#[test]
fn a_run_says_what_turned_its_verification_off() {
    let packed = Packed::new();
    let limit = ["gather", "--threshold", "every ptx_instructions >= 1", "--strict"];
    let outcome = packed.tool(&[&limit[..], &["--no-verify"]].concat()).run().exits_with(0);
    is_unverified(&packed, &outcome, "--no-verify");
    let packed = Packed::new();
    fs::write(packed.path().join("own.toml"), "verify = false\n").unwrap();
    let of_file = [&limit[..], &["--config-file", "own.toml"]].concat();
    let outcome = packed.tool(&of_file).run().exits_with(0);
    is_unverified(&packed, &outcome, "`verify = false` in own.toml");
}

#[test]
fn a_direction_of_the_file_applies_to_both_sides() {
    let packed = Packed::new();
    let turned = "[metrics.global_sectors]\ndirection = \"higher\"\n";
    let outcome = run_against_itself(&packed, turned, &[]).exits_with(0);
    let note = "direction of global_sectors set in own.toml: higher is better";
    is_told(&packed, &outcome, note);
}

#[test]
fn axes_of_the_file_apply_to_both_sides() {
    let packed = Packed::new();
    let narrowed = "[series.\"gather\"]\naxes = [\"stride=1\"]\n";
    let outcome = run_against_itself(&packed, narrowed, &[]).exits_with(0);
    let note = "3 of 4 configurations of vector::gather are left out by `stride=1` of \
                [series.\"gather\"] in own.toml";
    is_told(&packed, &outcome, note);
}

#[test]
fn a_run_less_verified_than_its_baseline_does_not_pass() {
    let packed = Packed::new();
    packed.tool(&["gather", "--save-baseline", "main"]).run().exits_with(0);
    let weaker = ["gather", "--baseline", "main", "--no-verify", "--strict"];
    let outcome = packed.tool(&weaker).run().exits_with(106);
    let missing = "\n missing  vector::gather: verification by its reference is in the \
                   baseline `main` and not in this run\n";
    assert!(outcome.stdout.contains(missing), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\n not verified  --no-verify\n"), "{}", outcome.stdout);
}

#[test]
fn a_quick_run_is_not_judged() {
    let packed = Packed::new();
    packed.tool(&["gather", "--export-json", "old.json"]).run().exits_with(0);
    packed.tool(&["gather", "--quick", "--export-json", "quick.json"]).run().exits_with(0);
    let loaded = ["--load-baseline", "quick.json", "--baseline", "./old.json"];
    for outcome in [
        packed.other(&["compare", "old.json", "quick.json"]).run(),
        packed.other(&[&["run"], &loaded[..]].concat()).run(),
    ] {
        let outcome = outcome.exits_with(2);
        let reason = "`quick.json` is a quick run, in which nothing is judged";
        assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
    }
}

#[test]
fn a_stored_run_is_judged_by_the_same_thresholds_in_both_commands() {
    let packed = Packed::new();
    packed.tool(&["gather", "--export-json", "old.json"]).run().exits_with(0);
    let asked =
        ["gather", "--threshold", "every ptx_instructions <= 1", "--export-json", "new.json"];
    packed.tool(&asked).run().exits_with(100);
    packed.other(&["compare", "old.json", "new.json"]).run().exits_with(100);
    let loaded = ["run", "--load-baseline", "new.json", "--baseline", "./old.json"];
    packed.other(&loaded).run().exits_with(100);
}

#[test]
fn a_direction_changed_since_the_baseline_gives_no_improvement() {
    let packed = Packed::new();
    packed.tool(&["gather", "--save-baseline", "main"]).run().exits_with(0);
    let turned = "[metrics.global_sectors]\ndirection = \"higher\"\n";
    fs::write(packed.path().join("own.toml"), turned).unwrap();
    let compared = ["gather", "--baseline", "main", "--strict", "--config-file", "own.toml"];
    let outcome = packed.tool(&compared).run().exits_with(106);
    assert!(outcome.stdout.contains(" INCOMPARABLE  "), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("improved"), "{}", outcome.stdout);
}

#[test]
fn weaker_verification_than_the_baseline_does_not_pass() {
    let packed = Packed::new();
    packed.tool(&["gather", "--save-baseline", "main"]).run().exits_with(0);
    let compared = ["gather", "--baseline", "main"];
    let unchecked = [&compared[..], &["--check", "none"]].concat();
    let outcome = packed.tool(&unchecked).run().exits_with(0);
    let weaker = "\n weaker  vector::gather/block=64,stride=1,n=4096, and 3 more: `init` and `race` \
                  are checked in the baseline, and not here\n";
    assert!(outcome.stdout.contains(weaker), "{}", outcome.stdout);
    packed.tool(&[&unchecked[..], &["--strict"]].concat()).run().exits_with(106);
    let markdown = packed.other(&["report", "latest", "--format", "markdown"]).run().exits_with(0);
    assert!(markdown.stdout.contains("weaker: "), "{}", markdown.stdout);

    packed.tool(&[&compared[..], &["--strict"]].concat()).run().exits_with(0);
    let baseline = packed.path().join("target/gpuprof/baselines/main.json");
    let stored: Value = serde_json::from_slice(&fs::read(&baseline).unwrap()).unwrap();
    // As if the reference had compared more, of all or of a buffer, or after other inputs.
    for (field, text) in [
        (
            "verification/elements",
            "4096 elements are compared with the reference, and 4097 in the baseline",
        ),
        (
            "verification/buffers/y",
            "4096 elements of `y` are compared with the reference, and 4097 in the baseline",
        ),
        ("inputs", "the inputs are not those of the baseline"),
    ] {
        let mut other = stored.clone();
        let path = format!("/series/0/configurations/1/{field}");
        let value = other.pointer_mut(&path).expect("it says what was compared");
        *value = (value.as_u64().expect("it is a number") + 1).into();
        fs::write(&baseline, serde_json::to_vec(&other).unwrap()).unwrap();
        let outcome = packed.tool(&[&compared[..], &["--strict"]].concat()).run().exits_with(106);
        let weaker = format!("\n weaker  vector::gather/block=64,stride=2,n=4096: {text}\n");
        assert!(outcome.stdout.contains(&weaker), "{}", outcome.stdout);
    }
}
