//! The folders that headers are searched in, and names for them that hold on every machine.
//!
//! Input: the package, its include folders, the compiler's, and the cache. Output: `-I` options in
//! the order of the search, and for every file that was read a [`Named`] path.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::source_files::LIBRARY;

/// A file by the folder that it was found in: the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Named {
    root: Root,
    path: PathBuf,
}

/// The root of a named path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Root {
    /// The package.
    Package,
    /// One of the folders with CUDA's headers, by its number.
    Cuda(usize),
    /// The root of the file system.
    System,
}

/// The folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Roots {
    package: PathBuf,
    /// As the program has them.
    includes: Vec<PathBuf>,
    cuda: Vec<PathBuf>,
}

impl Roots {
    /// The folders of a package; its path must not contain links.
    pub(super) fn new(package: &Path, includes: &[PathBuf], cuda: &[PathBuf]) -> Self {
        Self { package: package.into(), includes: includes.to_vec(), cuda: cuda.to_vec() }
    }

    /// The folder that the compiler works in.
    pub(super) fn package(&self) -> &Path {
        &self.package
    }

    /// The options of the search.
    pub(super) fn options(&self) -> Vec<String> {
        self.includes.iter().chain(&self.cuda).map(option).collect()
    }

    /// Those of the program alone, for a compiler that finds CUDA's headers by itself.
    pub(super) fn own_options(&self) -> Vec<String> {
        self.includes.iter().map(option).collect()
    }

    /// A path as the compiler wrote it.
    pub(super) fn named(&self, path: &Path) -> Named {
        let path = normal(&self.package.join(path));
        let in_package = path.strip_prefix(&self.package).ok();
        // The innermost: one of CUDA's folders lies in another, and that of the cache in a package.
        let inside = self.cuda.iter().enumerate().filter_map(|(number, folder)| {
            let rest = path.strip_prefix(folder).ok()?;
            Some(Named { root: Root::Cuda(number), path: rest.into() })
        });
        let package = in_package.map(|rest| Named { root: Root::Package, path: rest.into() });
        let shortest = inside.chain(package).min_by_key(|named| named.path.as_os_str().len());
        shortest.unwrap_or(Named { root: Root::System, path })
    }

    /// The local path of a named file.
    pub(super) fn file(&self, named: &Named) -> PathBuf {
        match named.root {
            Root::Package => self.package.join(&named.path),
            Root::Cuda(number) => {
                self.cuda.get(number).map_or_else(|| named.path.clone(), |it| it.join(&named.path))
            }
            Root::System => named.path.clone(),
        }
    }

    /// A file as it is shown: relative to the package, or `cuda/…`.
    pub(super) fn display_path(&self, path: &Path) -> PathBuf {
        let named = self.named(path);
        match named.root {
            Root::Package | Root::System => named.path,
            Root::Cuda(_) => Path::new("cuda").join(named.path),
        }
    }

    /// A file as it stands in PTX: CUDA's headers are in the folder of libraries.
    pub(super) fn listed(&self, path: &Path) -> PathBuf {
        let shown = self.display_path(path);
        match self.named(path).root {
            Root::Cuda(_) => Path::new(LIBRARY).join(shown),
            Root::Package | Root::System => shown,
        }
    }

    /// Files that would be read in place of `named` if they were there: one of the same name in a
    /// folder that is searched earlier.
    pub(super) fn shadowing(&self, named: &Named) -> Vec<Named> {
        let file = self.file(named);
        let folders: Vec<PathBuf> = self
            .includes
            .iter()
            .chain(&self.cuda)
            .map(|it| normal(&self.package.join(it)))
            .collect();
        let found = folders.iter().position(|folder| file.starts_with(folder));
        let Some((found, rest)) =
            found.and_then(|at| Some((at, file.strip_prefix(&folders[at]).ok()?)))
        else {
            return Vec::new();
        };
        folders[..found].iter().map(|folder| self.named(&folder.join(rest))).collect()
    }

    /// The folders of the package that headers may come from, absolute.
    pub(super) fn of_the_package(&self, sources: &[PathBuf]) -> Vec<PathBuf> {
        let own = sources.iter().filter_map(|source| source.parent().map(Path::to_path_buf));
        let mut folders: Vec<PathBuf> =
            own.chain(self.includes.iter().cloned()).map(|it| self.package.join(it)).collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

/// The package's own folder may be written as nothing at all.
fn option(folder: &PathBuf) -> String {
    format!("-I{}", Path::new(".").join(folder).display())
}

/// A path without `.` and `..`, by its words alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> Roots {
        let includes = ["kernels/include".into(), "/opt/other".into()];
        let cuda = ["/cache/headers".into(), "/cache/headers/cccl".into()];
        Roots::new(Path::new("/home/me/crate"), &includes, &cuda)
    }

    #[test]
    fn a_file_has_the_same_name_wherever_the_package_and_the_cache_are() {
        let elsewhere = Roots {
            package: "/ci/crate".into(),
            cuda: vec!["/c".into(), "/c/cccl".into()],
            ..roots()
        };
        for (path, there, shown) in [
            ("./kernels/a.cuh", "/ci/crate/kernels/a.cuh", "kernels/a.cuh"),
            ("/home/me/crate/kernels/../b.h", "/ci/crate/b.h", "b.h"),
            ("/cache/headers/cccl/cub/x.cuh", "/c/cccl/cub/x.cuh", "cuda/cub/x.cuh"),
            ("/cache/headers/mma.h", "/c/mma.h", "cuda/mma.h"),
            ("/opt/other/c.h", "/opt/other/c.h", "/opt/other/c.h"),
        ] {
            let named = roots().named(Path::new(path));
            assert_eq!(elsewhere.file(&named), Path::new(there));
            assert_eq!(roots().display_path(Path::new(path)), Path::new(shown));
            let listed = roots().listed(Path::new(path));
            assert_eq!(listed.strip_prefix("/library").is_ok(), shown.starts_with("cuda/"));
            assert!(listed.ends_with(shown), "{listed:?}");
        }
    }

    #[test]
    fn cuda_headers_cached_inside_a_package_are_not_its_files() {
        let headers = "/home/me/crate/target/gpuprof/headers";
        let roots = Roots { cuda: vec![headers.into()], ..roots() };
        let shown = |path: &str| roots.display_path(Path::new(path));
        assert_eq!(shown(&format!("{headers}/cuda/std/cmath")), Path::new("cuda/cuda/std/cmath"));
        assert_eq!(shown("target/gpuprof/headers/mma.h"), Path::new("cuda/mma.h"));
        assert_eq!(shown("target/other.h"), Path::new("target/other.h"));
    }

    #[test]
    fn a_file_is_shadowed_by_its_name_in_every_earlier_folder() {
        let roots = roots();
        let shadowing = |path: &str| -> Vec<PathBuf> {
            let all = roots.shadowing(&roots.named(Path::new(path)));
            all.iter().map(|it| roots.file(it)).collect()
        };
        assert!(shadowing("kernels/include/a.h").is_empty());
        let expected: [PathBuf; 2] =
            ["/home/me/crate/kernels/include/mma.h".into(), "/opt/other/mma.h".into()];
        assert_eq!(shadowing("/cache/headers/mma.h"), expected);
        assert!(shadowing("/usr/include/x.h").is_empty());
    }
}
