//! The search for NVRTC: the places in order, and the files to try in each.

use std::cmp::Reverse;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpuprof_cupti::locate::{
    distinct, is_library, libraries_in, named_toolkits, numbers, path_of, site_packages,
    toolkits_in,
};

/// The inputs of the search. All external inputs are here, so tests can set them.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The library or its folder, as a setting names it.
    pub explicit: Option<PathBuf>,
    /// `$GPUPROF_NVRTC`: likewise.
    pub variable: Option<PathBuf>,
    /// `$CUDA_HOME` and `$CUDA_PATH`.
    pub toolkits: Vec<PathBuf>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// `$LD_LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// Whether to ask the loader's cache.
    pub loader: bool,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
    /// The newest CUDA version whose PTX the driver accepts; none if no driver is asked. A newer
    /// NVRTC is skipped, unless a setting names it.
    pub newest: Option<(u32, u32)>,
}

/// One step of the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchStep {
    /// The path that a setting names.
    Explicit(PathBuf),
    /// The path in `$GPUPROF_NVRTC`.
    Variable(PathBuf),
    /// A folder of a CUDA toolkit.
    Toolkit(PathBuf),
    /// A folder of `$LD_LIBRARY_PATH`.
    LibraryPath(PathBuf),
    /// The loader's cache.
    Loader,
    /// The site-packages of the active Python.
    Python,
}

impl fmt::Display for SearchStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(path) => write!(f, "{} (as named)", path.display()),
            Self::Variable(path) => write!(f, "{} (GPUPROF_NVRTC)", path.display()),
            Self::Toolkit(path) => write!(f, "{}", path.display()),
            Self::LibraryPath(path) => write!(f, "{} (LD_LIBRARY_PATH)", path.display()),
            Self::Loader => f.write_str("the libraries that `ldconfig -p` lists"),
            Self::Python => f.write_str("the active Python's site-packages"),
        }
    }
}

/// Folders of a toolkit that may hold NVRTC; the last is that of NVIDIA's wheels.
const IN_TOOLKIT: [&str; 5] = [
    "lib64",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib",
    "lib",
];

/// Folders of NVIDIA's wheels: CUDA 13's, then CUDA 12's.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// The name of the library. Wheels of CUDA 12 contain a second build, `libnvrtc.alt.so.12`.
const LIBRARY: &str = "libnvrtc.so";

impl Search {
    /// The environment of this process.
    #[must_use]
    pub fn from_environment(explicit: Option<&Path>) -> Self {
        Self {
            explicit: explicit.map(Into::into),
            variable: path_of("GPUPROF_NVRTC"),
            toolkits: named_toolkits(),
            prefix: Some("/usr/local".into()),
            library_path: env::var_os("LD_LIBRARY_PATH"),
            loader: true,
            python: true,
            newest: None,
        }
    }

    /// The places, in order. If the user named a path, it is the only one.
    #[must_use]
    pub fn places(&self) -> Vec<SearchStep> {
        if let Some(path) = &self.explicit {
            return vec![SearchStep::Explicit(path.clone())];
        }
        if let Some(path) = &self.variable {
            return vec![SearchStep::Variable(path.clone())];
        }
        let mut places = Vec::new();
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        for toolkit in self.toolkits.iter().chain(&in_prefix) {
            places.extend(IN_TOOLKIT.map(|folder| SearchStep::Toolkit(toolkit.join(folder))));
        }
        if let Some(path) = &self.library_path {
            let folders = env::split_paths(path).filter(|it| it.is_absolute());
            places.extend(folders.map(SearchStep::LibraryPath));
        }
        places.extend(self.loader.then_some(SearchStep::Loader));
        places.extend(self.python.then_some(SearchStep::Python));
        places
    }
}

impl SearchStep {
    /// Whether the user named it, so that nothing else will do.
    #[must_use]
    pub fn is_named(&self) -> bool {
        matches!(self, Self::Explicit(_) | Self::Variable(_))
    }

    /// The libraries there, each as the file that it is.
    pub(super) fn candidates(&self) -> Vec<PathBuf> {
        match self {
            Self::Explicit(path) | Self::Variable(path) if path.is_dir() => {
                libraries_in(path, LIBRARY)
            }
            Self::Explicit(path) | Self::Variable(path) => vec![path.clone()],
            Self::Toolkit(folder) | Self::LibraryPath(folder) => libraries_in(folder, LIBRARY),
            Self::Loader => known_to_the_loader(),
            Self::Python => {
                let folders = site_packages();
                let folders = folders.iter().flat_map(|it| IN_PACKAGES.map(|name| it.join(name)));
                folders.flat_map(|folder| libraries_in(&folder, LIBRARY)).collect()
            }
        }
    }
}

fn known_to_the_loader() -> Vec<PathBuf> {
    let output = ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| {
        let mut command = Command::new(program);
        command.arg("-p").stdin(Stdio::null()).stderr(Stdio::null());
        command.output().ok().filter(|output| output.status.success())
    });
    let text = output.map(|output| output.stdout).unwrap_or_default();
    in_the_loaders_list(&String::from_utf8_lossy(&text))
}

/// Of lines like `libnvrtc.so.12 (libc6,x86-64) => /usr/lib/…/libnvrtc.so.12`, the files.
fn in_the_loaders_list(text: &str) -> Vec<PathBuf> {
    let found = text.lines().filter_map(|line| line.split_once(" => ")).filter(|(name, _)| {
        name.split_whitespace().next().is_some_and(|name| is_library(name, LIBRARY))
    });
    let mut found: Vec<&str> = found.map(|(_, path)| path.trim()).collect();
    found.sort_by_key(|path| Reverse(numbers(path.rsplit('/').next().unwrap_or(path))));
    distinct(found.into_iter().map(PathBuf::from))
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
