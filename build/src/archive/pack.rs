//! Writes an archive.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::{FORMAT, Limits, MANIFEST, Manifest, PackedHarness, platform};
use crate::declared::{Entries, file_name};
use crate::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::hex::hex;
use gpuprof_system::own_file::OwnFile;
use gpuprof_system::whole::WholeFile;

/// Enough for executables; higher levels take long and gain little.
const COMPRESSION: i32 = 3;

const EXECUTABLE: u32 = 0o755;
const PLAIN: u32 = 0o644;

/// The contents of an archive in addition to the harnesses.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// PTX by package, and by the modules of `declared`.
    pub modules: BTreeMap<String, Utf8PathBuf>,
    /// The instances of the declared kernels.
    pub declared: Entries,
    /// The text of `gpuprof.toml`.
    pub config: Option<String>,
    /// The workspace's own sections.
    pub sections: Vec<OwnFile>,
    /// The user's own rules of advice.
    pub rules: Vec<OwnFile>,
    /// The toolchain of the kernels.
    pub kernel_toolchain: Option<String>,
    /// The git revision.
    pub git_revision: Option<String>,
    /// The harnesses.
    pub harnesses: &'a [Harness],
}

/// A file on its way into the archive.
struct Packed {
    name: String,
    from: Utf8PathBuf,
    size: u64,
    mode: u32,
}

/// Writes `path` whole or not at all and returns how many bytes it has.
///
/// # Errors
/// A file that cannot be read, or more than an archive may hold (exit code 103); the archive that
/// cannot be written (exit code 110).
pub fn pack(path: &Utf8Path, contents: &Contents<'_>) -> Result<u64> {
    let mut manifest = Manifest {
        format: FORMAT,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: platform(),
        harnesses: Vec::new(),
        modules: BTreeMap::new(),
        declared: contents.declared.clone(),
        config: contents.config.clone(),
        sections: contents.sections.clone(),
        rules: contents.rules.clone(),
        kernel_toolchain: contents.kernel_toolchain.clone(),
        git_revision: contents.git_revision.clone(),
        files: BTreeMap::new(),
    };
    let limits = Limits::default();
    let mut files: Vec<Packed> = Vec::new();
    let mut total = 0;
    let mut add = |name: String, from: &Utf8Path, mode: u32| -> Result<String> {
        let (size, hash) = measured(from)?;
        total += size;
        limits.total(total).map_err(|excess| archive_failure(format!("{from} {excess}")))?;
        manifest.files.insert(name.clone(), hash);
        files.push(Packed { name: name.clone(), from: from.to_owned(), size, mode });
        Ok(name)
    };
    for harness in contents.harnesses {
        let name = format!("harnesses/{}-{}", harness.package, harness.target);
        let file = add(name, &harness.executable, EXECUTABLE)?;
        let (package, target) = (harness.package.clone(), harness.target.clone());
        manifest.harnesses.push(PackedHarness { package, target, file });
    }
    for (package, module) in &contents.modules {
        let file = add(format!("kernels/{}", file_name(package, module)), module, PLAIN)?;
        manifest.modules.insert(package.clone(), file);
    }
    limits.entries(files.len()).map_err(|excess| archive_failure(format!("{path} {excess}")))?;
    let text = serde_json::to_vec_pretty(&manifest).expect("manifests are plain data");
    write(path, &text, &files)
}

fn archive_failure(message: String) -> Failure {
    Failure::new(ExitCode::Archive, message)
}

fn unreadable(file: &Utf8Path, error: &io::Error) -> Failure {
    archive_failure(format!("cannot read {file}: {error}"))
}

/// The size and the SHA-256 of `file`.
fn measured(file: &Utf8Path) -> Result<(u64, String)> {
    let mut hash = Hash(Sha256::new());
    let size = File::open(file)
        .and_then(|mut opened| io::copy(&mut opened, &mut hash))
        .map_err(|e| unreadable(file, &e))?;
    Ok((size, hex(&hash.0.finalize())))
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(path: &Utf8Path, manifest: &[u8], files: &[Packed]) -> Result<u64> {
    let unwritable = |e: io::Error| Failure::output(path.as_std_path(), &e);
    let file = WholeFile::create(path).map_err(unwritable)?;
    let encoder = zstd::Encoder::new(Weighed { inner: file, size: 0 }, COMPRESSION);
    let mut builder = tar::Builder::new(encoder.map_err(unwritable)?);
    append(&mut builder, MANIFEST, manifest, manifest.len() as u64, PLAIN).map_err(unwritable)?;
    for file in files {
        let opened = File::open(&file.from).map_err(|e| unreadable(&file.from, &e))?;
        let mut exactly = opened.take(file.size);
        append(&mut builder, &file.name, &mut exactly, file.size, file.mode).map_err(unwritable)?;
        if exactly.limit() > 0 {
            return Err(archive_failure(format!("{} shrank while it was packed", file.from)));
        }
    }
    let written = builder.into_inner().and_then(zstd::Encoder::finish).map_err(unwritable)?;
    written.inner.commit().map_err(unwritable)?;
    Ok(written.size)
}

fn append(
    builder: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: impl Read,
    size: u64,
    mode: u32,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(mode);
    header.set_mtime(0);
    builder.append_data(&mut header, name, bytes)
}

/// A writer that knows how much went through it.
struct Weighed<W> {
    inner: W,
    size: u64,
}

impl<W: Write> Write for Weighed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
