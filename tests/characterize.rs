//! `cargo gpuprof characterize`: its kernels on a fake GPU, and machines without a GPU to measure.

use std::fs;

use serde_json::{Value, json};

use crate::support::replay::workshop;
use crate::support::{FakeGpu, Tool};

/// The fake driver executes the kernels, and its times follow from the instructions. The package
/// checks the results. Sizes are small, so that the test takes seconds.
#[test]
fn every_constant_is_measured_by_a_working_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let sizes = json!({
        "multiprocessors": 1, "blocks": 64, "bytes": 65536, "steps": 500, "rounds": 4,
    });
    let request = json!({ "cupti": null, "question": { "characterize": { "sizes": sizes } } });
    fs::write(file("request"), request.to_string()).unwrap();
    let arguments = ["__ask", &file("request"), &file("reply")];
    FakeGpu::new().tool(&workshop(), &arguments).run().exits_with(0);
    let reply: Value = serde_json::from_slice(&fs::read(file("reply")).unwrap()).unwrap();
    let found = &reply["characterized"];
    let measured = found["measured"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let names: Vec<&str> = measured.iter().map(|it| it["constant"].as_str().unwrap()).collect();
    let missing: Vec<&str> =
        found["missing"].as_array().unwrap().iter().map(|it| it[0].as_str().unwrap()).collect();
    let not_measured = ["launch_ns", "written_back"];
    assert_eq!((names.len(), &missing[..]), (27, &not_measured[..]), "{names:?}");
    assert!(measured.iter().all(|it| it["value"].as_f64().unwrap() > 0.0), "{found}");
    // A launch takes 2,000 ns, and an instruction of a warp one more.
    let reason = found["missing"][0][1].as_str().unwrap();
    assert!(reason.starts_with("events time launches in a row, 2001 ns each, "), "{reason}");
    let value = |name: &str| {
        let at = names.iter().position(|it| *it == name).unwrap();
        measured[at]["value"].as_f64().unwrap()
    };
    assert!((value("blocks_per_ns") - 1.0).abs() < 0.01, "{found}");
    // Four instructions a step, and the ends of a chain.
    assert!((value("dram_latency") - 4.0).abs() < 0.01, "{found}");
}

#[test]
fn characterize_refuses_missing_gpus_and_unknown_devices() {
    let folder = tempfile::tempdir().unwrap();
    let none = Tool::new(&["characterize"], folder.path(), folder.path()).run().exits_with(107);
    let said = "error: characterize measures a GPU: no CUDA driver is installed (libcuda.so.1: ";
    assert!(none.stderr.starts_with(said), "{}", none.stderr);

    let gpu = FakeGpu::new();
    let refused = gpu.tool(&workshop(), &["characterize", "--device", "3"]).run().exits_with(2);
    let said = "error: no device matches 3; the driver reports\n  0  GPU-";
    assert!(refused.stderr.starts_with(said), "{}", refused.stderr);
    let unknown = gpu.tool(&workshop(), &["characterize", "--device", "all"]).run().exits_with(2);
    assert!(unknown.stderr.contains("`all` is not a device"), "{}", unknown.stderr);

    // The fake GPU has 48 MiB.
    let output = folder.path().join("constants.json");
    let small = ["characterize", "--output", output.to_str().unwrap()];
    let small = gpu.tool(&workshop(), &small).run().exits_with(107);
    let said = "the device has too little free memory for 536870912 bytes";
    assert!(small.stderr.contains(said), "{}", small.stderr);
    assert!(!output.exists());
}

#[test]
fn the_emulated_driver_is_not_characterized() {
    let tool = Tool::new(&[], std::path::Path::new("."), std::path::Path::new("."));
    let tool = tool.into_command().get_program().to_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["emulate", "-q", "--", &tool, "gpuprof", "characterize"];
    let refused = Tool::new(&arguments, folder.path(), folder.path()).run().exits_with(107);
    let said = "error: characterize measures a GPU: libcuda.so.1 is not NVIDIA's driver (an \
                emulated one); take it off the library path\n";
    assert!(refused.stderr.starts_with(said), "{}", refused.stderr);
}
