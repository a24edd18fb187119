//! The line between a harness process and the runner.
//!
//! Input: the socket that the runner passes as standard input. Output: the device, once the
//! previous process is done with it, and notices to the runner. Neither side polls. When the runner
//! ends, the socket closes and a process that waits for the device exits, like a working one
//! (`parent_death.rs`).
//!
//! User code, and its child processes, see an empty standard input.

use std::io::{self, Read, Write};

#[cfg(unix)]
use std::os::unix::net::UnixStream as Line;

/// A stand-in: kernels are measured on Linux only.
#[cfg(not(unix))]
use std::net::TcpStream as Line;

use gpuprof_model::notice::{Notice, TURN};

/// The exit code of a process that lost its runner; it is not read.
const LOST: i32 = 101;

/// This process' end of the line.
#[derive(Debug)]
pub(crate) struct Handover {
    /// None without a runner, as in a process that was started by hand.
    line: Option<Line>,
}

impl Handover {
    /// Nobody hands anything over where nothing is measured.
    #[cfg(not(unix))]
    pub(crate) fn from_stdin() -> io::Result<Self> {
        Ok(Self { line: None })
    }

    /// Takes the line from standard input, which is empty from then on.
    ///
    /// # Errors
    /// The system's, if descriptors are exhausted.
    #[cfg(unix)]
    pub(crate) fn from_stdin() -> io::Result<Self> {
        use std::fs::File;
        use std::os::fd::{AsFd, AsRawFd};

        let stdin = io::stdin();
        // Above the standard three, and not inherited by child processes.
        let Ok(line) = stdin.as_fd().try_clone_to_owned() else { return Ok(Self { line: None }) };
        let line = Line::from(line);
        // A file, a pipe or a terminal has no address.
        if line.local_addr().is_err() {
            return Ok(Self { line: None });
        }
        let empty = File::open("/dev/null")?;
        // SAFETY: both descriptors are open, and `dup2` touches no memory. Whoever has standard
        // input holds no more than its number.
        if unsafe { libc::dup2(empty.as_raw_fd(), stdin.as_raw_fd()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { line: Some(line) })
    }

    /// Waits until the runner hands the device over. Ends the process where it cannot any more.
    pub(crate) fn wait(&self) {
        let mut byte = [0];
        loop {
            match self.line.as_ref().map(|mut line| line.read(&mut byte)) {
                Some(Ok(1)) if byte == [TURN] => return,
                Some(Ok(1)) => {}
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // It must not reply either: the run may have been resumed.
                _ => {
                    eprintln!("gpuprof: the runner is gone");
                    std::process::exit(LOST);
                }
            }
        }
    }

    /// Tells the runner. One that is gone ends this process by itself.
    pub(crate) fn notify(&self, notice: Notice) {
        if let Some(mut line) = self.line.as_ref() {
            let _ = line.write_all(&[notice.byte()]);
        }
    }
}

#[cfg(test)]
impl Handover {
    /// A line without a runner.
    pub(crate) fn none() -> Self {
        Self { line: None }
    }

    /// A line, and the runner's end of it.
    pub(crate) fn pair() -> (Self, Line) {
        let (line, runner) = Line::pair().unwrap();
        (Self { line: Some(line) }, runner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_the_runners_go_ahead_hands_over_the_device() {
        let (handover, mut runner) = Handover::pair();
        let (sender, taken) = mpsc::channel();
        let waiting = thread::spawn(move || {
            handover.wait();
            sender.send(()).unwrap();
        });
        runner.write_all(b"x").unwrap();
        assert!(taken.recv_timeout(Duration::from_millis(50)).is_err());
        runner.write_all(&[TURN]).unwrap();
        taken.recv().unwrap();
        waiting.join().unwrap();
    }

    #[test]
    fn the_runner_receives_notices_in_order() {
        let (handover, mut runner) = Handover::pair();
        for notice in [Notice::Waits, Notice::Works, Notice::Replied] {
            handover.notify(notice);
        }
        drop(handover);
        let mut heard = Vec::new();
        runner.read_to_end(&mut heard).unwrap();
        let heard: Vec<_> = heard.into_iter().filter_map(Notice::from_byte).collect();
        assert_eq!(heard, [Notice::Waits, Notice::Works, Notice::Replied]);
    }

    #[test]
    fn notices_to_a_vanished_runner_are_ignored() {
        let (handover, runner) = Handover::pair();
        drop(runner);
        handover.notify(Notice::Replied);
        Handover::none().notify(Notice::Replied);
    }
}
