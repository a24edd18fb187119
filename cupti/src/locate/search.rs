//! Possible locations of CUPTI: the places, in order, and the files to try in each.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::python;

/// The inputs of the search. They include everything from the environment, so tests can choose it.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The library or its folder, as the user named it.
    pub explicit: Option<PathBuf>,
    /// `$GPUPROF_CUPTI`: likewise.
    pub variable: Option<PathBuf>,
    /// `$CUDA_HOME` and `$CUDA_PATH`.
    pub toolkits: Vec<PathBuf>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// `$LD_LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// Whether to ask the linker for the bare names.
    pub linker: bool,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
}

/// One step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchLocation {
    /// The path that the user named.
    Explicit(PathBuf),
    /// The path in `$GPUPROF_CUPTI`.
    Variable(PathBuf),
    /// A folder of a CUDA toolkit.
    Toolkit(PathBuf),
    /// A folder of `$LD_LIBRARY_PATH`.
    LibraryPath(PathBuf),
    /// The linker's own search.
    Linker,
    /// The site-packages of the active Python.
    Python,
}

impl fmt::Display for SearchLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(path) => write!(f, "{} (as named)", path.display()),
            Self::Variable(path) => write!(f, "{} (GPUPROF_CUPTI)", path.display()),
            Self::Toolkit(path) => write!(f, "{}", path.display()),
            Self::LibraryPath(path) => write!(f, "{} (LD_LIBRARY_PATH)", path.display()),
            Self::Linker => f.write_str("the linker's search path"),
            Self::Python => f.write_str("the active Python's site-packages"),
        }
    }
}

/// The name of the library.
const LIBRARY: &str = "libcupti.so";

/// Folders of a toolkit that may hold CUPTI.
const IN_TOOLKIT: [&str; 5] = [
    "extras/CUPTI/lib64",
    "targets/x86_64-linux/lib",
    "targets/sbsa-linux/lib",
    "targets/aarch64-linux/lib",
    "lib64",
];

impl Search {
    /// The environment of this process.
    #[must_use]
    pub fn from_environment(explicit: Option<&Path>) -> Self {
        Self {
            explicit: explicit.map(Into::into),
            variable: path_of("GPUPROF_CUPTI"),
            toolkits: named_toolkits(),
            prefix: Some("/usr/local".into()),
            library_path: env::var_os("LD_LIBRARY_PATH"),
            linker: true,
            python: true,
        }
    }

    /// The places, in order.
    #[must_use]
    pub fn places(&self) -> Vec<SearchLocation> {
        let mut places = Vec::new();
        places.extend(self.explicit.clone().map(SearchLocation::Explicit));
        places.extend(self.variable.clone().map(SearchLocation::Variable));
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        for toolkit in self.toolkits.iter().chain(&in_prefix) {
            places.extend(IN_TOOLKIT.map(|folder| SearchLocation::Toolkit(toolkit.join(folder))));
        }
        if let Some(path) = &self.library_path {
            let folders = env::split_paths(path).filter(|it| it.is_absolute());
            places.extend(folders.map(SearchLocation::LibraryPath));
        }
        places.extend(self.linker.then_some(SearchLocation::Linker));
        places.extend(self.python.then_some(SearchLocation::Python));
        places
    }
}

impl SearchLocation {
    /// Whether the user named it, so that nothing else will do.
    #[must_use]
    pub fn is_named(&self) -> bool {
        matches!(self, Self::Explicit(_) | Self::Variable(_))
    }

    pub(super) fn candidates(&self) -> Vec<PathBuf> {
        match self {
            Self::Explicit(path) | Self::Variable(path) if path.is_dir() => {
                libraries_in(path, LIBRARY)
            }
            Self::Explicit(path) | Self::Variable(path) => vec![path.clone()],
            Self::Toolkit(folder) | Self::LibraryPath(folder) => libraries_in(folder, LIBRARY),
            Self::Linker => {
                ["libcupti.so", "libcupti.so.13", "libcupti.so.12"].map(Into::into).into()
            }
            Self::Python => {
                python::folders().iter().flat_map(|it| libraries_in(it, LIBRARY)).collect()
            }
        }
    }
}

/// The path that the environment variable `name` holds.
#[must_use]
pub fn path_of(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from)
}

/// The toolkits that `$CUDA_HOME` and `$CUDA_PATH` name, in this order.
#[must_use]
pub fn named_toolkits() -> Vec<PathBuf> {
    ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(path_of).collect()
}

/// The toolkits in a folder: `cuda`, then `cuda-13.0`, `cuda-12.9` …: the installation's own
/// choice, then the newest first.
#[must_use]
pub fn toolkits_in(prefix: &Path) -> Vec<PathBuf> {
    let mut found = names_in(prefix, "cuda");
    found.sort_by_key(|name| (name != "cuda", Reverse(numbers(name)), name.clone()));
    found.into_iter().map(|name| prefix.join(name)).collect()
}

/// The files of `library`, such as `libcupti.so`, in `folder`: without a version first, then the
/// highest version. Links to one file are one candidate.
#[must_use]
pub fn libraries_in(folder: &Path, library: &str) -> Vec<PathBuf> {
    let mut found = names_in(folder, library);
    found.retain(|name| is_library(name, library));
    found.sort_by_key(|name| (name != library, Reverse(numbers(name))));
    distinct(found.into_iter().map(|name| folder.join(name)))
}

/// Whether the file `name` is `library`, of any version.
#[must_use]
pub fn is_library(name: &str, library: &str) -> bool {
    name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The files that `paths` lead to, each once.
#[must_use]
pub fn distinct(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        let file = path.canonicalize().unwrap_or(path);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

fn names_in(folder: &Path, prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}

/// The numbers in `name`, by which versions are ordered.
#[must_use]
pub fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    #[test]
    fn the_search_goes_from_the_named_to_the_guessed() {
        let root = tree(&["cuda-12.9/x", "cuda-13.0/x", "cuda/x", "cuda-9.2/x", "other/x"]);
        let search = Search {
            explicit: Some("/a".into()),
            variable: Some("/b".into()),
            toolkits: vec!["/home".into()],
            prefix: Some(root.path().into()),
            library_path: Some("/ld:relative:".into()),
            linker: true,
            python: true,
        };
        let places = search.places();
        let toolkit = |name: &str| SearchLocation::Toolkit(root.path().join(name).join("lib64"));
        let position = |place: &SearchLocation| places.iter().position(|it| it == place).unwrap();
        let order = [
            SearchLocation::Explicit("/a".into()),
            SearchLocation::Variable("/b".into()),
            SearchLocation::Toolkit("/home/extras/CUPTI/lib64".into()),
            SearchLocation::Toolkit("/home/targets/x86_64-linux/lib".into()),
            SearchLocation::Toolkit("/home/lib64".into()),
            toolkit("cuda"),
            toolkit("cuda-13.0"),
            toolkit("cuda-12.9"),
            toolkit("cuda-9.2"),
            SearchLocation::LibraryPath("/ld".into()),
            SearchLocation::Linker,
            SearchLocation::Python,
        ];
        assert!(order.is_sorted_by_key(position), "{places:?}");
        assert!(!places.contains(&toolkit("other")));
        assert!(!places.contains(&SearchLocation::LibraryPath("relative".into())));
    }

    #[test]
    fn a_folder_gives_its_newest_library_first_and_nothing_else() {
        let root = tree(&["libcupti.so.12", "libcupti.so.13", "libcupti_static.a", "libcuptix.so"]);
        let names: Vec<_> = libraries_in(root.path(), LIBRARY)
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["libcupti.so.13", "libcupti.so.12"]);
    }

    #[test]
    fn a_named_path_that_does_not_open_ends_the_search() {
        let root = tree(&["libcupti.so.13"]);
        let search = Search {
            explicit: Some(root.path().join("libcupti.so.13")),
            library_path: Some(root.path().into()),
            ..Search::default()
        };
        let error = search.run().unwrap_err();
        assert_eq!(error.searched.len(), 1);
        let text = error.to_string();
        assert!(
            text.contains("(as named)") && text.contains("cannot be loaded: file too short"),
            "{text}"
        );
        assert!(text.contains("or leave both out to search the usual places"), "{text}");
    }

    #[test]
    fn nothing_found_names_every_place() {
        let search = Search {
            toolkits: vec!["/nowhere".into()],
            library_path: Some("/neither".into()),
            ..Search::default()
        };
        let text = search.run().unwrap_err().to_string();
        assert_eq!(
            text,
            "no usable CUPTI was found; searched:\n  /nowhere/extras/CUPTI/lib64: no libcupti.so \
             there\n  /nowhere/targets/x86_64-linux/lib: no libcupti.so there\n  /nowhere/targets/sbsa-linux/lib: \
             no libcupti.so there\n  /nowhere/targets/aarch64-linux/lib: no libcupti.so there\n  /nowhere/lib64: \
             no libcupti.so there\n  /neither (LD_LIBRARY_PATH): no libcupti.so there\n  install \
             it with `pip install nvidia-cuda-cupti` (13.0.85 also works without a GPU), or name \
             it with GPUPROF_CUPTI"
        );
    }
}
