//! The runner's end of the line to a harness process.
//!
//! Input: what the process tells ([`Notice`]). Output: the device, handed over. The other end is
//! the process' standard input (`runtime/src/host/handover.rs`). What user code writes there, if it
//! finds it, means nothing or makes the runner look once too often.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use gpuprof_model::notice::{Notice, TURN};

/// The line to one process.
#[derive(Debug)]
pub(super) struct HarnessLine {
    socket: UnixStream,
    /// The process has closed its end; it may go on all the same.
    closed: bool,
    /// What code of the user's it runs.
    phase: Option<Phase>,
}

/// Code of the user's that a process runs, of which it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// What makes the kernel's arguments.
    Inputs,
    /// `verify`, the reference on the host, and what compares with it.
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
    /// A line, and what the process gets as its standard input.
    pub(super) fn new() -> io::Result<(Self, Stdio)> {
        let (socket, other) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        Ok((Self { socket, closed: false, phase: None }, OwnedFd::from(other).into()))
    }

    /// Hands the device over. A process that is gone does not take it; its end tells.
    pub(super) fn hand_over(&mut self) {
        let _ = self.socket.write(&[TURN]);
    }

    /// What the process told since the last time.
    pub(super) fn heard(&mut self) -> Vec<Notice> {
        let mut heard = Vec::new();
        let mut bytes = [0; 64];
        while !self.closed {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.closed = true,
                Ok(count) => heard.extend(bytes[..count].iter().copied().filter_map(Notice::of)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
        }
        for notice in &heard {
            match notice {
                Notice::MakesInputs => self.phase = Some(Phase::Inputs),
                Notice::Verifies => self.phase = Some(Phase::Reference),
                Notice::Goes | Notice::Replied => self.phase = None,
                Notice::Waits | Notice::Works => {}
            }
        }
        heard
    }

    /// What code of the user's the process ran when it last told something; none where it told of
    /// none.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.phase
    }

    /// What can be read when the process tells something.
    pub(super) fn waited(&self) -> Option<BorrowedFd<'_>> {
        (!self.closed).then(|| self.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_tells_is_heard_once_and_its_end_is_not_waited_for() {
        let (socket, mut process) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut line = HarnessLine { socket, closed: false, phase: None };
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
