//! The runner's end of the line to a harness process.
//!
//! Input: the process's messages ([`Notice`]). Output: the device, handed over. The other end is
//! the process's standard input (`runtime/src/host/runner/line.rs`). If user code writes to it, the
//! bytes are ignored or cause one unnecessary check.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use gpuprof_model::notice::{Notice, TURN};

/// The line to one process.
#[derive(Debug)]
pub(super) struct HarnessLine {
    socket: UnixStream,
    /// The process has closed its end; it may continue all the same.
    closed: bool,
    /// The user code that it runs.
    phase: Option<Phase>,
    /// The configuration that it works on, by its position in the request; none if it works on all.
    position: Option<usize>,
}

/// The user code that a process has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Makes the kernel's arguments.
    Inputs,
    /// `verify`, the reference on the host, and the comparison with it.
    Reference,
}

impl Phase {
    /// When it was, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Inputs => "while the kernel's inputs were made",
            Self::Reference => "while the reference ran on the host (`verify`)",
        }
    }
}

impl HarnessLine {
    /// A line, and the process's end of it: its standard input.
    pub(super) fn new() -> io::Result<(Self, Stdio)> {
        let (socket, other) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let line = Self { socket, closed: false, phase: None, position: None };
        Ok((line, OwnedFd::from(other).into()))
    }

    /// Hands the device over. If the process is gone, that has no effect.
    pub(super) fn hand_over(&mut self) {
        let _ = self.socket.write(&[TURN]);
    }

    /// The process's messages since the last call.
    pub(super) fn heard(&mut self) -> Vec<Notice> {
        let mut heard = Vec::new();
        let mut bytes = [0; 64];
        while !self.closed {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    heard.extend(bytes[..count].iter().copied().filter_map(Notice::from_byte))
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
        }
        for notice in &heard {
            match notice {
                Notice::MakesInputs => self.phase = Some(Phase::Inputs),
                Notice::Verifies => self.phase = Some(Phase::Reference),
                Notice::Goes => self.phase = None,
                Notice::Replied => (self.phase, self.position) = (None, None),
                Notice::At(position) => self.position = Some((*position).into()),
                Notice::AtAll => self.position = None,
                Notice::Waits | Notice::Works => {}
            }
        }
        heard
    }

    /// The user code in the process's last message; none if it did not report any.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// The configuration in the process's last message, by its position in the request; none if it
    /// did not report any, or all.
    pub(super) fn position(&self) -> Option<usize> {
        self.position
    }

    /// Readable when the process sends a message.
    pub(super) fn waited(&self) -> Option<BorrowedFd<'_>> {
        (!self.closed).then(|| self.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_read_once_without_blocking() {
        let (socket, mut process) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut line = HarnessLine { socket, closed: false, phase: None, position: None };
        assert_eq!(line.heard(), []);
        process.write_all(b"w?gr").unwrap();
        assert_eq!(line.heard(), [Notice::Waits, Notice::Works, Notice::Replied]);
        assert_eq!(line.heard(), []);
        process.write_all(b"iv").unwrap();
        assert_eq!(line.phase(), None, "not heard yet");
        line.heard();
        assert_eq!(line.phase(), Some(Phase::Reference));
        process.write_all(b"k").unwrap();
        line.heard();
        assert_eq!(line.phase(), None);
        process.write_all(&[Notice::at(3).byte()]).unwrap();
        line.heard();
        assert_eq!(line.position(), Some(3));
        process.write_all(b"a").unwrap();
        line.heard();
        assert_eq!(line.position(), None);
        line.hand_over();
        let mut byte = [0];
        process.read_exact(&mut byte).unwrap();
        assert_eq!(byte, [TURN]);
        process.write_all(b"r").unwrap();
        drop(process);
        assert!(line.waited().is_some());
        assert_eq!(line.heard(), [Notice::Replied]);
        assert!(line.waited().is_none(), "an end would be read again and again");
        line.hand_over();
    }
}
