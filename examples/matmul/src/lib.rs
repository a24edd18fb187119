//! A tiled matrix product, the size of its tiles a constant that is compiled in.
//!
//! A block computes a square tile of the result. It walks along a row of tiles of `a` and a column
//! of tiles of `b`, and each thread loads one element of both where all threads then read them. The
//! larger the tile, the fewer times an element comes from global memory. The compiler knows the
//! size: the tiles are arrays, the inner loop is unrolled, and the series compares one entry point
//! a size.
//!
//! The threshold on bank conflicts is at PTX level: ptxas merges four neighbouring loads of a tile
//! into one of 16 bytes, which takes two wavefronts, so `bank_conflicts` of an H200 holds one for
//! each of them.
//!
//! ```text
//! cargo gpuprof run --package matmul --series TILE=16,32
//! ```

use gpuprof::prelude::*;

/// c ← a·b, all `n` by `n`
///
/// A block is a tile: one thread an element.
#[gpuprof::kernel(
    series(const TILE = [8, 16, 32], n = [256]),
    block = (TILE, TILE),
    grid = (n.div_ceil(TILE), n.div_ceil(TILE)),
    args(n, random(n * n), random(n * n), zeros(n * n)),
    bytes = 12 * n * n,
    flops = 2 * n * n * n,
    metrics(flop_rate, global_sectors, bank_conflicts, ptx_fp32_flops),
    threshold("every store_sectors_per_request <= 4"),
    threshold("every ptx__shared_bank_conflicts_op_ld.sum == 0"),
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
    let mut first = 0;
    while first < n {
        let own = y * size + x;
        // SAFETY: the matrices are `n` by `n`, and each thread writes elements of its own. Beyond
        // the edge a tile holds zeros.
        unsafe {
            let inside = row < n && first + x < n;
            tile_a.write(own, if inside { *a.add((row * n + first + x) as usize) } else { 0.0 });
            let inside = first + y < n && column < n;
            tile_b
                .write(own, if inside { *b.add(((first + y) * n + column) as usize) } else { 0.0 });
        }
        block::sync();
        for k in 0..size {
            // SAFETY: both tiles were written before the barrier.
            let (a, b) = unsafe { (tile_a.read(y * size + k), tile_b.read(k * size + x)) };
            sum = a.mul_add(b, sum);
        }
        block::sync();
        first += size;
    }
    if row < n && column < n {
        // SAFETY: `c` is `n` by `n`, and only this thread writes this element.
        unsafe { *c.add((row * n + column) as usize) = sum };
    }
}

/// What the kernel must leave in `c`; in 64 bits, so that it is the better of the two.
fn matmul_on_host(n: u32, a: &[f32], b: &[f32], c: &mut [f32]) {
    let n = n as usize;
    for row in 0..n {
        for column in 0..n {
            let products = (0..n).map(|k| f64::from(a[row * n + k]) * f64::from(b[k * n + column]));
            c[row * n + column] = products.sum::<f64>() as f32;
        }
    }
}
