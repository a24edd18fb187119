//! The files of a recording. Each is written whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::outcome::Outcome;

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path.into()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Outcome<()> {
        let unfinished = self.path(&format!(".{name}.unfinished"));
        fs::write(&unfinished, bytes)?;
        fs::rename(unfinished, self.path(name))?;
        Ok(())
    }

    pub(crate) fn read(&self, name: &str) -> Outcome<Vec<u8>> {
        let path = self.path(name);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    pub(crate) fn read_if_there(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    pub(crate) fn write_json(&self, name: &str, value: &Value) -> Outcome<()> {
        self.write(name, format!("{value:#}\n").as_bytes())
    }

    pub(crate) fn read_json(&self, name: &str) -> Outcome<Value> {
        Ok(serde_json::from_slice(&self.read(name)?)?)
    }

    /// Removes a file that only the passes needed.
    pub(crate) fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.path(name));
    }
}

/// The counter data of one mode.
pub(crate) fn counters(mode: &str) -> String {
    format!("{mode}.counters")
}
