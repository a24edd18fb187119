//! Kernels of a public suite, ported by the book's table from CUDA C++: on the emulated driver
//! against host functions of our own.

use std::collections::BTreeSet;

use crate::support::replay::workshop;

/// Configurations of the ten kernels.
const CONFIGURATIONS: usize = 23;

#[test]
fn ten_kernels_of_rodinia_agree_with_the_host() {
    let run = ["run", "--package", "ported", "--message-format", "json"];
    let run = workshop().gpuprof(&run).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    for row in &rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
    let kernels: BTreeSet<&str> =
        rows.iter().filter_map(|row| row["series"]["kernel"].as_str()).collect();
    assert_eq!(kernels.len(), 10, "{kernels:?}");
}
