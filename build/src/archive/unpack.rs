//! Reads an archive into a folder, trusting nothing it says.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Component;
use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::limits::{Counted, MAX_NAME, WINDOW_LOG};
use super::{FORMAT, Limits, MANIFEST, Manifest, platform};
use crate::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::hex::hex;
use gpuprof_system::whole::WholeFile;

/// How much of a file is in memory at a time.
const PIECE: usize = 64 << 10;

/// The most that the decoder reads of a file before it yields the first byte.
const READ_AHEAD: u64 = 256 << 10;

/// An archive on disk.
#[derive(Debug)]
pub struct Unpacked {
    /// Its manifest.
    pub manifest: Manifest,
    /// The folder with its files.
    pub folder: Utf8PathBuf,
}

impl Unpacked {
    /// Its harnesses.
    pub fn harnesses(&self) -> Vec<Harness> {
        let harness = |packed: &super::PackedHarness| Harness {
            oxide: None,
            stand_in: None,
            package: packed.package.clone(),
            target: packed.target.clone(),
            executable: self.folder.join(&packed.file),
            folder: self.folder.clone(),
            library_folders: Vec::new(),
        };
        self.manifest.harnesses.iter().map(harness).collect()
    }
}

/// Unpacks `path` into `folder`, file by file and piece by piece.
///
/// # Errors
/// Anything that is not as the manifest says, or is more than `limits` (exit code 103); a folder
/// that cannot be written (110).
pub fn unpack(path: &Utf8Path, folder: &Utf8Path, limits: &Limits) -> Result<Unpacked> {
    let file = File::open(path).map_err(|e| failure(path, &format!("cannot be opened: {e}")))?;
    unpack_from(file, path, folder, limits)
}

/// As [`unpack`], from the reader `archive`; errors call it `path`.
///
/// # Errors
/// As [`unpack`].
pub fn unpack_from(
    archive: impl Read,
    path: &Utf8Path,
    folder: &Utf8Path,
    limits: &Limits,
) -> Result<Unpacked> {
    let bad = |message: String| failure(path, &message);
    let (archive, compressed) = Counted::new(archive);
    let mut decoder =
        zstd::Decoder::new(archive).map_err(|e| bad(format!("is not a zstd file: {e}")))?;
    decoder.window_log_max(WINDOW_LOG).map_err(|e| broken(path, &e))?;
    let mut archive = tar::Archive::new(decoder);
    // Raw entries: the crate's processing of long names and extensions has no limit.
    let entries = archive.entries().map_err(|e| broken(path, &e))?.raw(true);
    let mut reading = Reading { path, limits, entries, compressed, unpacked: 0 };
    let manifest = reading.manifest()?;
    limits.entries(manifest.files.len()).map_err(bad)?;
    let mut seen = BTreeSet::new();
    while let Some((name, mut entry)) = reading.next()? {
        let Some(expected) = manifest.files.get(&name) else {
            return Err(bad(format!("holds `{name}`, which its manifest does not list")));
        };
        if !seen.insert(name.clone()) {
            return Err(bad(format!("holds `{name}` twice")));
        }
        let executable = manifest.harnesses.iter().any(|h| h.file == name);
        let target = Target { path: folder.join(&name), executable, expected };
        reading.copy(&name, &mut entry, &target)?;
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

fn failure(path: &Utf8Path, message: &str) -> Failure {
    Failure::new(ExitCode::Archive, format!("{path}: {message}"))
}

fn broken(path: &Utf8Path, error: &io::Error) -> Failure {
    failure(path, &format!("is truncated or not an archive: {error}"))
}

/// An archive that is being read.
struct Reading<'a, R: Read> {
    path: &'a Utf8Path,
    limits: &'a Limits,
    entries: tar::Entries<'a, R>,
    compressed: Rc<Cell<u64>>,
    unpacked: u64,
}

/// The destination of a file, and its expected content.
struct Target<'a> {
    path: Utf8PathBuf,
    executable: bool,
    expected: &'a str,
}

impl<'a, R: Read> Reading<'a, R> {
    fn bad(&self, message: &str) -> Failure {
        failure(self.path, message)
    }

    /// The next file with its name, once it is known that its size can be borne.
    fn next(&mut self) -> Result<Option<(String, tar::Entry<'a, R>)>> {
        let mut long_name = None;
        while let Some(entry) = self.entries.next() {
            let mut entry = entry.map_err(|e| broken(self.path, &e))?;
            if entry.header().entry_type().is_gnu_longname() && long_name.is_none() {
                long_name = Some(self.long_name(&mut entry)?);
                continue;
            }
            let raw = long_name.unwrap_or_else(|| entry.path_bytes().into_owned());
            let name = checked_name(&raw, &entry).map_err(|reason| self.bad(&reason))?;
            self.unpacked = self.unpacked.saturating_add(entry.size());
            let most = self.limits.total(self.unpacked);
            most.map_err(|excess| self.bad(&format!("`{name}` {excess}")))?;
            return Ok(Some((name, entry)));
        }
        match long_name {
            Some(_) => Err(self.bad("ends after the name of a file")),
            None => Ok(None),
        }
    }

    fn long_name(&self, entry: &mut tar::Entry<'a, R>) -> Result<Vec<u8>> {
        if entry.size() > MAX_NAME {
            let reason = format!("holds a name of {} bytes, longer than any path", entry.size());
            return Err(self.bad(&reason));
        }
        let mut name = Vec::new();
        entry.read_to_end(&mut name).map_err(|e| broken(self.path, &e))?;
        name.truncate(name.iter().position(|&b| b == 0).unwrap_or(name.len()));
        Ok(name)
    }

    /// Reads the manifest, which comes first.
    fn manifest(&mut self) -> Result<Manifest> {
        let (name, mut first) = self.next()?.ok_or_else(|| self.bad("is empty"))?;
        if name != MANIFEST {
            return Err(self.bad(&format!(
                "does not start with {MANIFEST}: it was not made by cargo gpuprof archive"
            )));
        }
        if first.size() > self.limits.manifest {
            let (size, most) = (first.size(), self.limits.manifest);
            let reason =
                format!("{MANIFEST} has {size} bytes, more than the {most} of any archive");
            return Err(self.bad(&reason));
        }
        let mut text = String::new();
        first
            .read_to_string(&mut text)
            .map_err(|e| self.bad(&format!("{MANIFEST} cannot be read: {e}")))?;
        parse_manifest(&text).map_err(|reason| self.bad(&reason))
    }

    /// Copies the file `name` to its destination, under a temporary name until it matches the
    /// manifest.
    fn copy(&self, name: &str, entry: &mut tar::Entry<'a, R>, target: &Target<'_>) -> Result<()> {
        let unwritable = |e: io::Error| Failure::output(target.path.as_std_path(), &e);
        if let Some(parent) = target.path.parent() {
            fs::create_dir_all(parent).map_err(unwritable)?;
        }
        let mut file = WholeFile::create(&target.path).map_err(unwritable)?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; PIECE];
        let (mut copied, begins) = (0, self.compressed.get());
        let before = self.unpacked - entry.size();
        loop {
            let length = match entry.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(broken(self.path, &e)),
            };
            copied += length as u64;
            // Of the archive so far, and of this file, however well the others are compressed.
            let read = self.compressed.get();
            let here = read - begins + READ_AHEAD;
            for (compressed, unpacked) in [(read, before + copied), (here, copied)] {
                let most = self.limits.ratio(compressed, unpacked);
                most.map_err(|excess| self.bad(&format!("`{name}` {excess}")))?;
            }
            hash.update(&piece[..length]);
            file.write_all(&piece[..length]).map_err(unwritable)?;
        }
        if hex(&hash.finalize()) != target.expected {
            return Err(self.bad(&format!("`{name}` does not match its SHA-256 in the manifest")));
        }
        let mode = if target.executable { 0o755 } else { 0o644 };
        file.commit_with_mode(mode).map_err(unwritable)
    }
}

fn parse_manifest(text: &str) -> Result<Manifest, String> {
    let wrong = |e: serde_json::Error| format!("{MANIFEST} is invalid: {e}");
    let value: serde_json::Value = serde_json::from_str(text).map_err(wrong)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(FORMAT)) {
        let found = format.map_or("none".to_owned(), |f| f.to_string());
        return Err(format!(
            "has archive format {found}, but this cargo-gpuprof reads format {FORMAT}; make the \
             archive again with this version"
        ));
    }
    let manifest: Manifest = serde_json::from_value(value).map_err(wrong)?;
    let here = platform();
    if manifest.platform != here {
        return Err(format!(
            "holds executables for {}, but this machine is {here}; make the archive on a machine \
             of this kind",
            manifest.platform
        ));
    }
    Ok(manifest)
}

/// The entry's path, if it is a plain file inside the folder.
fn checked_name<R: Read>(raw: &[u8], entry: &tar::Entry<'_, R>) -> Result<String, String> {
    let raw = String::from_utf8_lossy(raw).into_owned();
    let path = std::path::Path::new(&raw);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) || raw.is_empty() {
        return Err(format!("holds `{raw}`, a path outside the archive"));
    }
    if !entry.header().entry_type().is_file() {
        return Err(format!("holds `{raw}`, which is not a regular file"));
    }
    Ok(raw)
}
