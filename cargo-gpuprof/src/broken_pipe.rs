//! Standard output of commands that only print: whoever reads it may have read enough.
//!
//! Input: what a command writes. Output: the same, up to the moment at which nobody reads it
//! any more (`| head`); the rest is dropped, and the command's exit code is what it would have
//! been. A command that measures is told instead: what it finds would go nowhere.

use std::io::{self, ErrorKind, Write};

/// A writer whose reader may leave.
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
    fn a_reader_that_has_left_is_no_failure_and_a_full_disk_is() {
        let mut left = MayLeave(Fails(ErrorKind::BrokenPipe));
        left.write_all(b"rest").unwrap();
        left.flush().unwrap();
        let mut full = MayLeave(Fails(ErrorKind::StorageFull));
        assert_eq!(full.write_all(b"rest").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(full.flush().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
