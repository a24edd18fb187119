//! The kernels that a run needs: built from a workspace, or those of an archive.
//!
//! Input: the packages of device functions, and the instances of declared kernels. Output: the file
//! of each module, and ptxas's results for emulated chips.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use cargo_metadata::Metadata;
use gpuprof_model::ExitCode;
use gpuprof_model::assembled::ModuleResources;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::interrupt::Interrupt;
use gpuprof_system::sha256::sha256_of;

use crate::archive::Unpacked;
use crate::declared::{self, Entries, Needed, Tools};
use crate::harnesses::Harness;
use crate::kernels::KernelBuild;
use crate::options::BuildOptions;
use crate::ptxas::{self, Assembled, Assembler};
use crate::toolchain::{self, Candidates};
use crate::toolkit::{NotFound, Search};

/// The newest CUDA version with PTX that the emulated driver accepts.
const EMULATED: (u32, u32) = (13, 5);

/// The newest CUDA version with PTX that a driver with version 13000 accepts, or the emulated one.
pub fn newest_cuda(driver: Option<u32>) -> (u32, u32) {
    driver.map_or(EMULATED, |version| (version / 1000, version % 1000 / 10))
}

/// The workspace of kernels, whose harnesses are built.
#[derive(Debug, Clone, Copy)]
pub struct Workspace<'a> {
    /// cargo's description of it.
    pub metadata: &'a Metadata,
    /// The folder of everything that gpuprof builds.
    pub target_directory: &'a Utf8Path,
    /// How it is built.
    pub cargo: &'a BuildOptions,
    /// The features of each library in the harnesses, by package.
    pub features: &'a BTreeMap<String, Vec<String>>,
    /// The harnesses.
    pub harnesses: &'a [Harness],
    /// When their build began.
    pub harnesses_begun: SystemTime,
}

/// The target and tools of a kernel build.
#[derive(Debug, Clone, Copy)]
pub struct KernelTarget<'a> {
    /// The GPU architecture, `sm_80`.
    pub arch: &'a str,
    /// The toolchain, if the user named one.
    pub toolchain: Option<&'a str>,
    /// The newest CUDA version with PTX that the driver accepts, if a driver is known.
    pub newest: Option<(u32, u32)>,
    /// Ends a build.
    pub interrupt: &'a Interrupt,
}

/// Built kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// PTX by package, and by the modules of `declared`.
    pub modules: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// ptxas's results by architecture and module, if no GPU compiles them.
    pub assembled: BTreeMap<String, BTreeMap<String, Assembled>>,
    /// Which ptxas that is, and for which architectures.
    pub assembler: Option<String>,
    /// The toolchain that built them.
    pub toolchain: Option<String>,
}

impl Kernels {
    /// The PTX of `packages` and the instances of `wanted`, built where there is something to
    /// build.
    ///
    /// # Errors
    /// No toolchain, or a failed build.
    pub fn build(
        packages: &BTreeSet<String>,
        wanted: &[Needed<'_>],
        from: &Workspace<'_>,
        target: KernelTarget<'_>,
    ) -> Result<Self> {
        // What is not Rust is there or compiled in seconds: refused before rustc is asked.
        let tools = Tools {
            folder: &from.target_directory.join("gpuprof/declared"),
            arch: target.arch,
            newest: target.newest,
            harnesses: from.harnesses,
            quiet: from.cargo.silent(),
            interrupt: target.interrupt,
        };
        let built = declared::build(wanted, &tools)?;
        let mut modules = BTreeMap::new();
        let mut rustc = None;
        if !packages.is_empty() {
            let toolchain = toolchain::find(target.toolchain, &Candidates::default())?;
            let build = KernelBuild {
                metadata: from.metadata,
                target_directory: from.target_directory,
                cargo: from.cargo,
                features: from.features,
                arch: target.arch,
                toolchain: &toolchain,
                harnesses_begun: from.harnesses_begun,
            };
            for package in packages {
                modules.insert(package.clone(), build.build(package)?);
            }
            rustc = Some(toolchain.version.clone());
        }
        modules.extend(built.modules);
        let compilers = rustc.into_iter().chain(built.compilers);
        let toolchain = compilers.reduce(|all, next| format!("{all}; {next}"));
        Ok(Self { modules, declared: built.entries, toolchain, ..Self::default() })
    }

    /// The PTX of `packages` and the instances of `wanted` in the archive `unpacked`.
    ///
    /// # Errors
    /// It lacks one of them (exit code 103).
    pub fn of_archive(
        unpacked: &Unpacked,
        packages: &BTreeSet<String>,
        wanted: &[Needed<'_>],
    ) -> Result<Self> {
        let lacks =
            |what: String| Failure::new(ExitCode::Archive, format!("the archive has {what}"));
        let entries = &unpacked.manifest.declared;
        for Needed { series, configurations } in wanted {
            for configuration in configurations {
                if entries.get(series, configuration).is_none() {
                    let (id, file) = (&series.id, &series.file);
                    return Err(lacks(format!("no kernel of {id} ({file}) for {configuration}")));
                }
            }
        }
        let declared = if wanted.is_empty() { Entries::default() } else { entries.clone() };
        let mut modules: BTreeMap<String, Utf8PathBuf> = BTreeMap::new();
        for module in packages.iter().map(String::as_str).chain(declared.modules()) {
            let file = unpacked.manifest.modules.get(module);
            let file = file.ok_or_else(|| lacks(format!("no kernels of `{module}`")))?;
            modules.insert(module.to_owned(), unpacked.folder.join(file));
        }
        let nothing = packages.is_empty() && wanted.is_empty();
        let toolchain = unpacked.manifest.kernel_toolchain.clone().filter(|_| !nothing);
        Ok(Self { modules, declared, toolchain, ..Self::default() })
    }

    /// Lets ptxas compile them for each of `architectures`, if it is available; the target folder
    /// keeps its results.
    pub fn assemble(&mut self, architectures: BTreeSet<String>, target_directory: &Utf8Path) {
        let kept = target_directory.join("gpuprof/ptxas");
        // Harnesses, which read the machine code, have another working directory.
        let kept = camino::absolute_utf8(&kept).unwrap_or(kept);
        let found = Assembler::find(&Search::from_environment(&ptxas::PROGRAM));
        let machine_code: BTreeSet<&str> = self.declared.machine_code().collect();
        let ptx = self.modules.iter().filter(|(module, _)| !machine_code.contains(module.as_str()));
        let unknown = |absent: &NotFound| Assembled {
            resources: ModuleResources::Unknown(absent.to_string()),
            cubin: None,
        };
        let on = |architecture: &String| {
            let assembled = ptx.clone().map(|(module, file)| {
                let assembled = match &found {
                    Ok(assembler) => assembler.assemble(file, architecture, &kept),
                    Err(absent) => unknown(absent),
                };
                (module.clone(), assembled)
            });
            (architecture.clone(), assembled.collect())
        };
        self.assembled = architectures.iter().map(on).collect();
        let names = architectures.into_iter().collect::<Vec<_>>().join(", ");
        self.assembler = found.ok().map(|it| format!("ptxas {} for {names}", it.version()));
    }

    /// SHA-256 of each module.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let hash =
            |(module, file): (&String, &Utf8PathBuf)| Some((module.clone(), sha256_of(file)?));
        self.modules.iter().filter_map(hash).collect()
    }
}
