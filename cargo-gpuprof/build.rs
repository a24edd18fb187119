//! Tells the executable which commit it was built from.

use std::env;
use std::process::Command;

fn main() {
    say_commit();
}

/// Lets `--version` name the commit, and its day where git knows it: of a package from a registry,
/// and of optimised builds in a clone. What is built for tests does not change with every commit.
fn say_commit() {
    println!("cargo::rerun-if-changed=build.rs");
    let packed = std::fs::read_to_string(".cargo_vcs_info.json");
    let commit = match packed {
        Ok(packed) => {
            packed.split('"').find(|word| word.len() == 40).map(|sha| sha[..9].to_owned())
        }
        Err(_) if env::var("PROFILE").is_ok_and(|profile| profile == "release") => of_clone(),
        Err(_) => None,
    };
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=GPUPROF_COMMIT={commit}");
}

/// The commit that is checked out and its day, such as `c26a32c05 2026-11-23`.
fn of_clone() -> Option<String> {
    let git = |arguments: &[&str]| {
        let done = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(done.stdout).ok()?;
        done.status.success().then(|| text.trim().to_owned())
    };
    // Not of a clone that merely has a folder with this package in it.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    git(&["log", "-1", "--abbrev=9", "--format=%h %cs"])
}
