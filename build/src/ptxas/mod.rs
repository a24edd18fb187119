//! ptxas: the resources that kernels use on a multiprocessor, when no GPU reports them.
//!
//! Input: PTX files and an architecture. Output: registers, stack, spills and barriers of each
//! entry point, or why they are not known, and the machine code. It is optional: a run without it
//! lacks these metrics, and says so. ptxas runs once per module: its results are kept by content,
//! version and architecture.

mod log;

use std::fs;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::assembled::ModuleResources;

use crate::toolkit::{Installed, NotFound, Program, Search};
use gpuprof_system::scratch::Scratch;
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

/// The results of ptxas for a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembled {
    /// The facts on its entry points.
    pub resources: ModuleResources,
    /// Its machine code with the lines of the PTX; none if it could not be kept.
    pub cubin: Option<Utf8PathBuf>,
}

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

    /// Its results for the module in `ptx`, for `arch`, such as `sm_90`. The folder `kept` keeps
    /// them, and has earlier ones.
    pub fn assemble(&self, ptx: &Utf8Path, arch: &str, kept: &Utf8Path) -> Assembled {
        let unknown =
            |reason| Assembled { resources: ModuleResources::Unknown(reason), cubin: None };
        let text = match fs::read(ptx) {
            Ok(text) => text,
            Err(error) => return unknown(format!("cannot read {ptx}: {error}")),
        };
        let key = format!("{} {arch} lines {}", self.0.version, sha256(&text));
        let file = kept.join(sha256(key.as_bytes()));
        let [facts, cubin] = ["json", "cubin"].map(|it| file.with_extension(it));
        let known = fs::read(&facts).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(entries) = known.filter(|_| cubin.exists()) {
            return Assembled { resources: ModuleResources::Known(entries), cubin: Some(cubin) };
        }
        // Without a place for the machine code the facts are still known.
        let own = Scratch::make().ok();
        let output = own.as_ref().map_or("/dev/null".into(), |own| own.path().join("cubin"));
        let entries = match self.ask(ptx, arch, &output) {
            Ok(log) => log::entries(&log),
            Err(reason) => return unknown(reason),
        };
        let bytes = serde_json::to_vec(&entries).unwrap_or_default();
        // A cache that cannot be written is skipped.
        let written = fs::create_dir_all(kept)
            .and_then(|()| write_whole(&cubin, &fs::read(&output)?))
            .and_then(|()| write_whole(&facts, &bytes));
        let resources = ModuleResources::Known(entries);
        Assembled { resources, cubin: written.is_ok().then_some(cubin) }
    }

    fn ask(&self, ptx: &Utf8Path, arch: &str, output: &Utf8Path) -> Result<String, String> {
        let mut command = Command::new(&self.0.file);
        // The lines of PTX change no instruction.
        command.args(["-v", "-lineinfo", "-arch", arch, ptx.as_str(), "-o"]).arg(output);
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
        let reason = refusal.map_or_else(|| output.status.to_string(), |it| it.told);
        Err(format!("ptxas {} refuses the kernels for {arch}: {reason}{newer}", self.0.version))
    }
}
