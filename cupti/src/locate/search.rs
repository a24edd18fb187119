//! The search for a library of NVIDIA: the places in order, and the files to try in each.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::files::{libraries_in, toolkits_in};
use super::{loader_cache, python};

/// A library, and where CUDA's packages have it.
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    /// Its file: `libcupti.so`.
    pub library: &'static str,
    /// The environment variable that names the file or its folder.
    pub variable: &'static str,
    /// Folders of a toolkit that may hold it.
    pub in_toolkit: &'static [&'static str],
    /// Folders of NVIDIA's wheels in Python's site-packages.
    pub in_packages: &'static [&'static str],
    /// The names that the linker is asked for. None to read the loader's cache: it has the paths of
    /// files that must not be opened in this process.
    pub linker_names: &'static [&'static str],
}

/// CUPTI.
pub const CUPTI: Product = Product {
    library: "libcupti.so",
    variable: "GPUPROF_CUPTI",
    in_toolkit: &[
        "extras/CUPTI/lib64",
        "targets/x86_64-linux/lib",
        "targets/sbsa-linux/lib",
        "targets/aarch64-linux/lib",
        "lib64",
    ],
    // CUDA 13's, then CUDA 12's.
    in_packages: &["nvidia/cu13/lib", "nvidia/cuda_cupti/lib"],
    linker_names: &["libcupti.so", "libcupti.so.13", "libcupti.so.12"],
};

/// The inputs of the search. They include everything from the environment, so tests can choose it.
#[derive(Clone, Debug)]
pub struct Search {
    /// The library that is searched for.
    pub product: &'static Product,
    /// The library or its folder, as the user named it.
    pub explicit: Option<PathBuf>,
    /// The value of [`Product::variable`]: likewise.
    pub variable: Option<PathBuf>,
    /// `$CUDA_HOME` and `$CUDA_PATH`.
    pub toolkits: Vec<PathBuf>,
    /// The folder that holds `cuda*`; `/usr/local`.
    pub prefix: Option<PathBuf>,
    /// `$LD_LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// Whether to ask the linker.
    pub linker: bool,
    /// Whether to ask the active Python for its site-packages.
    pub python: bool,
}

/// One step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchLocation {
    /// The path that the user named.
    Explicit(PathBuf),
    /// The path in [`Product::variable`].
    Variable(PathBuf, &'static str),
    /// A folder of a CUDA toolkit.
    Toolkit(PathBuf),
    /// A folder of `$LD_LIBRARY_PATH`.
    LibraryPath(PathBuf),
    /// The linker's own search.
    Linker,
    /// The loader's cache.
    LoaderCache,
    /// The site-packages of the active Python.
    Python,
}

impl fmt::Display for SearchLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit(path) => write!(f, "{} (as named)", path.display()),
            Self::Variable(path, variable) => write!(f, "{} ({variable})", path.display()),
            Self::Toolkit(path) => write!(f, "{}", path.display()),
            Self::LibraryPath(path) => write!(f, "{} (LD_LIBRARY_PATH)", path.display()),
            Self::Linker => f.write_str("the linker's search path"),
            Self::LoaderCache => f.write_str("the libraries that `ldconfig -p` lists"),
            Self::Python => f.write_str("the active Python's site-packages"),
        }
    }
}

/// A place without a usable library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAttempt<E> {
    /// The place.
    pub place: SearchLocation,
    /// Why the library there is not usable; none if there is no library.
    pub reason: Option<E>,
}

impl Search {
    /// The environment of this process, and the path that a setting names.
    #[must_use]
    pub fn from_environment(product: &'static Product, explicit: Option<&Path>) -> Self {
        Self {
            product,
            explicit: explicit.map(Into::into),
            variable: path_of(product.variable),
            toolkits: named_toolkits(),
            prefix: Some("/usr/local".into()),
            library_path: env::var_os("LD_LIBRARY_PATH"),
            linker: true,
            python: true,
        }
    }

    /// A search that looks nowhere.
    #[must_use]
    pub fn nowhere(product: &'static Product) -> Self {
        Self {
            product,
            explicit: None,
            variable: None,
            toolkits: Vec::new(),
            prefix: None,
            library_path: None,
            linker: false,
            python: false,
        }
    }

    /// The result of `open` for the first library that it accepts.
    ///
    /// # Errors
    /// All places that were looked at, in order.
    pub fn first<T, E>(
        &self,
        open: impl Fn(&Path, &SearchLocation) -> Result<T, E>,
    ) -> Result<T, Vec<SearchAttempt<E>>> {
        let mut searched = Vec::new();
        for place in self.places() {
            let candidates = self.candidates(&place);
            if candidates.is_empty() {
                searched.push(SearchAttempt { place: place.clone(), reason: None });
            }
            for candidate in candidates {
                match open(&candidate, &place) {
                    Ok(opened) => return Ok(opened),
                    Err(refused) => {
                        let reason = Some(refused);
                        searched.push(SearchAttempt { place: place.clone(), reason });
                    }
                }
            }
        }
        Err(searched)
    }

    /// The places, in order. If the user named a path, it is the only one.
    fn places(&self) -> Vec<SearchLocation> {
        if let Some(path) = &self.explicit {
            return vec![SearchLocation::Explicit(path.clone())];
        }
        if let Some(path) = &self.variable {
            return vec![SearchLocation::Variable(path.clone(), self.product.variable)];
        }
        let mut places = Vec::new();
        let in_prefix = self.prefix.as_deref().map(toolkits_in).unwrap_or_default();
        for toolkit in self.toolkits.iter().chain(&in_prefix) {
            let folders = self.product.in_toolkit.iter().map(|folder| toolkit.join(folder));
            places.extend(folders.map(SearchLocation::Toolkit));
        }
        if let Some(path) = &self.library_path {
            let folders = env::split_paths(path).filter(|it| it.is_absolute());
            places.extend(folders.map(SearchLocation::LibraryPath));
        }
        let linker = match self.product.linker_names {
            [] => SearchLocation::LoaderCache,
            _ => SearchLocation::Linker,
        };
        places.extend(self.linker.then_some(linker));
        places.extend(self.python.then_some(SearchLocation::Python));
        places
    }

    /// The files to try in `place`, one of [`Search::places`].
    fn candidates(&self, place: &SearchLocation) -> Vec<PathBuf> {
        let Product { library, in_packages, linker_names, .. } = self.product;
        match place {
            SearchLocation::Explicit(path) | SearchLocation::Variable(path, _)
                if !path.is_dir() =>
            {
                vec![path.clone()]
            }
            SearchLocation::Explicit(folder)
            | SearchLocation::Variable(folder, _)
            | SearchLocation::Toolkit(folder)
            | SearchLocation::LibraryPath(folder) => libraries_in(folder, library),
            SearchLocation::Linker => linker_names.iter().map(PathBuf::from).collect(),
            SearchLocation::LoaderCache => loader_cache::files(library),
            SearchLocation::Python => {
                let packages = python::site_packages();
                let folders =
                    packages.iter().flat_map(|it| in_packages.iter().map(|name| it.join(name)));
                folders.flat_map(|folder| libraries_in(&folder, library)).collect()
            }
        }
    }
}

impl SearchLocation {
    /// Whether the user named it, so that nothing else will do.
    #[must_use]
    pub fn is_named(&self) -> bool {
        matches!(self, Self::Explicit(_) | Self::Variable(..))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locate::files::tests::tree;
    use crate::locate::locate_by;

    #[test]
    fn toolkits_precede_the_linker_and_the_wheels() {
        let root = tree(&["cuda-12.9/x", "cuda-13.0/x", "cuda/x", "cuda-9.2/x", "other/x"]);
        let search = Search {
            toolkits: vec!["/home".into()],
            prefix: Some(root.path().into()),
            library_path: Some("/ld:relative:".into()),
            linker: true,
            python: true,
            ..Search::nowhere(&CUPTI)
        };
        let places = search.places();
        let toolkit = |name: &str| SearchLocation::Toolkit(root.path().join(name).join("lib64"));
        let position = |place: &SearchLocation| places.iter().position(|it| it == place).unwrap();
        let order = [
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
    fn an_explicit_path_stops_the_search_and_settings_precede_variables() {
        let mut search = Search {
            explicit: Some("/a".into()),
            variable: Some("/b".into()),
            toolkits: vec!["/home".into()],
            ..Search::nowhere(&CUPTI)
        };
        assert_eq!(search.places(), [SearchLocation::Explicit("/a".into())]);
        search.explicit = None;
        let variable = SearchLocation::Variable("/b".into(), "GPUPROF_CUPTI");
        assert_eq!(search.places(), [variable]);
    }

    #[test]
    fn an_unusable_named_path_ends_the_search() {
        let root = tree(&["libcupti.so.13"]);
        let search = Search {
            explicit: Some(root.path().join("libcupti.so.13")),
            library_path: Some(root.path().into()),
            ..Search::nowhere(&CUPTI)
        };
        let error = locate_by(&search).unwrap_err();
        assert_eq!(error.searched.len(), 1);
        let text = error.to_string();
        assert!(
            text.contains("(as named)") && text.contains("cannot be loaded: file too short"),
            "{text}"
        );
        assert!(text.contains("or leave both out to search the usual places"), "{text}");
    }

    #[test]
    fn a_failed_search_names_every_place() {
        let search = Search {
            toolkits: vec!["/nowhere".into()],
            library_path: Some("/neither".into()),
            ..Search::nowhere(&CUPTI)
        };
        let text = locate_by(&search).unwrap_err().to_string();
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
