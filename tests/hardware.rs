//! The emulated driver against hardware: counters that both have, for every example.
//!
//! `golden/h200-counters.json` has the counters of CUPTI on an NVIDIA H200 (driver 580, CUPTI 13.0,
//! 2026-11-21) for the archive of the examples, by `cargo-gpuprof run --archive-file F
//! --replay-mode range --repeat 1 --metrics NAMES`. It contains only exact counters, so all must be
//! equal, except for changes by ptxas: see [`MERGED`].

use std::collections::BTreeMap;

use crate::support::Workspace;

type Counters = BTreeMap<String, BTreeMap<String, f64>>;

/// How many values the comparison must hold, so that it cannot shrink unseen.
const VALUES: usize = 884;

/// ptxas merges the matrix product's neighbouring shared loads into wider ones, so that hardware
/// has fewer.
const MERGED: [&str; 2] = [
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
];

#[test]
fn every_counter_that_an_h200_has_too_is_equal() {
    let golden: Counters = serde_json::from_str(include_str!("golden/h200-counters.json")).unwrap();
    let arguments = ["run", "--workspace", "--message-format", "json"];
    let outcome = Workspace::repository().gpuprof(&arguments).exits_with(0);
    let (mut compared, mut different) = (0, Vec::new());
    for event in outcome.events_of("configuration-finished") {
        let kernel = event["series"]["kernel"].as_str().unwrap();
        let key = format!("{kernel}/{}", event["configuration"].as_str().unwrap());
        for (name, hardware) in golden.get(&key).into_iter().flatten() {
            let emulated = event["metrics"][name]["value"].as_f64();
            compared += 1;
            let merged = kernel == "matmul" && MERGED.contains(&name.as_str());
            let agrees =
                if merged { emulated > Some(*hardware) } else { emulated == Some(*hardware) };
            if !agrees {
                different.push(format!("{key} {name}: emulated {emulated:?}, H200 {hardware}"));
            }
        }
    }
    assert_eq!(different, [""; 0]);
    assert_eq!(compared, VALUES);
}
