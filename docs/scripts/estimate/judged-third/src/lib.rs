//! The third set of kernels on which the model of estimated times is judged: patterns of real
//! programs in code of this project, none of them in the first two sets. No constant of the model
//! was chosen by them.
//!
//! Kernels with a short host reference have one. Emulated runs check the accesses of all.

mod inputs;
mod references;
#[path = "../../shared.rs"]
pub mod shared;

use gpuprof::{f16, f32x2, u32x2};
use inputs::*;
use references::*;

#[gpuprof::kernels(cuda = "kernels/matrices.cu")]
unsafe extern "C" {
    #[kernel(
        series(
            const ROWS = [64, 128],
            const COLUMNS = [64, 128],
            n = [640, 1K],
            depth = [128, 512],
            block = ROWS * COLUMNS / 64,
            where n * depth >= 100K,
        ),
        grid = (n / COLUMNS, n / ROWS),
        args(n, depth, 0.5, 0.25, random(n * depth), random(n * depth), random(n * n)),
        verify = sgemm_on_host,
        tolerance = 1e-3,
    )]
    fn sgemm<const ROWS: i32, const COLUMNS: i32>(
        n: i32,
        depth: i32,
        alpha: f32,
        beta: f32,
        a: *const f32,
        b: *const f32,
        c: *mut f32,
    );

    #[kernel(
        series(
            const ROWS = [32, 64, 128],
            n = [512, 1K],
            tokens = [512, 1K],
            block = 2 * ROWS,
        ),
        grid = (n / 64, tokens / ROWS),
        args(
            n,
            256,
            random_in(256 * tokens, -1.0..1.0),
            random_in(256 * n, -0.2..0.2),
            random_in(n, -1.0..1.0),
            zeros(n * tokens),
        ),
        verify = linear_gelu_on_host,
        tolerance = 1e-2,
    )]
    fn linear_gelu<const ROWS: i32>(
        n: i32,
        depth: i32,
        x: *const f16,
        w: *const f16,
        bias: *const f16,
        y: *mut f16,
    );

    #[kernel(
        series(const WARPS = [2, 4, 8], n = [512, 768], depth = [256, 768], block = 32 * WARPS),
        grid = (n / 64, n / 64),
        args(
            n,
            depth,
            random(n * depth),
            random(n * depth),
            random(n),
            random(n),
            zeros(n * n),
        ),
        verify = int8_product_on_host,
    )]
    fn int8_product<const WARPS: i32>(
        n: i32,
        depth: i32,
        a: *const i8,
        b: *const i8,
        scales_a: *const f32,
        scales_b: *const f32,
        c: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], width = [8, 32], rows = [32K, 256K]), grid = rows / block,
        args(
            rows,
            width,
            ell_columns(rows, width),
            random(rows * width),
            random(rows),
            zeros(rows),
        ),
        verify = ell_product_on_host,
    )]
    fn ell_product(
        rows: i32,
        width: i32,
        columns: *const i32,
        values: *const f64,
        x: *const f64,
        y: *mut f64,
    );
}

#[gpuprof::kernels(cuda = "kernels/layers.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256], rows = [256, 2K], columns = [1K, 4K]), grid = rows,
        args(
            columns,
            random_in(rows * columns, -1.0..1.0),
            random(columns),
            random_in(rows * columns, -1.0..1.0),
            zeros(rows * columns),
        ),
        verify = rms_norm_on_host,
        tolerance = 1e-2,
    )]
    fn rms_norm(columns: i32, x: *const f16, weight: *const f16, residual: *mut f16, y: *mut f16);

    #[kernel(
        series(
            block = [64, 128, 256, 512],
            tokens = [256, 2K],
            heads = [8, 32],
            where tokens * heads >= 8K,
        ),
        grid = tokens,
        args(
            heads,
            random_in(tokens, 0..4K),
            turns(4096),
            random_in(128 * tokens * heads, -1.0..1.0),
        ),
        verify = rotary_on_host,
        tolerance = 1e-2,
    )]
    fn rotary(heads: i32, positions: *const u32, turns: *const f32x2, q: *mut f16);

    #[kernel(
        series(const K = [2, 8], block = [64, 128, 256], rows = [128, 2K], columns = [4K]),
        grid = rows,
        args(columns, random(rows * columns), zeros(K * rows), zeros(K * rows)),
        verify = |columns, x, values, places| top_k_on_host(K as usize, columns, x, values, places),
    )]
    fn top_k<const K: i32>(columns: u32, x: *const f32, values: *mut f32, places: *mut u32);

    #[kernel(
        series(block = [128, 256, 512, 1024], zip(rows = [64, 2K], columns = [32K, 1K])),
        grid = rows,
        args(
            columns,
            random_in(rows * columns, -4.0..4.0),
            random_in(rows, 0..columns),
            zeros(rows),
            zeros(rows * columns),
        ),
        verify = cross_entropy_on_host,
        tolerance = 1e-3,
    )]
    fn cross_entropy(
        columns: i32,
        logits: *const f32,
        targets: *const u32,
        losses: *mut f32,
        gradient: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], tokens = [128, 1K], heads = [8, 32]), grid = tokens,
        args(
            heads,
            slots(tokens),
            random(128 * tokens * heads),
            random(128 * tokens * heads),
            zeros(256 * tokens * heads),
            zeros(256 * tokens * heads),
        ),
        verify = cache_copy_on_host,
    )]
    fn cache_copy(
        heads: i32,
        slots: *const u32,
        keys: *const f16,
        values: *const f16,
        key_cache: *mut f16,
        value_cache: *mut f16,
    );

    #[kernel(
        series(block = [128, 256, 512], chunks = [128, 512, 2K]), grid = chunks,
        args(
            0.001,
            1.5,
            2.5,
            adam_chunks(chunks),
            random(16),
            random_in(2048 * chunks, -1.0..1.0),
            random_in(2048 * chunks, -1.0..1.0),
            random_in(2048 * chunks, -0.1..0.1),
            random(2048 * chunks),
            zeros(2048 * chunks),
        ),
        verify = adam_on_host,
        tolerance = 1e-3,
    )]
    fn adam(
        rate: f32,
        first_scale: f32,
        second_scale: f32,
        chunks: *const u32x2,
        decays: *const f32,
        gradient: *const f32,
        weights: *mut f32,
        first: *mut f32,
        second: *mut f32,
        copies: *mut f16,
    );
}

#[gpuprof::kernels(cuda = "kernels/signals.cu")]
unsafe extern "C" {
    #[kernel(
        series(const POINTS = [256, 1K, 4K], n = [256K, 2M], block = POINTS / 4),
        grid = n / POINTS,
        args(random_in(n, -1.0..1.0)),
        verify = |points| fourier_on_host(POINTS as usize, points),
        tolerance = 1e-3,
    )]
    fn fourier<const POINTS: i32>(points: *mut f32x2);

    static taps: [f32; 64];

    #[kernel(
        series(const TAPS = [16, 64], block = [64, 128, 256], n = [256K, 1M]),
        grid = n / 4 / block,
        shared = 8 * (4 * block + TAPS),
        args(random_in(n + TAPS, -1.0..1.0), zeros(n)),
        globals(taps = coefficients()),
        verify = |x, y| fir_on_host(TAPS as usize, x, y),
        tolerance = 1e-3,
    )]
    fn fir<const TAPS: i32>(x: *const f32x2, y: *mut f32x2);

    #[kernel(
        series(block = [32x4, 32x8, 64x4, 16x16], n = [512, 1K]),
        grid = (n / block.x, n / block.y),
        args(n, random(n * n), zeros(n * n)),
        verify = median_on_host,
    )]
    fn median(n: i32, from: *const u8, to: *mut u8);

    #[kernel(
        series(const ROWS = [false, true], block = [32, 64, 128], n = [1K, 2K]),
        grid = if ROWS { 32 * n / block } else { n / block },
        args(n, random(n * n), zeros(n * n)),
        verify = |n, from, to| integral_on_host(ROWS, n, from, to),
    )]
    fn integral<const ROWS: bool>(n: i32, from: *const u32, to: *mut u32);

    #[kernel(
        series(block = [32x4, 32x8, 64x4, 16x16], n = [1K, 2K]),
        grid = (n / 2 / block.x, n / 2 / block.y),
        args(n, random(n * n), random(n * n / 2), zeros(3 * n * n)),
        verify = yuv_to_rgb_on_host,
    )]
    fn yuv_to_rgb(n: i32, luma: *const u8, chroma: *const u8, rgb: *mut u8);
}

#[gpuprof::kernels(cuda = "kernels/physics.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256, 512], paths = [16K, 64K], steps = [64]),
        grid = paths / block,
        args(steps, 5, 100.0, 100.0, 0.0001, 0.02, zeros(1)),
    )]
    fn asian_call(
        steps: i32,
        seed: u32,
        price: f32,
        strike: f32,
        drift: f32,
        spread: f32,
        total: *mut f64,
    );

    #[kernel(
        series(block = [64, 128, 256], steps = [64, 255], options = [128, 512]), grid = options,
        shared = 4 * (steps + 1),
        args(
            steps,
            100.0,
            random_in(options, 80.0..120.0),
            random_in(options, 0.2..0.6),
            zeros(options),
        ),
        verify = binomial_put_on_host,
        tolerance = 1e-3,
    )]
    fn binomial_put(
        steps: i32,
        strike: f32,
        prices: *const f32,
        spreads: *const f32,
        values: *mut f32,
    );

    #[kernel(
        series(block = [32x4, 64x2, 128x1, 16x16], n = [512, 1K]),
        grid = (n / block.x, n / block.y),
        args(n, 0.8, random_in(9 * n * n, 0.09..0.12), zeros(9 * n * n)),
    )]
    fn lattice_boltzmann(n: i32, rate: f32, before: *const f32, after: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], jump = [1, 40503], particles = [128K, 1M]),
        grid = particles / block,
        args(256, particle_places(particles, jump), random(particles), zeros(256 * 256)),
        verify = deposit_on_host,
        tolerance = 1e-3,
    )]
    fn deposit(n: i32, places: *const f32x2, charges: *const f32, grid: *mut f32);
}

#[gpuprof::kernels(cuda = "kernels/data.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256, 512], edges = [256K, 1M]), grid = edges / block,
        args(random_in(edges, 0..edges / 8), iota(edges / 8), iota(edges / 8)),
        verify = hook_on_host,
    )]
    fn hook(edges: *const u32x2, labels: *const u32, next: *mut u32);

    #[kernel(
        series(block = [32, 64, 128, 256], pairs = [192, 512], length = [128]),
        grid = 32 * pairs / block,
        shared = block * length / 4,
        args(
            length,
            random_in(pairs * length, 0..4),
            random_in(pairs * length, 0..4),
            zeros(pairs),
        ),
        verify = align_on_host,
    )]
    fn align(length: i32, queries: *const u8, targets: *const u8, scores: *mut i32);

    #[kernel(
        series(const SIZE = [4, 16], block = [64, 128, 256], n = [32K, 256K]), grid = n / block,
        shared = 128 * SIZE,
        args(32, random(32 * SIZE), random(n * SIZE), zeros(n), zeros(n)),
        verify = assign_on_host,
    )]
    fn assign<const SIZE: i32>(
        count: i32,
        centres: *const f32,
        points: *const f32,
        nearest: *mut u32,
        distances: *mut f32,
    );

    #[kernel(
        series(block = [128, 256, 512], groups = [16, 1K], n = [512K, 8M]), grid = n / 16 / block,
        shared = 12 * groups,
        args(
            groups,
            random_in(n, 0..groups),
            random_in(n, 0..1000),
            zeros(groups),
            zeros(groups),
            zeros(groups),
        ),
        verify = group_by_on_host,
    )]
    fn group_by(
        groups: u32,
        keys: *const u32,
        values: *const u32,
        counts: *mut u32,
        sums: *mut u64,
        largest: *mut u32,
    );

    #[kernel(
        series(block = [64, 256, 512], words = [32K, 16M], n = [256K, 1M]), grid = n / block,
        args(32 * words - 1, random(n), random(words), zeros(n)),
        verify = bloom_probe_on_host,
    )]
    fn bloom_probe(mask: u32, keys: *const u64, bits: *const u32, found: *mut u8);

    #[kernel(
        series(block = [32, 64, 128, 256], chunks = [192, 2K], size = [4K]),
        grid = 32 * chunks / block,
        args(
            size,
            sequence_starts(chunks, size),
            literal_starts(chunks, size),
            sequences(chunks, size),
            literals(chunks, size),
            zeros(chunks * size),
        ),
        verify = unpack_on_host,
    )]
    fn unpack(
        size: i32,
        starts: *const u32,
        literal_starts: *const u32,
        sequences: *const u32x2,
        literals: *const u8,
        to: *mut u8,
    );

    #[kernel(
        series(const WORDS = [false, true], block = [256, 512, 1024], n = [1M, 4M]),
        grid = if WORDS { n / 4 / block } else { n / block },
        args(0x0302_0001_0103_0200u64, random_in(n + 8, 0..4), zeros(1)),
        verify = search_on_host,
    )]
    fn search<const WORDS: bool>(pattern: u64, text: *const u8, count: *mut u32);
}

#[gpuprof::kernels(cuda = "kernels/proofs.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256, 512], n = [16K, 64K]), grid = n / block,
        args(n, random(17 * n), zeros(4 * n)),
        verify = keccak_on_host,
    )]
    fn keccak(n: u32, messages: *const u64, hashes: *mut u64);

    #[kernel(
        series(block = [64, 128, 256], times = [2, 16], n = [8K, 32K]), grid = n / block,
        args(times, random(12 * n), zeros(12 * n)),
        verify = double_points_on_host,
    )]
    fn double_points(times: i32, points: *const u64, to: *mut u64);
}
