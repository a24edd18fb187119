//! The PTX that declarations name: a file of the package, or text that the harness holds.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::declared::DeclaredSource;

use super::instances::Asked;
use super::module_file;
use crate::error::{Failure, Result};
use crate::store::write_whole;

/// Where PTX is found, and where text is written to.
pub(super) struct Sources<'a> {
    folder: &'a Utf8Path,
}

impl<'a> Sources<'a> {
    pub(super) fn new(folder: &'a Utf8Path) -> Self {
        Self { folder }
    }

    /// The file of the PTX that `asked` is in, and its text.
    ///
    /// # Errors
    /// A file that cannot be read (exit code 101); a folder that cannot be written (110).
    pub(super) fn ptx(&self, asked: &Asked<'_>) -> Result<(Utf8PathBuf, String)> {
        match &asked.declared.source {
            DeclaredSource::PtxText(text) => {
                let file = self.folder.join(module_file::of_text(text));
                self.write(&file, text)?;
                Ok((file, text.clone()))
            }
            DeclaredSource::PtxFile(file) => {
                let folder = Utf8PathBuf::from_path_buf(asked.series.source_folder.clone());
                let path = folder.unwrap_or_default().join(file);
                let text = fs::read_to_string(&path).map_err(|e| {
                    Failure::new(
                        ExitCode::BuildFailed,
                        format!("{}: cannot read {path}, which is named here: {e}", asked.place()),
                    )
                })?;
                Ok((path, text))
            }
            DeclaredSource::Cuda(_) => Ok((Utf8PathBuf::new(), String::new())),
        }
    }

    /// Writes a module.
    ///
    /// # Errors
    /// The file system's (exit code 110).
    pub(super) fn write(&self, file: &Utf8Path, text: &str) -> Result<()> {
        let written =
            fs::create_dir_all(self.folder).and_then(|()| write_whole(file, text.as_bytes()));
        written.map_err(|e| Failure::output(file.as_std_path(), &e))
    }
}
