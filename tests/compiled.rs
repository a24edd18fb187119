//! What LLVM makes of kernels: barriers stay where they are written, and what would be compiled to
//! something else is refused with its source line.

use crate::support::{Archive, Outcome, Workspace};

fn run(package: &str, more: &[&str]) -> Outcome {
    let start = ["run", "--package", package, "--message-format", "json"];
    Workspace::fixture("compiled").gpuprof(&[&start[..], more].concat())
}

#[test]
fn a_barrier_in_a_function_of_the_users_is_compiled_once() {
    let outcome = run("meets", &[]).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert_eq!(rows[0]["verified"], true, "{:#}", rows[0]);
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("meets.tar.zst");
    let path = file.display().to_string();
    let archive = ["archive", "--package", "meets", "--archive-file", &path];
    Workspace::fixture("compiled").gpuprof(&archive).exits_with(0);
    let entries = Archive::read(&file).0;
    let ptx = entries.into_iter().find(|entry| entry.path.ends_with("meets.ptx"));
    let ptx = String::from_utf8(ptx.expect("it holds the kernels").bytes).expect("PTX is text");
    assert_eq!(ptx.matches("bar.sync").count(), 2, "{ptx}");
}

#[test]
fn what_would_be_compiled_to_something_else_is_refused_with_its_line() {
    for (feature, line, said) in [
        ("assembly", 20, "`bar.sync` in inline assembly may be compiled into both arms"),
        ("ordering", 29, "rustc drops the ordering of this atomic operation (AcqRel) on GPUs"),
        ("fence", 39, "LLVM aborts over this compiler_fence on GPUs"),
    ] {
        // The second time, rustc has nothing to do.
        for _ in 0..2 {
            let stderr = run("refused", &["--features", feature]).exits_with(101).stderr;
            let told = format!("refused/src/lib.rs:{line}:");
            assert!(stderr.contains(&told) && stderr.contains(said), "{feature}: {stderr}");
        }
    }
    let helped = ["alone", "relaxed"];
    for feature in helped {
        run("refused", &["--features", feature]).exits_with(0);
    }
}
