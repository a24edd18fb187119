//! The working time of a process since it got the device, which the timeout limits.
//!
//! Input: the process's messages about waiting for others of the run that prepare and leave
//! (`runtime/src/host/runner/measure_lock.rs`). Output: the time without these waits, and when it
//! reaches the limit. The limit starts again whenever a process continues with another of its
//! configurations. A process that measures or prepares does not wait, so a hang in either gets no
//! extra time. A wait for a window is limited too: a process that reports a wait and then nothing
//! more gets [`LONGEST`] in addition.

use std::time::{Duration, Instant};

use gpuprof_model::notice::Notice;

/// The longest wait that counts; longer than any real one.
const LONGEST: Duration = Duration::from_secs(30);

/// The time of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeoutClock {
    since: Instant,
    /// Since it works on the current configuration.
    limited_since: Instant,
    waited: Duration,
    waits_since: Option<Instant>,
    replied: Option<Instant>,
}

impl TimeoutClock {
    /// From `now` on.
    pub(super) fn from(now: Instant) -> Self {
        let waited = Duration::ZERO;
        Self { since: now, limited_since: now, waited, waits_since: None, replied: None }
    }

    /// How long it has the device, or had it when it replied.
    pub(super) fn held(&self, now: Instant) -> Duration {
        self.replied.unwrap_or(now).saturating_duration_since(self.since)
    }

    /// Handles a message of the process. Returns the start of a wait that has ended.
    pub(super) fn hears(&mut self, notice: Notice, now: Instant) -> Option<Instant> {
        match notice {
            Notice::Waits => {
                self.waits_since.get_or_insert(now);
                None
            }
            Notice::Works => {
                let since = self.waits_since.take()?;
                self.waited += now.saturating_duration_since(since).min(LONGEST);
                Some(since)
            }
            Notice::Replied => {
                self.replied.get_or_insert(now);
                None
            }
            Notice::At(_) | Notice::AtAll => {
                (self.limited_since, self.waited) = (now, Duration::ZERO);
                None
            }
            Notice::MakesInputs | Notice::Verifies | Notice::Goes => None,
        }
    }

    /// From when on it has the device.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// When it will have worked for `limit`, if it continues as now; none if that is out of range.
    pub(super) fn over(&self, limit: Duration) -> Option<Instant> {
        let waits = if self.waits_since.is_some() { LONGEST } else { Duration::ZERO };
        self.limited_since.checked_add(limit)?.checked_add(self.waited)?.checked_add(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_other_processes_does_not_count_towards_the_timeout() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let limit = Duration::from_secs(1);
        let mut clock = TimeoutClock::from(start);
        assert_eq!(clock.over(limit), Some(at(1000)));
        clock.hears(Notice::Waits, at(100));
        assert!(clock.over(limit) >= Some(at(31_000)));
        assert_eq!(clock.held(at(150)), Duration::from_millis(150));
        clock.hears(Notice::Replied, at(200));
        clock.hears(Notice::Works, at(600));
        assert_eq!(clock.over(limit), Some(at(1500)));
        // It did not say that it waits.
        clock.hears(Notice::Works, at(700));
        assert_eq!(clock.over(limit), Some(at(1500)));
        assert_eq!(clock.held(at(1000)), Duration::from_millis(200), "until it replied");
    }

    #[test]
    fn every_configuration_gets_the_full_timeout() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let limit = Duration::from_secs(1);
        let mut clock = TimeoutClock::from(start);
        clock.hears(Notice::Waits, at(100));
        clock.hears(Notice::Works, at(200));
        clock.hears(Notice::At(1), at(900));
        assert_eq!(clock.over(limit), Some(at(1900)));
        clock.hears(Notice::AtAll, at(1500));
        assert_eq!(clock.over(limit), Some(at(2500)));
        assert_eq!(clock.held(at(2000)), Duration::from_secs(2));
    }

    #[test]
    fn a_wait_that_never_ends_does_not_stop_the_clock() {
        let start = Instant::now();
        let mut clock = TimeoutClock::from(start);
        clock.hears(Notice::Waits, start);
        clock.hears(Notice::Waits, start + LONGEST / 2);
        let limit = Duration::from_secs(1);
        assert_eq!(clock.over(limit), Some(start + LONGEST + limit));
        clock.hears(Notice::Works, start + LONGEST * 5);
        assert_eq!(clock.over(limit), Some(start + LONGEST + limit));
        assert_eq!(clock.over(Duration::MAX), None);
    }
}
