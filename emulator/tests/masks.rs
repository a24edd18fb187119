//! Which lanes run together: after early returns, in loops, in switches, at barriers.

use crate::common::Bench;

const KERNELS: &str = include_str!("fixtures/masks.ptx");
const RECORDED: &str = include_str!("fixtures/masks.h200.txt");
const THREADS: usize = 64;
const SLOTS: usize = 8;
const UNWRITTEN: u32 = 0xdead_beef;

/// The output of `masks.py` for one kernel.
fn record(bench: &mut Bench, name: &str) -> Vec<String> {
    let out = bench.upload(&[UNWRITTEN; THREADS * SLOTS]);
    let values = bench.upload(&(0..4 * THREADS as u32).collect::<Vec<_>>());
    bench.launch(name, 1, THREADS as u32, &[&out, &values, &40i32]);
    let words = bench.download(out, THREADS * SLOTS, u32::from_le_bytes);
    let slots = words.chunks_exact(THREADS).enumerate();
    let line = |(slot, words): (usize, &[u32])| {
        let runs = runs(words);
        (!runs.is_empty()).then(|| format!("{name} {slot} {}", runs.join(" ")))
    };
    slots.filter_map(line).collect()
}

fn runs(words: &[u32]) -> Vec<String> {
    let mut start = 0;
    let mut runs = Vec::new();
    for group in words.chunk_by(|a, b| a == b) {
        let end = start + group.len() - 1;
        if group[0] != UNWRITTEN {
            runs.push(format!("{start}-{end}={:08x}", group[0]));
        }
        start = end + 1;
    }
    runs
}

#[test]
fn every_kernel_runs_its_lanes_together_as_the_recorded_hardware() {
    let mut bench = Bench::new(KERNELS);
    let names = KERNELS.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
    let mut wrong = Vec::new();
    for name in names.map(|name| name.trim_end_matches('(')) {
        let prefix = format!("{name} ");
        let recorded: Vec<_> = RECORDED.lines().filter(|line| line.starts_with(&prefix)).collect();
        let emulated = record(&mut bench, name);
        if recorded != emulated {
            wrong.push(format!("recorded {recorded:#?}, emulated {emulated:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The four kernels that were first seen on an H200: every lane reads the mask of all that run.
#[test]
fn a_return_does_not_split_a_warp_that_meets_again() {
    let mut bench = Bench::new(KERNELS);
    for (name, slot, first, second) in [
        ("untaken_return_in_arm", 1, "0-63=ffffffff", None),
        ("untaken_return_before_barrier", 1, "0-63=ffffffff", None),
        ("untaken_return_in_loop", 1, "0-63=ffffffff", None),
        ("guard_before_barrier", 0, "0-31=ffffffff", Some("32-39=000000ff")),
    ] {
        let expected: Vec<&str> = std::iter::once(first).chain(second).collect();
        let line = format!("{name} {slot} {}", expected.join(" "));
        assert!(record(&mut bench, name).contains(&line), "{line}: {:?}", record(&mut bench, name));
    }
}

/// Lanes that go through a loop together are counted once.
#[test]
fn a_return_in_a_loop_does_not_multiply_requests() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0u32; THREADS * SLOTS]);
    let values = bench.upload(&(0..4 * THREADS as u32).collect::<Vec<_>>());
    let args: [&dyn crate::common::Argument; 3] = [&out, &values, &40i32];
    let record = bench.launch("untaken_return_in_loop", 1, THREADS as u32, &args);
    // Two warps, eight times around, two loads each time; two stores after the loop.
    for (op, requests) in [("ld", 2 * 8 * 2), ("st", 2 * 2)] {
        let name = format!("l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum");
        assert_eq!(record.counter(&name), Some(requests), "{name}");
    }
}
