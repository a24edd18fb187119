//! Configurations that share a counter data image: each counts its own, whatever becomes of the
//! others, and no image is left.
//!
//! Each has another `n` here, so that what was counted in another's place would be seen.

use std::fs;
use std::path::PathBuf;

use crate::support::replay::{METRICS, arguments, values, workshop};
use crate::support::{FakeGpu, Happening, Outcome};
use serde_json::{Value, json};

/// All configurations of a kernel in a process, in the order of the series.
const TOGETHER: [&str; 4] = ["--isolate", "kernel", "--interleave", "none"];

/// Four values of `n`, by which grids and counts differ.
const FOUR: [u64; 4] = [1024, 2048, 3072, 4096];

/// No counter data.
const NONE: [PathBuf; 0] = [];

fn run(gpu: &FakeGpu, more: &[&str], environment: (&str, &str)) -> Outcome {
    let more = [&TOGETHER[..], more].concat();
    let tool = gpu.tool(&workshop(), &arguments(&["crowd"], &more));
    tool.env(environment.0, environment.1).run()
}

/// The status of the configuration with `n` elements, and why.
fn status(outcome: &Outcome, n: u64) -> (String, String) {
    let of = |event: &&Value| event["configuration"] == format!("n={n}");
    let events = outcome.events_of("configuration-finished");
    let event = events.iter().find(of).unwrap_or_else(|| panic!("{n} of {outcome:#?}"));
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("status_reason"))
}

/// Asserts the counts of those with `n` elements: a warp loads 32 of them, in sectors of 32 bytes.
fn counted(outcome: &Outcome, n: impl IntoIterator<Item = u64>, case: &str) {
    let all = values(outcome);
    for n in n {
        let worth = [n / 32, n / 8, n / 32, 4 * n].map(|value| value as f64);
        assert_eq!(
            all.get(&format!("n={n}")),
            Some(&worth.to_vec()),
            "{case}: {n} of {outcome:#?}"
        );
    }
}

/// The id of the run.
fn id(outcome: &Outcome) -> String {
    outcome.events_of("run-started")[0]["id"].as_str().expect("runs have names").to_owned()
}

/// The counter data in the folder of the run `id`.
fn images(id: &str) -> Vec<PathBuf> {
    let passes = fs::read_dir(workshop().run_folder(id).join("passes")).expect("it is kept");
    let image = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "image" || extension == "unfinished")
    };
    passes.flatten().map(|file| file.path()).filter(image).collect()
}

/// The counter data that is left of a run.
fn left(outcome: &Outcome) -> Vec<PathBuf> {
    images(&id(outcome))
}

/// Runs until `trouble` hangs, and kills the runner; returns the id of the run.
fn killed(gpu: &FakeGpu, more: &[&str], trouble: &str) -> String {
    gpu.forget();
    let more = [&TOGETHER[..], more].concat();
    let tool = gpu.tool(&workshop(), &arguments(&["crowd"], &more));
    let id = gpu.killed(tool.env("FAKE_CUPTI_TROUBLE", trouble), |_| true);
    gpu.forget();
    id
}

/// Applies `change` to the lines of the journal of the run `id`.
fn rewrite(id: &str, change: impl Fn(Vec<Value>) -> Vec<Value>) {
    let path = workshop().run_folder(id).join("journal.jsonl");
    let text = fs::read_to_string(&path).expect("it is text");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON"));
    let changed = change(lines.collect()).into_iter().map(|line| format!("{line}\n"));
    fs::write(path, changed.collect::<String>()).expect("it can be written");
}

#[test]
fn recalled_jobs_keep_their_images() {
    for (ahead, pass) in [("2", 0), ("1", 1), ("2", 2)] {
        let gpu = FakeGpu::new();
        let trouble = format!("abort pass={pass} grid=32");
        let outcome = run(&gpu, &["--ahead", ahead], ("FAKE_CUPTI_TROUBLE", &trouble));
        let outcome = outcome.exits_with(105);
        assert_eq!(status(&outcome, 2048).0, "failed");
        counted(&outcome, [1024, 3072, 4096], &format!("ahead {ahead} {trouble}"));
        assert_eq!(left(&outcome), NONE, "ahead {ahead} {trouble}");
    }
}

#[test]
fn the_image_of_a_crashed_process_is_removed() {
    let gpu = FakeGpu::new();
    // Two images: the process crashes in the session of the second one.
    let twenty = ["--series", "n=64..1280 step 64"];
    let outcome = run(&gpu, &twenty, ("FAKE_CUPTI_TROUBLE", "abort pass=0 grid=18"));
    let outcome = outcome.exits_with(105);
    counted(&outcome, (1..=20).filter(|&blocks| blocks != 18).map(|blocks| 64 * blocks), "20");
    assert_eq!(left(&outcome), NONE);
}

#[test]
fn a_failure_in_a_shared_pass_is_reported_for_its_configuration() {
    for (what, code, expected, reason) in [
        ("panics", 105, "failed", "the harness panicked at crowd/src/lib.rs"),
        (
            "fills",
            105,
            "failed",
            "allocating `y` (33554432 elements of f32): CUDA_ERROR_OUT_OF_MEMORY",
        ),
        ("faults", 105, "failed", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("refused", 0, "invalid", "a block of 4096 threads exceeds the device's limit of 1024"),
        ("next-to-panics", 0, "finished", ""),
        ("next-to-fills", 0, "finished", ""),
        ("next-to-faults", 0, "finished", ""),
    ] {
        for (pass, ahead) in [(0, "1"), (2, "0")] {
            let gpu = FakeGpu::new();
            let wrong = format!("{what} {pass} 2048");
            let outcome = run(&gpu, &["--ahead", ahead], ("GOES_WRONG", &wrong));
            let outcome = outcome.exits_with(code);
            let found = status(&outcome, 2048);
            assert_eq!(found.0, expected, "{wrong}: {}", found.1);
            assert!(found.1.contains(reason), "{wrong}: {}", found.1);
            let fine = FOUR.into_iter().filter(|&n| n != 2048 || expected == "finished");
            counted(&outcome, fine, &wrong);
            assert_eq!(left(&outcome), NONE, "{wrong}");
        }
    }
}

/// A GPU does not report such a store: the buffer is compared with its initial contents.
#[test]
fn a_gpu_run_reports_writes_to_read_only_buffers() {
    let gpu = FakeGpu::new();
    let all = arguments(&["faults", "writes_its_input"], &[]);
    let outcome = gpu.tool(&workshop(), &all).run().exits_with(105);
    let row = |how: u32| {
        let of = |event: &&Value| event["configuration"] == format!("how={how}");
        let events = outcome.events_of("configuration-finished");
        events.iter().find(of).expect("it was run")["status_reason"].to_string()
    };
    let wrong = "verify failed: the kernel takes `x` to read only, and changed";
    let rows = [0, 1, 2, 3].map(row);
    assert_eq!(rows[0], "null");
    assert!(
        rows[1].contains(&format!("{wrong} 31 of its 32 elements; first x[0]: from 0 to 7")),
        "{rows:#?}"
    );
    assert!(rows[2].contains(&format!("{wrong} 1 of its 32 elements; first x[5]: from 5 to 7")));
    assert!(rows[3].contains(&format!("{wrong} 1 of its 32 elements; first x[3]: from 3 to")));
}

#[test]
fn configurations_with_different_constants_share_a_process() {
    for selection in [["tiles", "reverse"], ["settles", "spends"]] {
        let emulated = workshop().gpuprof(&arguments(&selection, &[])).exits_with(0);
        let gpu = FakeGpu::new();
        let more = [&TOGETHER[..], &["--ahead", "1"]].concat();
        let outcome = gpu.tool(&workshop(), &arguments(&selection, &more)).run().exits_with(0);
        assert_eq!(values(&outcome), values(&emulated), "{selection:?}");
        // An entry point for each of the four pairs of constants, in one session; or a session for
        // each.
        let sessions = if selection[0] == "tiles" { 1 } else { 2 };
        assert_eq!(gpu.logged("collected pass 0").len(), sessions, "{selection:?}");
        assert_eq!(left(&outcome), NONE, "{selection:?}");
    }
}

#[test]
fn counters_that_cannot_be_combined_have_images_one_after_the_other() {
    let metrics = format!("{},pcie__read_bytes.sum", METRICS.join(","));
    for (ahead, trouble) in
        [("0", "abort pass=3 grid=48"), ("2", "abort pass=1 grid=48"), ("1", "")]
    {
        let gpu = FakeGpu::new();
        let more = ["--ahead", ahead, "--metrics", &metrics];
        let outcome = run(&gpu, &more, ("FAKE_CUPTI_TROUBLE", trouble));
        let outcome = outcome.exits_with(if trouble.is_empty() { 0 } else { 105 });
        counted(&outcome, FOUR.into_iter().filter(|&n| n != 3072 || trouble.is_empty()), trouble);
        assert_eq!(left(&outcome), NONE, "{trouble}");
    }
}

#[test]
fn nothing_is_created_on_the_device_during_a_pass() {
    let gpu = FakeGpu::new();
    // The launches that replace a missing one are prepared before.
    let trouble = "abort pass=1 grid=32";
    let more = [&TOGETHER[..], &["--ahead", "0"]].concat();
    let tool = gpu.tool(&workshop(), &arguments(&["crowd"], &more));
    tool.env("FAKE_CUPTI_TROUBLE", trouble).env("FAKE_TIMELINE", "1").run().exits_with(105);
    let timeline = gpu.timeline();
    let passes: Vec<_> = timeline.iter().filter(|h| h.what == "counts").collect();
    assert!(passes.len() > 4, "{timeline:#?}");
    let made = |h: &&Happening| h.what == "prepares" && passes.iter().any(|p| p.meets(h));
    assert_eq!(timeline.iter().find(made), None);
}

#[test]
fn additional_passes_are_attributed_to_their_configuration() {
    let gpu = FakeGpu::new();
    let outcome = run(&gpu, &[], ("FAKE_CUPTI_TROUBLE", "continue grid=32")).exits_with(105);
    let wants_more = "4 passes were planned, but CUPTI needs more";
    assert_eq!(status(&outcome, 2048), ("failed".to_owned(), wants_more.to_owned()));
    counted(&outcome, [1024, 3072, 4096], wants_more);
    assert_eq!(left(&outcome), NONE);
}

#[test]
fn a_runner_killed_within_a_shared_reply_resumes_from_both_images() {
    let gpu = FakeGpu::new();
    let run_id = killed(&gpu, &[], "hang pass=1 grid=32");
    let before = images(&run_id);
    let kept = before.iter().map(|path| fs::read(path).expect("it is there")).collect::<Vec<_>>();
    assert_eq!(kept.len(), 1, "{before:?}");
    assert_eq!(killed(&gpu, &["--resume", &run_id], "hang pass=2 grid=32"), run_id);
    // The moment at which two of four had been written, and the image of the pass before was still
    // there.
    rewrite(&run_id, |mut lines| {
        let cut = lines.split_off(lines.len() - 2);
        assert!(cut.iter().all(|line| line["collected"]["steps"] == 2), "{cut:?}");
        lines
    });
    fs::write(&before[0], &kept[0]).expect("it can be written");
    let outcome = run(&gpu, &["--resume", &run_id], ("FAKE_CUPTI_TROUBLE", "")).exits_with(0);
    counted(&outcome, FOUR, "killed");
    let flush = "[gpuprof_flush 1024x256]";
    let first = format!("0 [crowd 16x64] 1 [crowd 32x64] 2 {flush} 3 {flush}");
    let second = format!("0 {flush} 1 {flush} 2 [crowd 48x64] 3 [crowd 64x64]");
    let expected = [(1, &second), (2, &first), (2, &second), (3, &first), (3, &second)]
        .map(|(pass, ranges)| format!("collected pass {pass} of 4: {ranges}"));
    assert_eq!(gpu.logged("collected"), expected);
    assert_eq!(left(&outcome), NONE);
}

#[test]
fn a_journal_without_images_restarts_the_counters() {
    let gpu = FakeGpu::new();
    let run_id = killed(&gpu, &[], "hang pass=2 grid=32");
    rewrite(&run_id, |mut lines| {
        let collected = lines.iter_mut().filter_map(|line| line["collected"].as_object_mut());
        assert_eq!(collected.filter_map(|collected| collected.remove("image")).count(), 8);
        lines
    });
    let outcome = run(&gpu, &["--resume", &run_id], ("FAKE_CUPTI_TROUBLE", "")).exits_with(0);
    counted(&outcome, FOUR, "anew");
    assert_eq!(gpu.logged("collected").len(), 4);
    assert_eq!(left(&outcome), NONE);
}

#[test]
fn a_resumed_run_removes_images_of_finished_configurations() {
    let gpu = FakeGpu::new();
    let run_id = killed(&gpu, &[], "hang pass=2 grid=32");
    let status = json!({ "status": "failed", "reason": "it did" });
    rewrite(&run_id, |mut lines| {
        let by = lines.last().expect("it has lines")["by"].clone();
        lines.push(json!({
            "line": "ended", "series": 0, "configuration": 1, "status": status.clone(), "by": by,
        }));
        lines
    });
    let outcome = run(&gpu, &["--resume", &run_id], ("FAKE_CUPTI_TROUBLE", "")).exits_with(105);
    counted(&outcome, [1024, 3072, 4096], "ended");
    assert_eq!(left(&outcome), NONE);
}

#[test]
fn denied_counters_do_not_affect_finished_configurations() {
    let gpu = FakeGpu::new();
    let resumed = |more: &[&str], trouble: &str| {
        let metrics = METRICS.join(",");
        let common = ["run", "--package", "crowd", "--message-format", "json", "--no-config"];
        let counted = ["--repeat", "2..3", "--metrics", &metrics];
        let tool = gpu.tool(&workshop(), &[&common[..], &counted, &TOGETHER, more].concat());
        // Processes differ, so that each wants a third one.
        tool.env("FAKE_CUDA_NOISE", "64:4").env("FAKE_CUPTI_TROUBLE", trouble).run().exits_with(0)
    };
    let whole = resumed(&[], "");
    // Killed before the third ones; and the counter data of one was lost.
    rewrite(&id(&whole), |mut lines| {
        let count = lines.len();
        lines.retain(|line| line["repeat"] != 2);
        lines.retain(|line| line["line"] != "counters" || line["configuration"] != 1);
        assert_eq!(lines.len(), count - 5);
        lines
    });
    let outcome = resumed(&["--resume", &id(&whole)], "fail cuptiRangeProfilerStart 26");
    counted(&outcome, [1024, 3072, 4096], "denied");
    assert!(values(&outcome)["n=2048"].iter().all(|value| value.is_nan()));
}
