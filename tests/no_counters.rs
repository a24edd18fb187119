//! When hardware counters cannot be had: each way by its code, with cause, check and remedy, on a
//! fake GPU.

use std::fs;

use crate::support::replay::{METRICS, arguments, workshop};
use crate::support::{FakeGpu, Outcome};
use serde_json::Value;

/// Plans the counters of `scale` and starts nothing, in trouble.
fn planned(trouble: &str, more: &[&str]) -> Outcome {
    let (gpu, more) = (FakeGpu::new(), [&["--dry-run"], more].concat());
    let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], &more));
    tool.env("FAKE_CUPTI_TROUBLE", trouble).run()
}

#[test]
fn every_obstacle_is_reported_with_its_remedy() {
    let obstacles = [
        // No permission: at the session, or already at the question for counters.
        ("fail cuptiRangeProfilerEnable 35", "(35)", "--cap-add=SYS_ADMIN"),
        (
            "fail cuptiProfilerGetCounterAvailability 35",
            "(35)",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        // Another profiler, on the device or in the process.
        ("fail cuptiRangeProfilerEnable 26", "(26)", "dcgmi profile --pause"),
        ("fail cuptiProfilerInitialize 39", "(39)", "run without that tool"),
        // Virtual, sliced, confidential, of an unknown chip.
        ("fail cuptiRangeProfilerEnable 40", "(40)", "enable_profiling=1"),
        ("fail cuptiRangeProfilerEnable 33", "(33)", "bare metal"),
        ("fail cuptiRangeProfilerEnable 43", "(43)", "nvidia-smi -mig 0"),
        ("support vGpu 2", "virtual GPU: this is a virtual GPU whose host", "enable_profiling=1"),
        (
            "support confidentialCompute 1",
            "confidential computing: ",
            "without confidential computing",
        ),
        ("fail cuptiProfilerHostInitialize 46", "(46)", "install a newer CUPTI"),
        ("support architecture 1", "architecture: this CUPTI does not support", "a GPU below 7.0"),
        // A library that crashes is an answer.
        ("abort at=cuptiRangeProfilerEnable", "was killed by SIGABRT (signal 6)", "asked to abort"),
        (
            "abort at=cuptiRangeProfilerEnable",
            "set up CUPTI",
            "remedy: try a version that matches the driver's",
        ),
    ];
    for (trouble, said, remedy) in obstacles {
        let outcome = planned(trouble, &[]).exits_with(0);
        let line = outcome.stdout.lines().find(|line| line.contains("5 counters are unavailable"));
        assert!(line.is_some(), "{trouble}: {}", outcome.stdout);
        assert!(outcome.stdout.contains(said), "{trouble}: {}", outcome.stdout);
        assert!(outcome.stdout.contains(remedy), "{trouble}: {}", outcome.stdout);
    }
}

#[test]
fn times_are_measured_without_counters() {
    let gpu = FakeGpu::new();
    let arguments = arguments(&["vector", "scale"], &[]);
    let tool = gpu.tool(&workshop(), &arguments);
    let outcome = tool.env("FAKE_CUPTI_TROUBLE", "fail cuptiRangeProfilerEnable 35").run();
    let outcome = outcome.exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["status"], "finished");
        assert!(row["metrics"]["duration"]["value"].is_f64(), "{row:#}");
        for name in METRICS {
            let reason = row["metrics"][name]["unavailable"].as_str().unwrap_or_default();
            assert!(reason.contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"), "{row:#}");
            assert!(reason.contains("--cap-add=SYS_ADMIN"), "{row:#}");
        }
    }
    assert_eq!(gpu.logged("started"), [""; 0]);
}

/// The stored run of `scale`, timed in trouble, and its text for people.
fn timed(trouble: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let export = folder.path().join("run.json").display().to_string();
    let selection = ["run", "--package", "vector", "scale", "--repeat", "1", "--no-config"];
    let arguments = [&selection[..], &["-v", "--export-json", &export]].concat();
    let gpu = FakeGpu::new();
    let tool = gpu.tool(&workshop(), &arguments);
    let outcome = tool.env("FAKE_CUPTI_TROUBLE", trouble).run().exits_with(0);
    let text = fs::read_to_string(&export).expect("it was exported");
    (serde_json::from_str(&text).expect("it is JSON"), outcome.stdout)
}

#[test]
fn times_come_from_events_if_cupti_records_none() {
    let (by_device, shown_by_device) = timed("");
    let (by_events, shown_by_events) = timed("fail cuptiActivityEnable 39");
    let row = |run: &Value| run["series"][0]["configurations"][0].clone();
    for (run, timer) in [(&by_device, "device"), (&by_events, "events")] {
        assert_eq!(run["provenance"]["timer"], timer);
        assert_eq!(row(run)["timings"][0]["timer"], timer);
    }
    // The fake device's events add nothing, and are milliseconds of 32 bits.
    let duration = |run: &Value| row(run)["metrics"]["duration"]["value"].as_f64().unwrap();
    assert!((duration(&by_device) - duration(&by_events)).abs() < 0.01);
    assert!(!shown_by_device.contains("CUDA events"), "{shown_by_device}");
    let note = "CUDA events, which add some 2 µs to a launch: cuptiActivityEnable failed";
    assert!(shown_by_events.contains(note), "{shown_by_events}");
}

#[test]
fn a_threshold_on_counters_is_refused_without_them() {
    let judged = |more: &[&str]| {
        let gpu = FakeGpu::new();
        let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], more));
        tool.env("FAKE_CUPTI_TROUBLE", "fail cuptiRangeProfilerEnable 26").run()
    };
    let counted = ["--threshold", "every smsp__warps_launched.sum <= 128"];
    let outcome = judged(&counted).exits_with(107);
    assert!(outcome.stderr.contains("thresholds need hardware counters"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("dcgmi profile --pause"), "{}", outcome.stderr);
    // So does a dry run, which shows the plan of a run.
    let would = judged(&[&counted[..], &["--dry-run"]].concat()).exits_with(0).stdout;
    let said = "a run would start nothing and end with exit code 107; these thresholds need hardware counters:\n  vector::scale: \
                `every smsp__warps_launched.sum <= 128` (--threshold) needs smsp__warps_launched.sum\n";
    assert!(would.ends_with(said), "{would}");
    let dry = ["--dry-run", "--no-gate"];
    let would = judged(&[&counted[..], &dry].concat()).exits_with(0).stdout;
    assert!(!would.contains("107"), "{would}");
    // A run without a decision, or without a need for counters, is not stopped.
    judged(&[&counted[..], &["--no-gate"]].concat()).exits_with(0);
    judged(&["--threshold", "every duration <= 1 s"]).exits_with(0);
}

#[test]
fn thresholds_that_a_baseline_brings_need_counters_too() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("base.json");
    let run = |trouble: &str, more: &[&str]| {
        let gpu = FakeGpu::new();
        let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], more));
        tool.env("FAKE_CUPTI_TROUBLE", trouble).run()
    };
    let baseline = baseline.to_str().unwrap();
    run("", &["--export-json", baseline]).exits_with(0);
    for function in ["cuptiRangeProfilerEnable", "cuptiRangeProfilerStart"] {
        let denied = format!("fail {function} 35");
        let junit = folder.path().join("run.xml");
        let export = ["--export-junit", junit.to_str().unwrap()];
        let compared = ["--baseline", baseline, "--save-baseline", "without-counters"];
        let arguments = [&compared[..], &export].concat();
        let outcome = run(&denied, &arguments).exits_with(107);
        assert!(outcome.stderr.contains("not kept as baseline"), "{}", outcome.stderr);
        let said = "thresholds need hardware counters, which could not be collected.\n  vector::scale: \
                    `every ";
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("<= baseline` (default) needs "), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--cap-add=SYS_ADMIN"), "{}", outcome.stderr);
        let end = &outcome.events_of("run-finished")[0];
        assert_eq!(end["exit_code"], 107, "{end:#}");
        let junit = std::fs::read_to_string(junit).unwrap();
        assert!(junit.contains("exit code 107: profiling is not possible here."), "{junit}");
        let (before, _) = junit.split_once("type=\"unavailable\"").unwrap();
        let element = &before[before.rfind('<').unwrap()..];
        assert!(element.starts_with("<error "), "{element}");
    }
    run("", &["--baseline", baseline, "--replay-mode", "none"]).exits_with(106);
}

#[test]
fn more_passes_than_allowed_are_refused_before_anything_starts() {
    let gpu = FakeGpu::new();
    let arguments = arguments(&["vector", "scale"], &["--max-passes", "3"]);
    let outcome = gpu.tool(&workshop(), &arguments).run().exits_with(2);
    assert!(
        outcome
            .stderr
            .contains("the counters need 4 passes per configuration, but --max-passes allows 3"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains(": 3 passes"), "{}", outcome.stderr);
    assert_eq!(gpu.logged("started"), [""; 0]);
    planned("", &["--max-passes", "4"]).exits_with(0);
}

#[test]
fn a_metric_that_the_chip_does_not_have_is_refused_with_the_nearest() {
    let run = ["run", "--package", "vector", "scale", "--no-config", "--metrics"];
    let asked = |names: &str| {
        FakeGpu::new().tool(&workshop(), &[&run[..], &[names]].concat()).run().exits_with(2).stderr
    };
    let unknown = asked("smsp__warps_lunched.sum");
    assert!(unknown.contains("smsp__warps_launched"), "{unknown}");
    let submetric = asked("smsp__warps_launched.sum.per_fortnight");
    assert!(submetric.contains(".sum.per_second"), "{submetric}");
}

#[test]
fn without_replay_cupti_is_not_called() {
    let gpu = FakeGpu::new();
    let arguments = arguments(&["vector", "scale"], &["--replay-mode", "none"]);
    let outcome = gpu.tool(&workshop(), &arguments).run().exits_with(0);
    let of = |row: &Value| row["metrics"][METRICS[0]]["unavailable"].clone();
    let reasons: Vec<Value> = outcome.events_of("configuration-finished").iter().map(of).collect();
    assert_eq!(reasons, ["--replay-mode none collects no counters"; 2]);
    assert_eq!(gpu.log(), [""; 0]);
}

#[test]
fn a_library_is_found_by_a_relative_path_and_an_empty_variable_names_none() {
    let counted = |cupti: &str| {
        let gpu = FakeGpu::new();
        let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], &[]));
        let outcome = tool.env("GPUPROF_CUPTI", cupti).run().exits_with(0);
        let of = |row: &Value| row["metrics"][METRICS[2]]["value"].as_f64();
        outcome.events_of("configuration-finished").iter().map(of).collect::<Vec<_>>()
    };
    // The processes that measure run in the package's folder, not in this one.
    let root = workshop().root.canonicalize().unwrap();
    let up = "../".repeat(root.components().count() - 1);
    let relative = format!("{up}{}", FakeGpu::libraries().strip_prefix("/").unwrap().display());
    assert_eq!(counted(&relative), [Some(128.0); 2]);
    // Then it is looked for, and found on the library path.
    assert_eq!(counted(""), [Some(128.0); 2]);
    let doctor = FakeGpu::new().tool(&workshop(), &["doctor"]).env("GPUPROF_CUPTI", "").run();
    let said = format!("({} (LD_LIBRARY_PATH))\n", FakeGpu::libraries().display());
    assert!(doctor.stdout.contains(&said), "{}", doctor.stdout);
}

#[test]
fn a_run_agrees_with_the_dry_run_before_it() {
    let gpu = FakeGpu::new();
    let workspace = workshop();
    let run = |trouble: &str, more: &[&str]| {
        let counted = ["--threshold", "every smsp__warps_launched.sum <= 128"];
        let arguments = arguments(&["vector", "scale"], &[&counted, more].concat());
        gpu.tool(&workspace, &arguments).env("FAKE_CUPTI_TROUBLE", trouble).run()
    };
    let denied = "fail cuptiRangeProfilerEnable 35";
    // This keeps a plan, which says that counters can be had.
    run("", &[]).exits_with(0);
    run(denied, &["--dry-run"]).exits_with(0);
    let refused = run(denied, &[]).exits_with(107);
    assert!(refused.stderr.contains("nothing was run"), "{}", refused.stderr);
}

#[test]
fn counters_withheld_from_a_mig_instance_are_unavailable() {
    let run = |more: &[&str], trouble: &str| {
        let gpu = FakeGpu::new();
        let tool = gpu
            .tool(&workshop(), &arguments(&["vector", "scale"], more))
            .env("FAKE_CUPTI_TROUBLE", trouble);
        tool.run()
    };
    let outcome = run(&[], "withhold l1tex").exits_with(0);
    for event in outcome.events_of("configuration-finished") {
        assert_eq!(event["status"], "finished");
        for metric in METRICS {
            let found = &event["metrics"][metric];
            let withheld = metric.starts_with("l1tex");
            assert_eq!(found["value"].is_null(), withheld, "{metric}: {found}");
            let reason = found["unavailable"].as_str().unwrap_or_default();
            assert_eq!(
                reason.contains("a MIG instance has no counters for units"),
                withheld,
                "{metric}: {found}"
            );
        }
    }
    let told = run(&["--dry-run"], "withhold l1tex").exits_with(0).stdout;
    assert!(
        told.contains(&format!("left out: {}: the chip has this counter", METRICS[0])),
        "{told}"
    );
    // A threshold that needs one is refused before anything runs; a threshold that needs another is
    // not.
    let threshold = |metric: &str| format!("every {metric} >= 1");
    let needs = run(&["--threshold", &threshold(METRICS[0])], "withhold l1tex").exits_with(107);
    assert!(
        needs.stderr.contains(METRICS[0]) && needs.stderr.contains("nvidia-smi -L"),
        "{needs:#?}"
    );
    assert_eq!(needs.events_of("configuration-finished"), [] as [Value; 0]);
    run(&["--threshold", &threshold(METRICS[2])], "withhold l1tex").exits_with(0);
    // All of them: the machine gives no counters that are asked for.
    let none = run(&[], "withhold l1tex; withhold smsp").exits_with(0);
    let event = &none.events_of("configuration-finished")[0];
    assert!(METRICS.iter().all(|metric| event["metrics"][*metric]["value"].is_null()), "{event:#}");
    // Counters that no such chip has are the user's error, on a slice too.
    let unknown = run(&["--threshold", &threshold("l1tex__nonsense.sum")], "withhold l1tex");
    assert_eq!(unknown.code, Some(2), "{unknown:#?}");
}
