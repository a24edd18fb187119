//! Workspaces to run in: the repository itself, and fixtures that lie outside it as a user's would.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::support::tool::built;
use crate::support::{Outcome, Tool, repository_folder, target_folder};

/// How fixtures name the repository's runtime.
const RUNTIME_IN_FIXTURES: &str = "../../../runtime";

/// The repository's lock file as it was when it was put into a fixture.
const LOCK_ORIGIN: &str = ".lock-origin";

/// A workspace with a target folder.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Its root.
    pub root: PathBuf,
    /// The folder of all its builds: one for all workspaces, so that common parts are built once.
    pub target: PathBuf,
}

impl Workspace {
    /// The repository.
    pub fn repository() -> Self {
        Self { root: repository_folder().to_owned(), target: shared_target() }
    }

    /// A copy of `fixtures/NAME` outside the repository, with its dependencies locked as the
    /// repository's.
    ///
    /// # Panics
    /// The copy cannot be made.
    pub fn fixture(name: &str) -> Self {
        Self::copy_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name), name)
    }

    /// The same of another folder of the repository, as `name`.
    ///
    /// # Panics
    /// The copy cannot be made.
    pub fn copy_of(folder: &Path, name: &str) -> Self {
        let root = outside(name);
        // One test at a time: what is no longer in the fixture is removed, and what is being
        // written is not in it.
        let busy = root.with_extension("lock");
        fs::create_dir_all(&root).expect("the folder can be made");
        let busy = File::create(busy).expect("the folder can be written");
        busy.lock().expect("files can be locked");
        copy(folder, &root);
        forget_all_but(folder, &root);
        lock(&root);
        Self { root, target: shared_target() }
    }

    /// A copy of this workspace in `folder`, which shares its target folder. Its packages have
    /// another version: cargo gives equal packages of two workspaces the same files, and another
    /// test may build the original meanwhile.
    ///
    /// # Panics
    /// The copy cannot be made.
    #[must_use]
    pub fn copied_to(&self, folder: &Path) -> Self {
        copy(&self.root, folder);
        let manifest = folder.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("the copy can be read");
        let version = format!("version = \"0.1.{}\"", hash(folder) >> 32);
        let text = text.replacen("version = \"0.1.0\"", &version, 1);
        assert!(text.contains(&version), "{} states no version", manifest.display());
        write(&manifest, text.as_bytes());
        Self { root: folder.to_owned(), target: self.target.clone() }
    }

    /// A workspace of `files` in a separate folder, which must outlive it.
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

    /// The outcome of a script of the repository that calls `cargo gpuprof` in this workspace, with
    /// these arguments and variables.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn script(&self, script: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let tool = self.tool(&[]).into_command();
        let own = tempfile::tempdir().expect("a folder can be made");
        symlink(tool.get_program(), own.path().join("cargo-gpuprof")).expect("it can be linked");
        let path = env::var("PATH").expect("there is a PATH");
        let mut command = Command::new(script);
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .envs(tool.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .envs(variables.iter().copied())
            .env("PATH", format!("{}:{path}", own.path().display()));
        Outcome::new(command.output().expect("scripts can be started"), self.root.clone())
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
        self.stored().join("runs").join(id)
    }

    /// The folder of its runs, baselines and last verdict.
    ///
    /// # Panics
    /// The workspace is not there.
    pub fn stored(&self) -> PathBuf {
        if self.target.starts_with(&self.root) {
            return self.target.join("gpuprof");
        }
        let root = self.root.canonicalize().expect("it is there");
        let name = root.file_name().expect("it has a name").to_string_lossy().into_owned();
        let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
        let hash: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        self.target.join(format!("gpuprof/workspaces/{name}-{hash}/gpuprof"))
    }
}

/// A folder outside the repository, the same one every time: what is built of it stays fresh.
pub(crate) fn outside(name: &str) -> PathBuf {
    env::temp_dir().join(format!("gpuprof-tests-{:016x}", hash(&target_folder()))).join(name)
}

fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
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

/// Removes files of an earlier version of `original` from `copy`; the files of [`lock`] stay.
fn forget_all_but(original: &Path, copy: &Path) {
    for entry in fs::read_dir(copy).expect("the copy can be read") {
        let path = entry.expect("the copy can be read").path();
        let name = path.file_name().expect("entries have names");
        let there = original.join(name);
        if path.is_dir() && there.is_dir() {
            forget_all_but(&there, &path);
        } else if path.is_dir() {
            fs::remove_dir_all(&path).expect("it can be removed");
        } else if !there.exists() && name != "Cargo.lock" && name != LOCK_ORIGIN {
            fs::remove_file(&path).expect("it can be removed");
        }
    }
}

/// Puts the repository's lock file into `root`, again only if the repository's has changed: cargo
/// removes unused entries from the copy.
fn lock(root: &Path) {
    let ours = fs::read(repository_folder().join("Cargo.lock")).expect("the repository is locked");
    let origin = root.join(LOCK_ORIGIN);
    if fs::read(&origin).ok().as_ref() != Some(&ours) {
        write(&root.join("Cargo.lock"), &ours);
        write(&origin, &ours);
    }
}

/// Writes whole files, only if they change: several test processes may do the same.
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
