//! Where nvcc may be.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::toolkit::{self, Places, named_toolkits, path_of};

/// What the search goes by. Everything that it takes from outside is in here, so tests choose it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// `$GPUPROF_NVCC`: the file or its folder. Nothing else is tried.
    pub variable: Option<PathBuf>,
    /// `$CUDA_PATH` and `$CUDA_HOME`.
    pub toolkits: Vec<PathBuf>,
    /// `$PATH`.
    pub path: Option<OsString>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
    /// The variables that nvcc itself obeys, with their values.
    pub settings: Vec<(&'static str, OsString)>,
    /// The newest CUDA version that the driver takes PTX of; none where no driver is asked. A newer
    /// nvcc that was not named is passed over.
    pub newest: Option<(u32, u32)>,
}

/// What changes how nvcc compiles, beside its options: options before and after them, and the
/// host's compiler.
const SETTINGS: [&str; 3] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN"];

/// The folder of NVIDIA's wheels; those of CUDA 12 have no nvcc.
const IN_PACKAGES: [&str; 1] = ["nvidia/cu13/bin"];

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        Self {
            variable: path_of("GPUPROF_NVCC"),
            toolkits: named_toolkits(),
            path: env::var_os("PATH"),
            prefix: Some("/usr/local".into()),
            python: true,
            settings: SETTINGS
                .into_iter()
                .filter_map(|name| Some((name, env::var_os(name)?)))
                .collect(),
            newest: None,
        }
    }

    /// The files to try, in order, each with where that is; those that are there, and the one that
    /// was named.
    pub(super) fn candidates(&self) -> Vec<(PathBuf, &'static str)> {
        if let Some(named) = &self.variable {
            return vec![(toolkit::in_named(named, "nvcc"), "GPUPROF_NVCC")];
        }
        let places = Places {
            toolkits: &self.toolkits,
            prefix: self.prefix.as_deref(),
            path: self.path.as_deref(),
            packages: if self.python { &IN_PACKAGES } else { &[] },
        };
        places.files("nvcc")
    }
}
