//! Who compiles a program: NVRTC or nvcc, with one face.

use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::error::Error;
use super::nvcc::Nvcc;
use super::nvrtc::{Compiler, Job, NoReply, Reply};
use super::program::{Architecture, Program};
use super::roots::Roots;
use super::shims::{self, HOST, PRELUDE, SIGNATURES, Shims};
use super::signature;
use gpuprof_system::interrupt::Interrupt;

/// What is compiled: a text that includes the sources.
pub(super) const NAME: &str = "gpuprof-sources";

/// Who compiles.
#[derive(Debug, Clone, Copy)]
pub(super) enum DeviceCompiler<'a> {
    /// NVRTC.
    Nvrtc(&'a Compiler),
    /// nvcc, after this NVRTC could not, if one tried.
    Nvcc(&'a Nvcc, Option<&'a Compiler>),
}

/// One attempt: which instances, with which shims.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) wanted: Vec<usize>,
    pub(super) shims: Shims,
}

impl<'a> DeviceCompiler<'a> {
    /// `NVRTC 13.0.88`, `nvcc 13.0.88`.
    pub(super) fn name(self) -> String {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.name(),
            Self::Nvcc(nvcc, _) => format!("nvcc {}", nvcc.release()),
        }
    }

    /// The identity of this build of the compiler. The results of nvcc after a failure of NVRTC are
    /// kept separately: with another NVRTC, nvcc may not be needed.
    pub(super) fn identity(self) -> String {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.identity(),
            Self::Nvcc(nvcc, nvrtc) => {
                let nvrtc = nvrtc.map(Compiler::identity);
                format!("{} {:?} {nvrtc:?}", nvcc.identity(), nvcc.architectures())
            }
        }
    }

    pub(super) fn architectures(self) -> &'a [u32] {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.architectures(),
            Self::Nvcc(nvcc, _) => nvcc.architectures(),
        }
    }

    /// The folders of CUDA's headers.
    pub(super) fn cuda_headers(self, cache: &Cache) -> Result<Vec<PathBuf>, Error> {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.cuda_headers(cache),
            Self::Nvcc(nvcc, _) => Ok(nvcc.headers()),
        }
    }

    pub(super) fn interrupt(self) -> &'a Interrupt {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.interrupt(),
            Self::Nvcc(nvcc, _) => nvcc.interrupt(),
        }
    }

    pub(super) fn announce(self, sources: &str, architecture: Architecture) {
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.announce(sources, architecture),
            Self::Nvcc(nvcc, _) => nvcc.announce(sources, architecture),
        }
    }

    /// Its file, and the variable that names another one.
    pub(super) fn file(self) -> (&'a Path, &'static str) {
        match self {
            Self::Nvrtc(nvrtc) => (nvrtc.library(), "GPUPROF_NVRTC"),
            Self::Nvcc(nvcc, _) => (nvcc.file(), "GPUPROF_NVCC"),
        }
    }

    /// Whether it lacks the host's headers and needs shims.
    pub(super) fn takes_shims(self) -> bool {
        matches!(self, Self::Nvrtc(_))
    }

    /// Makes an attempt at `program`.
    ///
    /// # Errors
    /// [`NoReply`].
    pub(super) fn run(
        self,
        program: &Program,
        roots: &Roots,
        attempt: &Attempt,
    ) -> Result<Reply, NoReply> {
        let job = self.job(program, roots, attempt);
        match self {
            Self::Nvrtc(nvrtc) => nvrtc.run(roots.package(), job),
            Self::Nvcc(nvcc, _) => nvcc.run(roots.package(), &job, &attempt.wanted),
        }
    }

    fn job(self, program: &Program, roots: &Roots, attempt: &Attempt) -> Job {
        let mut text = format!("#include \"{SIGNATURES}\"\n");
        let of_shims = [(PRELUDE, true), (HOST, attempt.shims == Shims::Host)];
        for (name, _) in of_shims.into_iter().filter(|(_, used)| *used && self.takes_shims()) {
            text.push_str(&format!("#include \"{name}\"\n"));
        }
        for source in &program.sources {
            let path = match self {
                Self::Nvrtc(_) => source.clone(),
                // Its text lies elsewhere.
                Self::Nvcc(..) => roots.package().join(source),
            };
            text.push_str(&format!("#include \"{}\"\n", path.display()));
        }
        let (kernels, wanted) = (&program.kernels, attempt.wanted.as_slice());
        if !self.takes_shims() {
            text.push_str(&signature::names(kernels, wanted));
        }
        text.push_str(&signature::checks(kernels, wanted));
        let headers = attempt.shims.headers();
        let headers =
            headers.into_iter().filter(|(name, _)| self.takes_shims() || name == SIGNATURES);
        Job {
            name: NAME.into(),
            text,
            headers: headers.collect(),
            expressions: wanted.iter().map(|&it| kernels[it].expression.clone()).collect(),
            options: self.options(program, roots),
        }
    }

    fn options(self, program: &Program, roots: &Roots) -> Vec<String> {
        let given = |names: &[&str]| {
            program.options.iter().any(|it| names.iter().any(|name| it.starts_with(name)))
        };
        let mut options = Vec::new();
        if !given(&["-arch", "--gpu-architecture"]) {
            options.push(format!("-arch={}", program.architecture));
        }
        if !given(&["-std", "--std"]) {
            options.push("-std=c++17".into());
        }
        options.push("-lineinfo".into());
        match self {
            Self::Nvrtc(_) => {
                options.push(shims::OPTION.into());
                options.extend(roots.options());
            }
            Self::Nvcc(..) => {
                // NVRTC takes these functions, since every one is the device's there.
                options.push("--expt-relaxed-constexpr".into());
                options.extend(roots.own_options());
            }
        }
        let defines = program.defines.iter();
        options.extend(defines.map(|(name, value)| format!("-D{name}={value}")));
        options.extend(program.options.iter().cloned());
        options
    }
}
