//! Files that are written whole or not at all: to a name of their own in the same folder, then
//! renamed.
//!
//! Input: a path, and bytes in as many pieces as their writer likes. Output: the file under its
//! name, once all of it is on the disk.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

/// As readable as any other file; temporary files are private.
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
    /// A device or a pipe (`/dev/stdout`, `/dev/full`), which is written and not replaced by a file
    /// of its name.
    Existing(File),
}

impl WholeFile {
    /// Begins the file `path`.
    ///
    /// # Errors
    /// The file system's.
    pub fn create(path: &Utf8Path) -> io::Result<Self> {
        let kind = if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            Kind::Existing(File::options().write(true).open(path)?)
        } else {
            let parent = path.parent().filter(|parent| !parent.as_str().is_empty());
            let folder = parent.unwrap_or(Utf8Path::new("."));
            Kind::Temporary(NamedTempFile::new_in(folder).map_err(without_temporary_name)?)
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// The file system's; the old file of that name is then still there.
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
/// The file system's.
pub fn write_whole(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    write_whole_by(path, |file| file.write_all(bytes))
}

/// Writes what `write` writes to `path`, whole or not at all; it need not be in memory as a whole.
///
/// # Errors
/// The file system's, and those of `write`.
pub fn write_whole_by(
    path: &Utf8Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, WholeFile::create(path)?);
    write(&mut file)?;
    file.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
}

/// The system's own error: tempfile adds a name to it that nobody has ever given.
fn without_temporary_name(error: io::Error) -> io::Error {
    let system = error.get_ref().and_then(|inner| inner.source()?.downcast_ref::<io::Error>());
    system.and_then(io::Error::raw_os_error).map_or(error, io::Error::from_raw_os_error)
}
