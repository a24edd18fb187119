//! Missing parts of the machine: a working driver, a device, the source of Rust's core library.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Tool, Workspace, script};
use insta::assert_snapshot;

/// A driver that returns `code` from its initialisation, in a folder for `LD_LIBRARY_PATH`.
fn driver_that_returns(code: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let source = folder.path().join("driver.rs");
    let text = format!(
        "#[unsafe(no_mangle)]\npub extern \"C\" fn cuInit(_flags: u32) -> u32 {{ {code} }}\n"
    );
    fs::write(&source, text).expect("it can be written");
    let status = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(folder.path().join("libcuda.so"))
        .arg(&source)
        .status()
        .expect("rustc can be started");
    assert!(status.success());
    folder
}

fn run_with_driver(code: u32, arguments: &[&str]) -> String {
    let driver = driver_that_returns(code);
    let run = ["run", "--package", "vector", "scale", "--quiet"];
    let tool = Workspace::fixture("workshop").tool(&[&run[..], arguments].concat());
    tool.without("GPUPROF_BACKEND").env("LD_LIBRARY_PATH", driver.path()).run().transcript()
}

#[test]
fn a_broken_driver_is_an_error_without_fallback() {
    assert_snapshot!(run_with_driver(803, &[]), @"
    exit code: 107
    ----- stdout -----

    ----- stderr -----
    error: the NVIDIA driver is installed but does not work: cuInit returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803). The library and the kernel module are of different versions: reboot after a driver update. Or run without a GPU: --backend emulator
    ");
}

#[test]
fn a_driver_without_a_device_is_an_error_without_fallback() {
    assert_snapshot!(run_with_driver(100, &["--backend", "cuda"]), @"
    exit code: 107
    ----- stdout -----

    ----- stderr -----
    error: the NVIDIA driver is installed but reports no device (CUDA_ERROR_NO_DEVICE, 100). Check `nvidia-smi` and CUDA_VISIBLE_DEVICES; a GPU in MIG mode needs an instance before it counts as one (`nvidia-smi mig -lgi`). Or run without a GPU: --backend emulator
    ");
}

#[test]
fn the_emulated_driver_works_next_to_a_broken_one() {
    let transcript = run_with_driver(803, &["--backend", "emulator"]);
    assert!(transcript.starts_with("exit code: 0\n"), "{transcript}");
}

#[test]
fn clock_control_is_refused_on_the_emulated_driver() {
    let run = ["run", "--package", "vector", "scale", "--clock-control", "base"];
    let outcome = Workspace::fixture("workshop").gpuprof(&run).exits_with(0);
    let sentence = "gpuprof: --clock-control has no effect: the emulated driver has no clocks";
    assert!(outcome.stderr.contains(sentence), "{outcome:#?}");
}

#[test]
fn options_of_functions_are_refused_for_kernels() {
    let run = ["run", "--package", "vector", "scale", "--nvtx", "phase", "--range", "closure"];
    let outcome = Workspace::fixture("workshop").gpuprof(&run).exits_with(0);
    for option in ["--nvtx", "--range"] {
        let sentence = format!(
            "gpuprof: {option} has no effect: every series is an annotated kernel, which is one launch"
        );
        assert!(outcome.stderr.contains(&sentence), "{outcome:#?}");
    }
}

/// A rustc without the library source in its sysroot.
fn rustc_without_source(folder: &Path) -> std::path::PathBuf {
    let (rustc, sysroot) = (folder.join("rustc"), folder.join("sysroot"));
    fs::create_dir(&sysroot).expect("the folder is new");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --print=sysroot ]; then echo '{}'; else exec rustc \"$@\"; fi\n",
        sysroot.display()
    );
    script(&rustc, &text);
    rustc
}

fn nowhere(tool: Tool, folder: &Path) -> Tool {
    tool.env("RUSTC", rustc_without_source(folder))
        .env("__GPUPROF_RUSTUP", "/nonexistent/rustup")
        .env("__GPUPROF_SYSTEM_RUSTC", "/nonexistent/rustc")
}

#[test]
fn a_missing_source_of_core_is_reported_with_the_commands() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let tool =
        Workspace::fixture("workshop").tool(&["run", "--package", "vector", "scale", "--quiet"]);
    assert_snapshot!(nowhere(tool, folder.path()).run().transcript(), @"
    exit code: 101
    ----- stdout -----

    ----- stderr -----
    error: kernels need the source of Rust's core library, and no toolchain here has it. Do one of these:
      rustup component add rust-src
      apt-get install rustc-web cargo-web rust-web-src    (Debian)
      cargo gpuprof run --kernel-toolchain PATH_OF_A_RUSTC_WITH_ITS_LIBRARY_SOURCE
    ");
}

#[test]
fn series_of_host_functions_need_no_source_of_core() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let run = ["run", "--package", "endings", "ends/how=returns", "--quiet"];
    let outcome =
        nowhere(Workspace::fixture("workshop").tool(&run), folder.path()).run().exits_with(0);
    assert!(
        outcome.stdout.contains("1 configuration of 1 series: 1 finished"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn the_source_of_core_is_installed_by_rustup_with_a_message() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let rustup = folder.path().join("rustup");
    let log = folder.path().join("log");
    let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n[ \"$1\" = --version ]\n", log.display());
    script(&rustup, &text);
    let tool =
        Workspace::fixture("workshop").tool(&["run", "--package", "vector", "scale", "--quiet"]);
    let outcome =
        nowhere(tool, folder.path()).env("__GPUPROF_RUSTUP", &rustup).run().exits_with(101);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 101
    ----- stdout -----

    ----- stderr -----
    gpuprof: kernels need the source of Rust's core library (the component rust-src, 4 MB)
    gpuprof: running `rustup component add rust-src`
    error: kernels need the source of Rust's core library, and no toolchain here has it. Do one of these:
      rustup component add rust-src
      apt-get install rustc-web cargo-web rust-web-src    (Debian)
      cargo gpuprof run --kernel-toolchain PATH_OF_A_RUSTC_WITH_ITS_LIBRARY_SOURCE
    ");
    let asked = fs::read_to_string(log).expect("rustup was started");
    assert_eq!(asked, "--version\ncomponent add rust-src\n");
}

#[test]
fn a_missing_kernel_toolchain_is_refused() {
    let run = ["run", "--package", "vector", "scale", "--quiet", "--kernel-toolchain"];
    let workspace = Workspace::fixture("workshop");
    let path = workspace.gpuprof(&[&run[..], &["/nonexistent/rustc"]].concat());
    assert_snapshot!(path.transcript(), @"
    exit code: 101
    ----- stdout -----

    ----- stderr -----
    error: the kernel toolchain `/nonexistent/rustc` is not installed or lacks the source of Rust's core library; name a rustc whose sysroot holds lib/rustlib/src/rust/library
    ");
}
