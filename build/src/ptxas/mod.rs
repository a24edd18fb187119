//! ptxas: what kernels take of a multiprocessor, asked where no GPU tells.
//!
//! Input: PTX files and an architecture. Output: registers, stack, spills and barriers of each
//! entry point, or why they are not known. It is found, not needed: a run without it lacks these
//! metrics, and says so. Each module is asked for once: what it said is kept by its content, its
//! version and the architecture.

mod log;
mod search;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use camino::Utf8Path;
use gpuprof_model::assembled::ModuleResources;

use gpuprof_system::sha256::sha256;
use gpuprof_system::whole::write_whole;
pub use search::Search;

/// The command that installs it.
pub const INSTALL: &str = "python3 -m pip install nvidia-cuda-nvcc";

/// A ptxas that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembler {
    file: PathBuf,
    /// `13.0.88`.
    version: String,
    place: &'static str,
}

/// There is no ptxas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Where it was named to be, or what is wrong with those that were found.
    pub reasons: Vec<String>,
    /// Whether a path was named, so that nothing else will do.
    pub named: bool,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ptxas assigns registers, and none was found")?;
        for reason in &self.reasons {
            write!(f, " ({reason})")?;
        }
        write!(f, ": install it with `{INSTALL}`, or name it with GPUPROF_PTXAS")
    }
}

impl Assembler {
    /// The first one of `search` that answers.
    ///
    /// # Errors
    /// There is none.
    pub fn find(search: &Search) -> Result<Self, NotFound> {
        let mut reasons = Vec::new();
        for (file, place) in search.candidates() {
            match version(&file) {
                Ok(version) => return Ok(Self { file, version, place }),
                Err(reason) => reasons.push(format!("{}: {reason}", file.display())),
            }
        }
        Err(NotFound { reasons, named: search.variable.is_some() })
    }

    /// Its file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its version: `13.0.88`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it was found.
    pub fn place(&self) -> &str {
        self.place
    }

    /// What it says of the module in `ptx`, for `arch`, such as `sm_90`. What it said before is
    /// looked up in the folder `kept`.
    pub fn resources(&self, ptx: &Utf8Path, arch: &str, kept: &Utf8Path) -> ModuleResources {
        let text = match fs::read(ptx) {
            Ok(text) => text,
            Err(error) => return ModuleResources::Unknown(format!("cannot read {ptx}: {error}")),
        };
        let key = format!("{} {arch} {}", self.version, sha256(&text));
        let file = kept.join(format!("{}.json", sha256(key.as_bytes())));
        let known = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(entries) = known {
            return ModuleResources::Known(entries);
        }
        match self.ask(ptx, arch) {
            Ok(log) => {
                let entries = log::entries(&log);
                let bytes = serde_json::to_vec(&entries).unwrap_or_default();
                // A cache that cannot be written is no cache.
                let _ = fs::create_dir_all(kept).and_then(|()| write_whole(&file, &bytes));
                ModuleResources::Known(entries)
            }
            Err(reason) => ModuleResources::Unknown(reason),
        }
    }

    fn ask(&self, ptx: &Utf8Path, arch: &str) -> Result<String, String> {
        let mut command = Command::new(&self.file);
        command.args(["-v", "-arch", arch, ptx.as_str(), "-o", "/dev/null"]);
        let output = command.stdin(Stdio::null()).output();
        let output =
            output.map_err(|e| format!("{} cannot be started: {e}", self.file.display()))?;
        let log = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() {
            return Ok(log);
        }
        let refusal = log::refusal(&log);
        let newer = match &refusal {
            Some(it) if it.too_old => format!("; a newer one takes it: `{INSTALL} --upgrade`"),
            _ => String::new(),
        };
        let told = refusal.map_or_else(|| output.status.to_string(), |it| it.told);
        Err(format!("ptxas {} refuses the kernels for {arch}: {told}{newer}", self.version))
    }
}

/// The version that the ptxas in `file` says.
fn version(file: &Path) -> Result<String, String> {
    let mut command = Command::new(file);
    let output = command.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot be started: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_once(", V").map(|(_, rest)| rest);
    let version = version.and_then(|rest| rest.split_whitespace().next());
    version.map(ToOwned::to_owned).ok_or_else(|| "it does not say its version".to_owned())
}
