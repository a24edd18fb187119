//! Links to other GPUs, copies between GPUs, and managed memory, on a fake GPU with the answers of
//! two H200.

use std::fs;

use serde_json::Value;

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Outcome};

const COPIES: [&str; 6] = ["run", "--package", "ranges", "copies", "--repeat", "1"];
const TWINS: &str = "Fake H200,Fake H200";

/// The NVLinks of an H200 in NVML's numbers: all, active ones, version, other end, MB/s.
const NVLINKS: &str = "18 18 6 2 26562";

/// A run of [`COPIES`]; fakes get `variables`.
fn run(gpu: &FakeGpu, variables: &[(&str, &str)], more: &[&str]) -> Outcome {
    let tool = gpu.tool(&workshop(), &[&COPIES[..], more].concat());
    variables.iter().fold(tool, |tool, (name, value)| tool.env(name, value)).run().exits_with(0)
}

/// The result of the configuration in JSON lines.
fn row(gpu: &FakeGpu, variables: &[(&str, &str)], more: &[&str]) -> Value {
    let outcome = run(gpu, variables, &[more, &["--message-format", "json"]].concat());
    outcome.events_of("configuration-finished")[0].clone()
}

/// The values of metrics of a row, or the reasons why they have none.
fn told(row: &Value, names: &[&str]) -> Vec<String> {
    let of = |name: &&str| match &row["metrics"][name] {
        found if found["value"].is_number() => found["value"].to_string(),
        found => {
            found["unavailable"].as_str().unwrap_or_else(|| panic!("{name}: {found:#}")).to_owned()
        }
    };
    names.iter().map(of).collect()
}

const FACTS: [&str; 7] = [
    "nvlink__count_physical",
    "nvlink__is_nvswitch_connected",
    "nvlink__peer_access",
    "device__nvlink_bandwidth",
    "device__peers",
    "device__pcie_generation",
    "device__pcie_width",
];

#[test]
fn links_and_peers_are_metrics_and_a_sentence_of_the_report() {
    let gpu = FakeGpu::new();
    gpu.nvml("nvlink", NVLINKS);
    let (two, names) = ([("FAKE_GPUS", TWINS)], FACTS.join(","));
    let facts = ["--replay-mode", "none", "--metrics", &names];
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("run.json").display().to_string();
    let outcome = run(&gpu, &two, &[&facts[..], &["--export-json", &file]].concat());
    let sentence = "  on Fake H200\n 18 NVLinks 4.0 to a switch, each 26.56 GB/s in a direction; \
                    PCIe 5 x16; access to the memory of device 1: yes\n";
    assert!(outcome.stdout.contains(sentence), "{}", outcome.stdout);
    let text = fs::read_to_string(&file).expect("it was exported");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let links = &document["provenance"]["device"]["links"];
    assert_eq!(links["nvlinks"][0]["count"], 18, "{links:#}");
    assert_eq!(links["peers"][0]["device"], 1, "{links:#}");
    let expected = ["18.0", "1.0", "1.0", "478116000000.0", "1.0", "5.0", "16.0"];
    assert_eq!(told(&row(&gpu, &two, &facts), &FACTS), expected);
}

#[test]
fn a_named_device_is_alone_and_a_device_without_nvlink_says_so() {
    let (gpu, names) = (FakeGpu::new(), FACTS.join(","));
    let facts = ["--replay-mode", "none", "--devices", "0", "--metrics", &names];
    let row = row(&gpu, &[("FAKE_GPUS", TWINS)], &facts);
    let no_link = "it needs NVLink, and this device has no active link";
    let alone = "it needs two GPUs, and the process sees no other one";
    let expected = ["0.0", no_link, no_link, no_link, alone, "5.0", "16.0"];
    assert_eq!(told(&row, &FACTS), expected);
}

#[test]
fn links_are_read_only_on_request() {
    let gpu = FakeGpu::new();
    gpu.nvml("nvlink", NVLINKS);
    let outcome = run(&gpu, &[], &["--replay-mode", "none"]);
    assert!(!outcome.stdout.contains("NVLink"), "{}", outcome.stdout);
}

#[test]
fn a_copy_between_devices_is_in_the_timeline_with_both() {
    let shown = ["--replay-mode", "none", "-v"];
    let outcome = run(&FakeGpu::new(), &[("FAKE_PEERS", "1")], &shown);
    assert!(outcome.stdout.contains("copy 8 KiB, device 0 to device 1\n"), "{}", outcome.stdout);
    let outcome = run(&FakeGpu::new(), &[], &shown);
    assert!(outcome.stdout.contains("copy 8 KiB, device to device\n"), "{}", outcome.stdout);
}

#[test]
fn migrations_of_managed_memory_belong_to_one_call() {
    const NAMES: [&str; 5] = [
        "unified_bytes_to_device",
        "unified_bytes_to_host",
        "unified_bytes_between_devices",
        "unified_gpu_faults",
        "unified_cpu_faults",
    ];
    let gpu = FakeGpu::new();
    let section = ["--replay-mode", "none", "--section", "UnifiedMemory"];
    // The value of a fault of the host is an address.
    let migrations = ("FAKE_MIGRATIONS", "1:4096 1:61440 2:4096 8:8192 4:3 3:140397682237178 3:7");
    let row = |variable| row(&gpu, &[variable], &section);
    let expected = ["65536.0", "4096.0", "8192.0", "3.0", "2.0"];
    assert_eq!(told(&row(migrations), &NAMES), expected);
    // The rest is measured even if CUPTI cannot record them.
    let trouble = "fail cuptiActivityConfigureUnifiedMemoryCounter 29";
    let refused = row(("FAKE_CUPTI_TROUBLE", trouble));
    let reasons = told(&refused, &NAMES);
    assert!(reasons.iter().all(|reason| reason.contains("(29)")), "{reasons:#?}");
    assert!(refused["metrics"]["duration"]["value"].is_number(), "{refused:#}");
}

#[test]
fn the_emulated_driver_says_why_each_section_is_absent() {
    let arguments = [&COPIES[..], &["--no-config", "--set", "nvlink"]].concat();
    let outcome = workshop().tool(&arguments).run().exits_with(0);
    let words = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in [
        "the emulated driver has no links",
        "it is a hardware counter, which needs a GPU",
        "the emulated driver has no page faults and migrates nothing",
    ] {
        assert!(words.contains(reason), "{reason}: {}", outcome.stdout);
    }
}
