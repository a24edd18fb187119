//! How large an archive may be, so that a small file cannot fill a disk or the memory.
//!
//! Input: the size read so far, and an outcome. Output: a sentence without a subject, for the
//! archive or the entry that exceeds a limit.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The limits of an archive. Both the packer and the reader enforce them, so every archive that is
/// made can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files in addition to the manifest.
    pub entries: usize,
    /// Bytes of all files together.
    pub total: u64,
    /// Bytes of the manifest, which is read as a whole.
    pub manifest: u64,
    /// Bytes that a compressed byte may become, beyond `unmeasured`. Executables and PTX reach 3 to
    /// 30.
    pub ratio: u64,
    /// Bytes that may come of any archive, whatever its ratio.
    pub unmeasured: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 10_000,
            total: 16 << 30,
            manifest: 16 << 20,
            ratio: 250,
            unmeasured: 64 << 20,
        }
    }
}

/// The longest path of an entry; the format of long names would allow any.
pub(super) const MAX_NAME: u64 = 4096;

/// Log of the largest window of a compressed file (16 MiB), which its reader holds in memory.
pub(super) const WINDOW_LOG: u32 = 24;

impl Limits {
    /// Whether `count` files are too many.
    pub(super) fn entries(&self, count: usize) -> Result<(), String> {
        if count <= self.entries {
            return Ok(());
        }
        Err(format!("lists {count} files, more than the {} of any archive", self.entries))
    }

    /// Whether `bytes` are too many for all files together.
    pub(super) fn total(&self, bytes: u64) -> Result<(), String> {
        if bytes <= self.total {
            return Ok(());
        }
        Err(format!(
            "would bring the archive to {bytes} bytes, more than the {} that one may unpack to",
            self.total
        ))
    }

    /// Whether `unpacked` bytes are too many to have come of `compressed` ones.
    pub(super) fn ratio(&self, compressed: u64, unpacked: u64) -> Result<(), String> {
        let most = compressed.saturating_mul(self.ratio).saturating_add(self.unmeasured);
        if unpacked <= most {
            return Ok(());
        }
        Err(format!(
            "unpacks {compressed} bytes to more than {most}: no executable and no PTX is \
             compressed that well"
        ))
    }
}

/// A reader that says how many bytes it has given.
#[derive(Debug)]
pub(super) struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    /// The reader, and its count.
    pub(super) fn new(inner: R) -> (Self, Rc<Cell<u64>>) {
        let count = Rc::new(Cell::new(0));
        (Self { inner, count: Rc::clone(&count) }, count)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.count.set(self.count.get() + got as u64);
        Ok(got)
    }
}
