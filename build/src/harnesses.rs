//! Builds the harness targets and says which executables hold series.
//!
//! Input: cargo's own options. Output: executables from cargo's messages, never from the
//! target folder. Targets are chosen here, so that libtest benches of the same packages are not
//! built.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::{Message, Metadata, MetadataCommand, Package, Target};
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{ExitCode, protocol};

use super::{cargo, command_text, cuda_versions, custom_main, required_features};
use crate::options::{BuildOptions, CargoRequest};
use crate::oxide::{self, Compiler, CompilerIdentity};
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sha256::sha256_of;

/// A built harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harness {
    /// Its package.
    pub package: String,
    /// Its target.
    pub target: String,
    /// The executable.
    pub executable: Utf8PathBuf,
    /// The folder it runs in, its package's.
    pub folder: Utf8PathBuf,
    /// Folders with libraries that build scripts made, for the dynamic linker.
    pub library_folders: Vec<Utf8PathBuf>,
    /// The folder of a driver that lets it start where none is installed and it is linked to one.
    pub stand_in: Option<Utf8PathBuf>,
    /// The cuda-oxide compiler that built it, if any.
    pub oxide: Option<CompilerIdentity>,
}

impl Harness {
    /// Its name, and SHA-256 of its executable.
    pub fn hashed(&self) -> (String, String) {
        let hash = sha256_of(&self.executable).unwrap_or_default();
        (format!("{}::{}", self.package, self.target), hash)
    }
}

/// The workspace by `cargo metadata`.
///
/// # Errors
/// `cargo metadata` failed (exit code 102).
pub fn metadata(options: &CargoRequest) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.cargo_path(cargo());
    let mut other = vec!["--no-deps".to_owned()];
    other.extend(options.manifest_args());
    command.other_options(other);
    if let Some(folder) = &options.folder {
        command.current_dir(folder);
    }
    command
        .exec()
        .map_err(|e| Failure::new(ExitCode::MetadataFailed, format!("cargo metadata failed: {e}")))
}

/// The folder of everything gpuprof writes.
pub fn target_directory(metadata: &Metadata, options: &CargoRequest) -> Utf8PathBuf {
    options.target_dir.clone().unwrap_or_else(|| metadata.target_directory.clone())
}

/// `options` without the packages and targets that the workspace lacks: another revision may not
/// have all of them.
///
/// # Errors
/// It has none of the packages that were named (exit code 4).
pub fn as_far_as_known(metadata: &Metadata, options: CargoRequest) -> Result<CargoRequest> {
    let members = metadata.workspace_packages();
    let bare = |spec: &str| spec.split(['@', '#']).next().unwrap_or(spec).to_owned();
    let known = |spec: &String| members.iter().any(|p| p.name.as_str() == bare(spec));
    let has_bench = |name: &String| {
        let mut targets = members.iter().flat_map(|package| &package.targets);
        targets.any(|target| target.is_bench() && target.name == *name)
    };
    let kept = |all: &[String], is: &dyn Fn(&String) -> bool| -> Result<Vec<String>> {
        let kept: Vec<String> = all.iter().filter(|name| is(name)).cloned().collect();
        if kept.is_empty() && !all.is_empty() {
            let message = format!("it has no {}", all.join(", "));
            return Err(Failure::new(ExitCode::NoSeries, message));
        }
        Ok(kept)
    };
    Ok(CargoRequest {
        package: kept(&options.package, &known)?,
        bench: kept(&options.bench, &has_bench)?,
        exclude: options.exclude.iter().filter(|spec| known(spec)).cloned().collect(),
        ..options
    })
}

/// The harnesses of a workspace, and how cargo built its libraries for them.
#[derive(Debug, Default)]
pub struct HostBuild {
    /// The harnesses.
    pub harnesses: Vec<Harness>,
    /// The active features of each library of the workspace, by package, including features that a
    /// dependent activates.
    pub features: BTreeMap<String, Vec<String>>,
}

/// Builds the bench targets of the selected packages that depend on gpuprof.
///
/// # Errors
/// Names that match nothing, no harness at all (exit code 4), a failed build (exit code 101).
pub fn build(metadata: &Metadata, build: &BuildOptions) -> Result<HostBuild> {
    let options = &build.cargo;
    let Targets { built: targets, skipped } = targets(metadata, build)?;
    skipped.iter().for_each(|text| Notes::new(build.quiet).say(text));
    let names: BTreeSet<&str> = targets.iter().map(|(_, name)| *name).collect();
    let (theirs, ours): (Vec<_>, Vec<_>) =
        targets.iter().copied().partition(|(package, _)| oxide::is_compiled(package, metadata));
    let target = target_directory(metadata, options);
    let HostBuild { mut harnesses, mut features } = match ours.is_empty() {
        true => HostBuild::default(),
        false => compile(&ours, (build, &target), metadata, None)?,
    };
    if !theirs.is_empty() {
        let root = &metadata.workspace_root;
        let folder = options.folder.as_deref();
        let compiler = Compiler::find((root, folder), &build.kernel_arch, Some(&target))?;
        let built = compile(&theirs, (build, &target), metadata, Some(&compiler))?;
        harnesses.extend(built.harnesses);
        features.extend(built.features);
    }
    harnesses.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
    if harnesses.is_empty() {
        let names: Vec<&str> = names.into_iter().collect();
        return Err(Failure::new(
            ExitCode::NoSeries,
            format!("none of the bench targets ({}) calls gpuprof::main!(…)", names.join(", ")),
        ));
    }
    Ok(HostBuild { harnesses, features })
}

/// The bench targets of the selected packages that depend on gpuprof.
struct Targets<'m> {
    /// Those that are built, each with its package.
    built: Vec<(&'m Package, &'m str)>,
    /// A sentence on each that is not, since the build lacks features that it requires.
    skipped: Vec<String>,
}

/// The targets of a build. A target that was named is built whatever features it requires: cargo
/// says which ones are missing.
///
/// # Errors
/// Names that match nothing, or no target (exit code 4).
fn targets<'m>(metadata: &'m Metadata, build: &BuildOptions) -> Result<Targets<'m>> {
    let options = &build.cargo;
    let packages = selected(metadata, options)?;
    let named = |name: &str| options.bench.iter().any(|bench| bench == name);
    let mut targets: Vec<(&Package, &str)> = Vec::new();
    let mut skipped = Vec::new();
    for package in packages.iter().filter(|p| p.dependencies.iter().any(|d| d.name == "gpuprof")) {
        for target in package.targets.iter().filter(|target| target.is_bench()) {
            let missing = required_features::missing(package, target, build);
            if named(&target.name) || (options.bench.is_empty() && missing.is_empty()) {
                targets.push((package, target.name.as_str()));
            } else if options.bench.is_empty() {
                skipped.push(format!(
                    "the bench target `{}` of {} is skipped: it requires --features {}",
                    target.name,
                    package.name,
                    missing.join(",")
                ));
            }
        }
    }
    for bench in &options.bench {
        if targets.iter().all(|(_, name)| name != bench) {
            let names = packages.iter().flat_map(|p| &p.targets).filter(|t| t.is_bench());
            let near = did_you_mean(bench, names.map(|t| t.name.as_str()));
            return Err(unknown("bench target", bench, near));
        }
    }
    for (package, bench) in &targets {
        custom_main::check(package, bench)?;
    }
    if targets.is_empty() && !skipped.is_empty() {
        return Err(Failure::new(ExitCode::NoSeries, skipped.join("\n")));
    }
    if targets.is_empty() {
        let looked: Vec<&str> = packages.iter().map(|p| p.name.as_str()).collect();
        return Err(Failure::new(
            ExitCode::NoSeries,
            format!(
                "no harness found in {}; add a bench target with `harness = false` that calls \
                 gpuprof::main!(…) to a package that depends on gpuprof",
                looked.join(", ")
            ),
        ));
    }
    Ok(Targets { built: targets, skipped })
}

fn unknown(what: &str, name: &str, near: Option<String>) -> Failure {
    let near = near.map(|near| format!(": {near}")).unwrap_or_default();
    Failure::usage(format!("no {what} is named `{name}`{near}"))
}

fn selected<'m>(metadata: &'m Metadata, options: &CargoRequest) -> Result<Vec<&'m Package>> {
    let members = metadata.workspace_packages();
    let find = |spec: &String| {
        let bare = spec.split(['@', '#']).next().unwrap_or(spec);
        members.iter().copied().find(|p| p.name.as_str() == bare).ok_or_else(|| {
            let near = did_you_mean(bare, members.iter().map(|p| p.name.as_str()));
            unknown("package of the workspace", bare, near)
        })
    };
    if !options.package.is_empty() {
        return options.package.iter().map(find).collect();
    }
    let excluded = options.exclude.iter().map(find).collect::<Result<Vec<_>>>()?;
    let all =
        || members.iter().copied().filter(|p| excluded.iter().all(|e| e.id != p.id)).collect();
    if options.workspace {
        return Ok(all());
    }
    let here =
        options.manifest_path.as_deref().and_then(|path| path.canonicalize_utf8().ok()).or_else(
            || Utf8PathBuf::from_path_buf(std::env::current_dir().ok()?.join("Cargo.toml")).ok(),
        );
    match members.iter().find(|p| Some(&p.manifest_path) == here.as_ref()) {
        Some(package) => Ok(vec![package]),
        None => Ok(all()),
    }
}

/// The command that builds `targets`.
fn build_command(targets: &[(&Package, &str)], build: &BuildOptions) -> Command {
    let options = &build.cargo;
    let mut command = Command::new(cargo());
    command.args([
        "build",
        "--message-format=json-render-diagnostics",
        "--profile",
        &build.profile,
    ]);
    let packages: BTreeSet<&str> = targets.iter().map(|(p, _)| p.name.as_str()).collect();
    let benches: BTreeSet<&str> = targets.iter().map(|&(_, name)| name).collect();
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    command.args(benches.iter().flat_map(|bench| ["--bench", bench]));
    command.args(options.manifest_args()).args(build.feature_args());
    if let Some(folder) = &options.target_dir {
        command.args(["--target-dir", folder.as_str()]);
    }
    command.args(build.verbosity());
    if let Some(jobs) = &options.jobs {
        command.args(["--jobs", jobs]);
    }
    if let Some(folder) = &options.folder {
        command.current_dir(folder);
    }
    command
}

/// Builds `targets`, by cuda-oxide's `compiler` if there is one, and keeps those with series.
/// Folders with libraries are those below the `target` folder, as for `cargo run`: others may
/// contain a toolkit's stub of the driver.
fn compile(
    targets: &[(&Package, &str)],
    (build, target): (&BuildOptions, &Utf8Path),
    metadata: &Metadata,
    compiler: Option<&Compiler>,
) -> Result<HostBuild> {
    let failed = |message: String| Failure::new(ExitCode::BuildFailed, message);
    let mut command = build_command(targets, build);
    if let Some(compiler) = compiler {
        compiler.prepare(&mut command)?;
    }
    command_text::command(&command, build.cargo.verbose);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed(format!("cannot start cargo: {e}")))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    let mut finished = false;
    let mut linked: BTreeMap<String, Vec<Utf8PathBuf>> = BTreeMap::new();
    let HostBuild { mut harnesses, mut features } = HostBuild::default();
    for message in Message::parse_stream(BufReader::new(stdout)) {
        match message.map_err(|e| failed(format!("cannot read cargo's messages: {e}")))? {
            Message::BuildFinished(end) => finished = end.success,
            Message::BuildScriptExecuted(script) => {
                linked.entry(String::new()).or_default().extend(script.linked_paths);
            }
            Message::CompilerArtifact(artifact) if artifact.target.is_bench() => {
                let package = targets.iter().find(|(p, _)| p.id == artifact.package_id);
                if let (Some((package, _)), Some(executable)) = (package, artifact.executable) {
                    let target = artifact.target.name.clone();
                    harnesses.push(built_harness(package, target, executable, compiler));
                }
            }
            Message::CompilerArtifact(artifact) if is_library(&artifact.target) => {
                let mut packages = metadata.packages.iter();
                if let Some(package) = packages.find(|p| p.id == artifact.package_id) {
                    features.insert(package.name.to_string(), artifact.features);
                }
            }
            _ => {}
        }
    }
    let status = child.wait().map_err(|e| failed(format!("cannot wait for cargo: {e}")))?;
    if !status.success() || !finished {
        let hint = cuda_versions::hint(build);
        return Err(failed(format!("the harness did not build; cargo's errors are above{hint}")));
    }
    let folders: Vec<Utf8PathBuf> = linked
        .into_values()
        .flatten()
        .map(|path| path.as_str().split_once('=').map_or(path.clone(), |(_, p)| p.into()))
        .filter(|path| path.starts_with(target))
        .collect();
    harnesses.retain(is_harness);
    harnesses.iter_mut().for_each(|h| h.library_folders.clone_from(&folders));
    Ok(HostBuild { harnesses, features })
}

/// A harness that cargo built, before its folders of libraries are known.
fn built_harness(
    package: &Package,
    target: String,
    executable: Utf8PathBuf,
    compiler: Option<&Compiler>,
) -> Harness {
    Harness {
        package: package.name.to_string(),
        target,
        executable,
        folder: package.manifest_path.parent().map(Into::into).unwrap_or_default(),
        library_folders: Vec::new(),
        stand_in: None,
        oxide: compiler.map(|compiler| compiler.made.clone()),
    }
}

/// Whether `target` is its package's library, in any form.
pub(super) fn is_library(target: &Target) -> bool {
    target.is_lib() || target.is_rlib() || target.is_cdylib() || target.is_dylib()
}

/// Whether the executable can be asked: it holds the protocol's marker. Other benches are not
/// started.
fn is_harness(harness: &Harness) -> bool {
    let marker = protocol::MARKER.as_bytes();
    fs::read(&harness.executable).is_ok_and(|bytes| memchr::memmem::find(&bytes, marker).is_some())
}
