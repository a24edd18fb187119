//! The same source makes the same PTX wherever it lies, and the PTX says nothing of where that was.

use std::env;
use std::path::Path;

use crate::support::{Archive, Workspace};

/// The PTX of the package `vector`, from an archive of it.
fn ptx(workspace: &Workspace, folder: &Path) -> String {
    let file = folder.join("vector.tar.zst");
    let path = file.display().to_string();
    let archive = ["archive", "--package", "vector", "--archive-file", &path];
    workspace.gpuprof(&archive).exits_with(0);
    let entries = Archive::read(&file).0;
    let entry = entries.into_iter().find(|entry| entry.path.ends_with("vector.ptx"));
    String::from_utf8(entry.expect("it holds the kernels").bytes).expect("PTX is text")
}

#[test]
fn two_clones_produce_the_same_ptx_without_paths() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let one = Workspace::fixture("workshop");
    let other = one.copied_to(&folder.path().join("another/place"));
    let first = ptx(&one, folder.path());
    let second = ptx(&other, folder.path());
    assert_eq!(first, second);
    let files: Vec<&str> = first.lines().filter(|line| line.contains(".file")).collect();
    let named = |text: &str| files.iter().any(|line| line.contains(text));
    assert!(named("vector/src/lib.rs\""), "faults have paths relative to the workspace: {files:?}");
    let root = one.root.display().to_string();
    let home = env::var("HOME").expect("a user has a home");
    assert!(!named(&root) && !named(&format!("{home}/")), "{files:?}");
}
