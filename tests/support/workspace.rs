//! Workspaces to run in: the repository itself, and fixtures that lie outside it as a user's would.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::tool::built;
use crate::{Outcome, Tool, repository_folder, target_folder};

/// How fixtures name the repository's runtime.
const RUNTIME_IN_FIXTURES: &str = "../../../runtime";

/// A workspace with a target folder.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Its root.
    pub root: PathBuf,
    /// Where everything it builds lies: one folder for all workspaces, so that what they have in common
    /// is built once.
    pub target: PathBuf,
}

impl Workspace {
    /// The repository.
    pub fn repository() -> Self {
        Self { root: repository_folder().to_owned(), target: shared_target() }
    }

    /// A copy of `fixtures/NAME` outside the repository, with its dependencies locked as the repository's.
    ///
    /// # Panics
    /// The copy cannot be made.
    pub fn fixture(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        target_folder().hash(&mut hasher);
        let root =
            env::temp_dir().join(format!("gpuprof-tests-{:016x}", hasher.finish())).join(name);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name), &root);
        lock(&root);
        Self { root, target: shared_target() }
    }

    /// A copy of this workspace in `folder`, which shares its target folder.
    ///
    /// # Panics
    /// The copy cannot be made.
    #[must_use]
    pub fn copied_to(&self, folder: &Path) -> Self {
        copy(&self.root, folder);
        Self { root: folder.to_owned(), target: self.target.clone() }
    }

    /// A workspace of `files` in a folder of its own, which must outlive it.
    ///
    /// # Panics
    /// The files cannot be written.
    pub fn of(folder: &Path, files: &[(&str, &str)]) -> Self {
        let root = folder.canonicalize().expect("the folder is there");
        for (path, text) in files {
            write(&root.join(path), text.as_bytes());
        }
        Self { target: root.join("target"), root }
    }

    /// The subcommand with `arguments`, in the root.
    pub fn tool(&self, arguments: &[&str]) -> Tool {
        Tool::new(arguments, &self.root, &self.target)
    }

    /// Runs the subcommand with `arguments` in the root.
    pub fn gpuprof(&self, arguments: &[&str]) -> Outcome {
        self.tool(arguments).run()
    }

    /// The executable of the harness `kernels` of `package`.
    pub fn harness(&self, package: &str) -> PathBuf {
        let build = ["build", "--package", package, "--bench", "kernels", "--profile", "bench"];
        built(&build, &self.root, &self.target)
    }

    /// The folder of the run `id`.
    pub fn run_folder(&self, id: &str) -> PathBuf {
        self.target.join("gpuprof/runs").join(id)
    }
}

fn shared_target() -> PathBuf {
    target_folder().join("e2e")
}

/// Copies a folder; what is the same already keeps its time, so that nothing is built again.
fn copy(from: &Path, to: &Path) {
    let entries = fs::read_dir(from).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
    for entry in entries {
        let path = entry.expect("the fixture can be read").path();
        let target = to.join(path.file_name().expect("entries have names"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            let text = fs::read_to_string(&path).expect("fixtures are text");
            let runtime = repository_folder().join("runtime");
            write(
                &target,
                text.replace(RUNTIME_IN_FIXTURES, &runtime.display().to_string()).as_bytes(),
            );
        }
    }
}

/// Puts the repository's lock file into `root`, again only where the repository's has changed: cargo
/// leaves out of the copy what the fixture does not need.
fn lock(root: &Path) {
    let ours = fs::read(repository_folder().join("Cargo.lock")).expect("the repository is locked");
    let origin = root.join(".lock-origin");
    if fs::read(&origin).ok().as_ref() != Some(&ours) {
        write(&root.join("Cargo.lock"), &ours);
        write(&origin, &ours);
    }
}

/// Writes whole, where there is something to change: several test processes may do the same.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    if fs::read(path).is_ok_and(|present| present == bytes) {
        return;
    }
    let folder = path.parent().expect("files lie in folders");
    fs::create_dir_all(folder).expect("the folder can be made");
    let file = tempfile::NamedTempFile::new_in(folder).expect("the folder can be written");
    fs::write(file.path(), bytes).expect("the file can be written");
    file.persist(path).expect("the file can be renamed");
}
