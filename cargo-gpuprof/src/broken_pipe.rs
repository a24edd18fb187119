//! Standard output of commands that only print: the reader may stop early.
//!
//! Input: a command's output. Output: the same, until the reader closes the pipe (`| head`); the
//! rest is dropped, and the command's exit code does not change. A command that measures gets an
//! error instead, since its results would be lost. After a signal, a reader that has stopped
//! reading does not block the command.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use gpuprof_system::console;
use gpuprof_system::interrupt::{AT_ONCE, Interrupt};

/// For how long a reader is waited for after a signal.
const PATIENCE: Duration = Duration::from_secs(2);

/// A writer for a reader that may stop reading: after a signal it does not block; the rest is
/// dropped, and the user is told.
pub struct MayStop<'i, W> {
    inner: W,
    interrupt: &'i Interrupt,
    stopped: bool,
}

impl<'i, W> MayStop<'i, W> {
    /// Writes to `inner`, until `interrupt` has a signal and the reader has stopped.
    pub fn new(inner: W, interrupt: &'i Interrupt) -> Self {
        Self { inner, interrupt, stopped: false }
    }
}

impl<W: Write + AsFd> MayStop<'_, W> {
    /// Whether `inner` takes [`AT_ONCE`] bytes.
    fn is_read(&mut self) -> io::Result<bool> {
        if !self.stopped && !self.interrupt.wait_for_reader(self.inner.as_fd(), PATIENCE)? {
            self.stopped = true;
            console::say("standard output has no reader: the rest of it is dropped");
        }
        Ok(!self.stopped)
    }
}

impl<W: Write + AsFd> Write for MayStop<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = bytes.len().min(AT_ONCE);
        if self.is_read()? { self.inner.write(&bytes[..now]) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_read()? { self.inner.flush() } else { Ok(()) }
    }
}

/// A writer for a reader that may close the pipe.
pub struct MayLeave<W>(pub W);

impl<W: Write> Write for MayLeave<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_broken_pipe_is_ignored_and_a_full_disk_is_an_error() {
        let mut left = MayLeave(Fails(ErrorKind::BrokenPipe));
        left.write_all(b"rest").unwrap();
        left.flush().unwrap();
        let mut full = MayLeave(Fails(ErrorKind::StorageFull));
        assert_eq!(full.write_all(b"rest").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(full.flush().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
