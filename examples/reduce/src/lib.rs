//! The sum of a vector: threads, then warps, then the block, then one atomic a block.
//!
//! Each thread sums elements that lie a grid apart, so that a warp always reads neighbours. A
//! warp's 32 sums meet in 5 shuffles, the block's warps meet in shared memory, and the block adds
//! its sum to the result once. The series shows what larger blocks save: fewer blocks, fewer
//! atomics, the same reads.

use gpuprof::prelude::*;

/// Elements that one thread sums.
const ELEMENTS_PER_THREAD: u64 = 8;

/// The most warps a block can have.
const MAX_WARPS: usize = 32;

/// *sum ← *sum + Σ x
///
/// A block is whole warps.
#[gpuprof::kernel(
    series(block = 64..1024, n = [1M]),
    grid = n.div_ceil(block * ELEMENTS_PER_THREAD),
    args(n, random(n), zeros(1)),
    bytes = 4 * n,
    flops = n,
    metrics(throughput, load_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every bank_conflicts == 0"),
    verify = sum_on_host,
    tolerance = 1e-4,
)]
pub unsafe fn reduce(n: u32, x: *const f32, sum: *mut f32) {
    let warp_sums = shared!([f32; MAX_WARPS]);
    let mut own = 0.0;
    let mut i = thread::global_x();
    while i < n {
        // SAFETY: `x` holds `n` elements.
        own += unsafe { *x.add(i as usize) };
        i += block::dim_x() * grid::dim_x();
    }

    let of_warp = sum_of_warp(own);
    if thread::lane() == 0 {
        // SAFETY: each warp writes its own element, and a block has at most `MAX_WARPS`.
        unsafe { warp_sums.write(thread::warp(), of_warp) };
    }
    block::sync();

    if thread::warp() == 0 {
        let warps = block::dim_x() / warp::SIZE;
        let lane = thread::lane();
        // SAFETY: the first `warps` elements were written before the barrier.
        let of_lane = if lane < warps { unsafe { warp_sums.read(lane) } } else { 0.0 };
        let of_block = sum_of_warp(of_lane);
        if lane == 0 {
            // SAFETY: `sum` holds one element, which blocks access with atomics only.
            unsafe { atomic::add(sum, of_block) };
        }
    }
}

/// The sum of `value` over the warp, in every lane.
fn sum_of_warp(mut value: f32) -> f32 {
    let mut distance = warp::SIZE / 2;
    while distance > 0 {
        value += warp::shuffle_xor(value, distance);
        distance /= 2;
    }
    value
}

/// What the kernel must leave in `sum`; in 64 bits, so that it is the better of the two.
fn sum_on_host(_n: u32, x: &[f32], sum: &mut [f32]) {
    sum[0] += x.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
}
