//! The build results of declared kernels: entries, and the files of their modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::entries::Entries;
use super::module_file;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::whole::write_whole;

/// The build results of declared kernels.
#[derive(Debug, Default)]
pub struct Built {
    /// Every instance.
    pub entries: Entries,
    /// The files of the modules that the entries name.
    pub modules: BTreeMap<String, Utf8PathBuf>,
    /// Who compiled them: `NVRTC 13.0.88`, `cuda-oxide 1a2b3c (rustc …)`.
    pub compilers: BTreeSet<String>,
}

/// The file of a module of the PTX `text`, called by its content: another run may write its own.
///
/// # Errors
/// The file system's (exit code 110).
pub(super) fn written(folder: &Utf8Path, text: &str) -> Result<Utf8PathBuf> {
    let file = folder.join(module_file::of_text(text));
    let written = fs::create_dir_all(folder).and_then(|()| write_whole(&file, text.as_bytes()));
    written.map_err(Failure::writing(&file))?;
    Ok(file)
}
