//! Which nvcc is taken.

use std::env;
use std::ffi::OsString;

use crate::toolkit::{self, Program};

/// The program.
pub const PROGRAM: Program = Program {
    name: "nvcc",
    variable: "GPUPROF_NVCC",
    // The wheels of CUDA 12 have no nvcc.
    packages: &["nvidia/cu13/bin"],
    install: "python3 -m pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt \
              nvidia-cuda-runtime nvidia-cuda-cccl",
    absent: "no nvcc was found",
    remedy: "it is part of the CUDA toolkit, and `{}` installs it with what it needs, but for a \
             host compiler such as g++ (Debian: `apt install g++`); GPUPROF_NVCC names its file or \
             folder",
};

/// Where to look for nvcc, and which one may be taken.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Where to look.
    pub program: toolkit::Search,
    /// The variables that nvcc itself obeys, with their values.
    pub settings: Vec<(&'static str, OsString)>,
    /// The newest CUDA version that the driver takes PTX of; none where no driver is asked. A newer
    /// nvcc that was not named is passed over.
    pub newest: Option<(u32, u32)>,
}

/// Variables that change nvcc's results: options before and after its own, and the host's compiler.
const SETTINGS: [&str; 3] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        let settings = SETTINGS.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
        Self {
            program: toolkit::Search::from_environment(&PROGRAM),
            settings: settings.collect(),
            newest: None,
        }
    }
}
