//! An unstable time, as the table shows it.

use gpuprof_analysis::fixture::{
    SLOWED, finished, h200, held_and_slowed, pass_slowed, point, series,
};
use gpuprof_analysis::view::View;
use gpuprof_model::machine::Backend;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SCHEMA_VERSION};

use super::{Report, Table};

const N: u64 = 1 << 20;

fn table(rows: Vec<ConfigurationResult>) -> String {
    let run = Run {
        schema_version: SCHEMA_VERSION,
        id: "now".into(),
        provenance: Provenance {
            backend: Backend::Cuda,
            device: Some(h200()),
            ..Provenance::default()
        },
        series: vec![series(rows)],
        comparison: None,
        conclusion: None,
        advice: Vec::new(),
    };
    let mut text = Vec::new();
    let view = View { verbose: true, ..View::default() };
    Table { colour: false, width: None }.write_as(&view, &run, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn retaken_samples_are_reported() {
    let mut slowed = pass_slowed(64, N, false);
    slowed.timing.as_mut().unwrap().discarded = 16;
    let text = table(vec![finished(point(64, N), &[slowed, pass_slowed(64, N, false)])]);
    let note = text.lines().find(|line| line.trim_start().starts_with("slowed ")).unwrap();
    assert!(note.contains("16 samples were discarded and retaken"), "{text}");
    assert!(!table(held_and_slowed(N)).contains("slowed  "), "the unstable one says so itself");
}

#[test]
fn the_table_marks_unstable_rows_with_the_reason() {
    let text = table(held_and_slowed(N));
    let row = text.lines().find(|line| line.trim_start().starts_with("128 ")).unwrap();
    assert!(row.contains("unstable"), "{text}");
    let note = text.lines().find(|line| line.trim_start().starts_with("unstable ")).unwrap();
    assert!(note.contains("duration at block=128,n=1048576") && note.contains(SLOWED), "{text}");
}
