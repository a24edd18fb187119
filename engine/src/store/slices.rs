//! Slices on disk, found and read.
//!
//! Input: folders that a user names: of a slice, of a plan, or of several plans, also as unpacked
//! artifacts of a CI's jobs. Output: every slice in them with its manifest and the contents of its
//! journal. Only the journal is trusted: a killed slice leaves one, and it shows a second process
//! that measured the same slice.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::code::Sources;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::run::{Run, SeriesCost, SharedRows, Span};
use serde::Deserialize;

use super::document::BASE_FILE;
use super::journal::{self, Rows};
use super::manifest::{self, Manifest};
use super::untrusted;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sha256::sha256;

/// How many folders deep a slice may lie.
const DEPTH: usize = 5;

/// A slice on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSlice {
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// What is measured of it.
    pub found: Rows,
    /// SHA-256 of its journal.
    pub journal: String,
    /// How long its journal is.
    pub bytes: usize,
}

impl StoredSlice {
    /// How many configurations it was to measure.
    pub fn planned(&self) -> usize {
        self.manifest.own.iter().map(|own| own.configurations.len()).sum()
    }

    /// How many of them have ended.
    pub fn measured(&self) -> usize {
        self.found.rows.keys().filter(|at| at.0 < self.manifest.own.len()).count()
    }

    /// Whether everything is measured.
    pub fn is_whole(&self) -> bool {
        let of_base = self.manifest.base.is_some() && self.found.whole.is_none();
        self.measured() == self.planned() && (!of_base || self.planned() == 0)
    }

    /// When it was whole, or else when it was begun for the last time.
    pub fn at(&self) -> &str {
        let begun = self.found.starts.last().unwrap_or(&self.manifest.start);
        self.found.whole.as_deref().unwrap_or(&begun.at)
    }

    /// The start and duration of its last start, the cost of its series and their source text;
    /// none of a slice that was killed.
    ///
    /// # Errors
    /// Its `run.json` is none (exit code 96).
    pub fn timed(&self) -> Result<Option<Timed>> {
        self.ended("run.json", &self.manifest.run)
    }

    /// The source text of the other revision that it measured; none of a slice that was killed.
    ///
    /// # Errors
    /// Its `base.json` is none (exit code 96).
    pub fn base_sources(&self) -> Result<Sources> {
        Ok(self.ended(BASE_FILE, &Run::base_id(&self.manifest.run))?.unwrap_or_default().sources)
    }

    /// The end of the run `id` by the document `name`.
    fn ended(&self, name: &str, id: &str) -> Result<Option<Timed>> {
        let path = self.folder.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let ended: Ended = serde_json::from_slice(&untrusted::read(&path)?)
            .map_err(|e| untrusted::wrong(format!("{path} is not the document of a run: {e}")))?;
        Ok((ended.id == id).then_some(ended.provenance))
    }

    /// Its first device.
    pub fn device(&self) -> Option<&DeviceRecord> {
        self.manifest.devices.first()
    }
}

/// The spans of time in the document of a run.
#[derive(Deserialize)]
struct Ended {
    id: String,
    provenance: Timed,
}

/// The times of the last start of a slice, and the text of its counted lines.
#[derive(Debug, Default, Deserialize)]
pub struct Timed {
    /// When it began, RFC 3339.
    pub started: String,
    /// Its spans of time.
    #[serde(default)]
    pub spans: Vec<Span>,
    /// The cost of its series.
    #[serde(default)]
    pub costs: Vec<SeriesCost>,
    /// The text of the counted lines.
    #[serde(default)]
    pub sources: Sources,
}

/// Every slice in `folders`, those of one plan in the order of their numbers.
///
/// # Errors
/// A folder that has none, or cannot be read (exit code 2); a slice that is none (exit code 96).
pub fn all(folders: &[Utf8PathBuf], shared: &mut SharedRows) -> Result<Vec<StoredSlice>> {
    let mut found: Vec<Utf8PathBuf> = Vec::new();
    for folder in folders {
        let before = found.len();
        search(folder, DEPTH, &mut found).map_err(|e| {
            Failure::usage(format!("cannot read {folder}: {e}; name the folder of --slices"))
        })?;
        if found.len() == before {
            return Err(Failure::usage(format!(
                "there is no slice in {folder}: `run --partition slice:1/N --slices {folder}` \
                 begins one, and leaves a manifest.json"
            )));
        }
    }
    found.sort();
    found.dedup();
    let mut slices =
        found.into_iter().map(|folder| read(folder, shared)).collect::<Result<Vec<_>>>()?;
    slices.sort_by(|a, b| {
        let key = |slice: &StoredSlice| {
            (slice.manifest.plan_hash.clone(), slice.manifest.slice, slice.manifest.run.clone())
        };
        key(a).cmp(&key(b))
    });
    Ok(slices)
}

/// Adds the folders of slices in `folder`, at most `depth` folders deep.
fn search(folder: &Utf8Path, depth: usize, found: &mut Vec<Utf8PathBuf>) -> std::io::Result<()> {
    // A file in it may be named as well.
    if folder.is_file() {
        let parent = folder.parent().filter(|parent| manifest::is_in(parent));
        found.extend(parent.map(Utf8Path::to_owned));
        return Ok(());
    }
    if manifest::is_in(folder) {
        found.push(folder.canonicalize_utf8()?);
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Of the entry itself: a link may lead back here.
        if entry.file_type()?.is_dir()
            && let Some(name) = entry.file_name().to_str()
        {
            search(&folder.join(name), depth - 1, found)?;
        }
    }
    Ok(())
}

fn read(folder: Utf8PathBuf, shared: &mut SharedRows) -> Result<StoredSlice> {
    let manifest = Manifest::read(&folder)?;
    let path = folder.join(journal::FILE);
    // A slice without work has none, nor has a slice that was killed before it began.
    let bytes = if path.exists() { untrusted::read(&path)? } else { Vec::new() };
    let found = Rows::parse(&bytes, &path, shared)?;
    Ok(StoredSlice { folder, manifest, found, journal: sha256(&bytes), bytes: bytes.len() })
}
