//! The fourth set of kernels on which the model of estimated times is judged: algorithms of real
//! programs in code of this project, none of them in the first three sets. No constant of the model
//! was chosen by them.
//!
//! Kernels with a short host reference have one. Emulated runs check the accesses of all.

mod inputs;
mod references;
#[path = "../../shared.rs"]
pub mod shared;

use gpuprof::{f16, f32x4, i32x4, u32x2, u32x4, u64x2};
use inputs::*;
use references::*;

#[gpuprof::kernels(cuda = "kernels/codes.cu")]
unsafe extern "C" {
    #[kernel(
        series(
            const WORDS = [false, true],
            block = [64, 128, 256],
            zip(n = [16K, 128K], words = [128, 16]),
        ),
        grid = n / block,
        args(n, words, random(n * words), zeros(n)),
        verify = crc_on_host,
    )]
    fn crc<const WORDS: bool>(n: u32, words: i32, messages: *const u32, sums: *mut u32);

    #[kernel(
        series(block = [64, 128, 256], zip(frames = [8K, 32K, 32K], most = [6, 6, 24])),
        grid = 32 * frames / block,
        args(
            frame_starts(frames, most),
            random_in(frames, -1000..1000),
            random(packed_words(frames, most)),
            zeros(32 * frames),
        ),
        verify = unpack_deltas_on_host,
    )]
    fn unpack_deltas(starts: *const u32, bases: *const i32, words: *const u32, to: *mut i32x4);

    static changes: [u32; 8];

    #[kernel(
        series(
            const STATES = [4, 8],
            block = [64, 128, 256],
            n = [1M, 4M],
            where STATES * n <= 16M,
        ),
        grid = n / 64 / block,
        args(random_in(256, 0..8), random(n / 16), zeros(n / 64)),
        globals(changes = state_changes(STATES)),
        verify = |classes, text, counts| {
            run_machine_on_host(STATES, block as usize, classes, text, counts)
        },
    )]
    fn run_machine<const STATES: i32>(classes: *const u8, text: *const u32x4, counts: *mut u32);

    #[kernel(
        series(block = [64, 128, 256, 512], n = [1K, 2K]),
        grid = n * n / 8 / block,
        shared = 36 * block,
        args(n, random_in(64, 4.0..40.0), random(n * n), zeros(n * n)),
        verify = compress_on_host,
        compare = differ_by_one,
    )]
    fn compress(n: i32, steps: *const f32, image: *const u8, to: *mut i16);

    #[kernel(
        series(
            block = [64, 128, 256],
            zip(queries = [1, 1, 4], n = [8K, 32K, 32K], length = [512, 32, 32]),
        ),
        grid = (n / block, queries),
        args(
            n,
            length,
            random_in(64 * queries, 0..20),
            random_in(n * length, 0..20),
            zeros(queries * n),
        ),
        verify = edit_distances_on_host,
    )]
    fn edit_distances(
        n: u32,
        length: i32,
        queries: *const u8,
        texts: *const u8,
        distances: *mut u32,
    );
}

#[gpuprof::kernels(cuda = "kernels/numbers.cu", options = ["--device-int128"])]
unsafe extern "C" {
    #[kernel(
        series(
            const WIDE = [false, true],
            block = [64, 128, 256],
            words = [64K, 512K],
            where words == 64K || WIDE == false,
        ),
        grid = if WIDE { words / 4 / block } else { words / 2 / block },
        args(random_in(words, 1..1u64 << 60), zeros(words / 2)),
        verify = |pairs, to| divisors_on_host(WIDE, pairs, to),
    )]
    fn divisors<const WIDE: bool>(pairs: *const u64, to: *mut u64);

    #[kernel(
        series(const MONTGOMERY = [false, true], block = [32, 128, 256], polynomials = [2K, 8K]),
        grid = 32 * polynomials / block,
        shared = 32 * block,
        args(roots(MONTGOMERY), random_in(256 * polynomials, 0..8_380_417)),
        verify = |_roots, polynomials| transform_polynomials_on_host(polynomials),
    )]
    fn transform_polynomials<const MONTGOMERY: bool>(roots: *const i32, polynomials: *mut i32);

    #[kernel(
        series(
            const SIZE = [8, 32],
            block = [64, 128, 256],
            n = [64K, 512K],
            where SIZE * n <= 4M,
        ),
        grid = n / block,
        args(n, random(SIZE * n), zeros(SIZE * n)),
        verify = sort_lists_on_host,
    )]
    fn sort_lists<const SIZE: i32>(n: u32, from: *const f32, to: *mut f32);

    static coefficients: [f64; 169];

    #[kernel(
        series(
            const DEGREE = [4, 12],
            block = [64, 128, 256],
            n = [128K, 1M],
            where DEGREE * n <= 4M,
        ),
        grid = n / block,
        args(random_in(n, -1.0..1.0), random_in(n, -1.0..1.0), zeros(n)),
        globals(coefficients = surface()),
        verify = |x, y, to| chebyshev_on_host(DEGREE as usize, x, y, to),
        tolerance = 1e-9,
    )]
    fn chebyshev<const DEGREE: i32>(x: *const f64, y: *const f64, to: *mut f64);

    #[kernel(
        series(T = [f32, f64], block = [64, 128, 256], n = [16K, 128K]), grid = n / block,
        args(
            random_in(n, 70.0..140.0),
            random_in(n, 0.1..2.0),
            random_in(n, 0.01..0.4),
            zeros(n),
        ),
    )]
    fn volatilities<T>(strikes: *const T, years: *const T, shares: *const T, to: *mut T);
}

#[gpuprof::kernels(cuda = "kernels/layers.cu")]
unsafe extern "C" {
    #[kernel(
        series(
            const WARPS = [2, 4, 8],
            zip(tokens = [512, 1K, 1K], window = [512, 128, 512]),
            block = 32 * WARPS,
        ),
        grid = (tokens / 16 / WARPS, 8),
        args(
            tokens,
            window,
            random_in(512 * tokens, -2.0..2.0),
            random_in(512 * tokens, -2.0..2.0),
            random_in(512 * tokens, -1.0..1.0),
            zeros(512 * tokens),
        ),
        verify = window_attention_on_host,
        tolerance = 2e-2,
    )]
    fn window_attention<const WARPS: i32>(
        tokens: i32,
        window: i32,
        queries: *const f16,
        keys: *const f16,
        values: *const f16,
        to: *mut f16,
    );

    #[kernel(
        series(
            const TOKENS = [1, 4],
            block = [64, 128, 256],
            zip(rows = [1K, 8K], columns = [4K, 1K]),
            where TOKENS * rows <= 8K,
        ),
        grid = 32 * rows / block,
        args(
            rows,
            columns,
            random(rows * columns / 32),
            random_in(rows * columns / 128, 0.01..0.02),
            random_in(TOKENS * columns, -1.0..1.0),
            zeros(TOKENS * rows),
        ),
        verify = nibble_product_on_host,
        tolerance = 2e-2,
    )]
    fn nibble_product<const TOKENS: i32>(
        rows: i32,
        columns: i32,
        matrix: *const u32x4,
        scales: *const f16,
        x: *const f16,
        y: *mut f32,
    );

    #[kernel(
        series(
            const SIZE = [3, 5],
            block = [16x4, 16x8, 32x8],
            zip(n = [64, 128], channels = [32, 8]),
        ),
        grid = (n / block.x, n / block.y, 2),
        shared = 4 * (block.x + SIZE - 1) * (block.y + SIZE - 1),
        args(
            n,
            channels,
            random_in(channels * n * n, -1.0..1.0),
            random_in(16 * channels * SIZE * SIZE, -0.1..0.1),
            zeros(16 * n * n),
        ),
        verify = convolve_channels_on_host,
        tolerance = 1e-3,
    )]
    fn convolve_channels<const SIZE: i32>(
        n: i32,
        channels: i32,
        from: *const f32,
        weights: *const f32,
        to: *mut f32,
    );

    #[kernel(
        series(
            const STATES = [4, 16],
            block = [32, 64, 128],
            length = [256, 2K],
            where STATES * length <= 8K,
        ),
        grid = (1024 / block, 4),
        args(
            length,
            1024,
            random_in(4096 * length, -1.0..1.0),
            random_in(4096 * length, -4.0..0.0),
            random_in(1024 * STATES, 1.0..8.0),
            random_in(4 * STATES * length, -1.0..1.0),
            random_in(4 * STATES * length, -1.0..1.0),
            zeros(4096 * length),
        ),
        verify = scan_states_on_host,
        tolerance = 1e-3,
    )]
    fn scan_states<const STATES: i32>(
        length: i32,
        channels: i32,
        x: *const f32,
        steps: *const f32,
        rates: *const f32,
        r#in: *const f32,
        out: *const f32,
        y: *mut f32,
    );

    #[kernel(
        series(
            block = [64, 128, 256],
            zip(points = [16K, 128K, 128K], table = [256K, 16K, 256K]),
        ),
        grid = (points / block, 8),
        args(
            points,
            table - 1,
            random(3 * points),
            random_in(16 * table, -1.0..1.0),
            zeros(16 * points),
        ),
        verify = encode_points_on_host,
        tolerance = 1e-2,
    )]
    fn encode_points(points: u32, mask: u32, places: *const f32, tables: *const f16, to: *mut f16);
}

#[gpuprof::kernels(cuda = "kernels/space.cu")]
unsafe extern "C" {
    #[kernel(
        series(const RADIUS = [2, 4], block = [32x4, 16x16, 32x16], n = [64, 160]),
        grid = (n / block.x, n / block.y, n / 16),
        shared = 4 * (block.x + 2 * RADIUS) * (block.y + 2 * RADIUS),
        args(
            n,
            random((n + 2 * RADIUS) * (n + 2 * RADIUS) * (n + 2 * RADIUS)),
            zeros(n * n * n),
        ),
        verify = |n, before, after| march_on_host(RADIUS as usize, n, before, after),
        tolerance = 1e-4,
    )]
    fn march<const RADIUS: i32>(n: i32, before: *const f32, after: *mut f32);

    #[kernel(
        series(
            block = [64, 128, 256],
            zip(rays = [16K, 64K, 16K], depth = [9, 9, 15], spread = [1, 1, 16]),
        ),
        grid = rays / block,
        args(depth, boxes(depth), rays_of(rays, spread), zeros(rays)),
        verify = trace_on_host,
    )]
    fn trace(depth: i32, nodes: *const f32x4, rays: *const f32x4, distances: *mut f32);

    #[kernel(
        series(block = [64, 128, 256], zip(side = [16, 16, 32], each = [2, 8, 2])),
        grid = side * side * side * each / block,
        args(
            side * side * side * each,
            side,
            cell_starts(side, each),
            particles(side, each),
            zeros(side * side * side * each),
            zeros(64 * side * side * side * each),
        ),
        verify = list_neighbours_on_host,
    )]
    fn list_neighbours(
        n: i32,
        side: i32,
        starts: *const u32,
        places: *const f32x4,
        counts: *mut u32,
        lists: *mut u32,
    );

    #[kernel(
        series(block = [32x2, 32x8, 8x16, 64x8], n = [768, 1536]),
        grid = (n / block.x, n / block.y),
        args(n, 0.8, 0.6, random(n * n), zeros(n * n)),
        verify = turn_on_host,
        tolerance = 1e-3,
    )]
    fn turn(n: i32, cosine: f32, sine: f32, from: *const f32, to: *mut f32);
}

#[gpuprof::kernels(cuda = "kernels/data.cu")]
unsafe extern "C" {
    #[kernel(
        series(
            block = [64, 128, 256],
            zip(n = [8K, 32K, 32K], trees = [512, 16, 64], depth = [6, 10, 4]),
        ),
        grid = n / block,
        args(
            n,
            trees,
            depth,
            tree_nodes(trees, depth),
            random(trees << depth),
            random(32 * n),
            zeros(n),
        ),
        verify = vote_on_host,
    )]
    fn vote(
        n: u32,
        trees: i32,
        depth: i32,
        nodes: *const u32x2,
        leaves: *const f32,
        samples: *const f32,
        to: *mut f32,
    );

    #[kernel(
        series(const ITEMS = [7, 15], block = [64, 128, 256], n = [64K, 2M]),
        grid = (2 * n).div_ceil(ITEMS * block),
        shared = 4 * ITEMS * block,
        args(n, sorted(n), sorted(n), zeros(2 * n)),
        verify = merge_lists_on_host,
    )]
    fn merge_lists<const ITEMS: i32>(n: u32, a: *const u32, b: *const u32, to: *mut u32);

    #[kernel(
        series(
            const BITS = [6, 11],
            block = [64, 128, 256],
            n = [1M, 8M],
        ),
        grid = n / 32 / block,
        args(random(n / 2), zeros(1 << BITS)),
        verify = |keys, to| sketch_on_host(BITS as u32, keys, to),
    )]
    fn sketch<const BITS: i32>(keys: *const u64x2, to: *mut u32);

    #[kernel(
        series(block = [64, 128, 256], zip(queries = [8K, 8K, 32K], count = [128, 512, 128])),
        grid = queries / block,
        args(count, random(2 * count), random(2 * queries), zeros(queries)),
        verify = match_bits_on_host,
    )]
    fn match_bits(count: i32, strings: *const u32x4, queries: *const u32x4, matches: *mut i32);

    #[kernel(
        series(
            const STATES = [16, 32],
            block = [32, 64, 128],
            length = [64, 512],
            where STATES * length <= 8K,
        ),
        grid = 256 * STATES / block,
        shared = 8 * block,
        args(
            length,
            random(STATES * STATES),
            random(32 * STATES),
            random_in(256 * length, 0..32),
            zeros(256 * length * STATES),
            zeros(256 * STATES),
        ),
        verify = viterbi_on_host,
    )]
    fn viterbi<const STATES: i32>(
        length: i32,
        changes: *const f32,
        emissions: *const f32,
        texts: *const u8,
        sources: *mut u8,
        scores: *mut f32,
    );
}
