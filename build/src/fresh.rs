//! Detects a kernel build with nothing to do, without starting cargo.
//!
//! Input: the stamp of the last build and cargo's dep-info file of it. Output: yes only if the
//! command is the same and no source, manifest or lock file is newer than the PTX, which has the
//! time of its build's start. When in doubt the answer is no, and cargo decides.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The stamp of a build: its settings.
pub(super) struct Stamp<'a> {
    /// The path of the stamp.
    pub path: &'a Path,
    /// Everything that decides the build except for the sources.
    pub text: &'a str,
}

impl Stamp<'_> {
    /// Whether the last build was asked for the same.
    pub(super) fn is_written(&self) -> bool {
        fs::read_to_string(self.path).ok().as_deref() == Some(self.text)
    }
}

/// Whether the build would make the same `ptx` again. Relative sources are below `root`. `dep_info`
/// is of that build alone: files that others in its folder read may be gone or changed.
pub(super) fn is_fresh(
    ptx: &Path,
    stamp: &Stamp<'_>,
    dep_info: &Path,
    root: &Path,
    manifests: &[PathBuf],
) -> bool {
    let Some(built) = modified(ptx) else { return false };
    if !stamp.is_written() {
        return false;
    }
    let sources = sources(dep_info, root);
    !sources.is_empty()
        && sources.iter().chain(manifests).all(|file| modified(file).is_some_and(|at| at <= built))
}

/// Whether a source of the build with this `dep_info` is newer than `since`.
pub(super) fn has_newer_source(dep_info: &Path, root: &Path, since: SystemTime) -> bool {
    sources(dep_info, root).iter().any(|file| modified(file).is_some_and(|at| at > since))
}

/// The sources that `dep_info` lists; none if it cannot be read.
fn sources(dep_info: &Path, root: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(dep_info).unwrap_or_default();
    dependencies(&text).into_iter().map(|path| root.join(path)).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|m| m.modified()).ok()
}

/// The sources of a dep-info file: after the first colon of its first rule, spaces escaped by `\`.
fn dependencies(text: &str) -> Vec<PathBuf> {
    let Some((_, list)) = text.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    list.replace("\\ ", "\0")
        .split_whitespace()
        .map(|path| PathBuf::from(path.replace('\0', " ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn spaces_in_paths_survive() {
        assert_eq!(
            dependencies("out.d: src/lib.rs my\\ dir/mod.rs\n\nsrc/lib.rs:\n"),
            [PathBuf::from("src/lib.rs"), PathBuf::from("my dir/mod.rs")]
        );
    }

    #[test]
    fn newer_or_missing_sources_and_changed_commands_need_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
        write("lib.rs", "");
        write("Cargo.toml", "");
        write("crate.d", &format!("x: {}\n", at("lib.rs").display()));
        write("stamp", "flags");
        write("out.ptx", "");
        let manifests = [at("Cargo.toml")];
        let path = at("stamp");
        let fresh = |text| {
            is_fresh(
                &at("out.ptx"),
                &Stamp { path: &path, text },
                &at("crate.d"),
                Path::new("/"),
                &manifests,
            )
        };
        assert!(fresh("flags"));
        write("of-another-workspace.d", "x: /gone/lib.rs\n");
        assert!(fresh("flags"));
        assert!(!fresh("other flags"));
        let file = fs::File::options().write(true).open(at("lib.rs")).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
        assert!(!fresh("flags"));
        fs::remove_file(at("lib.rs")).unwrap();
        assert!(!fresh("flags"));
        write("crate.d", "");
        assert!(!fresh("flags"));
    }
}
