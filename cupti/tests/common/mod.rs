//! The pinned CUPTI, fetched once, and child processes that call it; other wheels of NVIDIA.
//!
//! CUPTI is proprietary and never in the repository; it comes from PyPI, into the target folder. A
//! test that cannot get it fails. Each test body runs in a separate process, so that a crash in
//! CUPTI is one failed test with its name.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// Works without a driver, and is the CUPTI of the H200 that the golden data comes from.
const WHEEL: &str = "nvidia-cuda-cupti==13.0.85";
const IN_CHILD: &str = "GPUPROF_CUPTI_TEST_CHILD";

/// The folder of the pinned libcupti.
pub fn pinned() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| unpacked(WHEEL).join("nvidia/cu13/lib"))
}

/// The files of a wheel of NVIDIA's: its name and version, as pip takes them.
pub fn unpacked(wheel: &str) -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(wheel.replace("==", "-"));
    if !cache.exists() {
        fetch(wheel, &cache);
    }
    cache
}

fn fetch(wheel: &str, cache: &Path) {
    let fresh = tempfile::tempdir_in(cache.parent().unwrap()).unwrap();
    let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", wheel];
    python(fresh.path(), &pip);
    let wheel = fs::read_dir(fresh.path()).unwrap().next().unwrap().unwrap().file_name();
    python(fresh.path(), &["-m", "zipfile", "-e", wheel.to_str().unwrap(), "wheel"]);
    // Another process may have been faster; its copy is as good.
    if let Err(error) = fs::rename(fresh.path().join("wheel"), cache) {
        assert!(cache.exists(), "{}: {error}", cache.display());
    }
}

fn python(folder: &Path, arguments: &[&str]) {
    let output = Command::new("python3").args(arguments).current_dir(folder).output();
    let output = output.expect("python3 fetches NVIDIA's wheels");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "python3 {} failed: {said}", arguments.join(" "));
}

/// Runs `body` in a child process that runs only the test `name`, which is the caller.
pub fn isolated(name: &str, body: impl FnOnce()) {
    isolated_with(name, |_| {}, body);
}

/// As [`isolated`], with a say in the child's environment.
pub fn isolated_with(name: &str, prepare: impl FnOnce(&mut Command), body: impl FnOnce()) {
    if env::var_os(IN_CHILD).is_some() {
        return body();
    }
    pinned();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([name, "--exact", "--nocapture"]).env(IN_CHILD, "1");
    for variable in ["GPUPROF_CUPTI", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"] {
        child.env_remove(variable);
    }
    prepare(&mut child);
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{name} in a child: {}\n{said}", output.status);
    assert!(said.contains("1 passed"), "{name} did not run in the child:\n{said}");
}
