//! Declared kernels in machine code: a cubin and a fatbin, made from PTX by NVIDIA's tools.
//!
//! There is no GPU: the fake driver runs the original PTX under the conditions in which NVIDIA's
//! driver would load the machine code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{FakeGpu, Outcome, Tool, Workspace, outside, write};
use crate::wheels::unpacked;

const NVCC: &str = "nvidia-cuda-nvcc==13.0.88";

/// The fixture with its machine code.
static MADE: LazyLock<Workspace> = LazyLock::new(|| {
    let folder = outside("machine-code-made");
    fs::create_dir_all(&folder).expect("the folder can be made");
    let workspace = Workspace::fixture("machine-code").copied_to(&folder);
    let own = tempfile::tempdir().expect("a temporary folder can be made");
    let ptx = workspace.root.join("kernels/scale.ptx").display().to_string();
    for arch in ["sm_80", "sm_90"] {
        nvidia(own.path(), "ptxas", &["-arch", arch, &ptx, "-o", &format!("scale.{arch}.cubin")]);
    }
    let members = ["80", "90"].map(|arch| format!("elf,sm={arch},file=scale.sm_{arch}.cubin"));
    let members = members.map(|member| format!("--image3=kind={member}"));
    let ptx = format!("--image3=kind=ptx,sm=90,file={ptx}");
    let fatbin = ["--create", "scale.fatbin", "-64", &members[0], &members[1], &ptx];
    nvidia(own.path(), "fatbinary", &fatbin);
    for file in ["scale.sm_80.cubin", "scale.sm_90.cubin", "scale.fatbin"] {
        let bytes = fs::read(own.path().join(file)).expect("it was written");
        write(&workspace.root.join("kernels").join(file), &bytes);
    }
    workspace
});

/// Calls a tool of the pinned wheel in `folder`.
fn nvidia(folder: &Path, tool: &str, arguments: &[&str]) {
    let file = unpacked(NVCC).join("nvidia/cu13/bin").join(tool);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let output = Command::new(file).args(arguments).current_dir(folder).output();
    let output = output.expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const RUN: [&str; 3] = ["run", "--message-format", "json"];

/// The tool on a fake GPU, with the PTX of the fixture in place of its machine code.
fn on_gpu(gpu: &FakeGpu, arguments: &[&str]) -> Tool {
    let all = [&RUN[..], arguments].concat();
    gpu.tool(&MADE, &all).env("FAKE_MACHINE_CODE", MADE.root.join("kernels/scale.ptx"))
}

/// Each configuration with its status and why it has that.
fn rows(outcome: &Outcome) -> String {
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verified = if row["verified"] == true { " verified" } else { "" };
        let reason = row["status_reason"].as_str().map(|why| format!(": {why}"));
        let [kernel, configuration] = [&row["series"]["kernel"], &row["configuration"]].map(text);
        let (status, reason) = (text(&row["status"]), reason.unwrap_or_default());
        format!("{kernel}/{configuration} {status}{verified}{reason}")
    };
    let mut rows: Vec<String> =
        outcome.events_of("configuration-finished").iter().map(row).collect();
    rows.sort();
    rows.join("\n")
}

#[test]
fn machine_code_runs_on_its_gpu_and_is_refused_on_others() {
    let gpu = FakeGpu::new();
    let outcome = on_gpu(&gpu, &["--repeat", "1"]).run().exits_with(4);
    assert_snapshot!(rows(&outcome), @r"
    scale/block=128,n=1000 finished verified
    scale/block=256,n=1000 finished verified
    scale/block=512,n=1000 invalid: a block of 512 threads exceeds the launch bounds of `scale`, 256, for which it is compiled (.maxntid)
    scale_anywhere/block=128,n=1000 finished verified
    scale_in_ptx/block=128,n=1000 finished verified
    scale_of_a100/block=128,n=1000 invalid: loading kernels/scale.sm_80.cubin: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available for execution on the device: kernels/scale.sm_80.cubin holds machine code for sm_80, none of which runs on this device (compute capability 9.0)
    twice/block=128,n=1000 finished
    ");
    let modules = &outcome.events_of("run-started")[0]["provenance"]["ptx_sha256"];
    let modules: Vec<&String> = modules.as_object().expect("modules have hashes").keys().collect();
    assert_eq!(
        modules,
        [
            "in-machine-code/kernels/scale.fatbin",
            "in-machine-code/kernels/scale.ptx",
            "in-machine-code/kernels/scale.sm_80.cubin",
            "in-machine-code/kernels/scale.sm_90.cubin",
        ]
    );
}

#[test]
fn machine_code_is_invalid_on_the_emulated_driver_with_the_remedy() {
    let outcome = MADE.gpuprof(&RUN).exits_with(4);
    assert_snapshot!(rows(&outcome), @r#"
    scale/block=128,n=1000 invalid: `scale` is machine code for sm_90 in kernels/scale.sm_90.cubin, which only a GPU runs, and this run is on the emulated driver; to run it here, declare its PTX (ptx = "…") or its source (cuda = "…")
    scale/block=256,n=1000 invalid: `scale` is machine code for sm_90 in kernels/scale.sm_90.cubin, which only a GPU runs, and this run is on the emulated driver; to run it here, declare its PTX (ptx = "…") or its source (cuda = "…")
    scale/block=512,n=1000 invalid: `scale` is machine code for sm_90 in kernels/scale.sm_90.cubin, which only a GPU runs, and this run is on the emulated driver; to run it here, declare its PTX (ptx = "…") or its source (cuda = "…")
    scale_anywhere/block=128,n=1000 invalid: `scale` is machine code for sm_80 and sm_90 in kernels/scale.fatbin, which only a GPU runs, and this run is on the emulated driver; to run it here, cuobjdump -xptx all kernels/scale.fatbin writes the PTX that it holds as well, for ptx = "…"
    scale_in_ptx/block=128,n=1000 finished verified
    scale_of_a100/block=128,n=1000 invalid: `scale` is machine code for sm_80 in kernels/scale.sm_80.cubin, which only a GPU runs, and this run is on the emulated driver; to run it here, declare its PTX (ptx = "…") or its source (cuda = "…")
    twice/block=128,n=1000 invalid: `scale` is machine code for sm_90 in kernels/scale.sm_90.cubin, which only a GPU runs, and this run is on the emulated driver; to run it here, declare its PTX (ptx = "…") or its source (cuda = "…")
    "#);
}

#[test]
fn an_archive_contains_machine_code() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("machine-code.tar.zst");
    let path = file.display().to_string();
    let packed = MADE.gpuprof(&["archive", "--archive-file", &path]).exits_with(0);
    assert!(packed.stderr.contains("4 kernel modules"), "{}", packed.stderr);
    let gpu = FakeGpu::new();
    let arguments = ["--archive-file", &path, "--repeat", "1", "scale_anywhere", "kernels::scale/"];
    let outcome = on_gpu(&gpu, &arguments).run().exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    scale/block=128,n=1000 finished verified
    scale/block=256,n=1000 finished verified
    scale/block=512,n=1000 invalid: a block of 512 threads exceeds the launch bounds of `scale`, 256, for which it is compiled (.maxntid)
    scale_anywhere/block=128,n=1000 finished verified
    ");
}

#[test]
fn mismatched_parameters_of_machine_code_are_shown_at_the_declaration() {
    let told = |feature: &str| {
        let arguments = [&RUN[..], &["--features", feature]].concat();
        let stderr = MADE.gpuprof(&arguments).exits_with(101).stderr;
        let (_, told) = stderr.split_once("error: ").expect("there is an error");
        told.replace(&MADE.root.display().to_string(), "[root]")
    };
    assert_snapshot!(told("sizes"), @r"
    declarations do not fit their kernels:
    error: parameter 1 of `scale` is declared as `u64`, 8 bytes, and its machine code takes 4
      --> src/lib.rs:88:27
    error: parameter 2 of `scale` is declared as `f64`, 8 bytes, and its machine code takes 4
      --> src/lib.rs:88:35
    error: `scale` is declared with 1 parameter, and its machine code takes 4
      --> src/lib.rs:91
    error: `offset` is declared as `f64`, 8 bytes, and it has 4
      --> src/lib.rs:85:24
    ");
    assert_snapshot!(told("names"), @r"
    declarations do not fit their kernels:
    error: in-machine-code/kernels/scale.sm_90.cubin has no entry point `scales`: did you mean `scale`?
       --> src/lib.rs:109:12
    error: in-machine-code/kernels/scale.sm_90.cubin has no entry point `other`: it has scale
       --> src/lib.rs:112:12
    ");
    assert_snapshot!(told("others"), @r#"src/lib.rs:121: cannot take kernels from [root]/kernels/text.cubin: it is neither a cubin nor a fatbin: it is PTX: write ptx = "…""#);
}

#[test]
fn missing_or_truncated_machine_code_is_reported() {
    let told = || {
        let arguments = [&RUN[..], &["--features", "broken"]].concat();
        let stderr = MADE.gpuprof(&arguments).exits_with(101).stderr;
        let (_, told) = stderr.split_once("error: ").expect("there is an error");
        told.replace(&MADE.root.display().to_string(), "[root]")
    };
    let whole = fs::read(MADE.root.join("kernels/scale.sm_90.cubin")).expect("it was made");
    let broken = MADE.root.join("kernels/broken.cubin");
    fs::write(&broken, &whole[..whole.len() / 2]).expect("it can be written");
    let cut_off = told();
    fs::remove_file(&broken).expect("it can be removed");
    assert_snapshot!(format!("{cut_off}\n{}", told()), @r"
    src/lib.rs:130: cannot take kernels from [root]/kernels/broken.cubin: it ends before byte 2856 (2044 bytes)

    src/lib.rs:130: cannot read [root]/kernels/broken.cubin, the file of this declaration: No such file or directory (os error 2)
    ");
}
