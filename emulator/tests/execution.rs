//! Threads that wait for each other: every thread makes progress by itself.

use crate::common::Bench;
use gpuprof_emulator::device::{Device, chip};

const KERNELS: &str = include_str!("fixtures/synchronisation.ptx");

/// `out` after a launch.
fn run(kernel: &str, grid: u32, block: u32) -> Vec<u32> {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0_u32; 8192]);
    bench.launch(kernel, grid, block, &[&out]);
    bench.download(out, 8192, u32::from_le_bytes)
}

fn lanes(value: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(value).collect()
}

#[test]
fn lanes_exchange_in_both_arms_of_a_branch() {
    let expected = lanes(|t| 10 * (t ^ 1) + if t % 2 == 1 { 1 } else { 2 });
    assert_eq!(run("swap_in_both_arms", 1, 32)[..32], expected);
    assert_eq!(run("vote_in_three_arms", 1, 32)[..32], [0xaaaa_aaaa; 32]);
    let expected = lanes(|t| (t + 16) % 32 + 1);
    assert_eq!(run("syncwarp_in_an_arm_and_behind_it", 1, 32)[..32], expected);
}

#[test]
fn tiles_exchange_in_arms_of_their_own() {
    let sum = |lanes: std::ops::Range<u32>| lanes.sum::<u32>();
    let expected = lanes(|t| match t {
        0..16 => sum(0..16),
        16..24 => sum(16..24),
        _ => sum(24..32),
    });
    assert_eq!(run("tiles_in_arms", 1, 32)[..32], expected);
}

#[test]
fn lanes_that_exit_after_work_are_not_waited_for() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0_u32; 64]);
    bench.launch("exchange_after_early_exit", 1, 32, &[&out, &20_u32]);
    let got = bench.download(out, 32, u32::from_le_bytes);
    assert_eq!(got, lanes(|t| if t >= 20 { 7 } else { 0xf_ffff + (t ^ 1) }));
}

#[test]
fn unaligned_barriers_count_threads_in_whatever_arm() {
    let got = run("block_sync_in_both_arms", 1, 96);
    let expected = |t: u32| 95 - t + (t + 1) % 2;
    assert_eq!(got[..96], (0..96).map(expected).collect::<Vec<_>>());
    assert_eq!(run("arrive_in_both_arms", 1, 64)[..32], lanes(|t| 31 - t));
}

#[test]
fn a_lane_waits_for_a_flag_of_another_lane_warp_or_block() {
    let got = run("flag_between_lanes", 1, 32);
    assert_eq!((got[3], got[9], got[20]), (5, 1, 2));
    assert_eq!(run("flag_between_warps", 1, 64)[0], 5);
    let got = run("wait_for_the_next_block", 50, 64);
    assert_eq!(got[..50], (0..50).rev().collect::<Vec<_>>());
}

#[test]
fn every_lane_of_every_block_acquires_a_lock() {
    let got = run("lock", 6, 96);
    assert_eq!((got[0], got[64], got[65]), (1, 0, 6 * 96));
}

#[test]
fn a_barrier_of_the_grid_ends_if_its_blocks_are_resident() {
    assert_eq!(run("grid_barrier", 8, 64)[..512], [8; 512]);
    assert_eq!(run("grid_barrier", 60, 64)[..3840], [60; 3840]);
}

#[test]
fn a_kernel_that_never_ends_on_a_gpu_is_reported_as_endless() {
    // 58 blocks of 1,024 threads are resident on an L4, the fewest of any chip.
    let bench = || {
        let mut device = Device::new(&chip::L4).with_host_threads(2);
        let module = device.load(KERNELS).unwrap();
        Bench { device, module }
    };
    let kernels = [
        ("spin_before_barrier", 1, 64),
        ("spin_before_syncwarp", 1, 32),
        ("lock_that_nobody_releases", 1, 32),
        ("wait_for_a_block_that_is_not_resident", 59, 1024),
    ];
    for (kernel, grid, block) in kernels {
        let mut bench = bench();
        bench.device = std::mem::take(&mut bench.device).with_instruction_limit(50_000);
        let out = bench.upload(&[0_u32; 1024]);
        let fault = bench.fault(kernel, grid, block, &[&out]);
        assert!(fault.contains("it was still running"), "{kernel}: {fault}");
    }
    let mut bench = bench();
    let out = bench.upload(&[0_u32; 1024]);
    bench.launch("wait_for_a_block_that_is_not_resident", 58, 1024, &[&out]);
}

#[test]
fn a_kernel_that_never_ends_names_where_threads_spin_and_wait() {
    let mut bench = Bench::new(KERNELS);
    bench.device = std::mem::take(&mut bench.device).with_instruction_limit(50_000);
    let out = bench.upload(&[0_u32; 1024]);
    let fault = bench.fault("spin_before_barrier", 1, 64, &[&out]);
    let places = "at PTX line 587, block (0,0,0), thread (0,0,0): it was still running; others \
                  were: thread (1,0,0) at PTX line 591, waiting";
    assert!(fault.ends_with(places), "{fault}");
}

#[test]
fn a_deadlock_names_every_place() {
    let mut bench = Bench::new(KERNELS);
    let out = bench.upload(&[0_u32; 64]);
    let fault = bench.fault("deadlock_of_an_exchange_and_a_barrier", 1, 32, &[&out]);
    assert!(fault.contains("deadlock: "), "{fault}");
    let parts = [
        "lanes 0x000000ff of warp 0 wait at a .sync exchange with member mask 0xffffffff for \
         lanes 0xffffff00",
        "lanes 0xffffff00 of warp 0 wait at barrier 0",
    ];
    assert!(parts.iter().all(|part| fault.contains(part)), "{fault}");
}
