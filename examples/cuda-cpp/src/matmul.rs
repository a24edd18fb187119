//! A matrix product on tensor cores: `kernels/matmul.cu`.
//!
//! Larger tiles load every element less often: look at `ptx__async_copy_sectors.sum`, which halves
//! from tiles of 64 to tiles of 128. On a GPU, fewer blocks and warps are resident, too.

use gpuprof::prelude::*;
use gpuprof::{bf16, f16};

#[cfg_attr(feature = "nvrtc", gpuprof::kernels(cuda = "kernels/matmul.cu"))]
#[cfg_attr(not(feature = "nvrtc"), gpuprof::kernels(ptx = "kernels/matmul.ptx"))]
unsafe extern "C" {
    /// c ← a b, square matrices of halves
    #[kernel(
        series(block = [256], n = [512], const TILE = [64, 128], T = [f16, bf16]),
        grid = (n / TILE, n / TILE),
        shared = 3 * 2 * (TILE * (32 + 8) + 32 * (TILE + 8)),
        args(n, n, n, random(n * n), random(n * n), zeros(n * n)),
        bytes = 8 * n * n,
        flops = 2 * n * n * n,
        // Products are exact in f32; a GPU truncates the sums' last bits, but the host rounds.
        tolerance = 1e-4,
        verify = product_on_host,
        metrics(
            flop_rate,
            "ptx__matrix_products.sum",
            "ptx__async_copy_sectors.sum",
            "ptx__matrix_load_bank_conflicts.sum",
        ),
        threshold("on \"Emulated\" every ptx__matrix_load_bank_conflicts.sum == 0"),
        threshold("on \"Emulated\" where TILE==128 ptx__async_copy_sectors.sum <= 131072"),
    )]
    fn matmul<const TILE: u32, T>(m: u32, n: u32, k: u32, a: *const T, b: *const T, c: *mut f32);
}

/// The same product, row by row on all processors.
fn product_on_host<T: Real>(_m: u32, n: u32, k: u32, a: &[T], b: &[T], c: &mut [f32]) {
    let (n, k) = (n as usize, k as usize);
    let wide = |halves: &[T]| halves.iter().map(|half| half.to_f32()).collect::<Vec<_>>();
    let (a, b) = (wide(a), wide(b));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = (c.len() / n).div_ceil(processors);
    std::thread::scope(|threads| {
        for (c, a) in c.chunks_mut(rows * n).zip(a.chunks(rows * k)) {
            threads.spawn(|| {
                for (c, a) in c.chunks_mut(n).zip(a.chunks(k)) {
                    for (a, b) in a.iter().zip(b.chunks(n)) {
                        c.iter_mut().zip(b).for_each(|(c, b)| *c += a * b);
                    }
                }
            });
        }
    });
}
