//! How many processes time a configuration: more where they differ, on a fake GPU with noise.

use serde_json::Value;
use support::FakeGpu;
use support::replay::{ISOLATIONS, workshop};

/// Processes that timed the configurations with blocks of 64 and of 128 threads; those of 64 differ.
fn processes(more: &[&str]) -> [Value; 2] {
    let gpu = FakeGpu::new();
    let run = ["run", "--package", "vector", "scale", "--replay-mode", "none", "--no-config"];
    let arguments = [&run[..], &["--message-format", "json"], more].concat();
    let tool = gpu.tool(&workshop(), &arguments).env("FAKE_CUDA_NOISE", "64:4");
    let rows = tool.run().exits_with(0).events_of("configuration-finished");
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
fn a_plain_number_is_that_number() {
    assert_eq!(processes(&["--repeat", "3", "--interleave", "none"]), [3, 3]);
}
