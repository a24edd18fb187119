//! Where ptxas may be.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::toolkit::{self, Places, named_toolkits, path_of};

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
        Self {
            variable: path_of("GPUPROF_PTXAS"),
            toolkits: named_toolkits(),
            prefix: Some("/usr/local".into()),
            path: env::var_os("PATH"),
            python: true,
        }
    }

    /// The files to try, in order, each with where that is; those that are there, and the one that
    /// was named.
    pub(super) fn candidates(&self) -> Vec<(PathBuf, &'static str)> {
        if let Some(named) = &self.variable {
            return vec![(toolkit::in_named(named, "ptxas"), "GPUPROF_PTXAS")];
        }
        let places = Places {
            toolkits: &self.toolkits,
            prefix: self.prefix.as_deref(),
            path: self.path.as_deref(),
            packages: if self.python { &IN_PACKAGES } else { &[] },
        };
        places.files("ptxas")
    }
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
