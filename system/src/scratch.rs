//! Folders for what nobody else needs: unpacked archives, questions to child processes, and what a
//! slice does not share.
//!
//! Input: the machine's folder for temporary files. Output: an empty folder, which goes with its
//! owner: when it is dropped, when a signal ends the process ([`remove_all`]), and if the process
//! was killed, when the same user's next one makes a folder. Its lock, which the system takes off
//! with the process, tells the dead from the living.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::{env, io};

use camino::Utf8Path;
use tempfile::TempDir;

use crate::error::{Failure, Result};

/// What the names begin with.
const PREFIX: &str = "gpuprof-";

/// The owner's lock, beside the folder that is handed out.
const LOCK: &str = ".lock";

/// What is handed out, below the folder that is made.
const INSIDE: &str = "files";

/// The folders of this process.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A folder that is gone when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    inside: PathBuf,
    folder: TempDir,
    /// Held until the folder is gone.
    _lock: File,
}

impl Scratch {
    /// A new folder, after those of processes that were killed are removed.
    ///
    /// # Errors
    /// It cannot be made, or its path is not UTF-8 (exit code 110).
    pub fn new() -> Result<Self> {
        Self::make().map_err(|e| Failure::output(&env::temp_dir(), &e))
    }

    /// As [`new`](Self::new), for those who have errors of their own.
    ///
    /// # Errors
    /// It cannot be made, or its path is not UTF-8.
    pub fn make() -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        let place = env::temp_dir();
        SWEPT.call_once(|| sweep(&place));
        Self::within(&place)
    }

    fn within(place: &Path) -> io::Result<Self> {
        let (folder, lock) = loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
            let path = folder.path().join(LOCK);
            let lock = File::create(&path)?;
            // A file system without locks keeps what is left behind. Another process may find this
            // folder before it is locked, and takes it for a dead one's: it has the lock until the
            // folder is gone, or had it, and then the lock's file is gone.
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

    /// Where it is.
    pub fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(&self.inside).expect("it was looked at when the folder was made")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|path| path != self.folder.path());
    }
}

/// Removes the folders of this process, which is about to end without dropping them.
pub fn remove_all() {
    for folder in LIVE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Another thread may still write there: what is left goes with the next process.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Removes what killed processes of this user left in `place`.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    let named = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for path in entries.flatten().filter(named).map(|entry| entry.path()) {
        if let Some(_lock) = of_the_dead(&path) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// The lock on `folder`, where it is ours and the process that made it is gone.
fn of_the_dead(folder: &Path) -> Option<File> {
    let own = rustix::process::geteuid().as_raw();
    let ours = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir() && it.uid() == own);
    let lock = File::open(folder.join(LOCK)).ok().filter(|_| ours)?;
    lock.try_lock().is_ok().then_some(lock)
}

/// Whether the open `file` is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let of = |known: fs::Metadata| (known.dev(), known.ino());
    file.metadata().is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|it| of(it) == of(open)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_use_stays() {
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
        sweep(place.path());
        assert!(!dead.exists() && living.path().exists());
        assert!(others.iter().all(|folder| folder.exists()));
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.parent().unwrap().exists());
    }
    #[test]
    fn processes_that_start_together_leave_each_other_their_folders() {
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
