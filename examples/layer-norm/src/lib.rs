//! Layer normalisation of rows of half precision: each row is read once and written once.
//!
//! A block takes a row and keeps it in registers, one or two vectors of eight halves a thread,
//! which are 16 bytes each. With more of them LLVM does not unroll the loops, and the row would lie
//! in local memory. Mean and variance are computed in single precision, the variance from the
//! distances to the mean: from the mean of the squares it would lose its bits where the mean is
//! large.
//!
//! ```text
//! cargo gpuprof run --package layer-norm
//! ```
//!
//! Look at `load_sectors_per_request`: a warp loads 512 bytes with one instruction, which are 16
//! sectors. Loads of single halves would need eight instructions of 2 sectors each for that.

use gpuprof::prelude::*;

/// Maximum number of warps in a block.
const MAX_WARPS: usize = 32;

/// Elements of a row.
const COLUMNS: f32 = 4096.0;

/// What is added to the variance, so that a constant row is not divided by 0.
const EPSILON: f32 = 1e-5;

/// y ← (x − mean) ÷ deviation × scale + shift, for each row of 4,096 elements
#[gpuprof::kernel(
    series(
        block = [256, 512],
        const VECTORS = [1, 2],
        rows = [256],
        where block * VECTORS == 512,
    ),
    grid = rows,
    args(random_in(512 * rows, -4.0..8.0), random(512), random_in(512, -1.0..1.0), zeros(512 * rows)),
    bytes = 2 * 2 * 4096 * rows,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 16"),
    threshold("every store_sectors_per_request <= 16"),
    threshold("every bank_conflicts == 0"),
    verify = layer_norm_on_host,
    tolerance = 4e-3,
)]
pub unsafe fn layer_norm<const VECTORS: usize>(
    x: &[f16x8],
    scale: &[f16x8],
    shift: &[f16x8],
    mut y: DisjointSlice<f16x8>,
) {
    let size = block::dim_x() as usize;
    let within = thread::x() as usize;
    let first = block::x() as usize * (VECTORS * size) + within;

    let mut row = [f16x8::splat(f16::ZERO); VECTORS];
    let mut sum = 0.0;
    for (v, vector) in row.iter_mut().enumerate() {
        *vector = x[first + v * size];
        sum += vector.to_array().into_iter().map(f32::from).sum::<f32>();
    }
    let mean = sum_of_block(sum) / COLUMNS;

    let mut squares = 0.0;
    for vector in &row {
        let square = |x: f16| (x.to_f32() - mean) * (x.to_f32() - mean);
        squares += vector.to_array().into_iter().map(square).sum::<f32>();
    }
    let factor = (sum_of_block(squares) / COLUMNS + EPSILON).sqrt().recip();

    for (v, vector) in row.into_iter().enumerate() {
        let (scale, shift) = (scale[within + v * size], shift[within + v * size]);
        let normalised = core::array::from_fn(|lane| {
            let x = (vector[lane].to_f32() - mean) * factor;
            f16::from_f32(x.mul_add(scale[lane].to_f32(), shift[lane].to_f32()))
        });
        // SAFETY: the element is this thread's: a block has a row, and each thread every so
        // manieth vector of it.
        unsafe { y.write(first + v * size, f16x8::from_array(normalised)) };
    }
}

/// The sum of the values of all threads of the block, in every thread. A block must consist of
/// whole warps.
fn sum_of_block(value: f32) -> f32 {
    let warps = shared!([f32; MAX_WARPS]);
    let value = sum_of_warp(value);
    // What was there before has been read.
    block::sync();
    if thread::lane() == 0 {
        // SAFETY: each warp writes its own element, and a block has at most `MAX_WARPS`.
        unsafe { warps.write(thread::warp(), value) };
    }
    block::sync();
    let lane = thread::lane();
    // SAFETY: as many elements were written before the barrier as the block has warps.
    let value = if lane < block::dim_x() / warp::SIZE { unsafe { warps.read(lane) } } else { 0.0 };
    sum_of_warp(value)
}

/// The sum of `value` over the warp, in every lane: a butterfly of 5 shuffles.
fn sum_of_warp(mut value: f32) -> f32 {
    let mut distance = warp::SIZE / 2;
    while distance > 0 {
        value += warp::shuffle_xor(value, distance);
        distance /= 2;
    }
    value
}

/// The expected `y`, computed in 64 bits to be the more accurate of the two.
#[gpuprof::host]
fn layer_norm_on_host(x: &[f16x8], scale: &[f16x8], shift: &[f16x8], y: &mut [f16x8]) {
    for (x, y) in x.chunks(512).zip(y.chunks_mut(512)) {
        let values = || x.iter().flat_map(|vector| vector.to_array()).map(f64::from);
        let mean = values().sum::<f64>() / f64::from(COLUMNS);
        let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(COLUMNS);
        let factor = (variance + f64::from(EPSILON)).sqrt().recip();
        for (at, (x, y)) in x.iter().zip(y).enumerate() {
            *y = f16x8::from_array(core::array::from_fn(|lane| {
                let (scale, shift) = (scale[at][lane].to_f64(), shift[at][lane].to_f64());
                f16::from_f64((x[lane].to_f64() - mean) * factor * scale + shift)
            }));
        }
    }
}
