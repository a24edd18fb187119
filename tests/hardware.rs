//! The emulated driver against hardware: counters that both have, for every example.
//!
//! `golden/h200-counters.json` has the counters of CUPTI on an NVIDIA H200 (driver 580, CUPTI 13.0,
//! 2026-11-21) for the archive of the examples, by `cargo-gpuprof run --archive-file F
//! --replay-mode range --repeat 1 --metrics NAMES`. It contains only exact counters, so all that
//! the emulator claims must be equal.

use std::collections::BTreeMap;

use crate::support::Workspace;

type Counters = BTreeMap<String, BTreeMap<String, f64>>;

/// How many values the comparison must hold, so that it cannot shrink unseen.
const VALUES: usize = 884;

/// At most so many of them may be unavailable because ptxas changes the accesses.
const UNCLAIMED: usize = 9;

#[test]
fn counters_equal_those_of_an_h200() {
    let golden: Counters = serde_json::from_str(include_str!("golden/h200-counters.json")).unwrap();
    let arguments = ["run", "--workspace", "--message-format", "json"];
    let outcome = Workspace::repository().gpuprof(&arguments).exits_with(0);
    let (mut compared, mut unclaimed, mut different) = (0, 0, Vec::new());
    for event in outcome.events_of("configuration-finished") {
        let kernel = event["series"]["kernel"].as_str().unwrap();
        let key = format!("{kernel}/{}", event["configuration"].as_str().unwrap());
        for (name, hardware) in golden.get(&key).into_iter().flatten() {
            let metric = &event["metrics"][name];
            let reason = metric["unavailable"].as_str().unwrap_or_default();
            let emulated = metric["value"].as_f64();
            compared += 1;
            if reason.starts_with("the emulator cannot count it as a GPU does") {
                unclaimed += 1;
                println!("{key} {name}: {reason}");
            } else if emulated != Some(*hardware) {
                different.push(format!("{key} {name}: emulated {emulated:?}, H200 {hardware}"));
            }
        }
    }
    assert_eq!(different, [""; 0]);
    assert_eq!(compared, VALUES);
    assert!(unclaimed <= UNCLAIMED, "{unclaimed} of {VALUES} are not claimed");
}
