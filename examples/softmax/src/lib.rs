//! The softmax of every row of a matrix: each row is read once and written once.
//!
//! A block takes a row and keeps it in registers, one or two vectors of four elements a thread.
//! With more of them LLVM does not unroll the loops, and the row would lie in local memory. The
//! largest element and the sum of the exponentials go through shuffles and one value a warp in
//! shared memory.
//!
//! ```text
//! cargo gpuprof run --package softmax
//! ```
//!
//! Look at `load_sectors_per_request` and `store_sectors_per_request`: a warp moves 512 bytes with
//! one instruction, which are 16 sectors, and no shared access has a bank conflict. On a GPU,
//! `throughput` shows which of the two shapes hides more of the memory's latency.

use gpuprof::prelude::*;

/// Maximum number of warps in a block.
const MAX_WARPS: usize = 32;

/// y ← the softmax of each row of x, of 4,096 elements
#[gpuprof::kernel(
    series(
        block = [512, 1024],
        const VECTORS = [1, 2],
        rows = [256],
        where block * VECTORS == 1024,
    ),
    grid = rows,
    args(random_in(1024 * rows, -8.0..8.0), zeros(1024 * rows)),
    bytes = 2 * 4 * 4096 * rows,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 16"),
    threshold("every store_sectors_per_request <= 16"),
    threshold("every bank_conflicts == 0"),
    verify = softmax_on_host,
)]
pub unsafe fn softmax<const VECTORS: usize>(x: &[f32x4], mut y: DisjointSlice<f32x4>) {
    let size = block::dim_x() as usize;
    let first = block::x() as usize * (VECTORS * size) + thread::x() as usize;

    let mut row = [f32x4::splat(0.0); VECTORS];
    let mut largest = f32::NEG_INFINITY;
    for (v, vector) in row.iter_mut().enumerate() {
        *vector = x[first + v * size];
        largest = vector.to_array().into_iter().fold(largest, f32::max);
    }
    let largest = of_block(largest, f32::NEG_INFINITY, f32::max);

    let mut sum = 0.0;
    for vector in &mut row {
        *vector = vector.map(|x| (x - largest).exp());
        sum += vector.to_array().into_iter().sum::<f32>();
    }
    let factor = of_block(sum, 0.0, |a, b| a + b).recip();

    for (v, vector) in row.into_iter().enumerate() {
        // SAFETY: the element is this thread's: a block has a row, and each thread every so
        // manieth vector of it.
        unsafe { y.write(first + v * size, vector * factor) };
    }
}

/// Combines the values of all threads of the block by `both`, in every thread; `neutral` changes
/// nothing. A block must consist of whole warps.
fn of_block(value: f32, neutral: f32, both: impl Fn(f32, f32) -> f32) -> f32 {
    let of_warp = |mut value: f32| {
        let mut distance = warp::SIZE / 2;
        while distance > 0 {
            value = both(value, warp::shuffle_xor(value, distance));
            distance /= 2;
        }
        value
    };
    let warps = shared!([f32; MAX_WARPS]);
    let value = of_warp(value);
    // What was there before has been read.
    block::sync();
    if thread::lane() == 0 {
        // SAFETY: each warp writes its own element, and a block has at most `MAX_WARPS`.
        unsafe { warps.write(thread::warp(), value) };
    }
    block::sync();
    let lane = thread::lane();
    let warps_of_block = block::dim_x() / warp::SIZE;
    // SAFETY: as many elements were written before the barrier as the block has warps.
    let value = if lane < warps_of_block { unsafe { warps.read(lane) } } else { neutral };
    of_warp(value)
}

/// The expected `y`, computed in 64 bits to be the more accurate of the two.
#[gpuprof::host]
fn softmax_on_host(x: &[f32x4], y: &mut [f32x4]) {
    for (x, y) in x.chunks(1024).zip(y.chunks_mut(1024)) {
        let values = || x.iter().flat_map(|vector| vector.to_array());
        let largest = f64::from(values().fold(f32::NEG_INFINITY, f32::max));
        let exp = |x: f32| (f64::from(x) - largest).exp();
        let sum: f64 = values().map(exp).sum();
        for (x, y) in x.iter().zip(y) {
            *y = x.map(|x| (exp(x) / sum) as f32);
        }
    }
}
