//! Input: a folder of the repository. Output: the files in it that are ours.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository's root.
fn repository_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

/// Every file of the repository with this extension, sorted; build outputs are left out.
pub fn with_extension(extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(repository_folder(), &mut |path| {
        if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    });
    found.sort();
    found
}

/// The folders that hold a package.
pub fn packages() -> Vec<PathBuf> {
    let manifests = with_extension("toml").into_iter().filter(|it| it.ends_with("Cargo.toml"));
    let folders = manifests.filter_map(|it| it.parent().map(Path::to_path_buf));
    folders.filter(|it| *it != repository_folder()).collect()
}

/// The file that a contributor names by a path from the repository's root.
pub fn path(shown: &str) -> PathBuf {
    repository_folder().join(shown)
}

/// A path as a contributor types it, from the repository's root.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(repository_folder()).unwrap_or(path).display().to_string()
}

fn collect(folder: &Path, found: &mut impl FnMut(PathBuf)) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() { collect(&path, found) } else { found(path) }
    }
}
