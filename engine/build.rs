//! Builds the emulated driver, so that the installed subcommand carries it.
//!
//! The emulator has no dependencies: one call of rustc makes the shared object. Its SONAME is what
//! CUDA programs look for, and optimisation is always on, since it is an interpreter: in full where
//! the subcommand is optimised, and as far as pays where it is built for tests.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = Path::new(gpuprof_emulator::SOURCE_DIR);
    println!("cargo::rerun-if-changed={}", source.join("src").display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("libcuda.so");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        // Compiles everywhere; `cargo gpuprof` itself refuses to run elsewhere.
        std::fs::write(&out, []).expect("OUT_DIR is writable");
        return;
    }
    if is_built(&out, &source.join("src")) {
        return;
    }
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    // One unit at level 2 takes two thirds of the time of two at level 3.
    let optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let (level, units) = if optimised { (3, 2) } else { (2, 1) };
    let mut command = Command::new(rustc);
    command
        .args(["--edition", "2024", "--crate-name", "cuda", "--crate-type", "cdylib"])
        .args(["--cfg", "feature=\"interpreter\"", "--cap-lints", "allow", "--target", &target])
        .args(["-C", &format!("opt-level={level}"), "-C", &format!("codegen-units={units}")])
        .args(["-C", "panic=unwind"])
        .args(["-C", "link-arg=-Wl,-soname,libcuda.so", "-C", "strip=debuginfo"])
        .arg("-o")
        .arg(&out)
        .arg(source.join("src/lib.rs"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    let status = command.status().expect("rustc can be started");
    assert!(status.success(), "the emulated driver did not build: {status}");
}

/// Whether `out` is newer than this script and everything in `folder`: the build takes a minute,
/// and a new commit alone does not require one.
fn is_built(out: &Path, folder: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|known| known.modified()).ok();
    let Some(built) = changed(out) else { return false };
    let older = |path: &Path| changed(path).is_some_and(|changed| changed < built);
    let Ok(entries) = folder.read_dir() else { return false };
    older(Path::new("build.rs"))
        && older(folder)
        && entries.flatten().map(|entry| entry.path()).all(|path| match path.is_dir() {
            true => is_built(out, &path),
            false => older(&path),
        })
}
