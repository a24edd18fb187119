//! Registers, spills and occupancy without a GPU: from ptxas, if there is one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::replay::workshop;
use crate::support::{Outcome, Tool, Workspace};
use crate::wheels::unpacked;

/// Takes PTX 9.0 at most.
const NVCC: &str = "nvidia-cuda-nvcc==13.0.88";

/// The first version on its own.
const NVDISASM: &str = "nvidia-cuda-nvdisasm==13.2.51";

/// The pinned ptxas.
pub(crate) fn ptxas() -> PathBuf {
    program(NVCC, "ptxas")
}

/// The pinned nvdisasm.
pub(crate) fn nvdisasm() -> PathBuf {
    program(NVDISASM, "nvdisasm")
}

/// A program of a wheel. pip would make it executable; unpacking a wheel does not.
fn program(wheel: &str, name: &str) -> PathBuf {
    let file = unpacked(wheel).join("nvidia/cu13/bin").join(name);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    file
}

/// A run of `fixture` that ends with `code`, with the pinned ptxas.
fn run(fixture: &Workspace, arguments: &[&str], code: i32) -> Outcome {
    let all = [&["run", "--message-format", "json", "--no-config"], arguments].concat();
    fixture.tool(&all).env("GPUPROF_PTXAS", ptxas()).run().exits_with(code)
}

/// The value of each metric of `names` in the first configuration that finished.
fn values(outcome: &Outcome, names: &[&str]) -> Vec<Option<f64>> {
    let rows = outcome.events_of("configuration-finished");
    let row = rows.iter().find(|row| row["status"] == "finished").expect("one finished");
    names.iter().map(|name| row["metrics"][name]["value"].as_f64()).collect()
}

const ASKED: [&str; 7] = [
    "registers",
    "launch__registers_per_thread",
    "spills",
    "local_memory",
    "theoretical_occupancy",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_barriers",
];

#[test]
fn a_kernel_that_spills_is_reported_and_breaks_its_threshold_without_a_gpu() {
    let fixture = Workspace::fixture("declared");
    let asked = ASKED.join(",");
    let metrics = ["--package", "in-ptx", "--metrics", &asked];
    let crowded = ["crowded", "--threshold", "every spills == 0"];
    let outcome = run(&fixture, &[&metrics[..], &crowded].concat(), 100);
    // 24 registers of 64 threads: 65536 / (24 * 32, in steps of 256, * 2) blocks; 32 fit by slots.
    let crowded = [24.0, 24.0, 24.0, 24.0, 100.0, 42.0];
    assert_eq!(values(&outcome, &ASKED[..6]), crowded.map(Some));
    let provenance = &outcome.events_of("run-started")[0]["provenance"];
    assert_eq!(provenance["assembler"], "ptxas 13.0.88 for sm_90");
    let calm = ["scale/block=128", "--threshold", "every spills == 0"];
    let outcome = run(&fixture, &[&metrics[..], &calm].concat(), 0);
    assert_eq!(values(&outcome, &["spills", "local_memory"]), [Some(0.0), Some(0.0)]);
    // Once more, from what was kept.
    let outcome = run(&fixture, &[&metrics[..], &calm].concat(), 0);
    assert_eq!(values(&outcome, &["spills"]), [Some(0.0)]);
}

#[test]
fn kernels_in_rust_have_registers_and_occupancy_too() {
    let asked = ASKED.join(",");
    let arguments = ["--package", "pipeline", "pipeline::kernels::total/", "--metrics", &asked];
    let outcome = run(&workshop(), &arguments, 0);
    let found = values(&outcome, &ASKED);
    assert!(found[0].is_some_and(|registers| registers >= 16.0), "{found:?}");
    assert_eq!(found[0], found[1]);
    assert_eq!(found[2..4], [Some(0.0), Some(0.0)]);
    // Blocks of one warp: 32 of 64 warps fit.
    assert_eq!(found[4], Some(50.0));
}

#[test]
fn a_missing_or_old_ptxas_is_reported_with_the_remedy() {
    let fixture = Workspace::fixture("declared");
    let reason = |outcome: &Outcome| {
        let rows = outcome.events_of("configuration-finished");
        let registers: &Value = &rows[0]["metrics"]["registers"];
        registers["unavailable"].as_str().unwrap_or_default().to_owned()
    };
    let arguments = ["--package", "in-ptx", "scale/block=128"];
    let all = [&["run", "--message-format", "json"], &arguments[..]].concat();
    let without = fixture.tool(&all).env("GPUPROF_PTXAS", "/nonexistent/ptxas").run().exits_with(0);
    let told = reason(&without);
    assert!(told.contains("none was found (/nonexistent/ptxas: cannot be started"), "{told}");
    assert!(told.contains("python3 -m pip install nvidia-cuda-nvcc"), "{told}");
    let nvrtc = unpacked("nvidia-cuda-nvrtc==13.3.33").join("nvidia/cu13/lib");
    let all = ["run", "--message-format", "json", "--package", "in-cuda", "flagged/"];
    let newer = fixture.tool(&all).env("GPUPROF_PTXAS", ptxas()).env("GPUPROF_NVRTC", nvrtc);
    let told = reason(&newer.run().exits_with(0));
    assert!(told.starts_with("ptxas 13.0.88 refuses the kernels for sm_90: line "), "{told}");
    assert!(told.contains("nvidia-cuda-nvcc --upgrade"), "{told}");
}

#[test]
fn estimates_count_the_machine_code_of_ptxas() {
    let fixture = Workspace::fixture("declared");
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let in_folder = |name: &str| folder.path().join(name).display().to_string();
    let (run_file, archive_file) = (in_folder("run.json"), in_folder("kernels.tar.zst"));
    let common = ["run", "--no-config", "--no-gate", "scale/block=128", "--export-json", &run_file];
    // Whether the estimate of the run knows the machine code.
    let knows = |tool: Tool, ptxas: PathBuf| {
        let tool = tool.env("GPUPROF_PTXAS", ptxas).env("GPUEMU_ESTIMATE", "1");
        tool.run().exits_with(0);
        let run: Value = serde_json::from_slice(&fs::read(&run_file).expect("it was written"))
            .expect("it is JSON");
        let estimate = &run["series"][0]["configurations"][0]["estimate"];
        estimate["machine_code_known"].as_bool().expect("times are estimated")
    };
    let built = || fixture.tool(&[&common[..], &["--package", "in-ptx"]].concat());
    assert!(knows(built(), ptxas()));
    assert!(!knows(built(), "/nonexistent/ptxas".into()));

    // An archive's target folder is a relative path, and its harnesses run elsewhere.
    let archive = ["archive", "--package", "in-ptx", "--archive-file", &archive_file];
    fixture.gpuprof(&archive).exits_with(0);
    let arguments = [&common[..], &["--archive-file", "kernels.tar.zst"]].concat();
    let tool = Tool::new(&arguments, folder.path(), &folder.path().join("not-used"));
    assert!(knows(tool.without("CARGO_TARGET_DIR"), ptxas()));
}
