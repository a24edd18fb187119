//! ptxas: the resources that kernels use on a multiprocessor, when no GPU reports them.
//!
//! Input: PTX files and an architecture. Output: registers, stack, spills and barriers of each
//! entry point, or why they are not known. It is optional: a run without it lacks these metrics,
//! and says so. ptxas runs once per module: its results are kept by content, version and
//! architecture.

mod log;

use std::fs;
use std::process::{Command, Stdio};

use camino::Utf8Path;
use gpuprof_model::assembled::ModuleResources;

use crate::toolkit::{Installed, NotFound, Program, Search};
use gpuprof_system::sha256::sha256;
use gpuprof_system::whole::write_whole;

/// The program.
pub const PROGRAM: Program = Program {
    name: "ptxas",
    variable: "GPUPROF_PTXAS",
    // CUDA 13's, then CUDA 12's.
    packages: &["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"],
    install: "python3 -m pip install nvidia-cuda-nvcc",
    absent: "ptxas assigns registers, and none was found",
    remedy: "install it with `{}`, or name it with GPUPROF_PTXAS",
};

/// A ptxas that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembler(Installed);

impl Assembler {
    /// The first one of `search` that answers.
    ///
    /// # Errors
    /// There is none.
    pub fn find(search: &Search) -> Result<Self, NotFound> {
        search.find(&PROGRAM).map(Self)
    }

    /// Its version: `13.0.88`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Its results for the module in `ptx`, for `arch`, such as `sm_90`. Earlier results are looked
    /// up in the folder `kept`.
    pub fn resources(&self, ptx: &Utf8Path, arch: &str, kept: &Utf8Path) -> ModuleResources {
        let text = match fs::read(ptx) {
            Ok(text) => text,
            Err(error) => return ModuleResources::Unknown(format!("cannot read {ptx}: {error}")),
        };
        let key = format!("{} {arch} {}", self.0.version, sha256(&text));
        let file = kept.join(format!("{}.json", sha256(key.as_bytes())));
        let known = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(entries) = known {
            return ModuleResources::Known(entries);
        }
        match self.ask(ptx, arch) {
            Ok(log) => {
                let entries = log::entries(&log);
                let bytes = serde_json::to_vec(&entries).unwrap_or_default();
                // A cache that cannot be written is skipped.
                let _ = fs::create_dir_all(kept).and_then(|()| write_whole(&file, &bytes));
                ModuleResources::Known(entries)
            }
            Err(reason) => ModuleResources::Unknown(reason),
        }
    }

    fn ask(&self, ptx: &Utf8Path, arch: &str) -> Result<String, String> {
        let mut command = Command::new(&self.0.file);
        command.args(["-v", "-arch", arch, ptx.as_str(), "-o", "/dev/null"]);
        let output = command.stdin(Stdio::null()).output();
        let output =
            output.map_err(|e| format!("{} cannot be started: {e}", self.0.file.display()))?;
        let log = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if output.status.success() {
            return Ok(log);
        }
        let refusal = log::refusal(&log);
        let newer = match &refusal {
            Some(it) if it.too_old => {
                format!("; a newer one takes it: `{} --upgrade`", PROGRAM.install)
            }
            _ => String::new(),
        };
        let told = refusal.map_or_else(|| output.status.to_string(), |it| it.told);
        Err(format!("ptxas {} refuses the kernels for {arch}: {told}{newer}", self.0.version))
    }
}
