//! Processes that prepare while another one measures, on a fake GPU: they find their data, and do
//! not disturb the other one.
//!
//! `tests/fakes/timeline.rs` records the times of events. Opening a context takes so long there
//! that without the lock it would overlap every window of the previous process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::{self, sleep};
use std::time::Duration;

use crate::support::replay::{
    ISOLATIONS, arguments, finished, of_both, shares_processes, values, workshop,
};
use crate::support::{FakeGpu, Happening, Outcome, times, wait_beside, with_limit};
use serde_json::Value;

/// Milliseconds of a disturbing action.
const SLOW: &str = "10";

/// Samples of a timed pass that count: three batches, since the fake's times are all equal. The
/// earlier ones are warm-up.
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

/// The measurements that count.
fn windows(timeline: &[Happening]) -> Vec<&Happening> {
    let last = |all: Vec<_>| all.into_iter().rev().take(SAMPLES);
    let samples = times(timeline).into_values().flat_map(last);
    samples.chain(timeline.iter().filter(|happening| happening.what == "counts")).collect()
}

/// Pairs of a window and a disturbing action of another process during it.
fn disturbances(timeline: &[Happening]) -> Vec<(&Happening, &Happening)> {
    let disturbs = |window: &Happening, other: &Happening| {
        other.what == "prepares" && other.process != window.process && other.meets(window)
    };
    let of =
        |window| timeline.iter().filter(move |h| disturbs(window, h)).map(move |h| (window, h));
    windows(timeline).into_iter().flat_map(of).collect()
}

/// How many processes began before an earlier one had measured for the last time.
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
fn no_process_starts_or_exits_while_another_measures() {
    for isolation in ISOLATIONS {
        let mut found = Vec::new();
        for ahead in ["0", "1"] {
            let gpu = FakeGpu::new();
            let outcome = run(&gpu, "", &[&["--ahead", ahead], isolation].concat()).exits_with(0);
            let timeline = gpu.timeline();
            // Two timed passes, and four that count each configuration, or both in one session.
            let counts = windows(&timeline).iter().filter(|w| w.what == "counts").count();
            assert_eq!(counts, if shares_processes(isolation) { 4 } else { 8 });
            assert_eq!(disturbances(&timeline), [], "{ahead} {isolation:?}");
            let prepared = prepared_ahead(&timeline);
            assert_eq!(prepared > 0, ahead != "0", "{prepared} {ahead} {isolation:?}");
            found.push(values(&outcome));
        }
        assert_eq!(found[0], found[1]);
    }
}

#[test]
fn others_prepare_while_cupti_starts_if_the_cache_is_emptied_after_that() {
    let gpu = FakeGpu::new();
    let arguments = arguments(&["vector", "scale"], &["--cache-control", "all"]);
    let mut command = gpu.tool(&workshop(), &arguments).into_command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let begun: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    // A pipe without a reader blocks the run once it is full.
    let rest = thread::spawn(move || lines.count());
    let passes = workshop().run_folder(begun["id"].as_str().unwrap()).join("passes");
    let file = |of: &dyn Fn(&str) -> bool| -> Option<PathBuf> {
        let mut paths = fs::read_dir(&passes).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(of))
    };
    // The first process has its times: its remaining work is a counter pass, while another one
    // prepares.
    wait_beside(&mut child, "times", || file(&|name| name.ends_with("pass-1.reply.json")));
    let lock = file(&|name| name.starts_with("quiet") && !name.ends_with(".turnstile")).unwrap();
    let stage = File::open(lock).unwrap();
    stage.lock_shared().unwrap();
    wait_beside(&mut child, "a start", || (!gpu.logged("started pass").is_empty()).then_some(()));
    // Nothing is launched before the stage is over.
    sleep(Duration::from_millis(100));
    assert_eq!(gpu.logged("collected pass"), [""; 0]);
    drop(stage);
    assert!(child.wait().unwrap().success());
    assert!(rest.join().unwrap() > 0);
    assert!(!gpu.logged("collected pass").is_empty());
}

#[test]
fn by_default_counters_are_prepared_ahead_and_times_are_taken_alone() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let outcome = run(&gpu, "", isolation).exits_with(0);
        assert_eq!(outcome.events_of("configuration-finished").len(), 2);
        let timeline = gpu.timeline();
        assert!(prepared_ahead(&timeline) > 0, "{isolation:?}");
        assert_eq!(disturbances(&timeline), [], "{isolation:?}");
        // From its beginning until its times are there, a process has the device for itself:
        // another one may be leaving.
        let (times, processes) = (times(&timeline), by_process(&timeline));
        for (process, samples) in &times {
            let (first, last) = (processes[process][0], samples[samples.len() - 1]);
            let taking = Happening { begin: first.begin, ..(*last).clone() };
            for (other, all) in &processes {
                let begins = (taking.begin..taking.end).contains(&all[0].begin);
                let works = all.iter().any(|h| h.what != "prepares" && h.meets(&taking));
                assert!(other == process || !(begins || works), "{isolation:?}");
            }
        }
        assert_eq!(times.len(), if shares_processes(isolation) { 1 } else { 2 });
    }
}

/// Whether the configuration with blocks of 64 threads ended with `status`, and the other one was
/// not affected.
fn only_the_first(outcome: &Outcome, status: &str) -> bool {
    let [(first, _), other] = of_both(outcome);
    first == status && other == finished()
}

#[test]
fn a_crash_while_measuring_releases_the_device() {
    let gpu = FakeGpu::new();
    let outcome = run(&gpu, "abort pass=1 block=64", &["--ahead", "1"]).exits_with(105);
    assert!(only_the_first(&outcome, "failed"), "{:?}", of_both(&outcome));
    assert_eq!(disturbances(&gpu.timeline()), []);
    assert_eq!(gpu.survivors(), [0; 0]);
}

#[test]
fn a_kill_while_measuring_releases_the_device() {
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
