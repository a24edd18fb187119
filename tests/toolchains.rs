//! Both routes to PTX: rustup's toolchain with `rust-src`, and Debian's packages. A machine without
//! one of them says so and passes; CI must have Debian's.

use std::env;
use std::path::Path;

use crate::support::Workspace;
use serde_json::Value;

/// The compiler of Debian's `rustc-web`, with its source in `rust-web-src`.
const DEBIAN: &str = "/usr/bin/rustc";

/// The rows of `vector` with kernels built by `toolchain`, and the toolchain's own name.
fn rows(toolchain: Option<&str>) -> (Vec<Value>, String) {
    let mut arguments = vec!["run", "--package", "vector", "--message-format", "json"];
    arguments.extend(toolchain.iter().flat_map(|name| ["--kernel-toolchain", name]));
    let outcome = Workspace::fixture("workshop").gpuprof(&arguments).exits_with(0);
    let version = &outcome.events_of("run-started")[0]["provenance"]["kernel_toolchain"];
    let version = version.as_str().expect("runs with kernels have a toolchain").to_owned();
    (outcome.events_of("configuration-finished"), version)
}

#[test]
fn kernels_of_debians_toolchain_give_the_same_counters() {
    let source = Path::new("/usr/lib/rustlib/src/rust/library/core/src/lib.rs");
    if !(Path::new(DEBIAN).is_file() && source.is_file()) {
        let missing = "this machine does not have Debian's rustc-web, cargo-web and rust-web-src";
        assert!(env::var_os("CI").is_none(), "{missing}, and CI must");
        eprintln!("skipped: {missing}");
        return;
    }
    let (active, debian) = (rows(None), rows(Some(DEBIAN)));
    assert!(debian.1.contains("(built from a source tarball)"), "not Debian's: {}", debian.1);
    for (a, b) in active.0.iter().zip(&debian.0) {
        assert_eq!(a["configuration"], b["configuration"]);
        for metric in ["global_sectors", "load_sectors_per_request", "store_sectors_per_request"] {
            assert_eq!(
                a["metrics"][metric], b["metrics"][metric],
                "{metric} of {}",
                a["configuration"]
            );
        }
        assert!(a["verified"] == true && b["verified"] == true);
    }
    assert_eq!((active.0.len(), debian.0.len()), (6, 6));
}

#[test]
fn an_invalid_architecture_is_refused() {
    let run = ["run", "--package", "vector", "--kernel-arch", "sm_42"];
    let refused = Workspace::fixture("workshop").gpuprof(&run).exits_with(2);
    let told =
        "does not compile for the GPU architecture `sm_42` (--kernel-arch); it compiles for ";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
}

#[test]
fn a_rustup_toolchain_is_found_by_name() {
    let Ok(name) = env::var("RUSTUP_TOOLCHAIN") else {
        eprintln!("skipped: cargo was not started by rustup");
        return;
    };
    let (active, named) = (rows(None), rows(Some(&name)));
    assert_eq!(active.1, named.1);
    assert_eq!(active.0, named.0);
}
