//! How long a process could work since it got the device: its limit is one on that.
//!
//! Input: the gate of the device's quiet window, which a process shuts while it waits for others
//! of the run to be done with preparing and leaving (`runtime/src/host/quiet.rs`). Output: the
//! time without that. One that has its window, and one that prepares, leave the gate open, so what
//! hangs in either has no more time than before; and no wait for a window lasts for ever.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the gate is looked at: it may lie on a file system of another machine.
const LOOK: Duration = Duration::from_millis(20);

/// The gate; none where no process waits for another.
#[derive(Debug)]
pub(super) struct Gate {
    path: Option<PathBuf>,
    file: Option<File>,
}

impl Gate {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        Self { path, file: None }
    }

    /// Whether the process that has the device waits. What cannot be told is no waiting.
    fn is_shut(&mut self) -> bool {
        let Some(path) = &self.path else { return false };
        if self.file.is_none() {
            // No process of the run may have made it yet.
            self.file = OpenOptions::new().read(true).write(true).open(path).ok();
        }
        let Some(file) = &self.file else { return false };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = file.unlock();
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }
}

/// The time of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeoutClock {
    since: Instant,
    looked: Instant,
    waited: Duration,
}

impl TimeoutClock {
    /// From `now` on.
    pub(super) fn from(now: Instant) -> Self {
        Self { since: now, looked: now, waited: Duration::ZERO }
    }

    /// How long it has the device.
    pub(super) fn held(&self, now: Instant) -> Duration {
        now - self.since
    }

    /// How long it could work, which every call makes out anew.
    pub(super) fn so_far(&mut self, now: Instant, gate: &mut Gate) -> Duration {
        self.looks(now, || gate.is_shut())
    }

    fn looks(&mut self, now: Instant, is_shut: impl FnOnce() -> bool) -> Duration {
        let since = now - self.looked;
        if since >= LOOK {
            self.looked = now;
            if is_shut() {
                self.waited += since;
            }
        }
        self.held(now) - self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_the_gate_was_shut_is_not_counted() {
        let start = Instant::now();
        let mut worked = TimeoutClock::from(start);
        let mut at = |ms: u64, shut: bool| {
            let now = start + Duration::from_millis(ms);
            u64::try_from(worked.looks(now, || shut).as_millis()).unwrap()
        };
        assert_eq!(at(100, false), 100);
        assert_eq!(at(600, true), 100);
        assert_eq!(at(700, true), 100);
        // Too soon after the last look to tell.
        assert_eq!(at(701, true), 101);
        assert_eq!(at(1000, false), 400);
        assert_eq!(worked.held(start + Duration::from_secs(1)), Duration::from_secs(1));
    }

    #[test]
    fn a_gate_is_shut_by_one_who_waits_for_a_window_and_not_by_one_who_waits_for_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quiet.gate");
        let mut gate = Gate::at(Some(path.clone()));
        assert!(!gate.is_shut(), "nobody has made it yet");
        let other = File::create(&path).unwrap();
        assert!(!gate.is_shut());
        other.lock().unwrap();
        assert!(gate.is_shut());
        other.unlock().unwrap();
        other.lock_shared().unwrap();
        assert!(!gate.is_shut());
        // Looking leaves nothing behind.
        other.unlock().unwrap();
        other.try_lock().unwrap();
        assert!(!Gate::at(None).is_shut());
    }
}
