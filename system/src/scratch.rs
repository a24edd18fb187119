//! Temporary folders: unpacked archives, requests to child processes, and unshared data of a slice.
//!
//! Input: the machine's folder for temporary files. Output: an empty folder. It is removed when its
//! owner is dropped, when a signal ends the process ([`remove_all`]), or, if the process was
//! killed, when the same user's next process makes a folder. The system releases its lock with the
//! process, so the lock shows whether the owner lives.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::{env, io};

use camino::Utf8Path;
use tempfile::TempDir;

use crate::error::{Failure, Result};

/// The prefix of the names.
const PREFIX: &str = "gpuprof-";

/// How many random characters follow it.
const RANDOM: usize = 6;

/// The owner's lock, next to the usable folder.
const LOCK: &str = ".lock";

/// The usable folder, inside the one with the lock.
const INSIDE: &str = "files";

/// The folders of this process.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    inside: PathBuf,
    folder: TempDir,
    /// Held until the folder is gone.
    _lock: File,
}

impl Scratch {
    /// A new folder, after leftovers of killed processes are removed.
    ///
    /// # Errors
    /// The folder cannot be made, or its path is not UTF-8 (exit code 110).
    pub fn new() -> Result<Self> {
        Self::make().map_err(|e| Failure::output(&env::temp_dir(), &e))
    }

    /// As [`new`](Self::new), for callers with their own error type.
    ///
    /// # Errors
    /// The folder cannot be made, or its path is not UTF-8.
    pub fn make() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let place = env::temp_dir();
        SWEPT.call_once(|| sweep(&place));
        Self::within(&place)
    }

    fn within(place: &Path) -> io::Result<Self> {
        let (folder, lock) = loop {
            let folder =
                tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(place)?;
            let path = folder.path().join(LOCK);
            let lock = match File::create(&path) {
                // Another process took the empty folder for a leftover.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            // On a file system without locks, leftovers stay. Before the folder is locked, another
            // process may take it for a leftover: it then has the lock until the folder is gone, or
            // the lock's file is gone already.
            let taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if !taken && is_at(&lock, &path) {
                break (folder, lock);
            }
        };
        let inside = folder.path().join(INSIDE);
        fs::create_dir(&inside)?;
        if Utf8Path::from_path(&inside).is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        LIVE.lock().unwrap_or_else(PoisonError::into_inner).push(folder.path().to_owned());
        Ok(Self { inside, folder, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(&self.inside).expect("it was looked at when the folder was made")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|path| path != self.folder.path());
        // Its own drop removes the rest.
        let _ = fs::remove_dir_all(&self.inside);
    }
}

/// Removes the folders of this process, which is about to end without dropping them.
pub fn remove_all() {
    for folder in LIVE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Another thread may still write there; the next process removes the rest.
        let _ = remove(&folder);
    }
}

/// Removes `folder`, its lock last: if the process is killed meanwhile, the rest is still locked.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder.join(INSIDE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_dir_all(folder),
    }
}

/// Removes this user's leftovers of killed processes in `place`.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    let named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for path in entries.flatten().filter(named).map(|entry| entry.path()) {
        if let Some(_lock) = of_the_dead(&path) {
            let _ = remove(&path);
        } else if is_random(&path) {
            // A process that was killed between its lock and its folder leaves it empty; no other
            // folder can be removed so.
            let _ = fs::remove_dir(&path);
        }
    }
}

/// The lock on `folder`, if it is ours and its process is gone.
fn of_the_dead(folder: &Path) -> Option<File> {
    let own = rustix::process::geteuid().as_raw();
    let ours = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir() && it.uid() == own);
    let lock = File::open(folder.join(LOCK)).ok().filter(|_| ours)?;
    lock.try_lock().is_ok().then_some(lock)
}

/// Whether a process chose the name of `folder`.
fn is_random(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let random = name.strip_prefix(PREFIX).unwrap_or_default();
    random.len() == RANDOM && random.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Whether the open `file` is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |known: fs::Metadata| (known.dev(), known.ino());
    file.metadata()
        .is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|it| identity(it) == identity(open)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scratch_folders_of_dead_processes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let living = Scratch::within(place.path()).unwrap();
        let make = |name: &str, locked: bool| {
            let folder = place.path().join(name);
            fs::create_dir_all(folder.join(INSIDE)).unwrap();
            if locked {
                File::create(folder.join(LOCK)).unwrap();
            }
            folder
        };
        let dead = make("gpuprof-dead", true);
        let others = [make("gpuprof-of-the-user", false), make("elsewhere", true)];
        let (emptied, full) = (make("gpuprof-aB3dE6", false), make("gpuprof-aB3dE7", false));
        fs::remove_dir(emptied.join(INSIDE)).unwrap();
        sweep(place.path());
        assert!(!dead.exists() && living.path().exists());
        assert!(!emptied.exists(), "killed after it removed its lock");
        assert!(full.exists(), "without a lock it may be anyone's");
        assert!(others.iter().all(|folder| folder.exists()));
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.parent().unwrap().exists());
    }

    #[test]
    fn a_removal_that_ends_early_leaves_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("gpuprof-killed");
        fs::create_dir_all(&folder).unwrap();
        File::create(folder.join(LOCK)).unwrap();
        // A file in the place of the usable folder cannot be removed as one.
        File::create(folder.join(INSIDE)).unwrap();
        remove(&folder).unwrap_err();
        assert!(folder.join(LOCK).exists());
    }

    #[test]
    fn processes_that_start_together_keep_their_folders() {
        let place = tempfile::tempdir().unwrap();
        let work = || {
            for _ in 0..500 {
                sweep(place.path());
                let mine = Scratch::within(place.path()).unwrap();
                fs::write(mine.path().join("mine"), "").unwrap();
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
