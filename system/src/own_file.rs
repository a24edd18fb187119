//! The user's files about metrics: sections and rules of advice.
//!
//! Input: a folder. Output: its TOML files with their text, as an archive stores them.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use gpuprof_model::run::RuleFile;
use serde::{Deserialize, Serialize};

use crate::error::{Failure, Result};

/// A file of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnFile {
    /// Its path, for messages.
    pub path: Utf8PathBuf,
    /// Its text.
    pub text: String,
}

impl From<OwnFile> for RuleFile {
    fn from(OwnFile { path, text }: OwnFile) -> Self {
        Self { path: path.into_string(), text }
    }
}

impl From<RuleFile> for OwnFile {
    fn from(RuleFile { path, text }: RuleFile) -> Self {
        Self { path: path.into(), text }
    }
}

impl OwnFile {
    /// The file name without the extension.
    pub fn id(&self) -> &str {
        self.path.file_stem().unwrap_or_default()
    }

    /// The `.toml` files of `folder`, by name; none if the folder does not exist.
    ///
    /// # Errors
    /// A file cannot be read (exit code 96).
    pub fn all_in(folder: &Utf8Path) -> Result<Vec<Self>> {
        let entries = folder.read_dir_utf8().into_iter().flatten();
        let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path().to_owned())).collect();
        paths.retain(|path| path.extension() == Some("toml"));
        paths.sort();
        let read = |path: Utf8PathBuf| match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            Err(e) => {
                Err(Failure::new(ExitCode::Configuration, format!("cannot read {path}: {e}")))
            }
        };
        paths.into_iter().map(read).collect()
    }

    /// `files` with paths relative to the workspace at `root`.
    pub fn below(root: &Utf8Path, mut files: Vec<Self>) -> Vec<Self> {
        for file in &mut files {
            file.path = file.path.strip_prefix(root).unwrap_or(&file.path).to_owned();
        }
        files
    }

    /// `here`, and the files of `packed` with other names.
    pub fn joined(mut here: Vec<Self>, packed: &[Self]) -> Vec<Self> {
        let not_here =
            |file: &&Self| here.iter().all(|own| !own.id().eq_ignore_ascii_case(file.id()));
        let packed: Vec<Self> = packed.iter().filter(not_here).cloned().collect();
        here.extend(packed);
        here
    }
}
