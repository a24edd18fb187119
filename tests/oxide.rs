//! Kernels of NVIDIA's Rust compiler, by stand-ins of its crates (`fixtures/cuda-oxide`) and of its
//! backend: a file that nothing loads, and a wrapper of rustc that takes the flag away which names
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::{Outcome, Tool, Workspace, script};
use insta::assert_snapshot;
use serde_json::Value;

/// A stand-in for rustc: the package is not compiled without the backend.
const WRAPPER: &str = r#"#!/bin/sh
found=
needed=
for argument; do
    shift
    case "$argument" in
        -Zcodegen-backend=*/backend.so) found=yes; continue ;;
        # Nothing is measured: what stands behind it builds faster without.
        -Copt-level=3) continue ;;
        kernels | sweep) needed=yes ;;
    esac
    set -- "$@" "$argument"
done
[ "$found" ] || [ ! "$needed" ] || { echo "no backend was named" >&2; exit 1; }
exec "$@"
"#;

/// The folder of wrapper and backend: cargo's builds are out of date if these are newer.
static STAND_INS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Workspace::repository().target.join("cuda-oxide");
    fs::create_dir_all(&folder).expect("the folder can be made");
    let (wrapper, backend) = (folder.join("wrapper"), folder.join("backend.so"));
    if fs::read_to_string(&wrapper).ok().as_deref() != Some(WRAPPER) {
        script(&wrapper, WRAPPER);
    }
    if !backend.exists() {
        fs::write(backend, "a backend").expect("the file can be written");
    }
    folder
});

/// The subcommand in the fixture.
fn tool(workspace: &Workspace, arguments: &[&str]) -> Tool {
    workspace
        .tool(arguments)
        .env("RUSTC_WRAPPER", STAND_INS.join("wrapper"))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CUDA_OXIDE_BACKEND", STAND_INS.join("backend.so"))
}

/// A separate folder for its builds: cargo repeats the build scripts of macros whenever
/// `RUSTC_BOOTSTRAP` appears or disappears, and compiles every dependency again after them.
fn fixture() -> Workspace {
    let fixture = Workspace::fixture("cuda-oxide");
    Workspace { target: fixture.target.join("oxide"), ..fixture }
}

fn run(more: &[&str]) -> Outcome {
    let arguments = [&["run", "--package", "kernels", "--message-format", "json"], more].concat();
    tool(&fixture(), &arguments).run()
}

/// Each configuration with its status, why it has that, and whether it was verified.
fn rows(outcome: &Outcome) -> String {
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verified = if row["verified"] == true { " verified" } else { "" };
        let reason = row["status_reason"].as_str().map(|why| format!(": {why}"));
        format!(
            "{}/{} {}{verified}{}",
            text(&row["series"]["kernel"]),
            text(&row["configuration"]),
            text(&row["status"]),
            reason.unwrap_or_default()
        )
    };
    let mut rows: Vec<String> =
        outcome.events_of("configuration-finished").iter().map(row).collect();
    rows.sort();
    rows.join("\n")
}

#[test]
fn kernels_of_cuda_oxide_are_swept_verified_and_judged_and_their_contracts_are_kept() {
    let outcome = run(&["::saxpy", "bounded", "contracted", "shifted", "step"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    bounded/block=128,n=1000 finished
    bounded/block=256,n=1000 invalid: a block of 256 threads exceeds the launch bounds of `bounded`, 128, for which it is compiled (.maxntid)
    contracted/block=128,room=0,n=256 invalid: `contracted` is declared for blocks of 64x1x1 alone (launch_contract), and this block is 128x1x1
    contracted/block=128,room=256,n=256 invalid: `contracted` is declared for blocks of 64x1x1 alone (launch_contract), and this block is 128x1x1
    contracted/block=64,room=0,n=256 finished
    contracted/block=64,room=256,n=256 invalid: `contracted` is declared for 0 bytes of dynamic shared memory (launch_contract), and this launch has 256
    saxpy/block=256,n=1000 finished verified
    saxpy/block=64,n=1000 finished verified
    shifted/block=64,n=1000,on=no finished verified
    shifted/block=64,n=1000,on=yes finished verified
    step/block=64,n=256,STEP=1 finished verified
    step/block=64,n=256,STEP=8 finished verified
    ");
    // Nothing is launched: no cluster fits a grid.
    let clusters = run(&["clustered"]).exits_with(4);
    assert_snapshot!(rows(&clusters), @r"
    clustered/grid=3,block=64 invalid: a grid of 3x1x1 blocks is not a multiple of the cluster of 2x1x1 that `clustered` is compiled for
    clustered/grid=5,block=64 invalid: a grid of 5x1x1 blocks is not a multiple of the cluster of 2x1x1 that `clustered` is compiled for
    ");
    let judged = outcome.events_of("threshold-judged");
    assert_eq!(judged[0]["judgement"]["verdict"], "pass", "{judged:#?}");
    let provenance = &outcome.events_of("run-started")[0]["provenance"];
    let toolchain = provenance["kernel_toolchain"].as_str().expect("the provenance names it");
    // The beginning of the backend's SHA-256.
    assert!(toolchain.starts_with("cuda-oxide fae226693575 (rustc 1."), "{toolchain}");
    assert!(toolchain.ends_with("; sm_80, not contracted)"), "{toolchain}");
    let modules = provenance["ptx_sha256"].as_object().expect("modules have hashes").keys();
    assert_snapshot!(modules.cloned().collect::<Vec<_>>().join("\n"), @r"
    kernels::bounded
    kernels::contracted
    kernels::saxpy
    kernels::shifted
    kernels::step/STEP=1
    kernels::step/STEP=8
    ");
}

#[test]
fn kernels_of_cuda_oxide_run_on_the_emulated_driver() {
    let outcome = run(&["compiled_"]).exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    compiled_block_sums/block=256,n=2048 finished verified
    compiled_saxpy/block=128,n=5000 finished verified
    compiled_saxpy/block=256,n=5000 finished verified
    compiled_saxpy/block=512,n=5000 invalid: a block of 512 threads exceeds the launch bounds of `saxpy`, 256, for which it is compiled (.maxntid)
    compiled_sums/block=128,n=1000 finished verified
    ");
    let judged = outcome.events_of("threshold-judged");
    assert_eq!(judged[0]["judgement"]["verdict"], "pass", "{judged:#?}");
}

#[test]
fn mismatched_kernels_of_cuda_oxide_are_shown_at_their_source() {
    let errors_of = |feature: &str| {
        let stderr = run(&["--features", feature]).exits_with(101).stderr;
        let (_, errors) = stderr.split_once("error: ").expect("there is an error");
        errors.to_owned()
    };
    assert_snapshot!(errors_of("sizes"), @r"
    declarations do not fit their kernels:
    error: `other_sizes` takes other parameters than its signature makes. By the signature, with bytes: n: u64 (8), y: &mut [f32] (8), y.len(): usize (8); in its PTX: 4, 8, 8
       --> kernels/src/lib.rs:132
    ");
    assert_snapshot!(errors_of("missing"), @r"
    declarations do not fit their kernels:
    error: the device code in kernels::sweep has no entry point `saxpi`: did you mean `saxpy`?
       --> kernels/src/lib.rs:143
    ");
}

#[test]
fn without_the_backend_or_a_nightly_rust_the_error_says_how_to_get_them() {
    let workspace = fixture();
    let arguments = ["run", "--package", "kernels"];
    let home = tempfile::tempdir().expect("a folder can be made");
    let refusal = |tool: Tool| {
        let stderr = tool.run().exits_with(101).stderr;
        stderr
            .replace(&workspace.root.display().to_string(), "ROOT")
            .replace(&home.path().display().to_string(), "HOME")
    };
    let named = tool(&workspace, &arguments).env("CUDA_OXIDE_BACKEND", "/nowhere/b.so");
    assert_snapshot!(refusal(named), @"error: kernels of NVIDIA's Rust are not compiled: CUDA_OXIDE_BACKEND names /nowhere/b.so, which is not a file");
    // Cargo's own home would contain this machine's settings.
    let registry = std::env::var("CARGO_HOME").map(Into::into);
    let registry = registry.unwrap_or_else(|_| {
        Path::new(&std::env::var("HOME").expect("there is a home")).join(".cargo")
    });
    for part in ["registry", "git"] {
        let part = (registry.join(part), home.path().join(part));
        std::os::unix::fs::symlink(part.0, part.1).expect("it can be linked");
    }
    let nowhere =
        tool(&workspace, &arguments).without("CUDA_OXIDE_BACKEND").env("CARGO_HOME", home.path());
    let nowhere = refusal(nowhere);
    assert!(nowhere.contains("looked for HOME/cuda-oxide/librustc_codegen_cuda.so"), "{nowhere}");
    assert!(nowhere.contains("`cargo oxide build` in the package builds it once"), "{nowhere}");
    let stable = tool(&workspace, &arguments).without("RUSTC_BOOTSTRAP");
    let stable = refusal(stable);
    assert!(stable.contains("is loaded by nightly Rust alone, and this is rustc 1."), "{stable}");
    let other = home.path().join("other.so");
    fs::write(&other, "\0librustc_driver-0123456789abcdef.so\0").expect("it can be written");
    let other = refusal(tool(&workspace, &arguments).env("CUDA_OXIDE_BACKEND", &other));
    assert!(
        other.contains(
            "was built by another toolchain. It needs librustc_driver-0123456789abcdef.so"
        ),
        "{other}"
    );
}

#[test]
fn an_archive_needs_neither_backend_nor_rust() {
    let workspace = fixture();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("kernels.tar.zst").display().to_string();
    let pack = ["archive", "--package", "kernels", "--archive-file", &file];
    tool(&workspace, &pack).run().exits_with(0);
    let run = ["run", "--archive-file", &file, "--message-format", "json", "::saxpy", "step"];
    let outcome = Tool::new(&run, folder.path(), &folder.path().join("target"))
        .env("PATH", "/nonexistent")
        .run()
        .exits_with(0);
    assert_snapshot!(rows(&outcome), @r"
    saxpy/block=256,n=1000 finished verified
    saxpy/block=64,n=1000 finished verified
    step/block=64,n=256,STEP=1 finished verified
    step/block=64,n=256,STEP=8 finished verified
    ");
}
