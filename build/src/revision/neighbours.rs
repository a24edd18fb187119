//! Links paths outside of the repository that manifests name, such as `../other`, next to a
//! checkout.
//!
//! Input: a manifest of the checkout, in which the root of the file system is a folder. Output:
//! symbolic links in that folder. A dependency is linked at the first folder that does not lead to
//! the checkout, so that its own workspace and its own dependencies are found too.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use toml::{Table, Value};

use gpuprof_system::error::{Failure, Result};

/// Links the paths outside of `toplevel` that `manifest` and the members of its workspace name,
/// below `root`; and the user's folder `workspace` if the repository does not contain
/// it.
///
/// # Errors
/// A link cannot be made (exit code 110).
pub(super) fn link(
    root: &Utf8Path,
    toplevel: &Utf8Path,
    manifest: &Utf8Path,
    workspace: &Utf8Path,
) -> Result<()> {
    let real = |path: &Utf8Path| path.strip_prefix(root).map(|p| Utf8Path::new("/").join(p)).ok();
    let Some(own) = real(toplevel) else { return Ok(()) };
    let place = |path: &Utf8Path| place(root, &own, path);
    if !workspace.starts_with(&own) {
        place(workspace)?;
    }
    let mut seen = BTreeSet::new();
    let mut open: Vec<Utf8PathBuf> = manifests(toplevel, manifest);
    while let Some(manifest) = open.pop() {
        let folder = manifest.parent().unwrap_or(toplevel);
        for path in paths_in(&manifest) {
            let path = plain(&folder.join(path));
            if path.starts_with(toplevel) || !seen.insert(path.clone()) {
                continue;
            }
            // An absolute path leads to where it leads from anywhere.
            let Some(outside) = real(&path) else { continue };
            if outside.exists() {
                place(&outside)?;
                open.push(path.join("Cargo.toml"));
            }
        }
    }
    Ok(())
}

/// The manifests below `toplevel` that a build from `manifest` may read: its own, and all that are
/// not in a folder that cargo or git made.
fn manifests(toplevel: &Utf8Path, manifest: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut found = vec![manifest.to_owned()];
    let mut folders = vec![toplevel.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && name != "target" && !name.starts_with('.') {
                folders.push(entry.path().to_owned());
            } else if name == "Cargo.toml" {
                found.push(entry.path().to_owned());
            }
        }
    }
    found
}

/// Every path in a manifest, including the paths of its targets.
fn paths_in(manifest: &Utf8Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).unwrap_or_default();
    let mut paths = Vec::new();
    // cargo reports a manifest that cannot be read.
    if let Ok(table) = text.parse::<Table>() {
        collect(&Value::Table(table), &mut paths);
    }
    paths
}

fn collect(value: &Value, paths: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                match value {
                    Value::String(path) if key == "path" => paths.push(path.clone()),
                    other => collect(other, paths),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, paths)),
        _ => {}
    }
}

/// `path` without `..`, as cargo reads it: links are not followed.
fn plain(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Makes the folder `real` of the machine reachable below `root`, in which the repository at `own`
/// is checked out.
fn place(root: &Utf8Path, own: &Utf8Path, real: &Utf8Path) -> Result<()> {
    let mut shared = Utf8PathBuf::from("/");
    let (mut to_real, mut to_own) = (real.components().skip(1), own.components().skip(1));
    loop {
        match (to_real.next(), to_own.next()) {
            (Some(a), Some(b)) if a == b => shared.push(a),
            (Some(a), _) => return one(root, &shared.join(a)),
            // A folder that the repository is in: all that it holds but the way to the repository.
            (None, Some(b)) => {
                for entry in shared.read_dir_utf8().into_iter().flatten().flatten() {
                    if entry.file_name() != b.as_str() {
                        one(root, entry.path())?;
                    }
                }
                return Ok(());
            }
            (None, None) => return Ok(()),
        }
    }
}

fn one(root: &Utf8Path, real: &Utf8Path) -> Result<()> {
    let link = root.join(real.as_str().trim_start_matches('/'));
    if fs::read_link(&link).is_ok_and(|to| to == *real) {
        return Ok(());
    }
    let make = || -> io::Result<()> {
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::remove_file(&link) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => symlink(real, &link),
        }
    };
    make().map_err(Failure::writing(&link))
}
