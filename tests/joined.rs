//! Processes that take times and then count: how many there are, and that neither part loses the
//! findings of the other.

use std::collections::BTreeMap;
use std::fs;

use crate::support::replay::{
    ISOLATIONS, METRICS, finished, format_of, of_both, shares_processes, workshop,
};
use crate::support::{FakeGpu, Outcome, Tool, times, with_limit};
use serde_json::Value;

fn tool(gpu: &FakeGpu, more: &[&str], trouble: &str) -> Tool {
    let metrics = METRICS.join(",");
    let common = ["run", "--package", "vector", "scale", "--no-config", "--metrics", &metrics];
    let tool = gpu.tool(&workshop(), &[&common, format_of(more), more].concat());
    tool.env("FAKE_CUPTI_TROUBLE", trouble)
}

fn id(event: &Value) -> String {
    event["id"].as_str().expect("runs have names").to_owned()
}

/// How many timed passes of each configuration are in a run's journal; its last line may be
/// incomplete.
fn timed(id: &str) -> BTreeMap<u64, usize> {
    let text = fs::read_to_string(workshop().run_folder(id).join("journal.jsonl")).expect("kept");
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    let mut timed = BTreeMap::new();
    for line in whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        if line["line"] == "pass" {
            *timed.entry(line["configuration"].as_u64().expect("a number")).or_default() += 1;
        }
    }
    timed
}

/// The measurements that the processes of a run were asked for: times, counters, or both, with how
/// often.
fn asked(outcome: &Outcome) -> BTreeMap<String, usize> {
    let passes = workshop().run_folder(&id(&outcome.events_of("run-started")[0])).join("passes");
    let mut asked = BTreeMap::new();
    for path in fs::read_dir(passes).expect("it is kept").map(|file| file.expect("read").path()) {
        if !path.to_str().is_some_and(|path| path.ends_with(".request.json")) {
            continue;
        }
        let request: Value =
            serde_json::from_slice(&fs::read(path).expect("it is kept")).expect("JSON");
        let kind = |requests: &Value| {
            let counters = &requests.as_array()?.first()?["counters"];
            Some(if counters.is_null() { "times" } else { "counters" })
        };
        let parts = [kind(&request["body"]["measure"]), kind(&request["then"]["measure"])];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            *asked.entry(parts.join(", then ")).or_default() += 1;
        }
    }
    asked
}

#[test]
fn the_process_of_the_last_timed_pass_makes_the_first_counter_pass() {
    // How often each is timed, and in how many processes it is counted.
    for (repeat, mode, steps) in [
        (1, "application", 4),
        (3, "application", 4),
        (1, "range", 1),
        (2, "range", 1),
        (2, "none", 0),
    ] {
        for isolation in ISOLATIONS {
            let more = ["--repeat", &repeat.to_string(), "--replay-mode", mode];
            let gpu = FakeGpu::new();
            let outcome = tool(&gpu, &[&more, isolation].concat(), "").run().exits_with(0);
            let each = if shares_processes(isolation) { 1 } else { 2 };
            let both = if steps == 0 { 0 } else { each };
            let expected = [
                ("counters", each * steps - both),
                ("times", each * repeat - both),
                ("times, then counters", both),
            ];
            let expected = expected.into_iter().filter(|&(_, count)| count > 0);
            let expected = expected.map(|(parts, count)| (parts.to_owned(), count)).collect();
            assert_eq!(asked(&outcome), expected, "{more:?} {isolation:?}");
            assert_eq!(of_both(&outcome), [finished(), finished()]);
        }
    }
}

#[test]
fn no_time_is_taken_after_cupti_has_started() {
    let gpu = FakeGpu::new();
    let tool = tool(&gpu, &["--repeat", "3"], "").env("FAKE_TIMELINE", "2");
    tool.run().exits_with(0);
    let timeline = gpu.timeline();
    let counting = timeline.iter().filter(|happening| happening.what == "counts").count();
    // Whoever takes times takes more than the warm-up of eight: and all that are taken for times
    // come before it.
    let times = times(&timeline);
    assert_eq!((counting, times.len()), (4, 3));
    assert!(times.values().all(|samples| samples.len() > 24), "{times:#?}");
}

#[test]
fn times_are_kept_if_a_process_crashes_while_counting() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let more = [&["--repeat", "2"][..], isolation].concat();
        let outcome = tool(&gpu, &more, "abort pass=0 block=64").run().exits_with(105);
        let [(first, reason), other] = of_both(&outcome);
        assert_eq!((first.as_str(), other), ("failed", finished()), "{reason}");
        let taken = timed(&id(&outcome.events_of("run-started")[0]));
        assert_eq!(taken, BTreeMap::from([(0, 2), (1, 2)]), "{isolation:?}");
        assert_eq!(gpu.survivors(), [0; 0]);
    }
}

#[test]
fn times_are_kept_if_a_process_hangs_while_counting() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let within = |limit: &str| {
            let more = [&["--repeat", "1", "--timeout", limit][..], isolation].concat();
            tool(&gpu, &more, "hang pass=0 block=64").run()
        };
        let fits = |outcome: &Outcome| {
            let [(first, _), other] = of_both(outcome);
            first == "timeout" && other == finished() && !gpu.logged("hangs").is_empty()
        };
        let (seconds, outcome) = with_limit(within, fits);
        let outcome = outcome.exits_with(105);
        let [(_, reason), _] = of_both(&outcome);
        let told = format!("the process ran for {seconds} s and was killed");
        assert!(reason.starts_with(&told), "{reason}");
        let taken = timed(&id(&outcome.events_of("run-started")[0]));
        assert_eq!(taken, BTreeMap::from([(0, 1), (1, 1)]), "{isolation:?}");
    }
}

#[test]
fn times_are_kept_if_the_runner_is_killed_while_counting() {
    for isolation in ISOLATIONS {
        let gpu = FakeGpu::new();
        let more = [&["--repeat", "2"][..], isolation].concat();
        // Both times of the configuration that hangs in its counter pass are on disk by then.
        let times = |id: &str| timed(id).get(&1) == Some(&2);
        let id = gpu.killed(tool(&gpu, &more, "hang pass=0 block=128"), times);
        let outcome = tool(&gpu, &[&more[..], &["--resume", &id]].concat(), "").run().exits_with(0);
        assert_eq!(of_both(&outcome), [finished(), finished()]);
        // Nothing that was timed is timed again.
        let taken = timed(&id);
        assert_eq!(taken, BTreeMap::from([(0, 2), (1, 2)]), "{isolation:?}");
    }
}

#[test]
fn a_dry_run_counts_a_process_that_does_both_once() {
    for (isolation, told) in ISOLATIONS.into_iter().zip([
        "5 processes on a GPU; nothing was started (--dry-run)\n1 of them takes times first, and then makes a counter pass\n",
        "10 processes on a GPU; nothing was started (--dry-run)\n2 of them take times first, and then make a counter pass\n",
        "5 processes on a GPU; nothing was started (--dry-run)\n1 of them takes times first, and then makes a counter pass\n",
    ]) {
        let more = [&["--repeat", "2", "--dry-run"][..], isolation].concat();
        let outcome = tool(&FakeGpu::new(), &more, "").run();
        assert!(outcome.stdout.contains(told), "{outcome:#?}");
    }
}
