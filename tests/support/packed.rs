//! A packed harness, run in a separate folder: without cargo, a start costs milliseconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Tool, Workspace};

/// An archive of the packages `vector` and `endings`, made once a process.
static ARCHIVE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("packed.tar.zst");
    let path = file.display().to_string();
    let packages = ["archive", "--package", "vector", "--package", "endings"];
    let arguments = [&packages[..], &["--archive-file", &path]].concat();
    Workspace::fixture("workshop").gpuprof(&arguments).exits_with(0);
    fs::read(file).expect("the archive was made")
});

/// A folder with the archive, and the output of its runs.
#[derive(Debug)]
pub struct Packed {
    folder: TempDir,
}

impl Packed {
    /// A new folder.
    ///
    /// # Panics
    /// The archive cannot be made.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        fs::write(folder.path().join("packed.tar.zst"), &*ARCHIVE).expect("it can be written");
        Self { folder }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `cargo gpuprof run` of the archive with `arguments`.
    pub fn tool(&self, arguments: &[&str]) -> Tool {
        let run = ["run", "--archive-file", "packed.tar.zst"];
        Tool::new(&[&run[..], arguments].concat(), self.path(), &self.path().join("not-used"))
    }

    /// `cargo gpuprof ARGUMENTS` in the folder, which is not a workspace.
    pub fn other(&self, arguments: &[&str]) -> Tool {
        Tool::new(arguments, self.path(), &self.path().join("not-used"))
    }

    /// Starts `cargo gpuprof run` with `arguments`, its output dropped.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.tool(arguments).into_command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the subcommand can be started")
    }

    /// The folders of runs, by id.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.path().join("target/gpuprof/runs"));
        let mut runs: Vec<PathBuf> =
            runs.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        runs.sort();
        runs
    }

    /// The run document in `run`, without the parts that differ from run to run.
    ///
    /// # Panics
    /// There is none.
    pub fn document(run: &Path) -> Value {
        let bytes = fs::read(run.join("run.json")).expect("the run is kept");
        let mut document: Value = serde_json::from_slice(&bytes).expect("it is JSON");
        document["id"] = Value::Null;
        document["provenance"]["started"] = Value::Null;
        if let Some(provenance) = document["provenance"].as_object_mut() {
            for timed in ["spans", "costs"] {
                provenance.remove(timed);
            }
        }
        // A resumed run does not know how long all of it took.
        if let Some(Value::Object(cost)) = document.pointer_mut("/conclusion/cost") {
            cost.remove("seconds");
        }
        document
    }

    /// The harness processes that a run in this folder started and that are still there.
    pub fn harnesses(&self) -> Vec<u32> {
        let request = format!("__GPUPROF_REQUEST={}", self.path().display());
        let ours = |id: &u32| {
            // Empty for a process that has ended and was not waited for.
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|&b| b == 0).any(|variable| variable.starts_with(request.as_bytes()))
        };
        let entries = fs::read_dir("/proc").expect("this is Linux").flatten();
        entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).filter(ours).collect()
    }
}
