//! Estimated times, as far as no constant decides them.

use crate::common::Bench;
use gpuprof_emulator::device::{Device, LaunchRecord};
use gpuprof_emulator::timing::{Estimate, Limit};

/// `copy`: a word of each thread. `chain`: 4096 dependent additions of each thread. `uneven`: 2048
/// dependent multiplications, of the first warp after a barrier and of the others before it. `hot`:
/// every thread adds to one word.
const PTX: &str = r"
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.u32 %r5, [%rd4];
    st.global.u32 [%rd5], %r5;
    ret;
}
.visible .entry chain(.param .u64 y)
{
    .reg .pred %p1;
    .reg .b32 %r<3>;
    .reg .b64 %rd1;
    mov.u32 %r1, 0;
    mov.u32 %r2, 1;
$next:
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 4096;
    @%p1 bra $next;
    ld.param.u64 %rd1, [y];
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry uneven(.param .u64 y)
{
    .reg .pred %p<3>;
    .reg .b32 %r<3>;
    .reg .b32 %f1;
    .reg .b64 %rd1;
    mov.u32 %r2, %tid.x;
    mov.f32 %f1, 0f00000000;
    setp.lt.u32 %p2, %r2, 32;
    @%p2 bra $meet;
    mov.u32 %r1, 0;
$before:
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 256;
    @%p1 bra $before;
$meet:
    bar.sync 0;
    @!%p2 bra $end;
    mov.u32 %r1, 0;
$after:
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 256;
    @%p1 bra $after;
$end:
    ld.param.u64 %rd1, [y];
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry hot(.param .u64 y)
{
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [y];
    red.global.add.u32 [%rd1], 1;
    ret;
}
";

fn estimate(launch: &LaunchRecord) -> &Estimate {
    launch.estimate.as_ref().expect("times are estimated")
}

fn copied(words: u32, threads: usize) -> LaunchRecord {
    let mut bench = Bench::with_threads(PTX, threads);
    let data = vec![0u32; words as usize];
    let (x, y) = (bench.upload(&data), bench.upload(&data));
    bench.launch("copy", words / 1024, 1024, &[&x, &y])
}

#[test]
fn an_estimate_does_not_depend_on_the_host() {
    let one = copied(1 << 18, 1);
    for threads in [2, 5] {
        assert_eq!(copied(1 << 18, threads), one);
    }
    let Estimate { duration_ns, low_ns, high_ns, limits, .. } = estimate(&one);
    assert!(low_ns < duration_ns && duration_ns < high_ns, "{one:?}");
    assert!(limits.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{limits:?}");
    assert!(limits.iter().all(|(_, share)| (0.0..=1.0).contains(share)), "{limits:?}");
}

#[test]
fn a_copy_is_limited_by_device_memory_once_it_is_large() {
    let (small, large) = (copied(1 << 12, 2), copied(1 << 22, 2));
    assert_eq!(estimate(&large).limits[0].0, Limit::Dram, "{large:?}");
    assert_ne!(estimate(&small).limits[0].0, Limit::Dram, "{small:?}");
    assert!(estimate(&large).duration_ns > 2.0 * estimate(&small).duration_ns);
}

#[test]
fn a_chain_takes_the_latency_of_its_links() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let launch = bench.launch("chain", 1, 32, &[&y]);
    let estimate = estimate(&launch);
    assert_eq!(estimate.limits[0].0, Limit::Latency, "{launch:?}");
    // The sums depend on each other.
    assert!(estimate.duration_ns > 4096.0 * 4.0 / 1.98, "{launch:?}");
}

#[test]
fn updates_of_one_word_wait_for_each_other() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let launch = bench.launch("hot", 4096, 1024, &[&y]);
    assert_eq!(estimate(&launch).limits[0].0, Limit::Atomics, "{launch:?}");
}

#[test]
fn no_estimate_costs_nothing() {
    let mut device = Device::default().without_estimates();
    let module = device.load(PTX).unwrap();
    let y = device.memory.allocate(4).unwrap();
    let kernel = module.kernel("hot").unwrap().clone();
    let config = gpuprof_emulator::device::LaunchConfig {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
    };
    let launch = device.launch(&kernel, config, &y.to_le_bytes(), 0).unwrap();
    assert_eq!(launch.estimate, None);
}

#[test]
fn a_barrier_costs_the_wait_for_the_slowest_warp() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let nanoseconds = |launch: &LaunchRecord| estimate(launch).duration_ns;
    let alone = nanoseconds(&bench.launch("uneven", 1, 32, &[&y]));
    let waiting = nanoseconds(&bench.launch("uneven", 1, 64, &[&y]));
    assert!(waiting - alone > 2048.0 * 4.0 / 1.98, "{alone} and {waiting}");
}

#[test]
fn independent_warps_hide_the_latency_of_each_other() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let nanoseconds = |launch: &LaunchRecord| estimate(launch).duration_ns;
    let one = nanoseconds(&bench.launch("chain", 1, 32, &[&y]));
    let four = nanoseconds(&bench.launch("chain", 1, 128, &[&y]));
    let many = nanoseconds(&bench.launch("chain", 1, 1024, &[&y]));
    // Each quarter of a multiprocessor has one warp of four, and eight of 32.
    assert!(four < 1.05 * one, "{one} and {four}");
    assert!(many > 3.0 * one && many < 8.0 * one, "{one} and {many}");
}

#[test]
fn waves_of_blocks_follow_each_other() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let nanoseconds = |launch: &LaunchRecord| estimate(launch).duration_ns;
    let mut launch = |blocks: u32| {
        let launched = bench.try_launch("uneven", [blocks, 1, 1], [64, 1, 1], 48 << 10, &[&y]);
        nanoseconds(&launched.unwrap())
    };
    // A multiprocessor holds four blocks with 48 KiB.
    let (one, two) = (launch(528), launch(1056));
    assert!(two > 1.6 * one && two < 2.1 * one, "{one} and {two}");
}
