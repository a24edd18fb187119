//! SIGINT, SIGTERM and SIGHUP: the first ends the run and keeps the measurements, the second ends
//! the process at once. If there is nothing to keep, the first does too: it ends the process of a
//! command that only reads. It also ends the compilers of a command that builds, like Ctrl-C in a
//! terminal. A SIGHUP that is ignored, as under `nohup`, stays ignored.
//!
//! Input: signals. Output: the first of them, and a wait that it ends: code that waits for another
//! event waits here for both. SIGXFSZ, sent at a limit on the size of files, would end the process
//! in the middle of a write; while it is handled, that write fails as on a full disk.

use std::io::{self, PipeReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

use crate::{descendants, scratch};

/// The signal that was received, if any.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    /// Readable from the first signal on, and never read. None if no handler is installed.
    heard: Option<Arc<PipeReader>>,
    /// Whether there are results to keep, or another thread handles the signal.
    keeps: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts listening.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let (heard, mut told) = io::pipe()?;
        let interrupt = Self { heard: Some(Arc::new(heard)), ..Self::default() };
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in ending() {
            // First: a signal that comes between two of these is known.
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, interrupt.signal.clone(), number)?;
            // Registered before the flag is set, so that only a second signal finds it true.
            let second = Arc::new(AtomicBool::new(false));
            flag::register_conditional_shutdown(signal, 128 + signal, second.clone())?;
            flag::register(signal, second)?;
            // Last: a thread that it wakes finds the signal.
            low_level::pipe::register(signal, told.try_clone()?)?;
        }
        if interrupt.signal().is_some() {
            told.write_all(&[0])?;
        }
        let ends = interrupt.clone();
        thread::Builder::new().spawn(move || ends.end_what_builds())?;
        Ok(interrupt)
    }

    /// From here on there are results to keep, or another thread waits for signals and ends the
    /// children.
    pub fn keep(&self) {
        self.keeps.store(true, Ordering::Relaxed);
    }

    /// Until then, a signal ends the children of this process, and then the process itself.
    fn end_what_builds(&self) {
        let Some(heard) = &self.heard else { return };
        while self.signal().is_none() {
            let mut waited = [PollFd::from_borrowed_fd(heard.as_fd(), PollFlags::IN)];
            if wait_for(&mut waited, None).is_err() {
                return;
            }
        }
        let nothing_kept = || !self.keeps.load(Ordering::Relaxed);
        if nothing_kept() {
            descendants::end_descendants();
            // Processes that wait for their children clean up and end. A process that is about to
            // start another does not.
            let _ = wait_for(&mut [], Instant::now().checked_add(CLEANS_UP));
        }
        if nothing_kept() {
            scratch::remove_all();
            process::exit(128 + i32::from(self.signal().unwrap_or(0)));
        }
    }

    /// Lets the first signal end the process at once, with 128 and its number: there is nothing to
    /// keep. It interrupts system calls and long computations.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn end_at_once() -> io::Result<Self> {
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in ending() {
            let first = Arc::new(AtomicBool::new(true));
            flag::register_conditional_shutdown(signal, 128 + signal, first)?;
        }
        Ok(Self::default())
    }

    /// The signal's number.
    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }

    /// Waits until one of `others` is readable or closed, until the time `until`, or for a signal,
    /// whichever comes first; returns whether it was one of `others`. It may return early, so
    /// callers check and wait again.
    ///
    /// # Errors
    /// The system cannot wait for these descriptors.
    pub fn wait(&self, others: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<bool> {
        let waited = others.iter().copied().chain(self.heard.iter().map(|heard| heard.as_fd()));
        let mut waited: Vec<_> =
            waited.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        wait_for(&mut waited, until)?;
        Ok(waited.iter().take(others.len()).any(|fd| !fd.revents().is_empty()))
    }

    /// Waits until `out` takes [`AT_ONCE`] bytes without blocking, or has no reader; after a signal
    /// only until `until`. Returns whether it takes them: a slow reader is waited for, and a
    /// stopped one blocks nothing.
    ///
    /// # Errors
    /// The system cannot wait for this descriptor.
    pub fn wait_for_reader(&self, out: BorrowedFd<'_>, until: Duration) -> io::Result<bool> {
        let mut last = None;
        loop {
            let mut waited = vec![PollFd::from_borrowed_fd(out, PollFlags::OUT)];
            if self.signal().is_some() {
                last = last.or_else(|| Instant::now().checked_add(until));
            } else if let Some(heard) = &self.heard {
                waited.push(PollFd::from_borrowed_fd(heard.as_fd(), PollFlags::IN));
            }
            wait_for(&mut waited, last)?;
            if waited.first().is_some_and(|out| !out.revents().is_empty()) {
                return Ok(true);
            }
            if last.is_some_and(|last| last <= Instant::now()) {
                return Ok(false);
            }
        }
    }
}

/// The signals that end a command.
fn ending() -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hears = !is_ignored(&status, SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hears.then_some(SIGHUP))
}

/// Whether the process ignores `signal`, by its `/proc/PID/status`.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The longest time for the children to end.
const CLEANS_UP: Duration = Duration::from_secs(2);

/// A pipe that is writable takes at least so many bytes.
pub const AT_ONCE: usize = 4096;

/// Waits for one of `waited`, a signal, or the time `until`.
fn wait_for(waited: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    // A time that cannot be represented is too far away to matter.
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(waited, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_wait_ends_by_data_timeout_or_signal() {
        let (other, mut writes) = io::pipe().unwrap();
        let (heard, mut signalled) = io::pipe().unwrap();
        let interrupt = Interrupt { heard: Some(Arc::new(heard)), ..Interrupt::default() };
        let soon = Instant::now() + Duration::from_millis(10);
        assert!(!interrupt.wait(&[other.as_fd()], Some(soon)).unwrap());
        assert!(Instant::now() >= soon);
        // Reaching the time limit is not an error.
        assert!(!interrupt.wait(&[other.as_fd()], Some(soon)).unwrap());
        writes.write_all(b"x").unwrap();
        assert!(interrupt.wait(&[other.as_fd()], None).unwrap());
        // Without a time limit only the signal ends the wait, and it stays readable.
        signalled.write_all(b"x").unwrap();
        assert!(!interrupt.wait(&[], None).unwrap());
        assert!(!interrupt.wait(&[], None).unwrap());
    }

    #[test]
    fn a_signal_is_ignored_if_the_system_says_so() {
        let status = "Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, SIGHUP) && !is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }

    #[test]
    fn a_stopped_reader_is_waited_for_until_shortly_after_a_signal() {
        let soon = Duration::from_millis(10);
        let (reads, mut out) = io::pipe().unwrap();
        let interrupt = Interrupt::default();
        assert!(interrupt.wait_for_reader(out.as_fd(), soon).unwrap());
        rustix::pipe::fcntl_setpipe_size(&out, AT_ONCE).unwrap();
        out.write_all(&[0; AT_ONCE]).unwrap();
        interrupt.signal.store(15, Ordering::Relaxed);
        let begin = Instant::now();
        assert!(!interrupt.wait_for_reader(out.as_fd(), soon).unwrap());
        assert!(begin.elapsed() >= soon);
        drop(reads);
        assert!(
            interrupt.wait_for_reader(out.as_fd(), soon).unwrap(),
            "a write must report the error"
        );
    }
}
