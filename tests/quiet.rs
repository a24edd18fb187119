//! Processes that prepare while another one measures, on a fake GPU: what they find, and that they keep out of its way.
//!
//! `tests/fakes/timeline.rs` says when what happened. Opening a context takes so long there that without the lock it meets
//! every window of the process before it.

use std::collections::BTreeMap;

use support::replay::{ISOLATIONS, arguments, finished, of_both, values, workshop};
use support::{FakeGpu, Happening, Outcome, with_limit};

/// Milliseconds that what disturbs takes.
const SLOW: &str = "10";

/// Samples of a timed pass that count: three batches, since the fake's times are all alike. Those before are warm-up.
const SAMPLES: usize = 24;

fn run(gpu: &FakeGpu, trouble: &str, more: &[&str]) -> Outcome {
    let tool = gpu.tool(&workshop(), &arguments(&["vector", "scale"], more));
    tool.env("FAKE_TIMELINE", SLOW).env("FAKE_CUPTI_TROUBLE", trouble).run()
}

/// What happened, by process.
fn by_process(timeline: &[Happening]) -> BTreeMap<u32, Vec<&Happening>> {
    let mut processes: BTreeMap<u32, Vec<&Happening>> = BTreeMap::new();
    for happening in timeline {
        processes.entry(happening.process).or_default().push(happening);
    }
    processes
}

/// What counts, of all that was measured.
fn windows(timeline: &[Happening]) -> Vec<&Happening> {
    let of_process = |all: Vec<&'_ Happening>| -> Vec<Happening> {
        let of = |what: &str| all.iter().filter(|h| h.what == what).copied().cloned().collect();
        let (samples, passes): (Vec<Happening>, Vec<Happening>) = (of("samples"), of("counts"));
        // A counter pass takes samples to warm up.
        if passes.is_empty() {
            samples[samples.len().saturating_sub(SAMPLES)..].to_vec()
        } else {
            passes
        }
    };
    let counting: Vec<Happening> =
        by_process(timeline).into_values().flat_map(of_process).collect();
    timeline.iter().filter(|happening| counting.contains(happening)).collect()
}

/// Pairs of a window and what another process did during it.
fn disturbances(timeline: &[Happening]) -> Vec<(&Happening, &Happening)> {
    let disturbs = |window: &Happening, other: &Happening| {
        other.what == "prepares" && other.process != window.process && other.meets(window)
    };
    let of =
        |window| timeline.iter().filter(move |h| disturbs(window, h)).map(move |h| (window, h));
    windows(timeline).into_iter().flat_map(of).collect()
}

/// How many processes began before one that began earlier had measured for the last time.
fn prepared_ahead(timeline: &[Happening]) -> usize {
    let mut spans: Vec<(u128, u128)> = by_process(timeline)
        .into_values()
        .filter_map(|all| {
            let begin = all.first()?.begin;
            let end = all.iter().filter(|h| h.what != "prepares").map(|h| h.end).max()?;
            Some((begin, end))
        })
        .collect();
    spans.sort_unstable();
    spans.windows(2).filter(|pair| pair[1].0 < pair[0].1).count()
}

#[test]
fn nothing_prepares_or_leaves_while_another_process_measures() {
    for isolation in ISOLATIONS {
        let mut found = Vec::new();
        for ahead in ["0", "1"] {
            let gpu = FakeGpu::new();
            let outcome = run(&gpu, "", &[&["--ahead", ahead], isolation].concat()).exits_with(0);
            let timeline = gpu.timeline();
            // Two timed passes, and four that count each configuration, which with `--isolate kernel` share a session.
            let counts = windows(&timeline).iter().filter(|w| w.what == "counts").count();
            assert_eq!(counts, if isolation.is_empty() { 8 } else { 4 });
            assert_eq!(disturbances(&timeline), [], "{ahead} {isolation:?}");
            let prepared = prepared_ahead(&timeline);
            assert_eq!(prepared > 0, ahead != "0", "{prepared} {ahead} {isolation:?}");
            found.push(values(&outcome));
        }
        assert_eq!(found[0], found[1]);
    }
}

#[test]
fn by_default_counters_are_prepared_ahead_and_times_are_taken_alone() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let outcome = run(&gpu, "", isolation).exits_with(0);
        assert_eq!(outcome.events_of("configuration-finished").len(), 2);
        let timeline = gpu.timeline();
        assert!(prepared_ahead(&timeline) > 0, "{isolation:?}");
        let processes = by_process(&timeline);
        let counts = |all: &[&Happening]| all.iter().any(|h| h.what == "counts");
        let mut timed = 0;
        for (process, all) in &processes {
            let begin = all.iter().map(|h| h.begin).min();
            let end = all.iter().filter(|h| h.what == "samples").map(|h| h.end).max();
            let (Some(begin), Some(end)) = (begin, end) else { continue };
            if counts(all) {
                continue;
            }
            timed += 1;
            let beside = |h: &&Happening| h.process != *process && h.end > begin && h.begin < end;
            assert_eq!(timeline.iter().find(beside), None, "{isolation:?}");
        }
        assert_eq!(timed, if isolation.is_empty() { 2 } else { 1 });
    }
}

/// Whether the configuration with blocks of 64 threads came to `status`, and the other one was not the worse for it.
fn only_the_first(outcome: &Outcome, status: &str) -> bool {
    let [(first, _), other] = of_both(outcome);
    first == status && other == finished()
}

#[test]
fn a_process_that_crashes_in_its_window_leaves_the_device_to_the_next() {
    let gpu = FakeGpu::new();
    let outcome = run(&gpu, "abort pass=1 block=64", &["--ahead", "1"]).exits_with(105);
    assert!(only_the_first(&outcome, "failed"), "{:?}", of_both(&outcome));
    assert_eq!(disturbances(&gpu.timeline()), []);
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn a_process_that_is_killed_in_its_window_leaves_the_device_to_the_next() {
    let gpu = FakeGpu::new();
    let within =
        |limit: &str| run(&gpu, "hang pass=1 block=64", &["--ahead", "1", "--timeout", limit]);
    let fits =
        |outcome: &Outcome| only_the_first(outcome, "timeout") && !gpu.logged("hangs").is_empty();
    let (_, outcome) = with_limit(within, fits);
    let outcome = outcome.exits_with(105);
    assert!(only_the_first(&outcome, "timeout"), "{:?}", of_both(&outcome));
    assert_eq!(disturbances(&gpu.timeline()), []);
    assert_eq!(gpu.survivors(), [0; 0]);
}
