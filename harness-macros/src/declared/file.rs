//! Files and folders that a block names, checked while the macro expands.
//!
//! Input: a path in quotes. Output: nothing if it exists; otherwise an error at the text, with the
//! folder of the search and a suggestion: the same name elsewhere, or a similar one. So a wrong
//! path is reported before anything is built.

use std::path::{Component, Path, PathBuf};
use std::{env, fs};

use gpuprof_model::suggest;
use syn::LitStr;

use crate::errors::Errors;

/// How many entries of the package's folder are looked at for a file of the same name.
const MOST_ENTRIES: usize = 4000;

/// The required kind of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// Refuses a path of another kind.
pub(super) fn check(path: &LitStr, kind: Kind, errors: &mut Errors) {
    let Some(package) = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return };
    if let Err(told) = check_kind(&package, &path.value(), kind) {
        errors.at(path, told);
    }
}

/// Why `named`, relative to `package`, is not of the required kind.
fn check_kind(package: &Path, named: &str, kind: Kind) -> Result<(), String> {
    let path = package.join(named);
    match (fs::metadata(&path).map(|found| found.is_dir()), kind) {
        (Ok(true), Kind::File) => {
            Err(format!("`{named}` is a folder{}", within(&path, named, "name a file of it")))
        }
        (Ok(false), Kind::Folder) => {
            let folder = Path::new(named).parent().map_or("", |it| it.to_str().unwrap_or_default());
            let folder = if folder.is_empty() { "." } else { folder };
            Err(format!("`{named}` is a file, and headers are looked for in folders: \"{folder}\""))
        }
        (Ok(_), _) => Ok(()),
        (Err(_), _) => {
            let near = near(package, named).unwrap_or_default();
            Err(format!(
                "there is no `{named}` in the package's folder; paths are relative to it{near}\n\
                 looked for {}",
                path.display()
            ))
        }
    }
}

/// The files of the folder at `path`, or `else_say` where there are none.
fn within(path: &Path, named: &str, else_say: &str) -> String {
    let files = names(path).into_iter().filter(|name| path.join(name).is_file()).take(3);
    let of_it: Vec<String> =
        files.map(|name| format!("`{}/{name}`", named.trim_end_matches('/'))).collect();
    match of_it.is_empty() {
        true => format!(": {else_say}"),
        false => format!(", which has {}", of_it.join(", ")),
    }
}

/// The path that `named` may mean: a similar name at the first missing component, or the same name
/// elsewhere in `package`.
fn near(package: &Path, named: &str) -> Option<String> {
    let (mut there, mut shown) = (package.to_owned(), PathBuf::new());
    let mut parts = Path::new(named).components();
    let missing = parts.find(|part| {
        let found = there.join(part).exists();
        if found {
            there.push(part);
            shown.push(part);
        }
        !found
    })?;
    if let Component::Normal(missing) = missing {
        let missing = missing.to_string_lossy();
        let known = names(&there);
        let similar = suggest::nearest(&missing, known.iter().map(String::as_str));
        let whole = |name: &&str| shown.join(name).components().chain(parts.clone()).collect();
        let similar: Vec<PathBuf> = similar.iter().map(whole).collect();
        if let Some(one) = similar.into_iter().find(|it| package.join(it).exists()) {
            return Some(format!(": did you mean `{}`?", one.display()));
        }
    }
    let name = Path::new(named).file_name()?;
    let elsewhere = elsewhere(package, name.to_str()?)?;
    Some(format!(": did you mean `{}`?", elsewhere.display()))
}

/// The first file or folder called `name` below `package`, which its path starts at. Folders that
/// cargo or others write are left out.
fn elsewhere(package: &Path, name: &str) -> Option<PathBuf> {
    let (mut folders, mut looked_at) = (vec![PathBuf::new()], 0);
    while let Some(folder) = folders.pop() {
        for entry in names(&package.join(&folder)) {
            looked_at += 1;
            let path = folder.join(&entry);
            if entry == name {
                return Some(path);
            }
            let whole = package.join(&path);
            let goes_on = entry != "target" && !entry.starts_with('.') && !whole.is_symlink();
            if goes_on && looked_at < MOST_ENTRIES && whole.is_dir() {
                folders.push(path);
            }
        }
    }
    None
}

/// The names in a folder, sorted; none if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use std::{process, thread};

    use super::*;

    /// The message on `named` in a package with `src/lib.rs`, `kernels/scan.cu` and
    /// `kernels/deep/sort.cu`; the second line names the searched folder.
    fn told_of(named: &str, kind: Kind) -> String {
        let own = format!("gpuprof-files-{}-{:?}", process::id(), thread::current().id());
        let folder = env::temp_dir().join(own);
        let package = folder.join("package");
        for file in ["src/lib.rs", "kernels/scan.cu", "kernels/deep/sort.cu"] {
            let file = package.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let told = check_kind(&package, named, kind).err().unwrap_or_default();
        let looked_for = format!("\nlooked for {}", package.join(named).display());
        fs::remove_dir_all(&folder).unwrap();
        told.strip_suffix(&looked_for).map_or(told.clone(), |told| format!("{told} …"))
    }

    #[test]
    fn a_wrong_path_is_reported_with_the_nearest() {
        let nowhere = |named, near: &str| {
            format!(
                "there is no `{named}` in the package's folder; paths are relative to it{near} …"
            )
        };
        let meant = |path| format!(": did you mean `{path}`?");
        assert_eq!(told_of("kernels/scan.cu", Kind::File), "");
        assert_eq!(told_of("kernels", Kind::Folder), "");
        for (named, path) in [
            ("kernels/scam.cu", "kernels/scan.cu"),
            ("kernel/scan.cu", "kernels/scan.cu"),
            ("scan.cu", "kernels/scan.cu"),
            ("../kernels/scan.cu", "kernels/scan.cu"),
            ("kernels/sort.cu", "kernels/deep/sort.cu"),
        ] {
            assert_eq!(told_of(named, Kind::File), nowhere(named, &meant(path)));
        }
        assert_eq!(told_of("other/reduce.cu", Kind::File), nowhere("other/reduce.cu", ""));
    }

    #[test]
    fn a_folder_for_a_file_and_a_file_for_a_folder_are_reported() {
        let folder = "`kernels` is a folder, which has `kernels/scan.cu`";
        assert_eq!(told_of("kernels", Kind::File), folder);
        let file =
            "`kernels/scan.cu` is a file, and headers are looked for in folders: \"kernels\"";
        assert_eq!(told_of("kernels/scan.cu", Kind::Folder), file);
    }
}
