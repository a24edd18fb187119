//! Where the time of a run goes, from its beginning.
//!
//! Input: the runner's own work, and the engine's events about its processes. Output: spans, in
//! microseconds since the run began; at most [`MOST_SPANS`].

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use gpuprof_model::run::{MOST_SPANS, Span, Spent};

use crate::execute::Stretch;

/// The spans of a run, so far.
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    spans: Vec<Span>,
    /// The number of each process in the run, by its device and its number there.
    processes: HashMap<(usize, u32), u32>,
}

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        Self { begun: Instant::now(), spans: Vec::new(), processes: HashMap::new() }
    }

    /// The result of `work`; records its time.
    pub fn times<T>(&mut self, spent: Spent, what: &str, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let done = work();
        self.add(spent, what.to_owned(), 0, 0, begin..Instant::now());
        done
    }

    /// The result of `take`; records the wait for the devices.
    pub fn locks<T>(&mut self, take: impl FnOnce() -> T) -> T {
        self.times(Spent::Lock, "waits for the devices", take)
    }

    /// The activity of a device's processes.
    pub fn hear(&mut self, device: usize, stretches: Vec<Stretch>) {
        for Stretch { spent, what, process, begin, end, .. } in stretches {
            let next = u32::try_from(self.processes.len() + 1).unwrap_or(u32::MAX);
            let process = *self.processes.entry((device, process)).or_insert(next);
            self.add(spent, what, process, device, begin..end);
        }
    }

    /// All spans.
    pub fn spans(self) -> Vec<Span> {
        self.spans
    }

    fn add(
        &mut self,
        spent: Spent,
        what: String,
        process: u32,
        device: usize,
        time: Range<Instant>,
    ) {
        if self.spans.len() >= MOST_SPANS {
            return;
        }
        let begin_us = microseconds(time.start.saturating_duration_since(self.begun));
        let end_us = microseconds(time.end.saturating_duration_since(self.begun));
        self.spans.push(Span {
            spent,
            what,
            process,
            device: u32::try_from(device).unwrap_or(u32::MAX),
            slice: 0,
            begin_us,
            length_us: end_us.saturating_sub(begin_us),
        });
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_numbered_over_all_devices() {
        let mut watch = Stopwatch::start();
        assert_eq!(watch.times(Spent::Build, "builds", || 7), 7);
        let begun = watch.begun;
        let stretch = |process, from, to| Stretch {
            spent: Spent::Pass,
            what: "times 1".into(),
            process,
            begin: begun + Duration::from_micros(from),
            end: begun + Duration::from_micros(to),
            pass: None,
        };
        watch.hear(1, vec![stretch(1, 10, 30), stretch(2, 40, 45)]);
        watch.hear(0, vec![stretch(1, 50, 60)]);
        let spans = watch.spans();
        let told: Vec<_> =
            spans[1..].iter().map(|s| (s.process, s.device, s.begin_us, s.length_us)).collect();
        assert_eq!(told, [(1, 1, 10, 20), (2, 1, 40, 5), (3, 0, 50, 10)]);
    }
}
