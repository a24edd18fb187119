//! A fake GPU: the fake driver and the fake CUPTI in one folder, found by the tool like the real
//! ones.
//!
//! The top of `tests/fakes/cupti/src/trouble.rs` lists its settings.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::tool::OF_TIMED_TESTS;
use crate::support::workspace::write;
use crate::support::{Tool, Workspace, repository_folder, target_folder, wait_beside, wait_for};

/// The folder with the libraries, under the names that the linker and the search for CUPTI know.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = target_folder().join("fake-gpu");
    fs::create_dir_all(&folder).expect("the folder can be made");
    let [driver, cupti] = built(["gpuprof-fake-driver", "gpuprof-fake-cupti"])
        .map(|library| fs::read(&library).unwrap_or_else(|e| panic!("{}: {e}", library.display())));
    write(&folder.join("libcuda.so"), &driver);
    // CUPTI asks for this name, cudarc for the other one: one file, so that both get the same
    // driver.
    if symlink("libcuda.so", folder.join("libcuda.so.1")).is_err() {
        assert!(folder.join("libcuda.so.1").exists(), "the link can be made");
    }
    write(&folder.join("libcupti.so.13"), &cupti);
    // Only looked for and opened: everything is in the other one.
    write(&folder.join("libnvperf_host.so"), &cupti);
    write(&folder.join("libnvidia-ml.so.1"), &nvml());
    folder
});

/// The shared objects of packages of the repository, in their order.
fn built<const N: usize>(packages: [&str; N]) -> [PathBuf; N] {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .arg("build")
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(["--message-format", "json-render-diagnostics", "--quiet", "--target-dir"])
        .arg(target_folder())
        .current_dir(repository_folder())
        .env_remove(OF_TIMED_TESTS)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "the fakes can be built");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let messages: Vec<Value> =
        messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    packages.map(|package| {
        let of = |message: &&Value| {
            message["reason"] == "compiler-artifact"
                && message["package_id"].as_str().is_some_and(|id| id.contains(package))
                && message["target"]["kind"][0] == "cdylib"
        };
        let artifact = messages.iter().find(of).expect("cargo reports every package");
        let file = artifact["filenames"][0].as_str().expect("a shared object is a file");
        PathBuf::from(file)
    })
}

/// The fake NVML; its source lists its settings.
fn nvml() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let library = folder.path().join("libnvidia-ml.so");
    let status = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "nvml", "-o"])
        .arg(&library)
        .arg(repository_folder().join("tests/fakes/nvml.rs"))
        .status();
    assert!(status.expect("rustc can be started").success());
    fs::read(library).expect("rustc has written it")
}

/// An action of a process on the fake GPU, from `tests/fakes/timeline.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// The process.
    pub process: u32,
    /// `prepares`, `samples`, `profiles`, `counts` or `decodes`.
    pub what: String,
    /// When it began, in nanoseconds.
    pub begin: u128,
    /// When it ended.
    pub end: u128,
}

impl Happening {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let process = words.next()?.parse().ok()?;
        let what = words.next()?.to_owned();
        let mut time = || words.next()?.parse().ok();
        Some(Self { process, what, begin: time()?, end: time()? })
    }

    /// Whether there was a time at which both continued.
    pub fn meets(&self, other: &Self) -> bool {
        self.begin < other.end && other.begin < self.end
    }
}

/// The samples of each process that are times: all before it uses the profiler, with those of the
/// warm-up.
pub fn times(timeline: &[Happening]) -> BTreeMap<u32, Vec<&Happening>> {
    let profiles = |process| timeline.iter().find(|h| h.process == process && h.what == "profiles");
    let mut times: BTreeMap<u32, Vec<&Happening>> = BTreeMap::new();
    for happening in timeline.iter().filter(|happening| happening.what == "samples") {
        if profiles(happening.process).is_none_or(|begun| happening.end <= begun.begin) {
            times.entry(happening.process).or_default().push(happening);
        }
    }
    times
}

/// A machine with a fake GPU, of which only the test that made it knows.
#[derive(Debug)]
pub struct FakeGpu {
    state: tempfile::TempDir,
}

impl Default for FakeGpu {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeGpu {
    /// A GPU with nothing wrong.
    ///
    /// # Panics
    /// The fakes cannot be built.
    pub fn new() -> Self {
        Self { state: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    /// The folder with `libcuda.so` and `libcupti.so.13`.
    pub fn libraries() -> &'static Path {
        &LIBRARIES
    }

    /// The subcommand with `arguments` on this machine. Every timed launch would empty the cache
    /// first, which takes time and changes nothing here; an argument of the test's own turns it on
    /// again.
    pub fn tool(&self, workspace: &Workspace, arguments: &[&str]) -> Tool {
        let cold = arguments.iter().any(|argument| argument.starts_with("--cache-control"));
        let warm: &[&str] = match arguments.first() {
            Some(&("run" | "calibrate")) if !cold => &["--cache-control", "none"],
            _ => &[],
        };
        workspace
            .tool(&[arguments, warm].concat())
            .env("GPUPROF_BACKEND", "cuda")
            // The state's folder contains no library: it distinguishes the plans of one machine
            // from those of another.
            .env(
                "LD_LIBRARY_PATH",
                format!("{}:{}", Self::libraries().display(), self.state.path().display()),
            )
            .env("GPUPROF_CUPTI", Self::libraries())
            .env("FAKE_CUPTI_STATE", self.state.path())
            .env("FAKE_NVML", self.state.path())
            // A separate machine has separate locks.
            .env("GPUPROF_LOCK_DIR", self.state.path())
    }

    /// What happened to the profiler so far, a line each, without the processes.
    ///
    /// # Panics
    /// The log cannot be read.
    pub fn log(&self) -> Vec<String> {
        let path = self.state.path().join("log");
        let text = if path.exists() {
            fs::read_to_string(path).expect("it is text")
        } else {
            String::new()
        };
        let line = |line: &str| line.split_once(' ').map_or("", |(_, what)| what).to_owned();
        text.lines().map(line).collect()
    }

    /// What was done on the GPU, in the order in which it ended; only with `FAKE_TIMELINE`.
    ///
    /// # Panics
    /// The file cannot be read.
    pub fn timeline(&self) -> Vec<Happening> {
        let text = fs::read_to_string(self.state.path().join("timeline")).expect("it was kept");
        text.lines().map(|line| Happening::read(line).expect(line)).collect()
    }

    /// Puts a file into the folder that the fake NVML looks at.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn nvml(&self, file: &str, text: &str) {
        fs::write(self.state.path().join(file), text).expect("it can be written");
    }

    /// The commands that NVML received.
    pub fn nvml_log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.state.path().join("nvml-log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The lines of [`Self::log`] that begin with `beginning`.
    pub fn logged(&self, beginning: &str) -> Vec<String> {
        self.log().into_iter().filter(|line| line.starts_with(beginning)).collect()
    }

    /// Runs `tool`, kills its runner when something hangs and the run with that name is `ready`,
    /// and waits until nothing of it is left; returns the id of the run.
    ///
    /// # Panics
    /// Nothing hangs, or the runner does not report the id of the run in JSON.
    pub fn killed(&self, tool: Tool, ready: impl Fn(&str) -> bool) -> String {
        let mut child = tool.into_command().spawn().expect("it can be started");
        self.wait_for(&mut child, "hangs");
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output is piped"));
        stdout.read_line(&mut first).expect("it is UTF-8");
        let started: Value = serde_json::from_str(&first).expect("the first line is JSON");
        let id = started["id"].as_str().expect("runs have names").to_owned();
        wait_for("the run to be ready", || ready(&id).then_some(()));
        child.kill().expect("it still runs");
        child.wait().expect("it can be waited for");
        wait_for("the end of every process", || self.survivors().is_empty().then_some(()));
        id
    }

    /// The processes of this machine that still run, with any parent.
    ///
    /// # Panics
    /// `/proc` cannot be read.
    pub fn survivors(&self) -> Vec<u32> {
        let mark = self.state.path().display().to_string();
        let ours = |id: &u32| {
            // A process of another user, or a process that is gone, cannot be read.
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry.ends_with(mark.as_bytes()))
        };
        let entries = fs::read_dir("/proc").expect("/proc can be read");
        let id =
            |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        entries.filter_map(id).filter(ours).collect()
    }

    /// Forgets what was logged.
    ///
    /// # Panics
    /// The log cannot be removed.
    pub fn forget(&self) {
        let path = self.state.path().join("log");
        if path.exists() {
            fs::remove_file(path).expect("the log can be removed");
        }
    }

    /// Waits until a line of the log begins with `beginning`, which a run of `child` writes.
    ///
    /// # Panics
    /// It ends without.
    pub fn wait_for(&self, child: &mut Child, beginning: &str) {
        let logged = || (!self.logged(beginning).is_empty()).then_some(());
        wait_beside(child, &format!("`{beginning}` in the log"), logged);
    }
}
