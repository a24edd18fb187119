//! A run's time in Trace Event Format, as Perfetto and `chrome://tracing` read it.
//!
//! Input: the spans of a run, the timelines of its closures, and counters over time. Output: one
//! JSON object. A device
//! is a process of the trace, and the runner another one, of a merged run for each slice; processes
//! that overlap lie on lanes of their own, for the spans of one lane have to nest. Times are
//! microseconds since the run began, or since the call of the closure.

mod closures;
mod counters;
mod event;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use gpuprof_analysis::view::View;
use gpuprof_model::run::{Run, Span, Spent};
use serde::Serialize;

use super::Report;
use event::{Arguments, Event, Microseconds, naming};

/// A process of a trace: a slice, 0 where the run is whole, and of it the runner, or the device at
/// a position.
type Owner = (u32, Option<u32>);

/// Spans for Perfetto.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChromeTrace;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'r> {
    display_time_unit: &'static str,
    other_data: Other<'r>,
    trace_events: Vec<Event<'r>>,
}

#[derive(Serialize)]
struct Other<'r> {
    run: &'r str,
    started: &'r str,
    version: &'r str,
}

impl Report for ChromeTrace {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let document = Document {
            display_time_unit: "ms",
            other_data: Other {
                run: &run.id,
                started: &run.provenance.started,
                version: &run.provenance.tool_version,
            },
            trace_events: events(run),
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }
}

fn events(run: &Run) -> Vec<Event<'_>> {
    let spans = &run.provenance.spans;
    let lanes = lanes(spans);
    let owners: BTreeSet<Owner> = spans.iter().map(owner).collect();
    let pids: BTreeMap<Owner, u32> = owners.into_iter().zip(1..).collect();
    let place = |span: &Span| {
        let lane = lanes.get(&(span.slice, span.process)).copied().unwrap_or(1);
        (pids[&owner(span)], lane)
    };
    let mut ordered: Vec<&Span> = spans.iter().collect();
    // Of two that begin together the outer one comes first.
    ordered.sort_by_key(|span| (span.begin_us, Reverse(span.length_us)));
    let events = ordered.into_iter().map(|span| {
        let (pid, tid) = place(span);
        Event {
            ph: "X",
            pid,
            tid,
            name: &span.what,
            cat: Some(span.spent.to_string()),
            ts: Some(Microseconds::Whole(span.begin_us)),
            dur: Some(Microseconds::Whole(span.length_us)),
            id: None,
            bp: None,
            args: Arguments::Of { process: span.process },
        }
    });
    let mut all = names(run, &pids, &spans.iter().map(place).collect());
    all.extend(events);
    for of in [closures::events, counters::events] {
        let used = all.iter().map(|event| event.pid).max().unwrap_or(0);
        all.extend(of(run, used + 1));
    }
    all
}

/// The names of all processes and lanes that have spans.
fn names(
    run: &Run,
    pids: &BTreeMap<Owner, u32>,
    places: &BTreeSet<(u32, u32)>,
) -> Vec<Event<'static>> {
    let runners: BTreeSet<u32> =
        pids.iter().filter(|((_, device), _)| device.is_none()).map(|(_, pid)| *pid).collect();
    let process =
        |(&owner, &pid): (&Owner, &u32)| naming("process_name", (pid, 0), process_name(run, owner));
    let lane = |&(pid, tid): &(u32, u32)| {
        let name = if runners.contains(&pid) { "runner".to_owned() } else { format!("lane {tid}") };
        naming("thread_name", (pid, tid), name)
    };
    pids.iter().map(process).chain(places.iter().map(lane)).collect()
}

/// "slice 2 of 8 on node7: NVIDIA H200 GPU-…"; of a run that is whole, what is behind the colon.
fn process_name(run: &Run, (slice, device): Owner) -> String {
    let provenance = &run.provenance;
    let record = provenance.slices.iter().find(|record| slice != 0 && record.slice == slice);
    let slice_text = record.map_or_else(String::new, |record| {
        format!("slice {slice} of {} on {}: ", record.of, record.host)
    });
    let Some(device) = device else {
        let id = record.map_or(&run.id, |record| &record.run);
        return format!("{slice_text}cargo gpuprof, run {id}");
    };
    let uuid = provenance.devices.get(device as usize).map(|name| format!(" {}", name.uuid));
    let name = provenance.device.as_ref().map_or("device", |device| &device.name);
    format!("{slice_text}{name}{}", uuid.unwrap_or_default())
}

fn owner(span: &Span) -> Owner {
    (span.slice, (span.process != 0).then_some(span.device))
}

/// The lane of each process, by slice and number: the first of its device that is free when it
/// starts.
fn lanes(spans: &[Span]) -> HashMap<(u32, u32), u32> {
    let mut processes: Vec<&Span> =
        spans.iter().filter(|span| span.spent == Spent::Process).collect();
    processes.sort_by_key(|span| span.begin_us);
    let mut over: HashMap<Owner, Vec<u64>> = HashMap::new();
    let mut lanes = HashMap::new();
    for span in processes {
        let ends = over.entry(owner(span)).or_default();
        let lane = ends.iter().position(|&end| end <= span.begin_us).unwrap_or_else(|| {
            ends.push(0);
            ends.len() - 1
        });
        ends[lane] = span.begin_us + span.length_us;
        let lane = u32::try_from(lane + 1).unwrap_or(u32::MAX);
        lanes.insert((span.slice, span.process), lane);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::fixture;
    use gpuprof_model::run::SliceRecord;
    use serde_json::Value;

    use super::*;

    fn span(spent: Spent, process: u32, begin_us: u64, length_us: u64) -> Span {
        let what = format!("{spent} </script>");
        Span { spent, what, process, device: 0, slice: 0, begin_us, length_us }
    }

    /// A build, and two processes of which the second prepares while the first has the device.
    fn spans() -> Vec<Span> {
        vec![
            span(Spent::Build, 0, 0, 900),
            span(Spent::Pass, 1, 1_010, 400),
            span(Spent::Waiting, 1, 1_020, 30),
            span(Spent::Leaving, 1, 1_410, 90),
            span(Spent::Process, 1, 1_000, 500),
            span(Spent::Turn, 2, 1_100, 310),
            span(Spent::Pass, 2, 1_410, 200),
            span(Spent::Process, 2, 1_100, 600),
            span(Spent::Process, 3, 1_500, 100),
        ]
    }

    fn written() -> Value {
        let mut run = fixture::run("20261123T010203-1", Vec::new());
        run.provenance.spans = spans();
        render_trace(&run)
    }

    fn render_trace(run: &Run) -> Value {
        let mut out = Vec::new();
        ChromeTrace.write_as(&View::default(), run, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    /// Two slices with equal process numbers, at the same time.
    #[test]
    fn slices_of_a_merged_run_are_processes_of_their_own() {
        let mut run = fixture::run("20261123T010203-1", Vec::new());
        run.provenance.device = Some(fixture::h200());
        for slice in [1, 2] {
            let host = format!("node{slice}");
            let own = format!("own-{slice}");
            let record = SliceRecord { slice, of: 2, run: own, host, ..SliceRecord::default() };
            run.provenance.slices.push(record);
            let of = |span: Span| Span { slice, ..span };
            run.provenance.spans.extend(spans().into_iter().map(of));
        }
        let document = render_trace(&run);
        let names: Vec<&str> = select_events(&document, "M")
            .into_iter()
            .filter(|event| event["name"] == "process_name")
            .map(|event| event["args"]["name"].as_str().unwrap())
            .collect();
        let device = fixture::h200().name;
        assert_eq!(
            names,
            [
                "slice 1 of 2 on node1: cargo gpuprof, run own-1",
                &format!("slice 1 of 2 on node1: {device}"),
                "slice 2 of 2 on node2: cargo gpuprof, run own-2",
                &format!("slice 2 of 2 on node2: {device}"),
            ]
        );
        let lanes: BTreeSet<_> = select_events(&document, "X")
            .into_iter()
            .map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap()))
            .collect();
        let expected = [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (4, 2)];
        assert_eq!(lanes.into_iter().collect::<Vec<_>>(), expected);
    }

    fn select_events<'v>(document: &'v Value, ph: &str) -> Vec<&'v Value> {
        let events = document["traceEvents"].as_array().unwrap();
        events.iter().filter(|event| event["ph"] == ph).collect()
    }

    /// The Trace Event Format's requirements for each event.
    #[test]
    fn every_event_has_what_the_format_asks_for() {
        let document = written();
        for event in select_events(&document, "X") {
            for field in ["pid", "tid", "ts", "dur"] {
                assert!(event[field].is_u64(), "{field}: {event}");
            }
            assert!(event["name"].is_string() && event["cat"].is_string(), "{event}");
        }
        for event in select_events(&document, "M") {
            assert!(event["args"]["name"].is_string(), "{event}");
            assert!(["process_name", "thread_name"].contains(&event["name"].as_str().unwrap()));
        }
        assert_eq!(select_events(&document, "X").len(), spans().len());
        assert_eq!(document["displayTimeUnit"], "ms");
    }

    /// Perfetto draws a lane wrongly if its spans overlap without nesting.
    #[test]
    fn spans_of_a_lane_nest_and_every_lane_has_a_name() {
        let document = written();
        let events = select_events(&document, "X");
        let lane = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let ends = |event: &Value| {
            let begin = event["ts"].as_u64().unwrap();
            (begin, begin + event["dur"].as_u64().unwrap())
        };
        for (at, a) in events.iter().enumerate() {
            for b in events[at + 1..].iter().filter(|b| lane(b) == lane(a)) {
                let ((a0, a1), (b0, b1)) = (ends(a), ends(b));
                let apart = a1 <= b0 || b1 <= a0;
                let inside = (a0 <= b0 && b1 <= a1) || (b0 <= a0 && a1 <= b1);
                assert!(apart || inside, "{a} {b}");
            }
            let named = |m: &&Value| m["name"] == "thread_name" && lane(m) == lane(a);
            assert!(select_events(&document, "M").into_iter().any(|m| named(&m)), "{a}");
        }
        let lanes: BTreeSet<_> = events.iter().map(|event| lane(event)).collect();
        assert_eq!(lanes.into_iter().collect::<Vec<_>>(), [(1, 1), (2, 1), (2, 2)]);
    }
}
