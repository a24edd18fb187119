//! The toolchain for kernels: any rustc that comes with the library source.
//!
//! Search, in order: the one asked for; the active one; the active one after `rustup component add
//! rust-src`; a system rustc, such as Debian's `rustc-web` with `rust-web-src`. Else an error with
//! the commands that mend it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gpuprof_model::ExitCode;

use super::cargo;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};

/// A toolchain that can build kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// Its cargo.
    pub cargo: OsString,
    /// Its rustc.
    pub rustc: OsString,
    /// Variables that select it.
    pub environment: Vec<(&'static str, OsString)>,
    /// The output of `rustc --version`.
    pub version: String,
}

/// The active and the system toolchains; tests replace them.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// The active rustc.
    pub active: OsString,
    /// The rustup that could add `rust-src` to it.
    pub rustup: OsString,
    /// A distribution's rustc.
    pub system: PathBuf,
}

impl Default for Candidates {
    fn default() -> Self {
        let or = |name: &str, default: &str| env::var_os(name).unwrap_or_else(|| default.into());
        Self {
            active: or("RUSTC", "rustc"),
            rustup: or("__GPUPROF_RUSTUP", "rustup"),
            system: or("__GPUPROF_SYSTEM_RUSTC", "/usr/bin/rustc").into(),
        }
    }
}

/// Finds the toolchain; `asked` is `--kernel-toolchain`.
///
/// # Errors
/// None can be had (exit code 101), with the commands that would change that.
pub fn find(asked: Option<&str>, candidates: &Candidates) -> Result<Toolchain> {
    if let Some(name) = asked {
        return explicit(name, candidates);
    }
    let active = Toolchain {
        cargo: cargo(),
        rustc: candidates.active.clone(),
        environment: Vec::new(),
        version: String::new(),
    };
    if let Some(found) = active.clone().with_library_source() {
        return Ok(found);
    }
    // Concurrent runs must not run rustup at once; the others find the component that the first one
    // added. Without a lock (the file is another user's) the run continues.
    let lock = File::create(env::temp_dir().join("gpuprof-rustup.lock"));
    let _held = lock.and_then(|file| file.lock().map(|()| file));
    if let Some(found) = active.clone().with_library_source() {
        return Ok(found);
    }
    if add_rust_src(candidates)
        && let Some(found) = active.with_library_source()
    {
        return Ok(found);
    }
    if let Some(found) = from_path(&candidates.system).and_then(Toolchain::with_library_source) {
        return Ok(found);
    }
    Err(Failure::new(ExitCode::BuildFailed, missing()))
}

fn missing() -> String {
    "kernels need the source of Rust's core library, and no toolchain here has it. Do one of these:\n  \
     rustup component add rust-src\n  \
     apt-get install rustc-web cargo-web rust-web-src    (Debian)\n  \
     cargo gpuprof run --kernel-toolchain PATH_OF_A_RUSTC_WITH_ITS_LIBRARY_SOURCE"
        .to_owned()
}

fn explicit(name: &str, candidates: &Candidates) -> Result<Toolchain> {
    let found = if name.contains('/') {
        from_path(Path::new(name))
    } else {
        let plain = name.trim_start_matches('+');
        Some(Toolchain {
            cargo: "cargo".into(),
            rustc: "rustc".into(),
            environment: vec![("RUSTUP_TOOLCHAIN", plain.into())],
            version: String::new(),
        })
    };
    found.and_then(Toolchain::with_library_source).ok_or_else(|| {
        let add = if name.contains('/') {
            "name a rustc whose sysroot holds lib/rustlib/src/rust/library".to_owned()
        } else {
            format!(
                "run {} component add rust-src --toolchain {}",
                candidates.rustup.to_string_lossy(),
                name.trim_start_matches('+')
            )
        };
        Failure::new(
            ExitCode::BuildFailed,
            format!(
                "the kernel toolchain `{name}` is not installed or lacks the source of Rust's core \
                 library; {add}"
            ),
        )
    })
}

/// A rustc by its path, with the cargo next to it or the active one.
fn from_path(rustc: &Path) -> Option<Toolchain> {
    if !rustc.is_file() {
        return None;
    }
    let beside = rustc.with_file_name("cargo");
    Some(Toolchain {
        cargo: if beside.is_file() { beside.into() } else { cargo() },
        rustc: rustc.into(),
        environment: Vec::new(),
        version: String::new(),
    })
}

impl Toolchain {
    /// A command of this toolchain.
    pub fn command(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env("RUSTC", &self.rustc).envs(self.environment.iter().map(|(k, v)| (k, v)));
        // A wrapper would be asked to cache builds with unstable flags for another target.
        command.env_remove("RUSTC_WORKSPACE_WRAPPER");
        command
    }

    /// Whether its rustc takes `flags`, unstable ones included.
    pub fn knows(&self, flags: &[&str]) -> bool {
        self.command(&self.rustc)
            .args(flags)
            .arg("--print=sysroot")
            .env("RUSTC_BOOTSTRAP", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Refuses an architecture that its rustc does not compile for: LLVM would ignore it.
    ///
    /// # Errors
    /// rustc does not know it (exit code 2).
    pub fn check_arch(&self, arch: &str, target: &str) -> Result<()> {
        let mut ask = self.command(&self.rustc);
        let ask = ask.args(["--print=target-cpus", "--target", target]).stdin(Stdio::null());
        let Ok(output) = ask.stderr(Stdio::null()).output() else { return Ok(()) };
        let text = String::from_utf8_lossy(&output.stdout);
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        let known: Vec<&str> = words.filter(|word| word.starts_with("sm_")).collect();
        // A rustc that names none is asked by the build.
        if known.is_empty() || known.contains(&arch) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{} does not compile for the GPU architecture `{arch}` (--kernel-arch); it compiles \
             for {}",
            self.version,
            known.join(", ")
        )))
    }

    /// 95 where its rustc is 1.95.
    pub fn minor(&self) -> Option<u32> {
        self.version.split(' ').nth(1)?.split('.').nth(1)?.parse().ok()
    }

    /// The toolchain with its version, if its sysroot holds the library source.
    fn with_library_source(mut self) -> Option<Self> {
        // Both at once: through rustup each start costs tens of milliseconds.
        let ask = |question: &str| {
            self.command(&self.rustc)
                .arg(question)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
        };
        let (sysroot, version) = (ask("--print=sysroot"), ask("--version"));
        let answer = |child: io::Result<Child>| {
            let output = child.and_then(Child::wait_with_output).ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_owned())
        };
        let (sysroot, version) = (answer(sysroot), answer(version));
        let library = Path::new(&sysroot?).join("lib/rustlib/src/rust/library");
        self.version = version?;
        library.join("core/src/lib.rs").is_file().then_some(self)
    }
}

/// Adds `rust-src` by rustup: asks on a terminal, says so elsewhere.
fn add_rust_src(candidates: &Candidates) -> bool {
    let known = Command::new(&candidates.rustup)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !known {
        return false;
    }
    console::say("kernels need the source of Rust's core library (the component rust-src, 4 MB)");
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        console::raw("gpuprof: run `rustup component add rust-src` now? [Y/n] ");
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).is_err()
            || line.trim().to_lowercase().starts_with('n')
        {
            return false;
        }
    } else {
        console::say("running `rustup component add rust-src`");
    }
    Command::new(&candidates.rustup)
        .args(["component", "add", "rust-src"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_source_is_reported_with_the_commands() {
        let nowhere = Candidates {
            active: "/nonexistent/rustc".into(),
            rustup: "/nonexistent/rustup".into(),
            system: "/nonexistent/usr/bin/rustc".into(),
        };
        let failure = find(None, &nowhere).unwrap_err();
        assert_eq!(failure.code, ExitCode::BuildFailed);
        assert_eq!(failure.message, missing());
        let failure = find(Some("/nonexistent/rustc"), &nowhere).unwrap_err();
        assert!(failure.message.contains("`/nonexistent/rustc` is not installed"), "{failure}");
        let failure = find(Some("+no-such-toolchain"), &nowhere).unwrap_err();
        assert!(failure.message.contains("component add rust-src --toolchain no-such-toolchain"));
    }
}
