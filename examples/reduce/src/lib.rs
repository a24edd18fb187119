//! The sum of a vector: reduce in registers, then across the warp, then across the block.
//!
//! Each thread sums elements in a grid-stride loop, so a warp always reads neighbours. Five
//! shuffles add up a warp's 32 sums, shared memory holds one sum per warp, and one atomic per block
//! adds the block's sum to the result.
//!
//! ```text
//! cargo gpuprof run --package reduce
//! ```
//!
//! Look at `global_reduction_requests`, the atomics: it falls from 2,048 with blocks of 64 threads
//! to 128 with blocks of 1,024, while every load still touches 4 sectors and no shared access has a
//! bank conflict.

use gpuprof::prelude::*;

/// Elements that one thread sums.
const ELEMENTS_PER_THREAD: u64 = 8;

/// Maximum number of warps in a block.
const MAX_WARPS: usize = 32;

/// *sum ← *sum + Σ x
///
/// A block must consist of whole warps.
#[gpuprof::kernel(
    series(block = 64..=1024, n = [1M]),
    grid = n.div_ceil(block * ELEMENTS_PER_THREAD),
    args(n, random(n), zeros(1)),
    bytes = 4 * n,
    flops = n,
    metrics(throughput, load_sectors_per_request, bank_conflicts, global_reduction_requests),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every bank_conflicts == 0"),
    verify = sum_on_host,
    tolerance = 1e-4,
)]
pub unsafe fn reduce(n: u32, x: *const f32, sum: *mut f32) {
    let warp_sums = shared!([f32; MAX_WARPS]);
    let mut thread_sum = 0.0;
    let mut i = thread::global_x();
    while i < n {
        // SAFETY: `x` holds `n` elements.
        thread_sum += unsafe { *x.add(i as usize) };
        i += block::dim_x() * grid::dim_x();
    }

    let warp_sum = warp_reduce_sum(thread_sum);
    if thread::lane() == 0 {
        // SAFETY: each warp writes its own element, and a block has at most `MAX_WARPS`.
        unsafe { warp_sums.write(thread::warp(), warp_sum) };
    }
    block::sync();

    if thread::warp() == 0 {
        let warps = block::dim_x() / warp::SIZE;
        let lane = thread::lane();
        // SAFETY: the first `warps` elements were written before the barrier.
        let lane_sum = if lane < warps { unsafe { warp_sums.read(lane) } } else { 0.0 };
        let block_sum = warp_reduce_sum(lane_sum);
        if lane == 0 {
            // SAFETY: `sum` holds one element, which blocks access with atomics only.
            unsafe { atomic::add(sum, block_sum) };
        }
    }
}

/// The sum of `value` over the warp, in every lane: a butterfly of 5 shuffles.
fn warp_reduce_sum(mut value: f32) -> f32 {
    let mut distance = warp::SIZE / 2;
    while distance > 0 {
        value += warp::shuffle_xor(value, distance);
        distance /= 2;
    }
    value
}

/// The expected `sum`, computed in 64 bits to be the more accurate of the two.
fn sum_on_host(_n: u32, x: &[f32], sum: &mut [f32]) {
    sum[0] += x.iter().map(|&x| f64::from(x)).sum::<f64>() as f32;
}
