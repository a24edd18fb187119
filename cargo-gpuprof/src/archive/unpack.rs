//! Reads an archive into a folder, trusting nothing it says.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Component;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::{FORMAT, MANIFEST, Manifest, platform};
use crate::build::host::Harness;
use crate::error::{Failure, Result};
use crate::hex::hex;

/// An archive on disk.
#[derive(Debug)]
pub struct Unpacked {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Where it was unpacked.
    pub folder: Utf8PathBuf,
}

impl Unpacked {
    /// Its harnesses.
    pub fn harnesses(&self) -> Vec<Harness> {
        let harness = |packed: &super::PackedHarness| Harness {
            package: packed.package.clone(),
            target: packed.target.clone(),
            executable: self.folder.join(&packed.file),
            folder: self.folder.clone(),
            library_folders: Vec::new(),
        };
        self.manifest.harnesses.iter().map(harness).collect()
    }
}

/// Unpacks `path` into `folder`.
///
/// # Errors
/// Anything that is not as the manifest says (exit code 103); a folder that cannot be written
/// (110).
pub fn unpack(path: &Utf8Path, folder: &Utf8Path) -> Result<Unpacked> {
    let bad = |message: String| Failure::new(ExitCode::Archive, format!("{path}: {message}"));
    let file = File::open(path).map_err(|e| bad(format!("cannot be opened: {e}")))?;
    let decoder = zstd::Decoder::new(file).map_err(|e| bad(format!("is not a zstd file: {e}")))?;
    let mut archive = tar::Archive::new(decoder);
    let broken = |e: io::Error| bad(format!("is truncated or not an archive: {e}"));
    let mut entries = archive.entries().map_err(broken)?;
    let first = entries.next().ok_or_else(|| bad("is empty".into()))?.map_err(broken)?;
    let manifest = read_manifest(first, &bad)?;
    let mut seen = Vec::new();
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let name = entry_name(&entry).map_err(bad)?;
        let Some(expected) = manifest.files.get(&name) else {
            return Err(bad(format!("holds `{name}`, which its manifest does not list")));
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        if hex(&Sha256::digest(&bytes)) != *expected {
            return Err(bad(format!("`{name}` does not match its SHA-256 in the manifest")));
        }
        let executable = manifest.harnesses.iter().any(|h| h.file == name);
        let target = folder.join(&name);
        write(&target, &bytes, executable)
            .map_err(|e| Failure::output(target.as_std_path(), &e))?;
        seen.push(name);
    }
    let named = manifest.files.keys().chain(manifest.modules.values());
    let named = named.chain(manifest.harnesses.iter().map(|h| &h.file));
    for name in named {
        if !seen.contains(name) {
            return Err(bad(format!("lacks `{name}`, which its manifest lists")));
        }
    }
    let folder = folder.canonicalize_utf8().map_err(|e| bad(format!("cannot be unpacked: {e}")))?;
    Ok(Unpacked { manifest, folder })
}

fn read_manifest<R: Read>(
    mut first: tar::Entry<'_, R>,
    bad: &impl Fn(String) -> Failure,
) -> Result<Manifest> {
    let name = entry_name(&first).map_err(bad)?;
    if name != MANIFEST {
        return Err(bad(format!(
            "does not start with {MANIFEST}: it was not made by cargo gpuprof archive"
        )));
    }
    let mut text = String::new();
    first.read_to_string(&mut text).map_err(|e| bad(format!("{MANIFEST} cannot be read: {e}")))?;
    let wrong = |e: serde_json::Error| bad(format!("{MANIFEST} is invalid: {e}"));
    let value: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(FORMAT)) {
        let found = format.map_or("none".to_owned(), |f| f.to_string());
        return Err(bad(format!(
            "has archive format {found}, but this cargo-gpuprof reads format {FORMAT}; make the \
             archive again with this version"
        )));
    }
    let manifest: Manifest = serde_json::from_value(value).map_err(wrong)?;
    let here = platform();
    if manifest.platform != here {
        return Err(bad(format!(
            "holds executables for {}, but this machine is {here}; make the archive on a machine \
             of this kind",
            manifest.platform
        )));
    }
    Ok(manifest)
}

/// The entry's path, if it is a plain file inside the folder.
fn entry_name<R: Read>(entry: &tar::Entry<'_, R>) -> Result<String, String> {
    let raw = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    let path = std::path::Path::new(&raw);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) || raw.is_empty() {
        return Err(format!("holds `{raw}`, a path outside the archive"));
    }
    if !entry.header().entry_type().is_file() {
        return Err(format!("holds `{raw}`, which is not a regular file"));
    }
    Ok(raw)
}

fn write(path: &Utf8Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    crate::store::write_whole(path, bytes)?;
    let mode = if executable { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
