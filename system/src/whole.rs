//! Files that are written whole or not at all: to a temporary name in the same folder, then
//! renamed.
//!
//! Input: a path, and bytes in any number of pieces. Output: the file under its name, once all of
//! it is on the disk. A killed process leaves its temporary file, which [`remove_leftovers`] finds
//! by its name and by its lock, which the system has released.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

/// The usual permissions; temporary files are private.
const PLAIN: u32 = 0o644;

/// A file that has no name before [`WholeFile::commit`].
#[derive(Debug)]
pub struct WholeFile {
    path: Utf8PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Temporary(NamedTempFile),
    /// A device or a pipe (`/dev/stdout`, `/dev/full`), which is written directly and not replaced.
    Existing(File),
}

impl WholeFile {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(path: &Utf8Path) -> io::Result<Self> {
        let kind = if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            Kind::Existing(File::options().write(true).open(path)?)
        } else {
            let parent = path.parent().filter(|parent| !parent.as_str().is_empty());
            let folder = parent.unwrap_or(Utf8Path::new("."));
            Kind::Temporary(temporary(folder).map_err(without_temporary_name)?)
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Errors of the file system; the old file then still has its name.
    pub fn commit(self) -> io::Result<()> {
        self.commit_with_mode(PLAIN)
    }

    /// As [`WholeFile::commit`], with these permissions.
    ///
    /// # Errors
    /// As [`WholeFile::commit`].
    pub fn commit_with_mode(self, mode: u32) -> io::Result<()> {
        let Kind::Temporary(file) = self.kind else { return Ok(()) };
        file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
        // A full disk or quota may show only now, and the old file must not be replaced by an empty
        // one.
        file.as_file().sync_data()?;
        file.persist(&self.path).map(drop).map_err(|e| e.error)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Temporary(file) => file.as_file_mut().write(bytes),
            Kind::Existing(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Temporary(file) => file.as_file_mut().flush(),
            Kind::Existing(file) => file.flush(),
        }
    }
}

/// Writes `bytes` to `path` whole or not at all.
///
/// # Errors
/// Errors of the file system.
pub fn write_whole(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    write_whole_by(path, |file| file.write_all(bytes))
}

/// Writes the output of `write` to `path`, whole or not at all; it need not fit in memory.
///
/// # Errors
/// Errors of the file system, and of `write`.
pub fn write_whole_by(
    path: &Utf8Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, WholeFile::create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
}

/// The parts of a temporary name around its random characters.
const AFFIXES: [&str; 2] = [".gpuprof-", ".tmp"];

/// A temporary file in `folder`, locked as long as its process lives.
fn temporary(folder: &Utf8Path) -> io::Result<NamedTempFile> {
    let [prefix, suffix] = AFFIXES;
    loop {
        let file = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile_in(folder)?;
        // Before the file is locked, another process may take it for a leftover and remove it. On a
        // file system without locks, leftovers stay.
        let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !taken && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the temporary files in `folder` that killed processes of this user left.
pub fn remove_leftovers(folder: &Utf8Path) {
    let [prefix, suffix] = AFFIXES;
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = entry.metadata().is_ok_and(|it| it.is_file() && it.uid() == own);
        if !(ours && name.starts_with(prefix) && name.ends_with(suffix)) {
            continue;
        }
        let file = File::open(entry.path());
        if file.is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The system's own error: tempfile adds the temporary name to it, which the user never chose.
fn without_temporary_name(error: io::Error) -> io::Error {
    let system = error.get_ref().and_then(|inner| inner.source()?.downcast_ref::<io::Error>());
    system.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_of_killed_processes_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(place.path()).unwrap();
        let mut living = WholeFile::create(&folder.join("living.json")).unwrap();
        living.write_all(b"whole").unwrap();
        fs::write(folder.join(".gpuprof-aB3dE6.tmp"), "torn").unwrap();
        fs::write(folder.join("other.tmp"), "the user's").unwrap();
        remove_leftovers(folder);
        living.commit().unwrap();
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["living.json", "other.tmp"]);
        assert_eq!(fs::read(folder.join("living.json")).unwrap(), b"whole");
    }
}
