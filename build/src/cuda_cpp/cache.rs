//! Compiled programs by the content of all that they were made of.
//!
//! Input: a key of a compile's inputs (sources, options, declarations, compiler), and the current
//! files. Output: the result for exactly these contents. Two levels, like ccache: per key, the
//! headers that were read, with their hashes, and the absent files that would have been read
//! instead; per content of all of these, the result.
//!
//! Names in it start at the package or at CUDA's headers, so it may be moved, and shared by clones.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::compiled::Hash;
use super::error::Error;
use super::roots::{Named, Roots};
use gpuprof_system::blocking_call::BlockingCall;
use gpuprof_system::interrupt::Interrupt;

/// A folder of compiled programs. Several processes may use it at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// How many contents of a program are kept: as many as the branches that one goes between.
const VARIANTS: usize = 16;

/// The files that one compile read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// Every file, with its content.
    pub(super) files: Vec<(Named, Hash)>,
    /// Files that were not there.
    pub(super) absent: Vec<Named>,
}

/// The files that were read, and the name of the result.
#[derive(Debug, Serialize, Deserialize)]
struct Variant {
    read: Read,
    result: Hash,
}

impl Read {
    /// Whether all is as it was. A file that cannot be read is not.
    fn is_current(&self, roots: &Roots) -> bool {
        let same = |(named, hash): &(Named, Hash)| {
            fs::read(roots.file(named)).is_ok_and(|bytes| Hash::digest(&bytes) == *hash)
        };
        self.absent.iter().all(|named| !roots.file(named).exists()) && self.files.iter().all(same)
    }
}

/// The lock on a program, while it is looked up and compiled.
#[derive(Debug)]
pub(super) struct LockedProgram<'a> {
    cache: &'a Cache,
    key: Hash,
    _lock: File,
}

impl Cache {
    /// The cache in `folder`, which is made when something is kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Its path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes the lock on a program: a process that wants the same one waits, and finds it.
    pub(super) fn hold(
        &self,
        key: Hash,
        interrupt: &Interrupt,
    ) -> Result<LockedProgram<'_>, Error> {
        fs::create_dir_all(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let path = self.folder.join(format!("{key}.lock"));
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        let locked = BlockingCall::start(move || file.lock().map(|()| file));
        let locked = locked.map_err(|error| failed(&path, &error))?;
        loop {
            if let Some(held) = locked.result() {
                let lock = held.map_err(|error| failed(&path, &error))?;
                return Ok(LockedProgram { cache: self, key, _lock: lock });
            }
            if let Some(signal) = interrupt.signal() {
                return Err(Error::Interrupted(signal));
            }
            interrupt.wait(&[locked.as_fd()], None).map_err(|error| failed(&path, &error))?;
        }
    }

    /// Writes a file that is whole as soon as it is there.
    fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), Error> {
        let bytes = serde_json::to_vec(value).expect("what is kept is plain data");
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&bytes)?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(|error| failed(path, &error))
    }
}

impl LockedProgram<'_> {
    fn variants_file(&self) -> PathBuf {
        self.cache.folder.join(format!("{}.json", self.key))
    }

    fn result_file(&self, result: Hash) -> PathBuf {
        self.cache.folder.join(format!("{result}.json"))
    }

    /// The result for the current contents of the files, and the files that it read. An unreadable
    /// file of the cache counts as absent.
    pub(super) fn find<T: DeserializeOwned>(&self, roots: &Roots) -> Option<(T, Read)> {
        let variants: Vec<Variant> = read(&self.variants_file()).unwrap_or_default();
        let current = variants.into_iter().find(|it| it.read.is_current(roots))?;
        Some((read(&self.result_file(current.result))?, current.read))
    }

    /// Keeps a result, as the first of its program.
    pub(super) fn keep(&self, read_files: &Read, value: &impl Serialize) -> Result<(), Error> {
        let name = serde_json::to_vec(&(self.key, read_files)).expect("names are plain data");
        let result = Hash::digest(&name);
        self.cache.write(&self.result_file(result), value)?;
        let mut variants: Vec<Variant> = read(&self.variants_file()).unwrap_or_default();
        variants.retain(|variant| variant.result != result);
        variants.insert(0, Variant { read: read_files.clone(), result });
        for old in variants.drain(VARIANTS.min(variants.len())..) {
            let _ = fs::remove_file(self.result_file(old.result));
        }
        self.cache.write(&self.variants_file(), &variants)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Cache { path: path.into(), reason: error.to_string() }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
