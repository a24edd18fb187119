//! `--chip`: the same series on several emulated chips.

use std::fs;

use crate::support::{FakeGpu, Outcome, Workspace};
use serde_json::Value;
use tempfile::TempDir;

fn workshop() -> Workspace {
    Workspace::fixture("workshop")
}

/// Runs `gather` at four strides with estimates, and with `more`.
fn run(more: &[&str]) -> Outcome {
    let arguments = [&["run", "--package", "vector", "gather"], more].concat();
    workshop().tool(&arguments).env("GPUEMU_ESTIMATE", "1").run()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is a temporary folder")
}

#[test]
fn each_chip_is_judged_separately_and_has_a_column() {
    let folder = folder();
    let [json, page, markdown] =
        ["a.json", "a.html", "a.md"].map(|name| folder.path().join(name).display().to_string());
    let exports = ["--export-json", &json, "--export-html", &page, "--export-markdown", &markdown];
    let chips = ["--chip", "a100,l4", "--threshold", "every duration <= 1 s"];
    let shown = run(&[&chips[..], &exports].concat()).exits_with(0).stdout;
    for text in [
        "vector::gather@a100\n  vector/src/lib.rs:15  on the emulated A100 (sm_80), times \
         estimated",
        "vector::gather@l4  vector/src/lib.rs:15  on the emulated L4 (sm_89), times estimated",
        "by model 7 of the A100, not measured; 90% intervals in parentheses; registers unknown; \
         not checked on hardware\n",
        "\nvector::gather by chip: ≈ duration [",
        " not checked on hardware: a100, l4\n",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for file in [page, markdown] {
        let text = fs::read_to_string(file).expect("it was written");
        assert!(text.contains("vector::gather by chip: ≈ duration"), "{text}");
        assert!(text.contains("not checked on hardware: a100, l4"), "{text}");
    }
    let document: Value = serde_json::from_slice(&fs::read(json).unwrap()).expect("it is JSON");
    let sms = |chip: &str| document["provenance"]["chips"][chip]["sm_count"].as_u64();
    assert_eq!((sms("a100"), sms("l4")), (Some(108), Some(58)));
    let id = document["id"].as_str().expect("it is a text");
    let verdict = workshop().stored().join("runs").join(id).join("verdict.json");
    let verdict: Value = serde_json::from_slice(&fs::read(verdict).unwrap()).expect("it is JSON");
    for (at, name) in ["a100", "l4"].into_iter().enumerate() {
        let judged = &verdict["judgements"][at];
        assert_eq!(judged["series"], format!("vector::gather@{name}"));
        assert_eq!(judged["thresholds"][1]["verdict"], "pass", "{judged:#}");
        assert_eq!(judged["estimated_by"]["chip"], name.to_uppercase());
        assert_eq!(judged["estimated_by"]["characterised"], false);
    }
}

#[test]
fn a_baseline_is_compared_chip_by_chip() {
    let folder = folder();
    let path = folder.path().join("baseline.json").display().to_string();
    run(&["--chip", "a100,l4", "--export-json", &path]).exits_with(0);
    let same = run(&["--chip", "l4,a100", "--baseline", &path, "--strict"]).exits_with(0);
    assert!(!same.stdout.contains("differs"), "{}", same.stdout);
    let missing = run(&["--chip", "a100,b200", "--baseline", &path, "--strict"]).exits_with(106);
    let said = "vector::gather@l4: in the baseline but not in this run";
    assert!(missing.stdout.contains(said), "{}", missing.stdout);
    let single = run(&["--chip", "a100", "--baseline", &path, "--strict"]).exits_with(106);
    assert!(single.stdout.contains("on the emulated A100 (sm_80)"), "{}", single.stdout);
    assert!(!single.stdout.contains("by chip"), "{}", single.stdout);
}

#[test]
fn shared_memory_beyond_a_chip_is_invalid_on_that_chip() {
    let axes = ["--series", "shared=64K,100K", "--series", "block=64", "--series", "given=2"];
    let selected = ["run", "--package", "pipeline", "scale_by", "--chip", "h100,rtx4090"];
    let json = ["--message-format", "json"];
    let outcome = workshop().gpuprof(&[&selected[..], &axes, &json].concat()).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    let of = |chip: &str, shared: &str| {
        let wanted = |row: &&Value| {
            row["series"]["chip"] == chip && row["axes"]["shared"].as_str() == Some(shared)
        };
        let row = rows.iter().find(wanted).expect("each chip has each row");
        [&row["status"], &row["status_reason"]]
            .map(|text| text.as_str().unwrap_or_default().to_owned())
    };
    for (chip, shared) in [("h100", "65536"), ("h100", "102400"), ("rtx4090", "65536")] {
        assert_eq!(of(chip, shared), ["finished", ""], "{chip} {shared}");
    }
    let reason = "102400 bytes of dynamic and 0 bytes of static shared memory exceed the device's \
                  limit of 101376 per block";
    assert_eq!(of("rtx4090", "102400"), ["invalid", reason]);
}

#[test]
fn invalid_chips_are_refused_before_the_run() {
    for (arguments, said) in [
        (&["--chip", "l40"][..], "[possible values: a100, h100, h200, l4, rtx4090, b200]"),
        (&["--chip", "l40"], "a similar value exists: 'l4'"),
        (&["--chip", "l4,h100,l4"], "error: --chip: l4 is named twice; name every chip once\n"),
        (
            &["--chip", "h100,l4", "--kernel-arch", "sm_90"],
            "error: --chip: l4 is an sm_89, which does not run PTX for sm_90 (--kernel-arch); \
             compile the kernels with --kernel-arch sm_89 or an older one\n",
        ),
        (&["--chip", "h100,l4", "--partition", "slice:1/2"], "cannot be divided into slices"),
    ] {
        let refused = run(arguments).exits_with(2);
        assert!(refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn chip_is_refused_if_a_gpu_answers() {
    let gpu = FakeGpu::new();
    let arguments = ["run", "--package", "vector", "scale", "--no-config", "--chip", "l4"];
    let refused = gpu.tool(&workshop(), &arguments).run().exits_with(2);
    let said = "error: --chip: `l4` names emulated chips, but a GPU answers here; add --backend \
                emulator\n";
    assert!(refused.stderr.ends_with(said), "{}", refused.stderr);
}

#[test]
fn the_configuration_file_names_chips_for_machines_without_a_gpu() {
    let folder = folder();
    let path = folder.path().join("own.toml");
    let configured = |text: &str| {
        fs::write(&path, text).expect("it can be written");
        let file = path.to_str().expect("the path is text");
        ["run", "--package", "vector", "scale", "--config-file", file].map(str::to_owned)
    };
    let preset = configured("[preset.fleet]\nchip = [\"a100\", \"l4\"]\n");
    let mut arguments: Vec<&str> = preset.iter().map(String::as_str).collect();
    arguments.extend(["-P", "fleet"]);
    let shown = workshop().gpuprof(&arguments).exits_with(0).stdout;
    assert!(shown.contains("\nvector::scale@l4  "), "{shown}");
    let arguments = configured("chip = [\"l4\"]\n");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let shown = workshop().gpuprof(&arguments).exits_with(0).stdout;
    assert!(shown.contains("on the emulated L4 (sm_89)"), "{shown}");
    let measured = FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0);
    let said = "chip = l4 [";
    assert!(measured.stderr.contains(said), "{}", measured.stderr);
    assert!(
        measured.stderr.contains("] has no effect: a GPU answers here\n"),
        "{}",
        measured.stderr
    );
    let arguments = configured("chip = [\"l4\", \"l5\"]\n");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let refused = workshop().gpuprof(&arguments).exits_with(96);
    assert!(refused.stderr.contains("l5"), "{}", refused.stderr);
}
