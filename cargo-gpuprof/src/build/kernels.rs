//! Builds the kernels of a package to PTX.
//!
//! `cargo rustc` with `--emit=asm` makes rustc's own LLVM write complete PTX, so no LLVM tool and
//! no CUDA toolkit is needed, and the linker is a no-op. `RUSTC_BOOTSTRAP` opens the unstable parts
//! on a stable toolchain for this build only; crate attributes come from the command line, so the
//! user's crate has none. `JumpThreading` is off because it duplicates barriers
//! (rust-lang/rust#137086).

use std::fs;
use std::iter;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::fresh::{Stamp, is_fresh};
use super::toolchain::Toolchain;
use crate::error::{Failure, Result};
use crate::hex::hex;
use crate::options::CargoOptions;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// Flags of every crate of a kernel build. Line directives name the user's source in faults.
const ALL_CRATES: [&str; 2] =
    ["-Zmir-enable-passes=-JumpThreading", "-Cdebuginfo=line-directives-only"];

/// Flags of the kernel crate alone. Warnings were shown when the host built the same source.
const KERNEL_CRATE: [&str; 7] = [
    "-Ccodegen-units=1",
    "-Clinker=true",
    "-Zcrate-attr=no_std",
    "-Zcrate-attr=feature(abi_ptx)",
    "-Zcrate-attr=feature(stdarch_nvptx)",
    "-Zcrate-attr=feature(asm_experimental_arch)",
    "-Awarnings",
];

/// What a kernel build is asked for.
#[derive(Debug)]
pub struct KernelBuild<'a> {
    /// The workspace.
    pub metadata: &'a Metadata,
    /// The folder of everything gpuprof writes.
    pub target_directory: &'a Utf8Path,
    /// Cargo's options.
    pub cargo: &'a CargoOptions,
    /// The architecture, such as `sm_80`.
    pub arch: &'a str,
    /// The toolchain.
    pub toolchain: &'a Toolchain,
}

impl KernelBuild<'_> {
    /// Builds the kernels of `package` and returns the path of the PTX.
    ///
    /// # Errors
    /// A build that fails (exit code 101); rustc's errors, in the user's source, are already shown.
    pub fn build(&self, package: &str) -> Result<Utf8PathBuf> {
        let arguments = self.arguments(package);
        let rustflags = self.rustflags();
        // The root, since two clones may share a target folder.
        let asked = format!(
            "{}\n{}\n{}\n{}",
            self.toolchain.version,
            rustflags.join(" "),
            arguments.join(" "),
            self.metadata.workspace_root
        );
        let id = hex(&Sha256::digest(format!("{}{}", self.toolchain.version, self.arch)))[..12]
            .to_owned();
        let folder = self.target_directory.join("gpuprof/kernels").join(id);
        let ptx = folder.join(format!("{package}.ptx"));
        let stamp_path = folder.join(format!("{package}.stamp"));
        let stamp = Stamp { path: stamp_path.as_std_path(), text: &asked };
        let dep_info = folder.join(TARGET).join("release/deps");
        let manifests = self.manifests();
        let root = self.metadata.workspace_root.as_std_path();
        let fresh =
            || is_fresh(ptx.as_std_path(), &stamp, dep_info.as_std_path(), root, &manifests);
        if fresh() {
            return Ok(ptx);
        }
        let write = |path: &Utf8Path, result: std::io::Result<()>| {
            result.map_err(|e| Failure::output(path.as_std_path(), &e))
        };
        write(&folder, fs::create_dir_all(&folder))?;
        // Two runs in one target folder build one after the other; the second finds the work done.
        let lock_path = folder.join("lock");
        let lock = fs::File::create(&lock_path);
        let lock = lock.map_err(|e| Failure::output(lock_path.as_std_path(), &e))?;
        write(&lock_path, lock.lock())?;
        if fresh() {
            return Ok(ptx);
        }
        let made = folder.join(format!("{package}.unfinished"));
        // Cargo sees its own output as fresh even where ours is gone, so ours stays until it is
        // replaced; and it takes the sources of another clone for the same where they are older
        // than its output.
        if !made.exists() || !stamp.is_written() {
            forget(&folder, package);
        }
        let begun = SystemTime::now();
        self.compile(package, &folder, &made, &rustflags)?;
        let failed = |message: String| Failure::new(ExitCode::BuildFailed, message);
        let text = fs::read(&made).map_err(|e| {
            failed(format!("rustc wrote no PTX for package `{package}` ({made}: {e})"))
        })?;
        write(&ptx, crate::store::write_whole(&ptx, &text))?;
        // A source that was edited while rustc ran is newer than what it made of it.
        let dated = fs::File::options().write(true).open(&ptx).and_then(|f| f.set_modified(begun));
        write(&ptx, dated)?;
        write(&stamp_path, crate::store::write_whole(&stamp_path, asked.as_bytes()))?;
        Ok(ptx)
    }

    /// Has cargo write the PTX of `package` to `made`.
    fn compile(
        &self,
        package: &str,
        folder: &Utf8Path,
        made: &Utf8Path,
        rustflags: &[String],
    ) -> Result<()> {
        let mut command = self.toolchain.command(&self.toolchain.cargo);
        command
            .args(self.arguments(package))
            .arg(format!("--emit=asm={made}"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", folder)
            .env("CARGO_ENCODED_RUSTFLAGS", rustflags.join("\u{1f}"))
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let failed = |message: String| Failure::new(ExitCode::BuildFailed, message);
        let status = command.status().map_err(|e| {
            failed(format!("cannot start {}: {e}", self.toolchain.cargo.to_string_lossy()))
        })?;
        if !status.success() {
            return Err(failed(format!(
                "the kernels of package `{package}` did not build for {TARGET}; rustc's errors are above.\n\
                 Kernels and the dependencies of their package are compiled without std: mark host-only items \
                 with #[gpuprof::host], and keep host-only dependencies under\n\
                 [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]"
            )));
        }
        Ok(())
    }

    /// The flags of every crate.
    fn rustflags(&self) -> Vec<String> {
        let of_all = ALL_CRATES.iter().map(|&flag| flag.to_owned());
        of_all.chain([format!("-Ctarget-cpu={}", self.arch)]).collect()
    }

    /// The lock file and every manifest.
    fn manifests(&self) -> Vec<PathBuf> {
        let lock = self.metadata.workspace_root.join("Cargo.lock");
        let all = self.metadata.packages.iter().map(|package| package.manifest_path.clone());
        iter::once(lock).chain(all).map(Utf8PathBuf::into_std_path_buf).collect()
    }

    fn arguments(&self, package: &str) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["rustc", "--package", package, "--lib", "--crate-type", "cdylib"]
                .into_iter()
                .chain(["--release", "--target", TARGET, "-Zbuild-std=core", "--quiet"])
                .chain([
                    "--config",
                    "profile.release.lto=\"fat\"",
                    "--config",
                    "profile.release.panic=\"abort\"",
                    // Paths in the PTX begin at the workspace, the registry or Rust's library: two
                    // clones make the same PTX, and nobody's home is in it. Diagnostics keep
                    // theirs.
                    "-Ztrim-paths",
                    "--config",
                    "profile.release.trim-paths=\"object\"",
                ])
                .map(str::to_owned)
                .collect();
        arguments.extend(self.cargo.manifest_args());
        arguments.extend(self.cargo.feature_args());
        arguments.push("--".to_owned());
        arguments.extend(KERNEL_CRATE.map(str::to_owned));
        arguments
    }
}

/// Makes cargo build `package` again, although its own record says that nothing changed.
fn forget(folder: &Utf8Path, package: &str) {
    let records = folder.join(TARGET).join("release/.fingerprint");
    let Ok(entries) = fs::read_dir(records) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours =
            name.to_str().and_then(|n| n.rsplit_once('-')).is_some_and(|(n, _)| n == package);
        if ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
