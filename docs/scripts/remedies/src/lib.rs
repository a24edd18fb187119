//! Kernels with a flaw, each followed by a version with the remedy that a rule of advice names.
//!
//! `docs/scripts/advice-against-remedies.sh` runs them on a GPU and prints, for each pair, the
//! rule's estimate on the flawed kernel and the remedy's gain. A pair `NAME` and `NAME_remedied`
//! does the same work.

use gpuprof::prelude::*;

/// Elements of a row of the matrix that `uncoalesced` reads in columns.
const ROW: u32 = 4096;

/// `rounds` dependent multiplications and additions.
#[inline(always)]
fn work(mut value: f32, rounds: u32) -> f32 {
    for _ in 0..rounds {
        value = value.mul_add(0.999, 0.001);
    }
    value
}

/// Each thread reads another row: 32 sectors for a warp.
#[gpuprof::kernel(
    series(n = [16M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn uncoalesced(n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    let rows = n / ROW;
    let from = (i % rows) * ROW + i / rows;
    // SAFETY: the grid has `n` threads, both buffers hold `n` elements, and `from` is below `n`.
    unsafe { *y.add(i as usize) = *x.add(from as usize) }
}

/// Neighbours read neighbours.
#[gpuprof::kernel(
    series(n = [16M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn uncoalesced_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i as usize) = *x.add(i as usize) }
}

/// The sum of a tile's row in each thread: with a tile of 32 columns all threads meet in one bank.
#[gpuprof::kernel(
    series(n = [4M]), block = 1024, grid = n / 1024, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn conflicts(_n: u32, x: *const f32, y: *mut f32) {
    let tile = shared!([f32; 32 * 32]);
    let (lane, row) = (thread::lane(), thread::warp());
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements; a block has 32 warps, and
    // after the barrier reads its own writes.
    unsafe {
        tile.write(row * 32 + lane, *x.add(i));
        block::sync();
        let mut sum = 0.0;
        for k in 0..32 {
            sum += tile.read(lane * 32 + (row + k) % 32);
        }
        *y.add(i) = sum;
    }
}

/// A column of padding spreads them over all banks.
#[gpuprof::kernel(
    series(n = [4M]), block = 1024, grid = n / 1024, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn conflicts_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let tile = shared!([f32; 32 * 33]);
    let (lane, row) = (thread::lane(), thread::warp());
    let i = thread::global_x() as usize;
    // SAFETY: as in `conflicts`.
    unsafe {
        tile.write(row * 33 + lane, *x.add(i));
        block::sync();
        let mut sum = 0.0;
        for k in 0..32 {
            sum += tile.read(lane * 33 + (row + k) % 32);
        }
        *y.add(i) = sum;
    }
}

/// One thread in eight works for long, and its warp waits for it.
#[gpuprof::kernel(
    series(n = [4M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn divergent(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let rounds = if thread::lane() % 8 == 0 { 1024 } else { 16 };
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), rounds) }
}

/// One warp in eight works for long.
#[gpuprof::kernel(
    series(n = [4M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn divergent_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let rounds = if thread::warp() % 8 == 0 { 1024 } else { 16 };
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), rounds) }
}

/// Sixteen blocks for a device of many more multiprocessors.
#[gpuprof::kernel(
    series(n = [4M]), block = 256, grid = 16, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn small_grid(n: u32, x: *const f32, y: *mut f32) {
    // SAFETY: both buffers hold `n` elements.
    unsafe { strided(n, x, y) }
}

/// Sixteen blocks for each of 132 multiprocessors.
#[gpuprof::kernel(
    series(n = [4M]), block = 256, grid = 2112, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn small_grid_remedied(n: u32, x: *const f32, y: *mut f32) {
    // SAFETY: both buffers hold `n` elements.
    unsafe { strided(n, x, y) }
}

/// All threads of the grid together process `n` elements.
///
/// # Safety
/// Both buffers hold `n` elements.
#[inline(always)]
unsafe fn strided(n: u32, x: *const f32, y: *mut f32) {
    let mut i = thread::global_x();
    while i < n {
        // SAFETY: `i` is below `n`.
        unsafe { *y.add(i as usize) = work(*x.add(i as usize), 64) }
        i += block::dim_x() * grid::dim_x();
    }
}

/// Arithmetic in 64 bits.
#[gpuprof::kernel(
    series(n = [1M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn doubles(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe {
        let start = f64::from(*x.add(i));
        let mut values = [start, start + 1.0, start + 2.0, start + 3.0];
        for _ in 0..512 {
            for value in &mut values {
                *value = value.mul_add(0.999, 0.001);
            }
        }
        *y.add(i) = (values[0] + values[1] + values[2] + values[3]) as f32;
    }
}

/// The same in 32 bits.
#[gpuprof::kernel(
    series(n = [1M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn doubles_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe {
        let start = *x.add(i);
        let mut values = [start, start + 1.0, start + 2.0, start + 3.0];
        for _ in 0..512 {
            for value in &mut values {
                *value = value.mul_add(0.999, 0.001);
            }
        }
        *y.add(i) = values[0] + values[1] + values[2] + values[3];
    }
}

/// An array with an index that only the thread knows lies in local memory.
#[gpuprof::kernel(
    series(n = [1M]), block = 64, grid = n / 64, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn spilled(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    let mut bins = [0.0_f32; 32];
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe {
        let value = *x.add(i as usize);
        for round in 0..128 {
            bins[((i * 7 + round * 13) % 32) as usize] += value;
        }
        let mut sum = 0.0;
        for round in 0..32 {
            sum += bins[((i + round) % 32) as usize] * round as f32;
        }
        *y.add(i as usize) = sum;
    }
}

/// The same array in shared memory, where neighbours use neighbouring banks.
#[gpuprof::kernel(
    series(n = [1M]), block = 64, grid = n / 64, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn spilled_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let bins = shared!([f32; 32 * 64]);
    let (i, own) = (thread::global_x(), thread::x());
    // SAFETY: the grid has as many threads as both buffers have elements, and each thread has its
    // own column of `bins`.
    unsafe {
        let value = *x.add(i as usize);
        for bin in 0..32 {
            bins.write(bin * 64 + own, 0.0);
        }
        for round in 0..128 {
            let at = ((i * 7 + round * 13) % 32) * 64 + own;
            bins.write(at, bins.read(at) + value);
        }
        let mut sum = 0.0;
        for round in 0..32 {
            sum += bins.read(((i + round) % 32) * 64 + own) * round as f32;
        }
        *y.add(i as usize) = sum;
    }
}

/// Multiplications and additions that nothing fuses.
#[gpuprof::kernel(
    series(n = [1M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn unfused(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe {
        let start = *x.add(i);
        let mut values = [start, start + 1.0, start + 2.0, start + 3.0];
        for _ in 0..512 {
            for value in &mut values {
                *value = *value * 0.999 + 0.001;
            }
        }
        *y.add(i) = values[0] + values[1] + values[2] + values[3];
    }
}

/// The same, fused.
#[gpuprof::kernel(
    series(n = [1M]), block = 256, grid = n / 256, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn unfused_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe {
        let start = *x.add(i);
        let mut values = [start, start + 1.0, start + 2.0, start + 3.0];
        for _ in 0..512 {
            for value in &mut values {
                *value = value.mul_add(0.999, 0.001);
            }
        }
        *y.add(i) = values[0] + values[1] + values[2] + values[3];
    }
}

/// Blocks of a warp and a half.
#[gpuprof::kernel(
    series(n = [3M]), block = 48, grid = n / 48, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn odd_block(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), 512) }
}

/// Blocks of two warps.
#[gpuprof::kernel(
    series(n = [3M]), block = 64, grid = n / 64, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn odd_block_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), 512) }
}

/// Shared memory that nothing needs leaves room for few blocks.
#[gpuprof::kernel(
    series(n = [16M]), block = 64, grid = n / 64, shared = 48 << 10, args(n, random(n), zeros(n)),
    bytes = 8 * n,
)]
pub unsafe fn crowded_out(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), 16) }
}

/// Without it.
#[gpuprof::kernel(
    series(n = [16M]), block = 64, grid = n / 64, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn crowded_out_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), 16) }
}

/// Later blocks have more to do.
#[gpuprof::kernel(
    series(n = [256K]), block = 1024, grid = n / 1024, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn unbalanced(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let rounds = 16 + block::x() * 64;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), rounds) }
}

/// All keep their value on average.
#[gpuprof::kernel(
    series(n = [256K]), block = 1024, grid = n / 1024, args(n, random(n), zeros(n)), bytes = 8 * n,
)]
pub unsafe fn unbalanced_remedied(_n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let rounds = 16 + (grid::dim_x() - 1) * 32;
    // SAFETY: the grid has as many threads as both buffers have elements.
    unsafe { *y.add(i) = work(*x.add(i), rounds) }
}
