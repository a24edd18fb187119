//! Where ptxas may be.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gpuprof_cupti::locate::{site_packages, toolkits_in};

/// What the search goes by. Everything that it takes from outside is in here, so tests choose it.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// `$GPUPROF_PTXAS`: the file or its folder. Nothing else is tried.
    pub variable: Option<PathBuf>,
    /// `$CUDA_PATH` and `$CUDA_HOME`.
    pub toolkits: Vec<PathBuf>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// `$PATH`.
    pub path: Option<OsString>,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
}

/// Folders of NVIDIA's wheels: CUDA 13's, then CUDA 12's.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"];

impl Search {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        let path = |name| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        Self {
            variable: path("GPUPROF_PTXAS"),
            toolkits: [path("CUDA_PATH"), path("CUDA_HOME")].into_iter().flatten().collect(),
            prefix: Some("/usr/local".into()),
            path: env::var_os("PATH"),
            python: true,
        }
    }

    /// The files to try, in order, each with where that is; those that are there, and the one that
    /// was named.
    pub(super) fn candidates(&self) -> Vec<(PathBuf, String)> {
        if let Some(named) = &self.variable {
            let file = if named.is_dir() { named.join("ptxas") } else { named.clone() };
            return vec![(file, "GPUPROF_PTXAS".to_owned())];
        }
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        let toolkits = self.toolkits.iter().chain(&in_prefix).map(|it| it.join("bin"));
        let toolkits = toolkits.map(|folder| (folder, "CUDA toolkit"));
        let path = self.path.iter().flat_map(env::split_paths).filter(|it| it.is_absolute());
        let path = path.map(|folder| (folder, "PATH"));
        let packages = if self.python { site_packages() } else { Vec::new() };
        let packages = packages.iter().flat_map(|it| IN_PACKAGES.map(|name| it.join(name)));
        let packages = packages.map(|folder| (folder, "the active Python's site-packages"));
        let all = toolkits.chain(path).chain(packages);
        let files = all.map(|(folder, place)| (folder.join("ptxas"), place.to_owned()));
        files.filter(|(file, _)| is_file(file)).collect()
    }
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_named_is_taken_alone_and_else_the_toolkit_comes_before_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let bin = |name: &str| {
            let bin = folder.path().join(name).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("ptxas"), "").unwrap();
            bin
        };
        let (toolkit, path) = (bin("toolkit"), bin("path"));
        let mut search = Search {
            toolkits: vec![folder.path().join("toolkit"), folder.path().join("none")],
            path: Some(path.clone().into()),
            ..Search::default()
        };
        let files = |search: &Search| search.candidates().into_iter().map(|(it, _)| it).collect();
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [toolkit.join("ptxas"), path.join("ptxas")]);
        search.variable = Some(path.clone());
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [path.join("ptxas")]);
        search.variable = Some("/nowhere/ptxas".into());
        let found: Vec<PathBuf> = files(&search);
        assert_eq!(found, [PathBuf::from("/nowhere/ptxas")]);
    }
}
