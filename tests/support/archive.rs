//! Archives taken apart and put together again, also in ways that no honest tool would.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use serde_json::Value;

use crate::support::Workspace;

/// The name of an archive's first entry.
const MANIFEST: &str = "gpuprof-archive.json";

/// One entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the archive.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// The entries of an archive, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive(pub Vec<Entry>);

impl Archive {
    /// Reads `path`.
    ///
    /// # Panics
    /// It is not an archive.
    pub fn read(path: &Path) -> Self {
        let decoder = zstd::Decoder::new(File::open(path).expect("the archive is there"));
        let mut archive = tar::Archive::new(decoder.expect("it is compressed"));
        let entry = |entry: std::io::Result<tar::Entry<'_, _>>| {
            let mut entry = entry.expect("the archive is whole");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("the archive is whole");
            Entry { path: String::from_utf8_lossy(&entry.path_bytes()).into_owned(), bytes }
        };
        Self(archive.entries().expect("it is an archive").map(entry).collect())
    }

    /// The PTX of the kernels of `package`.
    ///
    /// # Panics
    /// They cannot be built.
    pub fn ptx(workspace: &Workspace, package: &str) -> String {
        Self::ptx_for(workspace, package, &[])
    }

    /// The PTX of the kernels of `package`, built with these options.
    ///
    /// # Panics
    /// They cannot be built.
    pub fn ptx_for(workspace: &Workspace, package: &str, options: &[&str]) -> String {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        let file = folder.path().join("kernels.tar.zst");
        let path = file.display().to_string();
        let archive = ["archive", "--package", package, "--archive-file", &path];
        workspace.gpuprof(&[&archive, options].concat()).exits_with(0);
        let bytes = Self::read(&file).entry(&format!("kernels/{package}.ptx")).bytes.clone();
        String::from_utf8(bytes).expect("PTX is text")
    }

    /// Writes `path`, whatever the entries' paths are.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, path: &Path) {
        let mut builder = tar::Builder::new(Vec::new());
        for entry in &self.0 {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().expect("it is a GNU header").name[..entry.path.len()]
                .copy_from_slice(entry.path.as_bytes());
            header.set_size(entry.bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, entry.bytes.as_slice()).expect("memory can be written");
        }
        let bytes = builder.into_inner().expect("memory can be written");
        let mut encoder =
            zstd::Encoder::new(File::create(path).expect("it can be made"), 1).expect("zstd");
        encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("it can be written");
    }

    /// Changes the manifest.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn with_manifest(mut self, change: impl FnOnce(&mut Value)) -> Self {
        let manifest = self.entry(MANIFEST);
        let mut value = serde_json::from_slice(&manifest.bytes).expect("the manifest is JSON");
        change(&mut value);
        manifest.bytes = value.to_string().into_bytes();
        self
    }

    /// The entry at `path`.
    ///
    /// # Panics
    /// There is none.
    pub fn entry(&mut self, path: &str) -> &mut Entry {
        self.0.iter_mut().find(|entry| entry.path == path).expect("the archive holds the entry")
    }

    /// Cuts the file at `path` to its first half.
    ///
    /// # Panics
    /// It cannot be read or written.
    pub fn truncate(path: &Path) {
        let bytes = fs::read(path).expect("the archive is there");
        fs::write(path, &bytes[..bytes.len() / 2]).expect("it can be written");
    }
}
