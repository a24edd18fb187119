//! The order of the work of streams.
//!
//! Input: work, events, and waits of streams and of the host. Output: a stream with work that
//! another one has not waited for. Work is done at once, so its order changes no result; but a GPU
//! may still be busy with such work when the other stream continues.

use super::pointers::Handle;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of the legacy default stream. It waits for every blocking stream, and they wait for
/// it.
const LEGACY: u64 = 0;

/// How many pieces of each stream's work are over, by the stream's number.
#[derive(Debug, Default, Clone)]
struct Past(BTreeMap<u64, u64>);

impl Past {
    fn join(&mut self, other: &Self) {
        for (stream, count) in &other.0 {
            let known = self.0.entry(*stream).or_default();
            *known = (*known).max(*count);
        }
    }

    fn count(&self, stream: u64) -> u64 {
        self.0.get(&stream).copied().unwrap_or(0)
    }
}

/// The work that each stream, each event and the host has waited for.
#[derive(Debug, Default)]
pub struct Order {
    streams: BTreeMap<u64, Past>,
    events: HashMap<Handle, Past>,
    host: Past,
    non_blocking: BTreeSet<u64>,
    /// Of each stream that worked since the previous report, its last piece of work.
    recent: BTreeMap<u64, u64>,
}

impl Order {
    /// A new stream.
    pub fn create(&mut self, stream: u64, is_blocking: bool) {
        if is_blocking {
            self.non_blocking.remove(&stream);
        } else {
            self.non_blocking.insert(stream);
        }
    }

    /// A piece of work on a stream.
    pub fn work(&mut self, stream: u64) {
        let count = self.past(stream).0.entry(stream).or_default();
        *count += 1;
        let count = *count;
        self.recent.insert(stream, count);
    }

    /// Records an event.
    pub fn record(&mut self, event: Handle, stream: u64) {
        let past = self.past(stream).clone();
        self.events.insert(event, past);
    }

    /// Removes an event.
    pub fn forget(&mut self, event: Handle) {
        self.events.remove(&event);
    }

    /// Lets a stream wait for an event.
    pub fn wait(&mut self, stream: u64, event: Handle) {
        if let Some(past) = self.events.get(&event).cloned() {
            self.past(stream).join(&past);
        }
    }

    /// Lets the host wait for a stream.
    pub fn wait_on_host(&mut self, stream: u64) {
        let past = self.past(stream).clone();
        self.host.join(&past);
    }

    /// Lets the host wait for an event.
    pub fn wait_for_event(&mut self, event: Handle) {
        if let Some(past) = self.events.get(&event) {
            self.host.join(past);
        }
    }

    /// Lets the host wait for the device.
    pub fn wait_for_all(&mut self) {
        self.streams.values().for_each(|past| self.host.join(past));
    }

    /// A stream with work since the previous report that `stream` has not waited for.
    pub fn missed_by(&mut self, stream: u64) -> Option<u64> {
        let past = self.past(stream).clone();
        let mut recent = self.recent.iter();
        recent.find(|(other, count)| past.count(**other) < **count).map(|(other, _)| *other)
    }

    /// Begins the next report.
    pub fn begin_report(&mut self) {
        self.recent.clear();
    }

    /// The work that is over before the next work of a stream begins.
    fn past(&mut self, stream: u64) -> &mut Past {
        let mut past = self.host.clone();
        for (other, theirs) in &self.streams {
            let is_legacy = [stream, *other].contains(&LEGACY);
            let blocks = |number| !self.non_blocking.contains(&number);
            if *other == stream || is_legacy && blocks(stream) && blocks(*other) {
                past.join(theirs);
            }
        }
        let own = self.streams.entry(stream).or_default();
        *own = past;
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Handle = Handle(8);

    /// Streams 1 and 2, of which 2 does not wait for the legacy default stream.
    fn order() -> Order {
        let mut order = Order::default();
        order.create(1, true);
        order.create(2, false);
        order
    }

    #[test]
    fn the_default_stream_waits_for_blocking_streams_alone() {
        let mut order = order();
        order.work(1);
        assert_eq!(order.missed_by(LEGACY), None);
        order.work(2);
        assert_eq!(order.missed_by(LEGACY), Some(2));
        assert_eq!(order.missed_by(2), Some(1));
        order.begin_report();
        assert_eq!(order.missed_by(LEGACY), None);
    }

    #[test]
    fn an_event_covers_earlier_work_and_its_dependencies() {
        let mut order = order();
        order.create(3, false);
        order.work(3);
        order.record(Handle(9), 3);
        order.wait(2, Handle(9));
        order.work(2);
        order.wait(LEGACY, EVENT);
        assert_eq!(order.missed_by(LEGACY), Some(2));
        order.record(EVENT, 2);
        order.wait(LEGACY, EVENT);
        assert_eq!(order.missed_by(LEGACY), None);
        order.work(2);
        assert_eq!(order.missed_by(LEGACY), Some(2));
    }

    #[test]
    fn work_that_the_host_waited_for_precedes_all_streams() {
        let waits: [fn(&mut Order); 3] = [
            |order| order.wait_on_host(2),
            |order| order.wait_for_event(EVENT),
            Order::wait_for_all,
        ];
        for wait in waits {
            let mut order = order();
            order.work(2);
            order.record(EVENT, 2);
            wait(&mut order);
            assert_eq!(order.missed_by(LEGACY), None);
        }
    }
}
