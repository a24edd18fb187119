//! How long large series take to plan, and how much memory: the figures of docs/claims.md.
//!
//!     cargo bench --package gpuprof-engine --bench plan [NAME]
//!
//! Without a name every series is planned; memory is the process' peak so far, so ask for one at a
//! time.

use std::time::Instant;

use gpuprof_engine::plan::{Selection, plan};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::{SeriesId, Space};

/// Name, clauses, and how many to sample.
const SERIES: [(&str, &[&str], Option<usize>); 5] = [
    ("one-axis", &["n = 1..100000 step 1"], None),
    (
        "four-axes",
        &[
            "block = 1..50 step 1",
            "n = 1..50 step 1",
            "unroll = 1..10 step 1",
            "dtype = f16,f32,f64,i32",
        ],
        None,
    ),
    (
        "derived",
        &["a = 1..1000 step 1", "b = 1..100 step 1", "threads = a * b", "half = threads / 2"],
        None,
    ),
    (
        "where",
        &[
            "a = 1..1000 step 1",
            "b = 1..1000 step 1",
            "c = 1..100 step 1",
            "where a==b",
            "where c<=a",
        ],
        None,
    ),
    (
        "sample",
        &["a = 1..100000 step 1", "b = 1..100000 step 1", "c = 1..1000 step 1", "where a<=b"],
        Some(100_000),
    ),
];

fn main() {
    let chosen = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for (name, clauses, sample) in SERIES {
        if chosen.as_ref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let start = Instant::now();
        let selection = Selection { sample, ..Selection::default() };
        let planned =
            plan([(0, described(clauses))], &selection).expect("the series can be planned");
        let seconds = start.elapsed().as_secs_f64();
        let (count, peak) = (planned[0].configurations.len(), peak_megabytes());
        println!("{name:9}  {count:>6} configurations  {seconds:.3} s  peak {peak} MB");
    }
}

fn described(clauses: &[&str]) -> SeriesDescription {
    SeriesDescription {
        id: SeriesId::new("p", "t", "k"),
        source_package: "p".into(),
        source_folder: "/p".into(),
        file: "src/lib.rs".into(),
        line: 1,
        path: String::new(),
        docs: String::new(),
        space: Space::from_clauses(clauses).expect("the clauses are right"),
        old_ranges: Vec::new(),
        thresholds: Vec::new(),
        metrics: Vec::new(),
        check: None,
        device_function: true,
        declared: None,
        launches: Default::default(),
        declared_launches: Vec::new(),
    }
}

/// The most memory this process ever had resident.
fn peak_megabytes() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kilobytes.map_or_else(|| "?".to_owned(), |kilobytes| (kilobytes / 1024).to_string())
}
