//! The timelines of closures in a trace.
//!
//! Input: a run. Output: for each measured timeline a process of the trace that begins at 0, with a
//! lane per stream and per thread, and an arrow from each call to the work that it queued. Work of
//! a stream that overlaps gets further lanes. The emulated driver measures no times, so its
//! timelines are not in a trace.

use gpuprof_model::run::{ConfigurationResult, Run};
use gpuprof_model::timeline::{TimeSpan, Timeline, Work, WorkKind};

use super::event::{Arguments, Event, microseconds, naming};
use crate::timeline::describe;

/// The events of all timelines of `run`; the first process has the number `pid`.
pub(super) fn events(run: &Run, pid: u32) -> Vec<Event<'_>> {
    let rows = run.series.iter().flat_map(|series| {
        let with = move |row| (series, row);
        series.configurations.iter().map(with)
    });
    let measured = rows.filter_map(|(series, row)| {
        let timeline = row.timeline.as_ref()?;
        timeline.work.iter().all(|work| work.time.is_some()).then_some((series, row, timeline))
    });
    let closures = measured.zip(pid..).flat_map(|((series, row, timeline), pid)| {
        let name = format!("one call of {} {}", series.id, row.configuration);
        let mut all = vec![naming("process_name", (pid, 0), name)];
        all.extend(Closure { row, timeline, pid }.events());
        all
    });
    closures.collect()
}

struct Closure<'r> {
    row: &'r ConfigurationResult,
    timeline: &'r Timeline,
    pid: u32,
}

/// A lane of a trace.
struct Lane {
    stream: u64,
    /// The end of its last work.
    busy_until: u64,
}

impl<'r> Closure<'r> {
    fn events(&self) -> Vec<Event<'r>> {
        let Timeline { work, calls, .. } = self.timeline;
        let threads = calls.iter().map(|call| call.thread + 1).max().unwrap_or(0);
        let names = (0..threads).map(|thread| {
            naming("thread_name", (self.pid, thread + 1), format!("thread {thread}"))
        });
        let mut events: Vec<Event<'r>> = names.collect();
        events.extend(calls.iter().map(|call| {
            self.span(call.thread + 1, &call.function, ("call", call.time), Arguments::None {})
        }));
        let mut lanes: Vec<Lane> = Vec::new();
        for (piece, id) in work.iter().zip(0..) {
            let Some(time) = piece.time else { continue };
            let free =
                |lane: &Lane| lane.stream == piece.stream && lane.busy_until <= time.start_ns;
            let lane = lanes.iter().position(free).unwrap_or_else(|| {
                lanes.push(Lane { stream: piece.stream, busy_until: 0 });
                lanes.len() - 1
            });
            lanes[lane].busy_until = time.end_ns;
            let tid = threads + 1 + u32::try_from(lane).unwrap_or(u32::MAX - threads - 1);
            let what = Arguments::What { what: describe(self.row, piece) };
            events.push(self.span(tid, self.name(piece), (category(piece), time), what));
            let call = piece.call.and_then(|call| calls.get(call));
            let arrow = call.map(|call| {
                let begin = (call.thread + 1, call.time.start_ns);
                [
                    self.end_of_arrow("s", id, begin),
                    self.end_of_arrow("f", id, (tid, time.start_ns)),
                ]
            });
            events.extend(arrow.into_iter().flatten());
        }
        events.extend(lanes.iter().zip(threads + 1..).map(|(lane, tid)| {
            naming("thread_name", (self.pid, tid), format!("stream {}", lane.stream))
        }));
        events
    }

    fn name(&self, work: &Work) -> &'r str {
        match work.kind {
            WorkKind::Launch(at) => self.row.launches.get(at).map_or("kernel", |l| &l.kernel),
            WorkKind::Copy { .. } | WorkKind::PeerCopy { .. } => "copy",
            WorkKind::Fill { .. } => "fill",
        }
    }

    fn span(
        &self,
        tid: u32,
        name: &'r str,
        (category, time): (&str, TimeSpan),
        args: Arguments,
    ) -> Event<'r> {
        Event {
            ph: "X",
            pid: self.pid,
            tid,
            name,
            cat: Some(category.to_owned()),
            ts: Some(microseconds(time.start_ns)),
            dur: Some(microseconds(time.length_ns())),
            id: None,
            bp: None,
            args,
        }
    }

    /// An end of the arrow from a call to its work: it lies in the span that begins there.
    fn end_of_arrow(&self, ph: &'static str, id: u32, (tid, at_ns): (u32, u64)) -> Event<'r> {
        Event {
            ph,
            pid: self.pid,
            tid,
            name: "queued",
            cat: Some("queued".to_owned()),
            ts: Some(microseconds(at_ns)),
            dur: None,
            // Numbers of arrows are the whole trace's.
            id: Some(self.pid << 16 | id),
            bp: (ph == "f").then_some("e"),
            args: Arguments::None {},
        }
    }
}

fn category(work: &Work) -> &'static str {
    match work.kind {
        WorkKind::Launch(_) => "kernel",
        WorkKind::Copy { .. } | WorkKind::PeerCopy { .. } => "copy",
        WorkKind::Fill { .. } => "fill",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpuprof_analysis::fixture;
    use serde_json::{Value, json};

    use super::*;
    use crate::timeline_tests::{measured, timed};

    fn closures(run: &Run) -> Vec<Value> {
        events(run, 3).iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    #[test]
    fn closures_are_processes_with_lanes_for_threads_and_streams() {
        let run = measured();
        let events = closures(&run);
        let names: BTreeMap<u64, &str> = events
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| (event["tid"].as_u64().unwrap(), event["args"]["name"].as_str().unwrap()))
            .collect();
        let expected = [(1, "thread 0"), (2, "stream 7"), (3, "stream 13")];
        assert_eq!(names, BTreeMap::from(expected));
        let whole = |name: &str| {
            let event = events.iter().find(|event| event["ph"] == "X" && event["name"] == name);
            event.unwrap_or_else(|| panic!("no {name} in {events:#?}"))
        };
        let copy = whole("copy");
        assert_eq!(
            (&copy["ts"], &copy["dur"], &copy["tid"]),
            (&json!(2.0), &json!(1.5), &json!(2))
        );
        assert_eq!(copy["args"]["what"], "copy 4 KiB, pageable to device");
        assert_eq!(
            (&whole("cuLaunchKernel")["tid"], &whole("sums")["pid"]),
            (&json!(1), &json!(3))
        );
        let ends = |ph: &str| -> Vec<(u64, u64)> {
            let ends = events.iter().filter(|event| event["ph"] == ph);
            let end =
                |event: &Value| (event["id"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            ends.map(end).collect()
        };
        let (begin, end) = (ends("s"), ends("f"));
        let first = 3 << 16;
        assert_eq!(begin, [(first, 1), (first + 1, 1)]);
        assert_eq!(end, [(first, 2), (first + 1, 2)]);
    }

    #[test]
    fn overlapping_work_gets_another_lane() {
        let mut run = measured();
        let timeline = run.series[0].configurations[0].timeline.as_mut().unwrap();
        let late = timeline.work[0].clone();
        timeline.work.insert(1, Work { time: timed(3_000, 4_000), ..late });
        let events = closures(&run);
        let lanes = events.iter().filter(|event| event["args"]["name"] == "stream 7");
        assert_eq!(lanes.count(), 2, "{events:#?}");
        run.series[0].configurations[0].timeline.as_mut().unwrap().work[0].time = None;
        assert!(closures(&run).is_empty());
        assert!(closures(&fixture::run("20261123T010203-1", Vec::new())).is_empty());
    }
}
