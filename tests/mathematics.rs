//! Every function of floats in a kernel, on the emulated driver: the bits that the same arithmetic
//! gives on the host, as on the H200 (`docs/claims.md`).

use crate::support::replay::workshop;

/// Functions of one and two arguments, for `f32` and `f64`.
const FUNCTIONS: usize = 27 * 2;

#[test]
fn every_function_computes_the_bits_that_the_host_computes() {
    let selection =
        ["_f", "--package", "mathematics", "--series", "n=512", "--series", "offset=0,85"];
    let run = workshop()
        .gpuprof(&[&["run", "--message-format", "json"], &selection[..]].concat())
        .exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), 2 * FUNCTIONS);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

#[test]
fn every_function_of_a_half_computes_the_bits_that_the_host_computes() {
    let run = workshop()
        .gpuprof(&["run", "halves", "--package", "mathematics", "--message-format", "json"])
        .exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), 2, "f16 and bf16");
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}
