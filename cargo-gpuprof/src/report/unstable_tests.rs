//! A time that could not be told, as the table shows it.

use gpuprof_analysis::fixture::finished;
use gpuprof_analysis::fixture::{gpu_pass, h200, point, series};
use gpuprof_model::measurement::PassResult;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SCHEMA_VERSION};

use super::{Report, Table};

const N: u64 = 1 << 20;
const REASON: &str = "the GPU was slowed down by its temperature";

fn pass(block: u64, unstable: bool) -> PassResult {
    let mut pass = gpu_pass(block, N, &[1000.0, 1010.0]);
    if let Some(timing) = pass.timing.as_mut().filter(|_| unstable) {
        timing.discarded = 64;
        timing.unstable = Some(REASON.to_owned());
    }
    pass
}

/// `block=64` held still; one of the two processes of `block=128` did not.
fn rows() -> Vec<ConfigurationResult> {
    let steady = finished(point(64, N), &[pass(64, false), pass(64, false)]);
    vec![steady, finished(point(128, N), &[pass(128, false), pass(128, true)])]
}

fn table(rows: Vec<ConfigurationResult>) -> String {
    let run = Run {
        schema_version: SCHEMA_VERSION,
        id: "now".into(),
        provenance: Provenance {
            backend: "cuda".into(),
            device: Some(h200()),
            ..Provenance::default()
        },
        series: vec![series(rows)],
        comparison: None,
    };
    let mut text = Vec::new();
    Table { colour: false, width: None }.write(&run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn samples_that_were_taken_again_are_told() {
    let mut slowed = pass(64, false);
    slowed.timing.as_mut().unwrap().discarded = 16;
    let text = table(vec![finished(point(64, N), &[slowed, pass(64, false)])]);
    let note = text.lines().find(|line| line.trim_start().starts_with("slowed ")).unwrap();
    assert!(note.contains("16 samples were discarded and taken again"), "{text}");
    assert!(!table(rows()).contains("slowed  "), "the unstable one says so itself");
}

#[test]
fn the_table_says_the_word_and_the_reason() {
    let text = table(rows());
    let row = text.lines().find(|line| line.trim_start().starts_with("128 ")).unwrap();
    assert!(row.contains("unstable"), "{text}");
    let note = text.lines().find(|line| line.trim_start().starts_with("unstable ")).unwrap();
    assert!(note.contains("duration at block=128,n=1048576") && note.contains(REASON), "{text}");
}
