//! Kernels on which the model of estimated times is judged: patterns of public suites in code
//! of this project, of 2 µs to 6 ms on an H100. No constant of the model was chosen by them.
//!
//! None has a host reference: emulated runs check their accesses.

#[path = "../../shared.rs"]
pub mod shared;

use gpuprof::{f32x2, f32x4, u32x4};

#[gpuprof::kernels(cuda = "kernels/elements.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256, 512], n = [64K, 4M]), grid = n / block,
        args(
            n,
            random_in(n, 5.0..30.0),
            random_in(n, 1.0..100.0),
            random_in(n, 0.25..10.0),
            zeros(n),
            zeros(n),
        ),
    )]
    fn options(
        n: u32,
        price: *const f32,
        strike: *const f32,
        years: *const f32,
        call: *mut f32,
        put: *mut f32,
    );

    #[kernel(
        series(block = [64, 256, 1024], n = [64K, 4M]),
        grid = n / block,
        args(n, random(4 * n), zeros(4 * n)),
    )]
    fn gelu(quarters: u32, x: *const f32x4, y: *mut f32x4);

    #[kernel(
        series(block = [128, 512], stride = [1, 2, 4, 8, 32], n = [1M]), grid = n / block,
        args(n, stride, random(stride * n), zeros(stride * n)),
    )]
    fn copy_strided(n: u32, stride: u32, from: *const f32, to: *mut f32);

    #[kernel(
        series(block = [128, 512], m = [64K, 1M, 16M], n = [4M]), grid = n / block,
        args(n, random_in(n, 0..m), random(m), zeros(n)),
    )]
    fn gather(n: u32, index: *const u32, table: *const f32, to: *mut f32);

    #[kernel(
        series(block = [64, 256], rows = [64, 4K, 256K], samples = [32K]),
        grid = samples * 64 / block,
        args(samples, random_in(samples, 0..rows), random(64 * samples), zeros(64 * rows)),
    )]
    fn scatter_rows(samples: u32, row: *const u32, gradient: *const f32, table: *mut f32);

    #[kernel(
        series(block = [32x4, 16x16, 8x32], n = [256, 1K]), grid = (n / block.x, n / block.y),
        args(n, 256, zeros(n * n)),
    )]
    fn fractal(n: u32, most: u32, steps: *mut u32);

    #[kernel(
        series(block = [128, 256, 512], d = [8, 128]), grid = (32 * 24 * 40 * d).div_ceil(block),
        args(32 * 24 * 40 * d, 32, 24, 40, d, random(32 * 24 * 40 * d), zeros(32 * 24 * 40 * d)),
    )]
    fn permute(n: u32, a: u32, b: u32, c: u32, d: u32, from: *const f32, to: *mut f32);

    #[kernel(
        series(block = [64, 128, 256, 512], steps = [8, 128]),
        grid = 528,
        args(steps, 7, zeros(1)),
    )]
    fn monte_carlo(steps: u32, seed: u32, inside: *mut u64);

    #[kernel(
        series(block = [64, 256, 1024], rounds = [16, 256]), grid = 264,
        args(rounds, random(264 * block), zeros(264 * block)),
    )]
    fn sip(rounds: u32, words: *const u64, to: *mut u64);

    #[kernel(
        series(
            block = [64, 256],
            m = [64K, 16M],
            steps = [16, 1K],
            threads = [256, 16K],
            where steps * threads <= 1M,
        ),
        grid = threads / block,
        args(steps, permutation(m), zeros(threads)),
    )]
    fn follow(steps: u32, next: *const u32, ends: *mut u32);
}

#[gpuprof::kernels(cuda = "kernels/grids.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [32x4, 32x8, 64x4, 16x16], n = [64, 192]),
        grid = (n.div_ceil(block.x), n.div_ceil(block.y)),
        args(n, random(n * n * n), zeros(n * n * n)),
    )]
    fn laplace(n: i32, before: *const f32, after: *mut f32);

    #[kernel(
        series(const RADIUS = [1, 4], block = [16x16, 32x8, 32x16], n = [1K]),
        grid = (n / block.x, n / block.y),
        shared = 4 * (block.x + 2 * RADIUS) * (block.y + 2 * RADIUS),
        args(n, random(n * n), zeros(n * n)),
    )]
    fn r#box<const RADIUS: i32>(n: i32, from: *const f32, to: *mut f32);

    #[kernel(
        series(block = [32x4, 32x8, 64x8], n = [256, 2K]), grid = (n / block.x, n / block.y),
        args(n, 0.1, random(n * n), random_in(n * n, -1.0..1.0), zeros(n * n)),
    )]
    fn advect(n: i32, dt: f64, q: *const f64, u: *const f64, to: *mut f64);

    #[kernel(
        series(block = [128, 256, 512], steps = [4, 32], columns = [256K]),
        grid = columns.div_ceil(block - 2 * steps),
        shared = 8 * block,
        args(columns, steps, random_in((steps + 1) * columns, 0..10), zeros(columns)),
    )]
    fn cheapest(columns: i32, steps: i32, cost: *const i32, to: *mut i32);

    #[kernel(
        series(block = [32x8, 64x4, 128x2], n = [1K, 4K]), grid = (n / block.x, n / block.y),
        args(n, random(n * n), zeros(n * n)),
    )]
    fn life(n: i32, before: *const u8, after: *mut u8);

    #[kernel(
        series(block = [64, 256, 1024], length = [512, 2K]), grid = 1, shared = 12 * (length + 1),
        args(length, random(length), random(length), zeros(1)),
    )]
    fn distance(length: i32, one: *const u8, other: *const u8, to: *mut i32);
}

#[gpuprof::kernels(cuda = "kernels/matrices.cu")]
unsafe extern "C" {
    #[kernel(
        series(const TILE = [32, 64], block = [256], n = [256, 512, 1K]),
        grid = (n / TILE, n / TILE),
        args(n, random(n * n), random(n * n), zeros(n * n)),
    )]
    fn product<const TILE: i32>(n: i32, a: *const f32, b: *const f32, c: *mut f32);

    #[kernel(
        series(block = [64, 128, 256, 512], n = [1K, 4K]), grid = 32 * n / block,
        args(n, random(n * n), random(n), zeros(n)),
    )]
    fn rows(n: i32, a: *const f32, x: *const f32, y: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], n = [256, 1K]), grid = n * n / 32 / block,
        args(n, zeros(n * n / 2), zeros(n * n / 2), zeros(n * n)),
    )]
    fn tensor_product(n: i32, a: *const u32, b: *const u32, c: *mut f32);

    #[kernel(
        series(block = [64, 128, 256, 512], rows = [16K, 256K]), grid = rows / block,
        args(
            rows,
            starts(rows),
            random_in(32 * rows, 0..rows),
            random(32 * rows),
            random(rows),
            zeros(rows),
        ),
    )]
    fn sparse_rows(
        rows: u32,
        starts: *const u32,
        columns: *const u32,
        values: *const f32,
        x: *const f32,
        y: *mut f32,
    );

    #[kernel(
        series(const SIZE = [32, 64], matrices = [1, 132, 1056]), grid = matrices, block = SIZE,
        args(random(matrices * SIZE * SIZE)),
    )]
    fn decompose<const SIZE: i32>(matrices: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], keys = [64, 512], queries = [2K]),
        grid = 32 * queries / block,
        args(keys, random(64 * queries), random(64 * keys), random(64 * keys), zeros(64 * queries)),
    )]
    fn attend(keys: u32, query: *const f32, key: *const f32, value: *const f32, to: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], n = [2K, 8K]), grid = n / block, shared = 16 * block,
        args(n, random(4 * n), zeros(4 * n)),
    )]
    fn bodies(n: u32, body: *const f32x4, force: *mut f32x4);
}

#[gpuprof::kernels(cuda = "kernels/blocks.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [128, 512, 1024], n = [128K, 1M]),
        grid = n / 2 / block,
        shared = 8 * block,
        args(random(n)),
    )]
    fn sort_blocks(keys: *mut u32);

    #[kernel(
        series(block = [64, 128, 512], n = [64K, 1M]),
        grid = n / 2 / block,
        shared = 16 * block,
        args(random(2 * n)),
    )]
    fn transform(points: *mut f32x2);

    #[kernel(
        series(block = [64, 256, 1024], n = [64K, 8M]),
        grid = 264,
        args(n, random(n), zeros(1)),
    )]
    fn squares(n: u32, x: *const f64, sum: *mut f64);

    #[kernel(
        series(block = [128, 256, 512], n = [64K, 2M]), grid = n / block,
        args(random(4 * n), zeros(4 * n), zeros(n / block)),
    )]
    fn sums_of_blocks(x: *const u32x4, y: *mut u32x4, totals: *mut u32);

    #[kernel(
        series(block = [128, 256, 512, 1024], n = [16K, 256K]), grid = n / block,
        args(random(4 * n), zeros(4 * n), zeros(n / block)),
    )]
    fn sums_in_a_chain(x: *const u32x4, y: *mut u32x4, chain: *mut u32);

    #[kernel(
        series(block = [128, 512], bins = [1, 64, 64K], n = [1M]), grid = n / block,
        args(n, bins, random(n), zeros(bins)),
    )]
    fn count_values(n: u32, bins: u32, x: *const u32, counts: *mut u32);

    #[kernel(
        series(block = [128, 256, 512], bins = [1, 256], n = [4M]), grid = 264,
        args(n, bins, random(n), zeros(bins)),
    )]
    fn count_in_blocks(n: u32, bins: u32, x: *const u32, counts: *mut u32);

    #[kernel(
        series(block = [64, 128, 256, 512], n = [256K, 4M]), grid = n / block,
        args(n, random(n), zeros(n), zeros(1)),
    )]
    fn compact(n: u32, x: *const u32, kept: *mut u32, count: *mut u32);

    #[kernel(
        series(block = [64, 256, 1024], columns = [512, 8K], rows = [512]), grid = rows,
        args(columns, random(rows * columns), random(columns), zeros(rows * columns)),
    )]
    fn normalize(columns: u32, x: *const f32, weight: *const f32, y: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], columns = [128, 4K], rows = [2K]), grid = 32 * rows / block,
        args(columns, random(rows * columns), zeros(rows * columns), zeros(rows)),
    )]
    fn quantize(columns: u32, x: *const f32, bytes: *mut i8, scales: *mut f32);
}

/// Where each row begins, and the last one ends: rows have 0 to 31 values.
fn starts(rows: u64) -> Vec<u32> {
    shared::ends((1..=rows as u32).map(|row| row.wrapping_mul(2_654_435_761) >> 27))
}
