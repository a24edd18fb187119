//! SIGINT and SIGTERM: the first ends the run with what was measured, the second at once. Where
//! nothing was measured and no process is under way, so does the first.
//!
//! Input: signals. Output: the first of them, and a wait that it ends: whoever waits for something
//! else waits for it here too, and the kernel wakes them. SIGXFSZ, which a limit on the size of
//! files sends, would end the process in the middle of a write; listened to, it is an error of that
//! write as a full disk is.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// The signal that was received, if any.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    /// Can be read from the first signal on: nobody ever does. None where nobody listens.
    heard: Option<Arc<PipeReader>>,
}

impl Interrupt {
    /// Starts listening.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let (heard, told) = io::pipe()?;
        let interrupt = Self { signal: Arc::default(), heard: Some(Arc::new(heard)) };
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in [SIGINT, SIGTERM] {
            // Registered before the flag is set, so that only a second signal finds it true.
            let second = Arc::new(AtomicBool::new(false));
            flag::register_conditional_shutdown(signal, 128 + signal, second.clone())?;
            flag::register(signal, second)?;
            let number = usize::try_from(signal).unwrap_or(0);
            flag::register_usize(signal, interrupt.signal.clone(), number)?;
            // Last: whoever it wakes finds the signal.
            low_level::pipe::register(signal, told.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// Lets the first signal end the process at once, with 128 and its number: there is nothing to
    /// keep. It ends a call of the system and a long computation alike.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn end_at_once() -> io::Result<Self> {
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in [SIGINT, SIGTERM] {
            let first = Arc::new(AtomicBool::new(true));
            flag::register_conditional_shutdown(signal, 128 + signal, first)?;
        }
        Ok(Self::default())
    }

    /// The signal's number.
    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }

    /// Waits until something can be read from one of `others` or one has ended, until the time
    /// `until`, or for a signal, whichever comes first; whether it was one of `others`. It may
    /// return early: whoever waits looks, and waits again.
    ///
    /// # Errors
    /// The system cannot wait for that.
    pub fn wait(&self, others: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<bool> {
        let waited = others.iter().copied().chain(self.heard.iter().map(|heard| heard.as_fd()));
        let mut waited: Vec<_> =
            waited.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // A time that cannot be told is that far away that nobody sees it.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut waited, left.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(waited.iter().take(others.len()).any(|fd| !fd.revents().is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_ends_with_what_can_be_read_with_its_time_and_with_a_signal() {
        let (other, mut writes) = io::pipe().unwrap();
        let (heard, mut signalled) = io::pipe().unwrap();
        let interrupt = Interrupt { heard: Some(Arc::new(heard)), ..Interrupt::default() };
        let soon = Instant::now() + Duration::from_millis(10);
        assert!(!interrupt.wait(&[other.as_fd()], Some(soon)).unwrap());
        assert!(Instant::now() >= soon);
        // Time that has passed is no error.
        assert!(!interrupt.wait(&[other.as_fd()], Some(soon)).unwrap());
        writes.write_all(b"x").unwrap();
        assert!(interrupt.wait(&[other.as_fd()], None).unwrap());
        // For ever, but for the signal, which stays.
        signalled.write_all(b"x").unwrap();
        assert!(!interrupt.wait(&[], None).unwrap());
        assert!(!interrupt.wait(&[], None).unwrap());
    }
}
