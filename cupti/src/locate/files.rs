//! The files of libraries and toolkits in a folder, in the order in which they are tried.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

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
pub(super) fn libraries_in(folder: &Path, library: &str) -> Vec<PathBuf> {
    let mut found = names_in(folder, library);
    found.retain(|name| is_library(name, library));
    found.sort_by_key(|name| (name != library, Reverse(numbers(name))));
    distinct(found.into_iter().map(|name| folder.join(name)))
}

/// Whether the file `name` is `library`, of any version.
pub(super) fn is_library(name: &str, library: &str) -> bool {
    name.strip_prefix(library).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The files that `paths` lead to, each once.
pub(super) fn distinct(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
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
pub(super) fn numbers(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder with empty `files`.
    pub(in crate::locate) fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    #[test]
    fn libraries_of_a_folder_are_sorted_newest_first() {
        let root = tree(&[
            "libcupti.so.12",
            "libcupti.so.13",
            "libcupti_static.a",
            "libcuptix.so",
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.13.0",
            "libnvrtc.alt.so.13",
            "libnvrtc_static.a",
        ]);
        let names = |library: &str| -> Vec<String> {
            let files = libraries_in(root.path(), library);
            files.iter().map(|it| it.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names("libcupti.so"), ["libcupti.so.13", "libcupti.so.12"]);
        // Wheels of CUDA 12 contain a second build, `libnvrtc.alt.so.12`.
        assert_eq!(names("libnvrtc.so"), ["libnvrtc.so.13", "libnvrtc.so.12"]);
    }
}
