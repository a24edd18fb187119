//! Where nvcc may be.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gpuprof_cupti::locate::{site_packages, toolkits_in};

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
const IN_PACKAGES: &str = "nvidia/cu13/bin";

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        let path = |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        Self {
            variable: path("GPUPROF_NVCC"),
            toolkits: [path("CUDA_PATH"), path("CUDA_HOME")].into_iter().flatten().collect(),
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
            let file = if named.is_dir() { named.join("nvcc") } else { named.clone() };
            return vec![(file, "GPUPROF_NVCC")];
        }
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        let toolkits = self.toolkits.iter().chain(&in_prefix).map(|it| it.join("bin"));
        let toolkits = toolkits.map(|folder| (folder, "CUDA toolkit"));
        let path = self.path.iter().flat_map(env::split_paths).filter(|it| it.is_absolute());
        let path = path.map(|folder| (folder, "PATH"));
        let packages = if self.python { site_packages() } else { Vec::new() };
        let packages = packages.iter().map(|it| it.join(IN_PACKAGES));
        let packages = packages.map(|folder| (folder, "the active Python's site-packages"));
        let all = toolkits.chain(path).chain(packages);
        let files = all.map(|(folder, place)| (folder.join("nvcc"), place));
        files.filter(|(file, _)| is_file(file)).collect()
    }
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file())
}
