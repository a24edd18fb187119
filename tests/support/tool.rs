//! The subcommand, started in a clean environment.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

use crate::support::Outcome;

/// Variables without which no toolchain can be found.
const INHERITED: [&str; 8] = [
    "CARGO",
    "CARGO_HOME",
    "HOME",
    "HTTPS_PROXY",
    "PATH",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "TMPDIR",
];

/// The subcommand, which cargo has built before the tests.
const BINARY: &str = env!("CARGO_BIN_EXE_cargo-gpuprof-under-test");

/// The library source that kernels are built from. The tool adds it by itself, and says so: done
/// beforehand, no test's output depends on which came first.
static RUST_SRC: LazyLock<()> = LazyLock::new(|| {
    let _ = Command::new("rustup")
        .args(["component", "add", "rust-src"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
});

/// Names no ptxas, so that none is searched for.
pub(crate) const NO_PTXAS: &str = "/nonexistent/ptxas";

/// Names no nvdisasm.
pub(crate) const NO_NVDISASM: &str = "/nonexistent/nvdisasm";

/// Names no nvcc, likewise.
const NO_NVCC: &str = "/nonexistent/nvcc";

/// Harnesses do little compared with the driver, and take twice as long to build optimised.
pub(crate) const UNOPTIMISED: (&str, &str) = ("CARGO_PROFILE_BENCH_OPT_LEVEL", "0");

/// `.ci/timed` sets this for the tests. Cargo would build everything again because of it.
pub(crate) const OF_TIMED_TESTS: &str = "RUSTC_BOOTSTRAP";

/// The one executable that cargo, with `arguments` in `folder`, builds below `target`.
pub(crate) fn built(arguments: &[&str], folder: &Path, target: &Path) -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--message-format", "json-render-diagnostics", "--quiet", "--target-dir"])
        .arg(target)
        .envs([UNOPTIMISED])
        .env_remove(OF_TIMED_TESTS)
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "cargo {arguments:?} failed");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().find_map(executable).expect("cargo says where the executable is")
}

/// Makes `path` a script that can be started.
///
/// A separate process writes it: another thread of this one may be starting a program meanwhile,
/// which shares the open file for a moment, and the system does not start a file that is open for
/// writing.
///
/// # Panics
/// It cannot be written.
pub fn script(path: &Path, text: &str) {
    let write = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let status = Command::new("sh").args(["-c", write, "sh", text]).arg(path).status();
    assert!(status.expect("there is a shell").success(), "{} can be written", path.display());
}

/// One start of the subcommand.
#[derive(Debug)]
pub struct Tool(Command);

impl Tool {
    /// `cargo-gpuprof gpuprof ARGUMENTS` in `folder`, everything it builds below `target`.
    pub fn new(arguments: &[&str], folder: &Path, target: &Path) -> Self {
        LazyLock::force(&RUST_SRC);
        let mut command = Command::new(BINARY);
        command
            .arg("gpuprof")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| Some((name, env::var_os(name)?))))
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_TERM_QUIET", "true")
            .envs([UNOPTIMISED])
            .env("GPUPROF_BACKEND", "emulator")
            // All tests share a target folder: which of them prunes it is not a test's business.
            .env("GPUPROF_KEEP_RUNS", "all")
            // A new version of the model of time changes no screen of a test, except of tests that
            // set it.
            .env("GPUEMU_ESTIMATE", "0")
            // Whether the machine has these programs is not a test's business either.
            .env("GPUPROF_PTXAS", NO_PTXAS)
            .env("GPUPROF_NVDISASM", NO_NVDISASM)
            .env("GPUPROF_NVCC", NO_NVCC)
            // The clocks of a fake GPU are steady from the start.
            .env("__GPUPROF_MIN_WARM_UP_NS", "1e6")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command)
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Removes a variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn run(mut self) -> Outcome {
        let folder = self.0.get_current_dir().map(Path::to_owned).unwrap_or_default();
        Outcome::new(self.0.output().expect("the subcommand can be started"), folder)
    }

    /// The command, to be started by hand.
    pub fn into_command(self) -> Command {
        self.0
    }
}
