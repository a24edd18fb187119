//! Builds the kernels of a package to PTX.
//!
//! `cargo rustc` with `--emit=asm` makes rustc's own LLVM write complete PTX, so no LLVM tool and
//! no CUDA toolkit is needed, and the linker is a no-op. `RUSTC_BOOTSTRAP` opens the unstable parts
//! on a stable toolchain for this build only; crate attributes come from the command line, so no
//! kernel crate has any. LLVM's output is audited before it is used: code with another meaning than
//! the source is an error with the source line.

mod audit;
mod bounds;
mod constant;
mod flags;
mod host_only;
mod inlining;
mod ir;
mod libraries;
mod math_suggestions;
mod names;
mod scope;
mod std_suggestions;
pub mod wrapper;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::iter;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use ir::Ir;

use super::fresh::{Stamp, has_newer_source, is_fresh};
use super::harnesses::is_library;
use super::messages::{self, Ended};
use super::toolchain::Toolchain;
use super::{KERNEL_TARGET as TARGET, command_text};
use crate::options::BuildOptions;
use gpuprof_system::console;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::hex::hex;

/// A kernel build.
#[derive(Debug)]
pub struct KernelBuild<'a> {
    /// The workspace.
    pub metadata: &'a Metadata,
    /// The folder of everything gpuprof writes.
    pub target_directory: &'a Utf8Path,
    /// Cargo's options.
    pub cargo: &'a BuildOptions,
    /// The features of each library of the workspace in the harnesses, by package.
    pub features: &'a BTreeMap<String, Vec<String>>,
    /// The architecture, such as `sm_80`.
    pub arch: &'a str,
    /// The toolchain.
    pub toolchain: &'a Toolchain,
    /// When the build of the harnesses began.
    pub harnesses_begun: SystemTime,
}

impl KernelBuild<'_> {
    /// The options for the features that `package` has in the harnesses, whichever dependent
    /// activates them. Cargo takes none for a package outside the workspace.
    fn feature_args(&self, package: &str) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(features) = self.features.get(package) {
            args.push("--no-default-features".to_owned());
            if !features.is_empty() {
                args.extend(["--features".to_owned(), features.join(",")]);
            }
        }
        args
    }

    /// Builds the kernels of `package`: the path of their PTX.
    ///
    /// # Errors
    /// A build that fails (exit code 101); rustc's errors, in the user's source, are already shown.
    /// A source that changed after the build of the harnesses began (exit code 101): then harness
    /// and kernels may be of two states.
    pub fn build(&self, package: &str) -> Result<Utf8PathBuf> {
        let flags = flags::of_every_crate(self.arch);
        let arguments = flags::of_cargo(package, self.cargo, &self.feature_args(package));
        // The root, since two clones may share a target folder.
        let asked = format!(
            "{}\n{}\n{}\n{}\n{}\n{}",
            self.toolchain.version,
            flags.join(" "),
            arguments.join(" "),
            flags::COMMENTS,
            [wrapper::FLAGS, wrapper::FEATURES].concat().join(" "),
            self.metadata.workspace_root
        );
        let id = hex(&Sha256::digest(format!("{}{}", self.toolchain.version, self.arch)));
        let folder = self.target_directory.join("gpuprof/kernels").join(&id[..12]);
        let stem = self.stem(package);
        let ptx = folder.join(format!("{stem}.ptx"));
        let stamp_path = folder.join(format!("{stem}.stamp"));
        let stamp = Stamp { path: stamp_path.as_std_path(), text: &asked };
        let dep_info = folder.join(format!("{stem}.d"));
        let manifests = self.manifests();
        let root = self.metadata.workspace_root.as_std_path();
        let fresh =
            || is_fresh(ptx.as_std_path(), &stamp, dep_info.as_std_path(), root, &manifests);
        if fresh() {
            return Ok(ptx);
        }
        write(&folder, fs::create_dir_all(&folder))?;
        // Two runs in one target folder build one after the other; the second finds the work done.
        let lock_path = folder.join("lock");
        let lock = fs::File::create(&lock_path);
        let lock = lock.map_err(Failure::writing(&lock_path))?;
        write(&lock_path, lock.lock())?;
        if fresh() {
            return Ok(ptx);
        }
        self.toolchain.check_arch(self.arch, TARGET)?;
        // Cargo sees its own output as fresh even where ours is gone, so ours stays until it is
        // replaced; and it takes the sources of another clone for the same where they are older
        // than its output.
        let cargo = CargoBuild { build: self, package, stem, folder: &folder, arguments, flags };
        if !(cargo.made().exists() && cargo.ir().exists() && stamp.is_written()) {
            forget(&folder, package);
        }
        let begun = SystemTime::now();
        let text = cargo.run()?;
        cargo.keep_dep_info(&dep_info)?;
        write(&ptx, gpuprof_system::whole::write_whole(&ptx, text.as_bytes()))?;
        // A source that was edited while rustc ran must be newer than the PTX.
        let file = fs::File::options().write(true).open(&ptx);
        write(&ptx, file.and_then(|file| file.set_modified(begun)))?;
        write(&stamp_path, gpuprof_system::whole::write_whole(&stamp_path, asked.as_bytes()))?;
        match has_newer_source(dep_info.as_std_path(), root, self.harnesses_begun) {
            false => Ok(ptx),
            true => Err(failed(format!(
                "the source of `{package}` changed while gpuprof built it: the harness and the \
                 kernels may be of two states; run the command again"
            ))),
        }
    }

    /// The beginning of the names of files of `package`: runs with other features, which may be at
    /// work in the same folder, have others.
    fn stem(&self, package: &str) -> String {
        let features = self.features.get(package).into_iter().flatten();
        let more: Vec<&str> =
            features.map(String::as_str).filter(|feature| *feature != "default").collect();
        match more.is_empty() {
            true => package.to_owned(),
            false => format!("{package}-{}", &hex(&Sha256::digest(more.join(",")))[..8]),
        }
    }

    /// The lock file and every manifest.
    fn manifests(&self) -> Vec<PathBuf> {
        let lock = self.metadata.workspace_root.join("Cargo.lock");
        let all = self.metadata.packages.iter().map(|package| package.manifest_path.clone());
        iter::once(lock).chain(all).map(Utf8PathBuf::into_std_path_buf).collect()
    }
}

fn write(path: &Utf8Path, result: std::io::Result<()>) -> Result<()> {
    result.map_err(Failure::writing(path))
}

fn failed(message: String) -> Failure {
    Failure::new(ExitCode::BuildFailed, message)
}

/// One build by cargo.
struct CargoBuild<'a> {
    build: &'a KernelBuild<'a>,
    package: &'a str,
    /// The beginning of the names of its files.
    stem: String,
    folder: &'a Utf8Path,
    arguments: Vec<String>,
    flags: Vec<String>,
}

impl CargoBuild<'_> {
    /// The PTX as rustc writes it.
    fn made(&self) -> Utf8PathBuf {
        self.folder.join(format!("{}.unfinished", self.stem))
    }

    /// The module in LLVM's text form.
    fn ir(&self) -> Utf8PathBuf {
        self.folder.join(format!("{}.ll", self.stem))
    }

    /// Copies to `to` cargo's list of the sources in this build, since cargo writes the list of any
    /// other package of this crate name to the same file. Not in it are sources from a registry,
    /// which never change.
    fn keep_dep_info(&self, to: &Utf8Path) -> Result<()> {
        let packages = self.build.metadata.packages.iter();
        let mut targets =
            packages.filter(|one| one.name == self.package).flat_map(|one| &one.targets);
        let library = targets.find(|target| is_library(target));
        let name = library.map_or(self.package, |library| &library.name).replace('-', "_");
        let from = self.folder.join(TARGET).join("release").join(format!("{name}.d"));
        // Without one, the next run asks cargo.
        let text = fs::read(from).unwrap_or_default();
        write(to, gpuprof_system::whole::write_whole(to, &text))
    }

    /// Has cargo write the PTX, and audits LLVM's output.
    fn run(&self) -> Result<String> {
        let (package, made, ir) = (self.package, self.made(), self.ir());
        let flags = flags::known(self.flags.clone(), self.build.toolchain);
        if !self.build.cargo.silent() {
            let arch = self.build.arch;
            console::say(format_args!("building the kernels of `{package}` for {arch}"));
        }
        let ended = messages::show(&mut self.command(Some(&made), &flags)?)?;
        let read = |path: &Utf8Path| fs::read_to_string(path);
        if ended != Ended::Well {
            return Err(self.why(&ended, &flags)?);
        }
        let missing = |path: &Utf8Path, e| {
            failed(format!("rustc wrote no PTX for package `{package}` ({path}: {e})"))
        };
        let text = read(&made).map_err(|e| missing(&made, e))?;
        let module = read(&ir).map_err(|e| missing(&ir, e))?;
        let parsed = Ir::parse(&module);
        let text = inlining::applied(&text, &parsed);
        self.refuse(&module, Some(&text))?;
        let text = constant::placed(&bounds::applied(&text)).map_err(|why| {
            failed(format!("the kernels of package `{package}` cannot be loaded: {why}"))
        })?;
        let text = names::shortened(scope::mended(text, self.build.arch));
        Ok(libraries::applied(&text, &parsed))
    }

    /// Why there is no PTX.
    ///
    /// # Errors
    /// LLVM ended it over something that has a source line.
    fn why(&self, ended: &Ended, flags: &[String]) -> Result<Failure> {
        let mut advice = Vec::new();
        match ended {
            Ended::WithErrors(places) => {
                let others;
                (advice, others) = host_only::advice(&self.build.metadata.workspace_root, places);
                advice.extend(others.into_iter().filter_map(|place| {
                    let name = place.unknown.as_deref()?;
                    let of_std = || std_suggestions::instead(name).map(ToOwned::to_owned);
                    let (instead, file) =
                        (math_suggestions::of_std(name).or_else(of_std)?, &place.file);
                    let (line, column) = (place.line, place.column);
                    Some(format!(
                        "{file}:{line}:{column}: kernels have no `{name}` of std: {instead}"
                    ))
                }));
            }
            // Without an error of rustc, LLVM ended it, which reports no source line.
            _ => {
                if let Some(text) = self.emit_ir(flags) {
                    self.refuse(&text, None)?;
                }
            }
        }
        if advice.is_empty() {
            advice.push(
                "Kernels and the dependencies of their package are compiled without std: mark host-only items \
                 with #[gpuprof::host], and keep host-only dependencies under\n\
                 [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]"
                    .to_owned(),
            );
        }
        Ok(failed(format!(
            "the kernels of package `{}` did not build for {TARGET}; rustc's errors are above.\n{}",
            self.package,
            advice.join("\n")
        )))
    }

    /// The module in LLVM's text form alone, for which no instructions are chosen.
    fn emit_ir(&self, flags: &[String]) -> Option<String> {
        let mut command = self.command(None, flags).ok()?;
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.ok()?.success().then(|| fs::read_to_string(self.ir()).ok()).flatten()
    }

    /// Refuses code that must not run, and warns of suspicious code.
    fn refuse(&self, ir: &str, ptx: Option<&str>) -> Result<()> {
        let findings = audit::findings(ir, ptx);
        let (errors, warnings): (Vec<_>, Vec<_>) = findings.iter().partition(|f| f.refuses());
        warnings.iter().for_each(console::warn);
        if errors.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = errors.iter().map(|finding| format!("\n  {finding}")).collect();
        Err(failed(format!(
            "the kernels of package `{}` would compile to something else than what is written:{}",
            self.package,
            lines.concat()
        )))
    }

    fn command(&self, ptx: Option<&Utf8Path>, flags: &[String]) -> Result<Command> {
        let toolchain = self.build.toolchain;
        let wrapper = env::current_exe().map_err(|e| {
            failed(format!("the path of this executable, which wraps rustc, is unknown: {e}"))
        })?;
        let users = env::var_os("RUSTC_WRAPPER").unwrap_or_default();
        let mut arguments = self.arguments.clone();
        let verbosity = self.build.cargo.verbosity();
        arguments.splice(1..1, verbosity.into_iter().map(str::to_owned));
        arguments.insert(1, format!("--message-format={}", self.build.cargo.message_format()));
        let mut command = toolchain.command(&toolchain.cargo);
        command
            .args(arguments)
            .args(ptx.filter(|_| toolchain.knows(&[flags::COMMENTS])).map(|_| flags::COMMENTS))
            .arg(flags::emit(ptx, &self.ir()))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", self.folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("RUSTC_WRAPPER", wrapper)
            .env(wrapper::MARK, "1")
            .env(wrapper::USERS, users)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .stdin(Stdio::null());
        if let Some(folder) = &self.build.cargo.cargo.folder {
            command.current_dir(folder);
        }
        command_text::command(&command, self.build.cargo.cargo.verbose);
        Ok(command)
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
