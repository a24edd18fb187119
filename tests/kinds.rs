//! Kinds decide, not words: the same failures in other words lead to the same retries, verdicts and
//! exit codes.
//!
//! The harness of the fixture `scripted` fails in every way of the protocol, in plain words, in
//! garbled ones, and in words that claim to be every other failure.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{Outcome, Workspace};

const VOICES: [&str; 3] = ["plain", "garbled", "lying"];

/// The outcome of a run, without any messages.
#[derive(Debug, PartialEq)]
struct Seen {
    code: Option<i32>,
    statuses: BTreeMap<String, String>,
    verdicts: Vec<Value>,
    virtual_gpu: Value,
    /// The requests of every process, in order.
    asked: Vec<String>,
    /// Whether the run says that something was retried.
    tells_of_retries: bool,
}

impl Seen {
    fn of(outcome: &Outcome, log: &str) -> Self {
        let rows = outcome.events_of("configuration-finished");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let case = |row: &Value| text(&row["configuration"]).replace("case=", "");
        let status = |row: &Value| (case(row), text(&row["status"]));
        let judged = outcome.events_of("threshold-judged");
        let ended = outcome.events_of("run-finished");
        let device = |end: &Value| end["provenance"]["device"]["virtual_gpu"].clone();
        Self {
            code: outcome.code,
            statuses: rows.iter().map(status).collect(),
            verdicts: judged.iter().map(|event| event["judgement"]["verdict"].clone()).collect(),
            virtual_gpu: ended.first().map(device).unwrap_or_default(),
            asked: log.lines().map(str::to_owned).collect(),
            tells_of_retries: rows.iter().any(|row| row["retried"].is_string()),
        }
    }
}

/// Plays `scene` in every voice; returns the common outcome, and each run's output.
fn played(scene: &str, more: &[&str]) -> (Seen, Vec<Outcome>) {
    let fixture = Workspace::fixture("scripted");
    let play = |voice: &str| {
        let folder = tempfile::tempdir().unwrap();
        let fixed = ["run", "--message-format", "json", "--repeat", "1", "--ahead", "0"];
        let tool = fixture
            .tool(&[&fixed[..], more].concat())
            .env("GPUPROF_BACKEND", "cuda")
            .env("GPUPROF_LOCK_DIR", folder.path())
            .env("SCRIPT_FOLDER", folder.path())
            .env("SCRIPT_SCENE", scene)
            .env("SCRIPT_VOICE", voice);
        let outcome = tool.run();
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        (Seen::of(&outcome, &log), outcome)
    };
    let (plain, first) = play(VOICES[0]);
    let mut outcomes = vec![first];
    for voice in &VOICES[1..] {
        let (seen, outcome) = play(voice);
        assert_eq!(seen, plain, "{scene}, {voice}: {outcome:#?}");
        outcomes.push(outcome);
    }
    for (outcome, mark) in outcomes[1..].iter().zip(["▒▒▒", "did not become quiet"]) {
        let heard = outcome.stdout.contains(mark) || outcome.stderr.contains(mark);
        assert!(heard, "{scene}: {mark} is not heard: {outcome:#?}");
    }
    (plain, outcomes)
}

fn counts(seen: &Seen, case: &str) -> usize {
    seen.asked.iter().filter(|line| line.split(' ').next() == Some(case)).count()
}

fn statuses(seen: &Seen) -> Vec<(&str, &str)> {
    seen.statuses.iter().map(|(case, status)| (&**case, &**status)).collect()
}

const ENDED: [(&str, &str); 6] = [
    ("broken", "failed"),
    ("exclusive", "finished"),
    ("fine", "finished"),
    ("memory", "finished"),
    ("refused", "invalid"),
    ("unavailable", "finished"),
];

const COUNTER: [&str; 2] = ["--metrics", "smsp__warps_launched.sum"];
const THRESHOLD: [&str; 2] = ["--threshold", "every smsp__warps_launched.sum <= 7"];

#[test]
fn a_retry_follows_from_the_kind_of_failure() {
    let threshold = ["--threshold", "every duration <= 1 s", "--isolate", "configuration"];
    let (seen, _) = played("retries", &threshold);
    assert_eq!(seen.code, Some(105));
    assert_eq!(statuses(&seen), ENDED);
    assert!(seen.tells_of_retries);
    assert!(matches!(&*seen.verdicts, [Value::String(_)]), "{:?}", seen.verdicts);
    for (case, times) in
        [("fine", 1), ("memory", 2), ("unavailable", 2), ("exclusive", 2), ("broken", 1)]
    {
        assert_eq!(counts(&seen, case), times, "{case}: {:?}", seen.asked);
    }
}

#[test]
fn in_a_shared_process_every_failure_is_retried_in_isolation_and_no_refusal() {
    let (seen, _) = played("retries", &["--isolate", "kernel"]);
    assert_eq!(seen.code, Some(105));
    assert_eq!(statuses(&seen), ENDED);
    assert!(counts(&seen, "broken") >= 2 && counts(&seen, "refused") == 1, "{:?}", seen.asked);
}

#[test]
fn denied_counters_are_unavailable_whatever_the_message() {
    for (scene, is_virtual) in [("virtual-gpu", Value::Bool(true)), ("no-counters", Value::Null)] {
        let (seen, _) = played(scene, &[&COUNTER[..], &["--no-gate"]].concat());
        assert_eq!((seen.code, statuses(&seen)), (Some(105), ENDED.to_vec()), "{scene}");
        assert_eq!(seen.virtual_gpu, is_virtual, "{scene}");
        let (seen, outcomes) = played(scene, &THRESHOLD);
        assert_eq!((seen.code, seen.asked.len()), (Some(107), 0), "{scene}");
        assert!(outcomes[0].stderr.contains("thresholds need hardware counters"), "{scene}");
    }
    // Found out in the middle.
    let (seen, _) = played("denied", &THRESHOLD);
    assert_eq!((seen.code, &seen.virtual_gpu), (Some(107), &Value::Bool(true)));
    assert_eq!(statuses(&seen), ENDED);
}

#[test]
fn errors_of_user_and_driver_are_distinguished_whatever_the_message() {
    let (seen, _) = played("unknown-metric", &COUNTER);
    assert_eq!((seen.code, seen.asked.len()), (Some(2), 0));
    let (seen, outcomes) = played("driver-broken", &[]);
    assert_eq!((seen.code, seen.asked.len()), (Some(107), 0));
    for outcome in outcomes {
        assert!(outcome.stderr.contains("reboot after a driver update"), "{}", outcome.stderr);
    }
}
