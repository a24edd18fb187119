//! Where the programs of CUDA's toolkit may be: ptxas and nvcc are looked for alike, so that one
//! run does not mix toolkits.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use gpuprof_cupti::locate::{site_packages, toolkits_in};

/// Where to look, in this order.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Toolkits.
    pub toolkits: &'a [PathBuf],
    /// The folder that holds `cuda*`.
    pub prefix: Option<&'a Path>,
    /// `$PATH`.
    pub path: Option<&'a OsStr>,
    /// Folders in the active Python's site-packages; none where Python is not to be asked.
    pub packages: &'a [&'a str],
}

impl Places<'_> {
    /// The files called `program` that are there, in order, each with where that is.
    pub fn files(&self, program: &str) -> Vec<(PathBuf, &'static str)> {
        let in_prefix = self.prefix.map(toolkits_in).unwrap_or_default();
        let toolkits = self.toolkits.iter().chain(&in_prefix).map(|it| it.join("bin"));
        let toolkits = toolkits.map(|folder| (folder, "CUDA toolkit"));
        let path = self.path.iter().flat_map(env::split_paths).filter(|it| it.is_absolute());
        let path = path.map(|folder| (folder, "PATH"));
        let packages = if self.packages.is_empty() { Vec::new() } else { site_packages() };
        let packages =
            packages.iter().flat_map(|it| self.packages.iter().map(|name| it.join(name)));
        let packages = packages.map(|folder| (folder, "the active Python's site-packages"));
        let all = toolkits.chain(path).chain(packages);
        let files = all.map(|(folder, place)| (folder.join(program), place));
        files.filter(|(file, _)| file.metadata().is_ok_and(|it| it.is_file())).collect()
    }
}

/// The toolkits that `$CUDA_PATH` and `$CUDA_HOME` name.
pub fn named_toolkits() -> Vec<PathBuf> {
    ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(path_of).collect()
}

/// The path that the environment variable `name` holds.
pub fn path_of(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from)
}

/// The program that `named` is, or holds if it is a folder.
pub fn in_named(named: &Path, program: &str) -> PathBuf {
    if named.is_dir() { named.join(program) } else { named.to_owned() }
}
