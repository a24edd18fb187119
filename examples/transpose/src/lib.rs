//! A matrix transpose in three versions: the cost of access patterns, in exact counts.
//!
//! - [`transpose_naive`] reads rows and writes columns, so a warp's store touches 32 sectors, not
//!   4.
//! - [`transpose_shared`] transposes a tile in shared memory, so both global accesses are rows; but
//!   the 32 lanes that read a column of the tile all hit the same bank.
//! - [`transpose_padded`] adds one element to each row of the tile. A column is now in 32
//!   different banks, and the conflicts are gone.
//!
//! ```text
//! cargo gpuprof run --package transpose
//! ```
//!
//! Compare the three tables: `store_sectors_per_request` is 32, 4 and 4, and `bank_conflicts` is 0,
//! 1,015,808 and 0. A block is 32 threads wide and as high as the series says; it covers a tile of
//! 32 by 32 in steps of its height.

use gpuprof::prelude::*;

/// Rows and columns of a tile.
const TILE: u32 = 32;

/// Elements from one row of the tile to the next, without and with padding.
const ROW: u32 = TILE;
const PADDED_ROW: u32 = TILE + 1;

/// y ← xᵀ, straight from global to global memory
#[gpuprof::kernel(
    series(block = 32x4, 32x8, 32x16, 32x32, n = [1K]),
    grid = (n.div_ceil(u64::from(TILE)), n.div_ceil(u64::from(TILE))),
    args(n, random(n * n), zeros(n * n)),
    bytes = 8 * n * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every store_sectors_per_request <= 32"),
    verify = transpose_on_host,
)]
pub unsafe fn transpose_naive(n: u32, x: *const f32, y: *mut f32) {
    let column = block::x() * TILE + thread::x();
    let mut row = block::y() * TILE + thread::y();
    let end = n.min((block::y() + 1) * TILE);
    while row < end {
        if column < n {
            // SAFETY: both matrices are `n` by `n`, and only this thread writes this element.
            unsafe { *y.add((column * n + row) as usize) = *x.add((row * n + column) as usize) };
        }
        row += block::dim_y();
    }
}

/// y ← xᵀ through a tile in shared memory
#[gpuprof::kernel(
    series(block = 32x4, 32x8, 32x16, 32x32, n = [1K]),
    grid = (n.div_ceil(u64::from(TILE)), n.div_ceil(u64::from(TILE))),
    args(n, random(n * n), zeros(n * n)),
    bytes = 8 * n * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every store_sectors_per_request <= 4"),
    verify = transpose_on_host,
)]
pub unsafe fn transpose_shared(n: u32, x: *const f32, y: *mut f32) {
    let tile = shared!([f32; (TILE * ROW) as usize]);
    // SAFETY: the kernel's contract is this function's, and `tile` holds `TILE` rows of `ROW`.
    unsafe { transpose_through(tile, ROW, n, x, y) };
}

/// y ← xᵀ through a tile with rows padded by one element
#[gpuprof::kernel(
    series(block = 32x4, 32x8, 32x16, 32x32, n = [1K]),
    grid = (n.div_ceil(u64::from(TILE)), n.div_ceil(u64::from(TILE))),
    args(n, random(n * n), zeros(n * n)),
    bytes = 8 * n * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request, bank_conflicts),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every store_sectors_per_request <= 4"),
    threshold("every bank_conflicts == 0"),
    verify = transpose_on_host,
)]
pub unsafe fn transpose_padded(n: u32, x: *const f32, y: *mut f32) {
    let tile = shared!([f32; (TILE * PADDED_ROW) as usize]);
    // SAFETY: the kernel's contract is this function's, and `tile` holds `TILE` rows of
    // `PADDED_ROW`.
    unsafe { transpose_through(tile, PADDED_ROW, n, x, y) };
}

/// Transposes the block's tile: rows of `x` into `tile`, columns of `tile` into rows of `y`.
///
/// # Safety
/// `x` and `y` are `n` by `n`, and `tile` holds `TILE` rows of `row_length`.
#[inline(always)]
unsafe fn transpose_through(
    tile: Shared<f32>,
    row_length: u32,
    n: u32,
    x: *const f32,
    y: *mut f32,
) {
    let (from_column, from_row) = (block::x() * TILE, block::y() * TILE);
    let lane = thread::x();

    let mut row = thread::y();
    while row < TILE {
        if from_row + row < n && from_column + lane < n {
            let from = (from_row + row) * n + from_column + lane;
            // SAFETY: `x` is `n` by `n`; each thread writes its own elements.
            unsafe { tile.write(row * row_length + lane, *x.add(from as usize)) };
        }
        row += block::dim_y();
    }
    block::sync();

    let mut row = thread::y();
    while row < TILE {
        if from_column + row < n && from_row + lane < n {
            let to = (from_column + row) * n + from_row + lane;
            // SAFETY: the element was written before the barrier, and `y` is `n` by `n`.
            unsafe { *y.add(to as usize) = tile.read(lane * row_length + row) };
        }
        row += block::dim_y();
    }
}

/// The expected `y`.
fn transpose_on_host(n: u32, x: &[f32], y: &mut [f32]) {
    let n = n as usize;
    for row in 0..n {
        for column in 0..n {
            y[column * n + row] = x[row * n + column];
        }
    }
}
