//! A tiled matrix product: how large should the tiles be?
//!
//! Each block computes one square tile of the result. It walks along a row of tiles of `a` and a
//! column of tiles of `b`; the threads load both tiles into shared memory, one element each, and
//! all read them there. Doubling the tile halves the loads from global memory.
//!
//! `TILE` is a constant: the kernel is compiled once per value, with tiles that are arrays and an
//! inner loop that the compiler can unroll.
//!
//! ```text
//! cargo gpuprof run --package matmul
//! cargo gpuprof run --package matmul --series TILE=16,32
//! ```
//!
//! Look at `global_sectors`: 532,480 with tiles of 8, 270,336 with 16, 139,264 with 32. On an H200
//! tiles of 16 are nevertheless the fastest at this size.
//!
//! The threshold on bank conflicts uses the PTX-level counter: ptxas merges four neighbouring loads
//! into one of 16 bytes, which takes two wavefronts, so an H200 counts a conflict for each of those
//! in `bank_conflicts`.

use gpuprof::prelude::*;

/// c ← a·b, all `n` by `n`
///
/// A block is a tile, with one thread per element.
#[gpuprof::kernel(
    series(const TILE = [8, 16, 32], n = [256]),
    block = (TILE, TILE),
    grid = (n.div_ceil(TILE), n.div_ceil(TILE)),
    args(n, random(n * n), random(n * n), zeros(n * n)),
    bytes = 12 * n * n,
    flops = 2 * n * n * n,
    metrics(flop_rate, global_sectors, bank_conflicts, ptx_fp32_flops),
    threshold("every store_sectors_per_request <= 4"),
    threshold("on \"Emulated\" every ptx__shared_bank_conflicts_op_ld.sum == 0"),
    verify = matmul_on_host,
    tolerance = 1e-4,
)]
pub unsafe fn matmul<const TILE: usize>(n: u32, a: *const f32, b: *const f32, c: *mut f32) {
    let size = TILE as u32;
    let (x, y) = (thread::x(), thread::y());
    let (column, row) = (thread::global_x(), thread::global_y());
    let tile_a = shared!([f32; TILE * TILE]);
    let tile_b = shared!([f32; TILE * TILE]);

    let mut sum = 0.0_f32;
    let mut tile_start = 0;
    while tile_start < n {
        let slot = y * size + x;
        // SAFETY: the matrices are `n` by `n`, and each thread writes its own elements. Beyond
        // the edge a tile holds zeros.
        unsafe {
            let inside = row < n && tile_start + x < n;
            tile_a.write(
                slot,
                if inside { *a.add((row * n + tile_start + x) as usize) } else { 0.0 },
            );
            let inside = tile_start + y < n && column < n;
            tile_b.write(
                slot,
                if inside { *b.add(((tile_start + y) * n + column) as usize) } else { 0.0 },
            );
        }
        block::sync();
        for k in 0..size {
            // SAFETY: both tiles were written before the barrier.
            let (a, b) = unsafe { (tile_a.read(y * size + k), tile_b.read(k * size + x)) };
            sum = a.mul_add(b, sum);
        }
        block::sync();
        tile_start += size;
    }
    if row < n && column < n {
        // SAFETY: `c` is `n` by `n`, and only this thread writes this element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}

/// The expected `c`, computed in 64 bits to be the more accurate of the two.
fn matmul_on_host(n: u32, a: &[f32], b: &[f32], c: &mut [f32]) {
    let n = n as usize;
    for row in 0..n {
        for column in 0..n {
            let products = (0..n).map(|k| f64::from(a[row * n + k]) * f64::from(b[k * n + column]));
            c[row * n + column] = products.sum::<f64>() as f32;
        }
    }
}
