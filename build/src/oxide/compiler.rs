//! Builds harnesses with kernels of cuda-oxide: the active rustc with its backend.
//!
//! Input: a workspace. Output: the variables for cargo, those of `cargo oxide build`, and their
//! entries in the provenance. Cargo knows nothing of the backend's content or of its variables; a
//! `--cfg` that no code reads contains a hash of them, so that cargo rebuilds after a change.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use memchr::memmem;

use super::backend::{Backend, Search};
use super::project::Project;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::library_path::{LIBRARY_PATH, with_first_library_folder};
use gpuprof_system::sha256::{sha256, sha256_of};
use gpuprof_system::whole::write_whole;

/// cargo's separator of flags.
const SEPARATOR: &str = "\x1f";

/// How the name of rustc's own library begins, which a backend is linked to.
const DRIVER: &str = "librustc_driver-";

/// The flags of `cargo oxide build` after the backend's.
const FLAGS: [&str; 4] = [
    "-Copt-level=3",
    "-Cdebug-assertions=off",
    "-Zmir-enable-passes=-JumpThreading",
    "-Csymbol-mangling-version=v0",
];

/// The start of the names of the backend's variables.
const VARIABLES: &str = "CUDA_OXIDE_";

/// The folder to which cuda-oxide also writes PTX; it does not affect the code.
const PTX_FOLDER: &str = "CUDA_OXIDE_PTX_DIR";

/// Who built a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerIdentity {
    /// The beginning of the backend's SHA-256.
    pub backend: String,
    /// `rustc 1.96.0-nightly (…)`.
    pub rustc: String,
}

/// rustc and the backend.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// The backend.
    pub backend: Backend,
    /// Who it is in the provenance.
    pub made: CompilerIdentity,
    sysroot: Utf8PathBuf,
    /// The machine that it compiles for, which is this one.
    host: String,
    project: Project,
    arch: String,
    ptx_folder: Utf8PathBuf,
}

impl Compiler {
    /// The compiler for the workspace in `root`, started in `folder`, for the GPU architecture
    /// `arch`; data on the backend is cached below `target`, if there is such a folder.
    ///
    /// # Errors
    /// There is no backend, no nightly rustc, or another one than the backend's (exit code 101).
    pub fn find(
        (root, folder): (&Utf8Path, Option<&Utf8Path>),
        arch: &str,
        target: Option<&Utf8Path>,
    ) -> Result<Self> {
        let failed = |message: String| Failure::new(ExitCode::BuildFailed, message);
        let project = Project::read(root)?;
        let version = asked(&["-vV"], folder)?;
        let line = |start: &str| {
            version.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default().to_owned()
        };
        let rustc = version.lines().next().unwrap_or_default().to_owned();
        let search = Search::from_environment();
        let backend = search.find(&project, root, &line("host: ")).map_err(|not_found| {
            failed(format!("kernels of NVIDIA's Rust are not compiled: {not_found}"))
                .caused_by(not_found)
        })?;
        let sysroot = Utf8PathBuf::from(asked(&["--print", "sysroot"], folder)?.trim());
        let release = line("release: ");
        let unstable = ["nightly", "dev"].iter().any(|kind| release.contains(kind));
        if !unstable && env::var_os("RUSTC_BOOTSTRAP").is_none() {
            return Err(failed(format!(
                "kernels of NVIDIA's Rust are not compiled: the backend {} is loaded by nightly Rust \
                 alone, and this is {rustc}; put cuda-oxide's rust-toolchain.toml beside Cargo.toml",
                backend.path
            )));
        }
        let folder = target.map(|target| target.join("gpuprof/oxide"));
        let known = BackendFacts::read_known(&backend.path, folder.as_deref())?;
        if let Some(driver) = known.driver.filter(|name| !sysroot.join("lib").join(name).exists()) {
            return Err(failed(format!(
                "kernels of NVIDIA's Rust are not compiled: the backend {} was built by another \
                 toolchain. It needs {driver}, which {rustc} in {sysroot} does not have; select the \
                 toolchain of cuda-oxide's rust-toolchain.toml, or build the backend again",
                backend.path
            )));
        }
        Ok(Self {
            backend,
            made: CompilerIdentity { backend: known.sha256[..12].to_owned(), rustc },
            sysroot,
            host: line("host: "),
            project,
            arch: arch.to_owned(),
            ptx_folder: folder.unwrap_or_default().join("ptx"),
        })
    }

    /// Adds the variables and flags to cargo's `command`.
    ///
    /// # Errors
    /// The folder for PTX cannot be made (exit code 110).
    pub fn prepare(&self, command: &mut Command) -> Result<()> {
        fs::create_dir_all(&self.ptx_folder).map_err(Failure::writing(&self.ptx_folder))?;
        let variables = self.variables();
        let set = |name: &str| env::var_os(name).is_some();
        command.envs(variables.iter().filter(|(name, _)| !set(name)).map(|(n, v)| (n, v)));
        command.env("CARGO_ENCODED_RUSTFLAGS", self.flags(&variables));
        command.env_remove("RUSTFLAGS");
        // Without it macros and build scripts would be compiled with these flags as well.
        command.args(["--target", &self.host]);
        // The backend is linked to rustc's own libraries.
        command.env(LIBRARY_PATH, with_first_library_folder(self.sysroot.join("lib")));
        Ok(())
    }

    /// The variables that are set unless they are.
    fn variables(&self) -> Vec<(String, String)> {
        let mut all = self.project.environment.clone();
        all.retain(|(name, _)| !["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].contains(&name.as_str()));
        let arch = self.project.default_arch.iter();
        let ours = [
            ("CUDA_OXIDE_DEBUG", "line-tables"),
            ("CUDA_OXIDE_DEVICE_ARCH", self.arch.as_str()),
            (PTX_FOLDER, self.ptx_folder.as_str()),
        ];
        let ours = arch.map(|arch| ("CUDA_OXIDE_TARGET", arch.as_str())).chain(ours);
        for (name, value) in ours {
            if all.iter().all(|(known, _)| known != name) {
                all.push((name.to_owned(), value.to_owned()));
            }
        }
        all
    }

    /// rustc's flags as cargo takes them.
    fn flags(&self, variables: &[(String, String)]) -> String {
        let mut flags = self.project.flags.clone();
        match (env::var("CARGO_ENCODED_RUSTFLAGS"), env::var("RUSTFLAGS")) {
            (Ok(own), _) => flags.extend(own.split(SEPARATOR).map(str::to_owned)),
            (_, Ok(own)) => flags.extend(own.split_whitespace().map(str::to_owned)),
            _ => {}
        }
        flags.retain(|flag| !flag.is_empty());
        let inherited = env::vars().filter(|(name, _)| name.starts_with(VARIABLES));
        flags.push(format!("--cfg=gpuprof_oxide=\"{}\"", self.identity(variables, inherited)));
        flags.push(format!("-Zcodegen-backend={}", self.backend.path));
        flags.extend(FLAGS.map(str::to_owned));
        flags.join(SEPARATOR)
    }

    /// A hash of everything that device code depends on and cargo does not see.
    fn identity(
        &self,
        variables: &[(String, String)],
        inherited: impl Iterator<Item = (String, String)>,
    ) -> String {
        let inherited: Vec<_> = inherited.collect();
        let is_set = |name: &str| inherited.iter().any(|(own, _)| own == name);
        let given = variables.iter().filter(|(name, _)| !is_set(name));
        let mut all: Vec<String> = inherited
            .iter()
            .chain(given)
            .filter(|(name, _)| name.starts_with(VARIABLES) && name != PTX_FOLDER)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        all.sort();
        all.push(self.made.backend.clone());
        sha256(all.join("\n").as_bytes())[..16].to_owned()
    }
}

/// What is known of a backend without reading all of it again: it has hundreds of megabytes.
#[derive(Debug, PartialEq, Eq)]
struct BackendFacts {
    sha256: String,
    /// The library of rustc that it is linked to.
    driver: Option<String>,
}

impl BackendFacts {
    /// Of the file at `path`, as remembered in `folder` or read.
    fn read_known(path: &Utf8Path, folder: Option<&Utf8Path>) -> Result<Self> {
        let failed = |why: String| {
            Failure::new(ExitCode::BuildFailed, format!("cannot read the backend {path}: {why}"))
        };
        let file = fs::metadata(path).map_err(|e| failed(e.to_string()))?;
        let changed = file.modified().map_err(|e| failed(e.to_string()))?;
        let key = format!("{path} {} {changed:?}", file.len());
        let name = format!("backend-{}", &sha256(path.as_str().as_bytes())[..12]);
        let note = folder.map(|folder| folder.join(name));
        if let Some(Ok(text)) = note.as_ref().map(fs::read_to_string)
            && let [known, sha256, driver] = text.lines().collect::<Vec<_>>()[..]
            && known == key
        {
            let driver = Some(driver.to_owned()).filter(|driver| !driver.is_empty());
            return Ok(Self { sha256: sha256.to_owned(), driver });
        }
        let bytes = fs::read(path).map_err(|e| failed(e.to_string()))?;
        let driver = driver(&bytes);
        drop(bytes);
        let sha256 = sha256_of(path).ok_or_else(|| failed("it is gone".to_owned()))?;
        let text = format!("{key}\n{sha256}\n{}\n", driver.as_deref().unwrap_or_default());
        if let (Some(folder), Some(note)) = (folder, note) {
            let written =
                fs::create_dir_all(folder).and_then(|()| write_whole(&note, text.as_bytes()));
            written.map_err(Failure::writing(&note))?;
        }
        Ok(Self { sha256, driver })
    }
}

/// The name of rustc's library in the backend `bytes`.
fn driver(bytes: &[u8]) -> Option<String> {
    let start = memmem::find(bytes, DRIVER.as_bytes())?;
    let name = bytes[start..].split(|&byte| byte == 0).next()?;
    std::str::from_utf8(name).ok().filter(|name| name.ends_with(".so")).map(str::to_owned)
}

/// The answer of the active rustc, in `folder`, to `arguments`.
///
/// # Errors
/// There is none, or it fails (exit code 101).
fn asked(arguments: &[&str], folder: Option<&Utf8Path>) -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(&rustc);
    command.args(arguments).stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let failed = |why: String| {
        let message = format!("cannot ask {} for its version: {why}", rustc.display());
        Failure::new(ExitCode::BuildFailed, message)
    };
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler() -> Compiler {
        Compiler {
            backend: Backend { path: "/b.so".into(), place: "" },
            made: CompilerIdentity { backend: "1234".into(), rustc: "rustc".into() },
            sysroot: "/s".into(),
            host: String::new(),
            project: Project::default(),
            arch: "sm_80".into(),
            ptx_folder: "/p".into(),
        }
    }

    #[test]
    fn options_of_the_project_replace_the_defaults() {
        let mut compiler = compiler();
        compiler.project.default_arch = Some("sm_90".into());
        compiler.project.environment = vec![("CUDA_OXIDE_DEBUG".into(), "off".into())];
        let text = |(name, value): (String, String)| format!("{name}={value}");
        let told: Vec<String> = compiler.variables().into_iter().map(text).collect();
        assert_eq!(
            told,
            [
                "CUDA_OXIDE_DEBUG=off",
                "CUDA_OXIDE_TARGET=sm_90",
                "CUDA_OXIDE_DEVICE_ARCH=sm_80",
                "CUDA_OXIDE_PTX_DIR=/p"
            ]
        );
    }

    #[test]
    fn only_a_changed_backend_or_variable_causes_a_rebuild() {
        let compiler = compiler();
        let identity = |compiler: &Compiler, inherited: &[(&str, &str)]| {
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            compiler.identity(&compiler.variables(), inherited.iter().map(own))
        };
        let usual = identity(&compiler, &[]);
        assert_eq!(identity(&compiler, &[("CUDA_OXIDE_PTX_DIR", "/q"), ("HOME", "/h")]), usual);
        assert_eq!(identity(&compiler, &[("CUDA_OXIDE_DEVICE_ARCH", "sm_80")]), usual);
        assert_ne!(identity(&compiler, &[("CUDA_OXIDE_DEVICE_ARCH", "sm_90")]), usual);
        assert_ne!(identity(&compiler, &[("CUDA_OXIDE_NO_FMA", "1")]), usual);
        let mut other = compiler.clone();
        other.made.backend = "5678".into();
        assert_ne!(identity(&other, &[]), usual);
    }

    #[test]
    fn a_backend_is_read_again_only_if_changed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let path = folder.join("b.so");
        fs::write(&path, b"\0librustc_driver-12ab.so\0librustc_driver-not\0").unwrap();
        let first = BackendFacts::read_known(&path, Some(folder)).unwrap();
        assert_eq!(first.driver.as_deref(), Some("librustc_driver-12ab.so"));
        assert_eq!(BackendFacts::read_known(&path, Some(folder)).unwrap(), first);
        fs::write(&path, "another one").unwrap();
        let second = BackendFacts::read_known(&path, Some(folder)).unwrap();
        assert_ne!(second.sha256, first.sha256);
        assert_eq!(second.driver, None);
    }
}
