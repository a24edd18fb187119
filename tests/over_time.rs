//! Counters over the time of launches (`--section PmSampling`).

use serde_json::Value;

use crate::support::{FakeGpu, Tool, Workspace};

/// The bytes that loads read from DRAM, by another pass.
const READ: &str = "dram__bytes_read.sum";

/// The rows of `scale` with their samples, and the table, on a fake GPU with this `trouble`.
fn sampled(gpu: &FakeGpu, trouble: &str) -> (Vec<Value>, String) {
    let run = |workshop: &Workspace, arguments: &[&str]| {
        gpu.tool(workshop, arguments).env("FAKE_CUPTI_TROUBLE", trouble)
    };
    rows(run, &["--metrics", READ])
}

/// The rows of `scale` with their samples, and the table, by `tool` with `more` arguments.
fn rows(tool: impl Fn(&Workspace, &[&str]) -> Tool, more: &[&str]) -> (Vec<Value>, String) {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let series = ["run", "--package", "vector", "scale", "--repeat", "1", "--no-config", "--all"];
    // Long enough for ten samples.
    let long = ["--series", "n=64K"];
    let section = ["--section", "PmSampling", "--export-json", &file];
    let workshop = Workspace::fixture("workshop");
    let ran = tool(&workshop, &[&series[..], &long, &section, more].concat()).run();
    let table = ran.exits_with(0).stdout.clone();
    let text = std::fs::read_to_string(&file).expect("it was exported");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    (run["series"][0]["configurations"].as_array().expect("rows").clone(), table)
}

#[test]
fn samples_of_a_gpu_add_up_to_its_counters() {
    let gpu = FakeGpu::new();
    let (rows, table) = sampled(&gpu, "");
    for row in &rows {
        let over_time = &row["over_time"];
        let labels: Vec<&Value> = over_time["counters"]
            .as_array()
            .expect("counters")
            .iter()
            .map(|it| &it["label"])
            .collect();
        // The fake has no other counters of the section.
        assert_eq!(labels, ["SMs active", "read from DRAM", "written to DRAM"], "{row:#}");
        let samples = over_time["samples"].as_array().expect("samples");
        assert!(samples.len() >= 10, "{row:#}");
        let bytes = |sample: &Value| {
            let length = sample["end_ns"].as_f64().zip(sample["start_ns"].as_f64());
            let (end, start) = length.expect("times");
            sample["values"][1].as_f64().expect("a rate") * (end - start) / 1e9
        };
        let sum: f64 = samples.iter().map(bytes).sum();
        let counted = row["metrics"][READ]["value"].as_f64().expect("a value");
        assert!((sum - counted).abs() < 0.5, "{sum} and {counted} bytes");
        assert!(samples.iter().all(|sample| sample["context_switch"].is_null()), "{row:#}");
    }
    assert_eq!(table.matches(" counters over the time of ").count(), rows.len(), "{table}");
    let log = gpu.log();
    let sessions = log.iter().filter(|line| line.starts_with("samples every ")).count();
    // The first of two in each process sets the GPU up.
    assert!(sessions >= 2 * rows.len(), "{log:#?}");
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn samples_that_fail_leave_the_rest_of_the_run_and_say_why() {
    for (trouble, missing) in [
        ("drop last-samples 1", "the GPU lost the last samples"),
        ("drop records 1", "the buffer of the GPU was too small"),
        ("fail cuptiPmSamplingEnable 7", "cuptiPmSamplingEnable"),
        ("fail cuptiPmSamplingSetConfig 27", "CUPTI_ERROR_NOT_SUPPORTED"),
        ("abort at=cuptiPmSamplingStart", "the process"),
        ("withhold sm__cycles_active", "no multiprocessor was active"),
    ] {
        let (rows, table) = sampled(&FakeGpu::new(), trouble);
        for row in rows {
            assert_eq!(row["status"]["status"], "finished", "{trouble}: {row:#}");
            assert!(row["metrics"][READ]["value"].is_f64(), "{trouble}: {row:#}");
            let why = row["over_time"]["missing"].as_str().unwrap_or_default();
            assert!(why.contains(missing), "{trouble}: {why}");
        }
        assert!(table.contains(" -  counters over time: "), "{trouble}: {table}");
    }
}

#[test]
fn the_emulated_driver_says_that_it_has_no_time() {
    let tool = |workshop: &Workspace, arguments: &[&str]| workshop.tool(arguments);
    let (rows, table) = rows(tool, &[]);
    assert!(rows.iter().all(|row| row["over_time"]["samples"] == Value::Array(Vec::new())));
    assert!(table.contains("counters over time: the emulated driver has no time"), "{table}");
}
