//! Counters over the time of launches in a trace.
//!
//! Input: a run. Output: for each configuration with samples a process of the trace that begins at
//! 0, with a track for each counter, in its base unit. Samples during which the GPU switched
//! contexts are spans.

use gpuprof_model::over_time::CountersOverTime;
use gpuprof_model::run::Run;
use gpuprof_model::timeline::TimeSpan;

use super::event::{Arguments, Event, microseconds, naming};

/// The events of all samples of `run`; the first process has the number `pid`.
pub(super) fn events(run: &Run, pid: u32) -> Vec<Event<'_>> {
    let rows = run.series.iter().flat_map(|series| {
        let name = move |row| (series, row);
        series.configurations.iter().map(name)
    });
    let sampled = rows.filter_map(|(series, row)| {
        let over_time = row.over_time.as_ref().filter(|it| !it.samples.is_empty())?;
        Some((format!("counters over the time of {} {}", series.id, row.configuration), over_time))
    });
    let events = sampled.zip(pid..).flat_map(|((name, over_time), pid)| {
        let mut events: Vec<Event<'_>> = vec![naming("process_name", (pid, 0), name)];
        events.extend(tracks(over_time, pid));
        events.extend(switches(over_time, pid));
        events
    });
    events.collect()
}

fn tracks(over_time: &CountersOverTime, pid: u32) -> impl Iterator<Item = Event<'_>> {
    over_time.samples.iter().flat_map(move |sample| {
        let values = over_time.counters.iter().zip(&sample.values);
        values.filter_map(move |(counter, value)| {
            let args = Arguments::Value { value: (*value)? };
            Some(Event { ph: "C", args, ..begin_event(pid, &counter.label, sample.time) })
        })
    })
}

fn switches(over_time: &CountersOverTime, pid: u32) -> impl Iterator<Item = Event<'_>> {
    let switched = over_time.samples.iter().filter(|sample| sample.context_switch);
    switched.map(move |sample| Event {
        dur: Some(microseconds(sample.time.length_ns())),
        ..begin_event(pid, "context switch", sample.time)
    })
}

/// An event at the begin of `time`.
fn begin_event(pid: u32, name: &str, time: TimeSpan) -> Event<'_> {
    Event {
        ph: "X",
        pid,
        tid: 1,
        name,
        cat: None,
        ts: Some(microseconds(time.start_ns)),
        dur: None,
        id: None,
        bp: None,
        args: Arguments::None {},
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::over_time::tests::sampled_run;

    #[test]
    fn counters_are_tracks_and_context_switches_are_spans() {
        let run = sampled_run();
        let events = serde_json::to_value(events(&run, 9)).expect("JSON");
        let events = events.as_array().expect("a list");
        let of_phase = |ph: &str| events.iter().filter(|e| e["ph"] == ph).collect::<Vec<&Value>>();
        assert_eq!((of_phase("M").len(), of_phase("X").len()), (1, 1));
        assert_eq!(of_phase("X")[0]["ts"], json!(3.0));
        // The second counter has no value in one of the twelve samples.
        let tracks = of_phase("C");
        assert_eq!(tracks.len(), 23);
        assert_eq!(tracks[0]["name"], "SMs active");
        assert_eq!((&tracks[2]["ts"], &tracks[2]["args"]), (&json!(1.0), &json!({"value": 99.0})));
        assert!(events.iter().all(|event| event["pid"] == 9), "{events:?}");
    }
}
