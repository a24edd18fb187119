//! Writes an archive.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::{FORMAT, MANIFEST, Manifest, PackedHarness, platform};
use crate::build::host::Harness;
use crate::error::{Failure, Result};
use crate::hex::hex;
use crate::sections::SectionFile;

/// Enough for executables; higher levels take long and gain little.
const COMPRESSION: i32 = 3;

const EXECUTABLE: u32 = 0o755;
const PLAIN: u32 = 0o644;

/// What goes into an archive beside the harnesses.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// PTX by package.
    pub modules: BTreeMap<String, camino::Utf8PathBuf>,
    /// The text of `gpuprof.toml`.
    pub config: Option<String>,
    /// The workspace's own sections.
    pub sections: Vec<SectionFile>,
    /// The toolchain of the kernels.
    pub kernel_toolchain: Option<String>,
    /// The git revision.
    pub git_revision: Option<String>,
    /// The harnesses.
    pub harnesses: &'a [Harness],
}

/// Writes `path` whole or not at all and returns how many bytes it has.
///
/// # Errors
/// A file that cannot be read (exit code 103) or the archive that cannot be written (exit code
/// 110).
pub fn pack(path: &Utf8Path, contents: &Contents<'_>) -> Result<u64> {
    let mut manifest = Manifest {
        format: FORMAT,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: platform(),
        harnesses: Vec::new(),
        modules: BTreeMap::new(),
        config: contents.config.clone(),
        sections: contents.sections.clone(),
        kernel_toolchain: contents.kernel_toolchain.clone(),
        git_revision: contents.git_revision.clone(),
        files: BTreeMap::new(),
    };
    let mut files: Vec<(String, Vec<u8>, u32)> = Vec::new();
    let mut add = |name: String, from: &Utf8Path, mode: u32| -> Result<String> {
        let bytes = fs::read(from)
            .map_err(|e| Failure::new(ExitCode::Archive, format!("cannot read {from}: {e}")))?;
        manifest.files.insert(name.clone(), hex(&Sha256::digest(&bytes)));
        files.push((name.clone(), bytes, mode));
        Ok(name)
    };
    for harness in contents.harnesses {
        let name = format!("harnesses/{}-{}", harness.package, harness.target);
        let file = add(name, &harness.executable, EXECUTABLE)?;
        let (package, target) = (harness.package.clone(), harness.target.clone());
        manifest.harnesses.push(PackedHarness { package, target, file });
    }
    for (package, ptx) in &contents.modules {
        let file = add(format!("kernels/{package}.ptx"), ptx, PLAIN)?;
        manifest.modules.insert(package.clone(), file);
    }
    let text = serde_json::to_vec_pretty(&manifest).expect("manifests are plain data");
    let bytes = compress(&text, &files).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    crate::store::write_whole(path, &bytes).map_err(|e| Failure::output(path.as_std_path(), &e))?;
    Ok(bytes.len() as u64)
}

fn compress(manifest: &[u8], files: &[(String, Vec<u8>, u32)]) -> io::Result<Vec<u8>> {
    let encoder = zstd::Encoder::new(Vec::new(), COMPRESSION)?;
    let mut builder = tar::Builder::new(encoder);
    append(&mut builder, MANIFEST, manifest, PLAIN)?;
    for (name, bytes, mode) in files {
        append(&mut builder, name, bytes, *mode)?;
    }
    builder.into_inner()?.finish()
}

fn append(
    builder: &mut tar::Builder<impl Write>,
    name: &str,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    header.set_mtime(0);
    builder.append_data(&mut header, name, bytes)
}
