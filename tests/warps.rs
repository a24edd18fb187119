//! Collective operations of lanes, tiles, warps and blocks, on the emulated driver compared with a
//! host reference, and their instructions.

use crate::support::Archive;
use crate::support::replay::workshop;

/// Configurations of the fixture: exchanges of 6 types, votes, and 5 kernels with their blocks.
const CONFIGURATIONS: usize = 6 * 9 + 10 + 1 + 3 + 10 + 2;

#[test]
fn collective_operations_agree_with_the_host() {
    let arguments = ["run", "--package", "warps", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

#[test]
fn collective_operations_compile_to_their_instructions() {
    let ptx = Archive::ptx(&workshop(), "warps");
    let instructions = [
        "shfl.sync.bfly.b32",
        "shfl.sync.down.b32",
        "shfl.sync.up.b32",
        "shfl.sync.idx.b32",
        "vote.sync.ballot.b32",
        "vote.sync.any.pred",
        "vote.sync.all.pred",
        "vote.sync.uni.pred",
        "match.any.sync.b32",
        "match.any.sync.b64",
        "match.all.sync.b32",
        "match.all.sync.b64",
        "redux.sync.add.s32",
        "redux.sync.min.u32",
        "redux.sync.max.u32",
        "redux.sync.min.s32",
        "redux.sync.max.s32",
        "redux.sync.and.b32",
        "redux.sync.or.b32",
        "redux.sync.xor.b32",
        "bar.warp.sync",
        "activemask.b32",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
    ];
    for instruction in instructions {
        assert!(ptx.contains(instruction), "no `{instruction}`");
    }
    for reduction in ["red.popc", "red.and", "red.or"] {
        let is_it = |line: &str| line.contains("bar") && line.contains(reduction);
        assert!(ptx.lines().any(is_it), "no barrier with `{reduction}`");
    }
}
