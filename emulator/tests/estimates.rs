//! Estimated times, as far as no constant decides them.

use crate::common::{Argument, Bench};
use gpuprof_emulator::device::{Device, LaunchRecord};
use gpuprof_emulator::timing::{Estimate, Limit};

/// `copy`: a word of each thread. `chain`: 4096 dependent additions of each thread. `uneven`: 2048
/// dependent multiplications, of the first warp after a barrier and of the others before it. `hot`:
/// every thread adds to one word; `hot_floats`: the same of floats. `spread`: a word of each
/// thread, `shift` says how far apart. `strided`: a sum of `count` words in a loop. `in_turn`: each
/// block waits for the one before it. `meetings`: `count` barriers, before each of which the first
/// warp adds 32 times. `alone`: 32,768 dependent additions of one block.
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
.visible .entry hot_floats(.param .u64 y)
{
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [y];
    red.global.add.f32 [%rd1], 0f3F800000;
    ret;
}
.visible .entry spread(.param .u64 y, .param .u32 shift)
{
    .reg .b32 %r<7>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [y];
    ld.param.u32 %r5, [shift];
    shl.b32 %r6, %r4, %r5;
    cvt.u64.u32 %rd2, %r6;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}
.visible .entry strided(.param .u64 x, .param .u32 count, .param .u32 step)
{
    .reg .pred %p1;
    .reg .b32 %r<6>;
    .reg .b32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r3, [count];
    ld.param.u32 %r4, [step];
    mov.u32 %r1, 0;
    mov.f32 %f1, 0f00000000;
$load:
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    add.f32 %f1, %f1, %f2;
    add.u32 %r1, %r1, 64;
    setp.lt.u32 %p1, %r1, %r3;
    @%p1 bra $load;
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry in_turn(.param .u64 flags)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [flags];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $go;
$wait:
    ld.volatile.global.u32 %r2, [%rd3+-4];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra $wait;
$go:
    mov.u32 %r3, 1;
    st.volatile.global.u32 [%rd3], %r3;
    ret;
}
.visible .entry meetings(.param .u64 y, .param .u32 count)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd1;
    mov.u32 %r3, %tid.x;
    setp.ge.u32 %p2, %r3, 32;
    ld.param.u32 %r4, [count];
    mov.u32 %r1, 0;
    mov.u32 %r2, 1;
$next:
    @%p2 bra $meet;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
    add.u32 %r2, %r2, %r1;
$meet:
    bar.sync 0;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, %r4;
    @%p1 bra $next;
    ld.param.u64 %rd1, [y];
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry alone(.param .u64 y, .param .u32 block)
{
    .reg .pred %p<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd1;
    mov.u32 %r3, %ctaid.x;
    ld.param.u32 %r4, [block];
    setp.ne.u32 %p2, %r3, %r4;
    @%p2 bra $end;
    mov.u32 %r1, 0;
    mov.u32 %r2, 1;
$next:
    add.u32 %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 32768;
    @%p1 bra $next;
    ld.param.u64 %rd1, [y];
    st.global.u32 [%rd1], %r2;
$end:
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
    let (small, large) = (copied(1 << 12, 2), copied(1 << 25, 2));
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
fn ptxas_merges_updates_of_one_word_in_a_warp_unless_they_sum_floats() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&[0u32]);
    let nanoseconds = |launch: &LaunchRecord| estimate(launch).duration_ns;
    let whole_numbers = nanoseconds(&bench.launch("hot", 512, 1024, &[&y]));
    let floats = nanoseconds(&bench.launch("hot_floats", 512, 1024, &[&y]));
    assert!(floats > 32.0 * whole_numbers, "{whole_numbers} and {floats}");
}

#[test]
fn stores_of_parts_of_sectors_take_longer() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&vec![0u32; 16 << 18]);
    let mut launch = |shift: u32| bench.launch("spread", 1 << 10, 256, &[&y, &shift]);
    let (dense, sparse) = (launch(2), launch(6));
    assert_eq!(estimate(&sparse).limits[0].0, Limit::L2, "{sparse:?}");
    assert!(estimate(&sparse).duration_ns > 2.0 * estimate(&dense).duration_ns);
}

#[test]
fn large_blocks_start_more_slowly() {
    let mut bench = Bench::unchecked(PTX);
    let y = bench.upload(&vec![0u32; 264 << 10]);
    let share = |launch: &LaunchRecord| {
        let of = estimate(launch);
        let found = of.limits.iter().find(|(limit, _)| *limit == Limit::Dispatch);
        found.unwrap().1 * of.duration_ns
    };
    let small = share(&bench.launch("spread", 264, 256, &[&y, &2u32]));
    let large = share(&bench.launch("spread", 264, 1024, &[&y, &2u32]));
    assert!(large > 1.1 * small && large < 1.2 * small, "{small} and {large}");
}

/// A loop whose step is a constant has a known number of iterations, so ptxas unrolls it and loads
/// ahead.
#[test]
fn loads_of_a_loop_with_a_constant_step_overlap() {
    let nanoseconds = |step: &str| {
        let mut bench = Bench::unchecked(&PTX.replace("%r1, 64;", &format!("%r1, {step};")));
        let x = bench.upload(&vec![0f32; 1 << 14]);
        estimate(&bench.launch("strided", 1, 32, &[&x, &(1u32 << 14), &64u32])).duration_ns
    };
    let (constant, variable) = (nanoseconds("64"), nanoseconds("%r4"));
    assert!(variable > 1.9 * constant, "{constant} and {variable}");
}

#[test]
fn blocks_that_wait_for_each_other_run_one_after_another() {
    let mut bench = Bench::unchecked(PTX);
    let flags = bench.upload(&[0u32; 256]);
    let launch = bench.launch("in_turn", 256, 32, &[&flags]);
    assert_eq!(estimate(&launch).limits[0].0, Limit::Latency, "{launch:?}");
    assert!(estimate(&launch).duration_ns > 256.0 * 250.0, "{launch:?}");
}

#[test]
fn fewer_warps_at_once_take_longer_and_the_estimate_knows_its_registers() {
    let estimated = |registers: Option<u32>| {
        let mut bench = Bench::unchecked(&PTX.replace("%r1, 64;", "%r1, %r4;"));
        let x = bench.upload(&vec![0f32; 1 << 11]);
        let kernel = bench.module.kernel("strided").unwrap();
        registers.into_iter().for_each(|registers| kernel.set_registers(registers));
        let arguments: [&dyn Argument; 3] = [&x, &(1u32 << 11), &64u32];
        estimate(&bench.launch("strided", 132 * 32, 32, &arguments)).clone()
    };
    let [unknown, few, many] = [None, Some(32), Some(255)].map(estimated);
    assert!(!unknown.registers_known && few.registers_known && many.registers_known);
    assert_eq!(unknown.duration_ns, few.duration_ns);
    assert!(many.duration_ns > 1.5 * few.duration_ns, "{few:?} and {many:?}");
}

#[test]
fn a_device_without_estimates_gives_none() {
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

#[test]
fn a_long_block_takes_as_long_for_each_barrier_as_a_short_one() {
    // Beyond 16,384 steps of the first warp, the others would meet without it.
    let nanoseconds = |count: u32| {
        let mut bench = Bench::unchecked(PTX);
        let y = bench.upload(&[0u32]);
        let launch = bench.launch("meetings", 1, 128, &[&y, &count]);
        let estimate = estimate(&launch);
        let launch = estimate.limits.iter().find(|of| of.0 == Limit::Launch).expect("it is one").1;
        estimate.duration_ns * (1.0 - launch) / f64::from(count)
    };
    let (short, long) = (nanoseconds(256), nanoseconds(4096));
    assert!((long / short - 1.0).abs() < 0.02, "{short} and {long}");
}

#[test]
fn a_long_block_takes_its_time_next_to_short_blocks() {
    let nanoseconds = |blocks: u32, block: u32| {
        let mut bench = Bench::unchecked(PTX);
        let y = bench.upload(&[0u32]);
        estimate(&bench.launch("alone", blocks, 32, &[&y, &block])).duration_ns
    };
    let alone = nanoseconds(1, 0);
    for (blocks, block) in [(2, 0), (2, 1), (64, 63), (1024, 0)] {
        let others = nanoseconds(blocks, block);
        assert!((others / alone - 1.0).abs() < 0.1, "{blocks}, {block}: {others} and {alone}");
    }
    // It is none of the recorded ones.
    let unknown = nanoseconds(1024, 1023) / alone;
    assert!((0.4..2.0).contains(&unknown), "{unknown}");
}
