//! The fifth set of kernels on which the model of estimated times is judged: algorithms of real
//! programs in code of this project, none of them in the first four sets. No constant of the model
//! was chosen by them.
//!
//! Kernels with a short host reference have one. Emulated runs check the accesses of all.

mod inputs;
mod references;
#[path = "../../shared.rs"]
pub mod shared;

use gpuprof::{bf16, f16x2, f32x2, f32x4, f64x2, i32x4, u8x4, u32x4};
use inputs::*;
use references::*;

#[gpuprof::kernels(cuda = "kernels/solvers.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 256], zip(systems = [512, 4K, 32K], n = [1K, 512, 64])),
        grid = systems / block,
        args(
            n,
            systems,
            random_in(n * systems, -1.0..1.0),
            random_in(n * systems, 3.0..4.0),
            random_in(n * systems, -1.0..1.0),
            zeros(n * systems),
            random_in(n * systems, -1.0..1.0),
        ),
        verify = thomas_on_host,
        tolerance = 1e-9,
    )]
    fn thomas(
        n: i32,
        systems: i32,
        lower: *const f64,
        middle: *const f64,
        upper: *const f64,
        ratios: *mut f64,
        x: *mut f64,
    );

    #[kernel(
        series(const SIZE = [64, 128, 256, 512], n = [64K, 512K], block = SIZE),
        grid = n / SIZE,
        args(
            random_in(n, -1.0..1.0),
            random_in(n, 3.0..4.0),
            random_in(n, -1.0..1.0),
            random_in(n, -1.0..1.0),
            zeros(n),
        ),
        verify = |lower, middle, upper, right, x| {
            cyclic_reduction_on_host(SIZE as usize, lower, middle, upper, right, x)
        },
        tolerance = 1e-4,
    )]
    fn cyclic_reduction<const SIZE: i32>(
        lower: *const f32,
        middle: *const f32,
        upper: *const f32,
        right: *const f32,
        x: *mut f32,
    );

    #[kernel(
        series(block = [128, 256, 512], pairs = [128K, 2M]),
        grid = 128K / block,
        args(
            pairs,
            0.25,
            random(pairs),
            random(pairs),
            random(pairs),
            random(pairs),
            zeros(1),
        ),
        verify = conjugate_step_on_host,
        tolerance = 1e-9,
    )]
    fn conjugate_step(
        pairs: u32,
        a: f64,
        p: *const f64x2,
        q: *const f64x2,
        x: *mut f64x2,
        r: *mut f64x2,
        square: *mut f64,
    );

    #[kernel(
        series(block = [32x4, 32x8, 8x8x4], n = [64, 128]),
        grid = (n / block.x, n / block.y, n / block.z),
        args(n, random((2 * n + 1) * (2 * n + 1) * (2 * n + 1)), zeros(n * n * n)),
        verify = restrict_grid_on_host,
        tolerance = 1e-4,
    )]
    fn restrict_grid(n: i32, fine: *const f32, coarse: *mut f32);

    #[kernel(
        series(block = [32x4, 32x8, 16x16, 64x4], n = [256, 1K]),
        grid = (n / block.x, n / block.y),
        args(n, 0.01, random_in(3 * n * n, 1.0..2.0), zeros(3 * n * n)),
        verify = shallow_water_on_host,
        tolerance = 1e-4,
    )]
    fn shallow_water(n: i32, step: f32, before: *const f32, after: *mut f32);

    #[kernel(
        series(block = [32x8, 16x16, 256x1], n = [1K, 4K]),
        grid = (n / block.x, n / block.y),
        args(n, 7, lengths(n)),
        verify = floyd_step_on_host,
    )]
    fn floyd_step(n: i32, middle: i32, lengths: *mut i32);

    static sections: [[f32; 5]; 4];

    #[kernel(
        series(block = [32, 64, 128], zip(channels = [256, 4K], length = [2K, 512])),
        grid = channels / block,
        args(length, channels, random_in(length * channels, -1.0..1.0), zeros(length * channels)),
        globals(sections = SECTIONS.concat()),
        verify = biquads_on_host,
        tolerance = 1e-3,
    )]
    fn biquads(length: i32, channels: i32, from: *const f32, to: *mut f32);
}

#[gpuprof::kernels(cuda = "kernels/matrices.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 256], parts = [1, 32], zip(rows = [512, 8K], columns = [8K, 512])),
        grid = (columns / block, parts),
        args(rows, columns, random(rows * columns), random(rows), zeros(columns)),
        verify = transposed_product_on_host,
        tolerance = 1e-3,
    )]
    fn transposed_product(rows: i32, columns: i32, a: *const f32, x: *const f32, y: *mut f32);

    #[kernel(
        series(block = [64, 128, 512], zip(entries = [256K, 2M], rows = [16K, 256K])),
        grid = entries / block,
        args(
            sorted(random_in(entries, 0..rows)),
            random_in(entries, 0..rows),
            random(entries),
            random(rows),
            zeros(rows),
        ),
        verify = coo_product_on_host,
        tolerance = 1e-3,
    )]
    fn coo_product(
        rows: *const u32,
        columns: *const u32,
        values: *const f32,
        x: *const f32,
        y: *mut f32,
    );

    #[kernel(
        series(const TILE = [64, 128], n = [512, 1K], depth = [128, 512], block = 2 * TILE),
        grid = (n / TILE, n / TILE),
        args(
            n,
            depth,
            random_in(n * depth, -1.0..1.0),
            random_in(n * depth, -1.0..1.0),
            zeros(n * n),
        ),
        verify = tf32_product_on_host,
        tolerance = 2e-2,
    )]
    fn tf32_product<const TILE: i32>(n: i32, depth: i32, a: *const f32, b: *const f32, c: *mut f32);

    #[kernel(
        series(
            const TENSOR = [false, true],
            const ROWS = [32, 64],
            n = [256, 512],
            block = 4 * ROWS,
        ),
        grid = (n / 32, n / ROWS),
        args(n, random(n * n), random(n * n), zeros(n * n)),
        verify = dgemm_on_host,
        tolerance = 1e-10,
    )]
    fn dgemm<const TENSOR: bool, const ROWS: i32>(
        n: i32,
        a: *const f64,
        b: *const f64,
        c: *mut f64,
    );
}

#[gpuprof::kernels(cuda = "kernels/physics.cu")]
unsafe extern "C" {
    static charges: [f32x4; 512];

    #[kernel(
        series(
            const ITEMS = [1, 4],
            block = [32x4, 32x8],
            zip(n = [256, 512], count = [512, 64]),
        ),
        grid = (n / ITEMS / block.x, n / block.y),
        args(n, count, 1.0 / n as f32, 0.25, zeros(n * n)),
        globals(charges = charges_in_space()),
        verify = coulomb_on_host,
        tolerance = 1e-3,
    )]
    fn coulomb<const ITEMS: i32>(n: i32, count: i32, step: f32, z: f32, potential: *mut f32);

    static chances: [u32; 5];

    #[kernel(
        series(block = [128, 256, 512], n = [1K, 4K]),
        grid = n * n / 2 / block,
        args(n, 1, 12345, spins_of(n)),
        globals(chances = CHANCES),
        verify = ising_on_host,
    )]
    fn ising(n: i32, colour: i32, seed: u32, spins: *mut i8);

    #[kernel(
        series(
            const FAST = [false, true],
            block = [64, 256],
            zip(points = [2K, 64K], count = [2K, 64]),
        ),
        grid = points / block,
        args(
            count,
            random_in(count, -1.0..1.0),
            random(points),
            random(points),
            random(points),
            zeros(points),
        ),
        verify = sum_waves_on_host,
        tolerance = 1e-2,
    )]
    fn sum_waves<const FAST: bool>(
        count: i32,
        waves: *const f32x4,
        x: *const f32,
        y: *const f32,
        z: *const f32,
        sums: *mut f32x2,
    );

    #[kernel(
        series(
            block = [64, 128, 256],
            zip(bonds = [16K, 256K, 256K], reach = [8, 8, 64K]),
        ),
        grid = bonds / block,
        args(0.5, 1.9, bonds_within(bonds, reach), random(bonds), zeros(3 * bonds)),
        verify = bend_bonds_on_host,
        tolerance = 1e-2,
    )]
    fn bend_bonds(
        stiffness: f32,
        rest: f32,
        bonds: *const i32x4,
        places: *const f32x4,
        forces: *mut f32,
    );

    #[kernel(
        series(const COPIES = [1, 8], block = [128, 256], n = [1K, 4K]),
        grid = n / block,
        shared = 16 * block,
        args(n, points_in_space(n), zeros(64)),
        verify = count_distances_on_host,
    )]
    fn count_distances<const COPIES: i32>(n: i32, points: *const f32x4, counts: *mut u32);

    #[kernel(
        series(T = [f32, f64], block = [32, 256], zip(n = [1K, 64K], steps = [2K, 16])),
        grid = n / block,
        args(n, steps, 0.001, random_in(3 * n, 1.0..10.0), zeros(3 * n)),
        verify = lorenz_on_host::<T>,
        tolerance = 1e-3,
    )]
    fn lorenz<T>(n: i32, steps: i32, step: T, from: *const T, to: *mut T);

    static volatilities: [f32; 32];

    #[kernel(
        series(const RATES = [16, 32], block = [64, 128], paths = [2K, 16K]),
        grid = paths / block,
        args(paths, 0.045, normal(paths * RATES / 2, 0, 1), zeros(paths)),
        globals(volatilities = VOLATILITIES),
        verify = |paths, strike, normals, values| {
            market_model_on_host(RATES as usize, paths, strike, normals, values)
        },
        tolerance = 1e-3,
    )]
    fn market_model<const RATES: i32>(
        paths: i32,
        strike: f32,
        normals: *const f32,
        values: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], zip(n = [64K, 1M], dimensions = [16, 16])),
        grid = (8K / block, dimensions),
        args(n, 13, random(32 * dimensions), zeros(n * dimensions)),
        verify = sobol_on_host,
    )]
    fn sobol(n: i32, shift: i32, directions: *const u32, to: *mut f32);
}

#[gpuprof::kernels(cuda = "kernels/images.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [16x16, 32x8, 32x16], n = [512, 1536]),
        grid = (n / block.x, n / block.y),
        shared = 2 * ((block.x + 4) * (block.y + 4) + (block.x + 2) * (block.y + 2)),
        args(n, 200, random(n * n), zeros(n * n)),
        verify = find_edges_on_host,
    )]
    fn find_edges(n: i32, least: i32, from: *const u8, to: *mut u8);

    #[kernel(
        series(const SHARED = [false, true], block = [128, 512], points = [16K, 64K]),
        grid = if SHARED { 64 } else { points / block },
        shared = if SHARED { 4 * 3072 } else { 0 },
        args(points, 3072, edge_points(points), angles(), zeros(64 * 3072)),
        verify = vote_for_lines_on_host,
    )]
    fn vote_for_lines<const SHARED: bool>(
        count: i32,
        bins: i32,
        points: *const u32,
        angles: *const f32x2,
        votes: *mut u32,
    );

    #[kernel(
        series(const LEVELS = [1, 5], block = [64, 256], n = [512K, 4M]),
        grid = n / 2 / block,
        shared = 8 * block,
        args(random_in(n, 0..256), zeros(n)),
        verify = |from, to| wavelet_on_host(LEVELS as usize, 2 * block as usize, from, to),
    )]
    fn wavelet<const LEVELS: i32>(from: *const i32, to: *mut i32);

    #[kernel(
        series(
            const TILED = [false, true],
            block = [32x8, 16x16],
            zip(n = [256, 512], shifts = [16, 4]),
        ),
        grid = (n / block.x, n / block.y),
        shared = if TILED { 4 * (block.x + 32) * (block.y + 4) } else { 0 },
        args(n, shifts, random((n + 4) * (n + 32)), random((n + 4) * (n + 32)), zeros(n * n)),
        verify = find_shifts_on_host,
    )]
    fn find_shifts<const TILED: bool>(
        n: i32,
        shifts: i32,
        one: *const u32,
        other: *const u32,
        found: *mut i32,
    );

    #[kernel(
        series(const FAST = [false, true], block = [128, 512], pixels = [256K, 1M]),
        grid = pixels / block,
        args(1.5, random_in(pixels, 0.0..4.0), zeros(pixels)),
        verify = tone_map_on_host,
        compare = differ_by_one,
    )]
    fn tone_map<const FAST: bool>(exposure: f32, from: *const f32x4, to: *mut u8x4);
}

#[gpuprof::kernels(cuda = "kernels/data.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256], zip(n = [2K, 64K], blocks = [32, 1])),
        grid = n / block,
        args(n, blocks, random(16 * blocks * n), zeros(8 * n)),
        verify = sha256_on_host,
    )]
    fn sha256(n: u32, blocks: i32, messages: *const u32, hashes: *mut u32);

    #[kernel(
        series(const MATCH = [false, true], block = [128, 512], n = [256K, 1M]),
        grid = n / 4 / block,
        args(keys(n), digit_offsets(n, 4 * block), zeros(n)),
        verify = |keys, _offsets, to| move_by_digit_on_host(keys, to),
    )]
    fn move_by_digit<const MATCH: bool>(keys: *const u32, offsets: *const u32, to: *mut u32);

    #[kernel(
        series(const TREE = [false, true], block = [64, 256], levels = [14, 24], n = [512K]),
        grid = n / block,
        args(levels, numbers(levels, TREE), random_in(n, 0..1 << (levels + 4)), zeros(n)),
        verify = |levels, _numbers, keys, counts| count_less_on_host(levels, keys, counts),
    )]
    fn count_less<const TREE: bool>(
        levels: i32,
        numbers: *const u32,
        keys: *const u32,
        counts: *mut u32,
    );

    #[kernel(
        series(block = [64, 128, 256], zip(vertices = [4K, 128K], most = [64, 16])),
        grid = edges_of(vertices, most).div_ceil(block),
        args(
            edges_of(vertices, most),
            edge_sources(vertices, most),
            edge_starts(vertices, most),
            edge_targets(vertices, most),
            zeros(1),
        ),
        verify = triangles_on_host,
    )]
    fn triangles(
        edges: u32,
        sources: *const u32,
        starts: *const u32,
        targets: *const u32,
        count: *mut u64,
    );

    #[kernel(
        series(block = [32, 64, 128], zip(size = [10, 13], rows = [3, 4])),
        grid = boards_of(size, rows).div_ceil(block),
        shared = 16 * block * (size - rows),
        args(boards_of(size, rows), size, boards(size, rows), zeros(1)),
        verify = queens_on_host,
    )]
    fn queens(boards: u32, size: i32, starts: *const u32x4, count: *mut u64);

    #[kernel(
        series(block = [128, 512], words = [512, 2K], n = [512K, 16M]),
        grid = n / 32 / words,
        shared = 4 * words,
        args(words, divisors(n).len(), divisors(n), zeros(n / 32)),
        verify = sieve_on_host,
    )]
    fn sieve(words: i32, primes: i32, divisors: *const u32, marks: *mut u32);
}

#[gpuprof::kernels(cuda = "kernels/layers.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [128, 256, 512], zip(side = [112, 16], planes = [256, 2K])),
        grid = side * side * planes / 4 / block,
        args(
            side,
            random(side * side * planes),
            zeros(side * side * planes / 4),
            zeros(side * side * planes / 4),
        ),
        verify = max_pool_on_host,
    )]
    fn max_pool(side: i32, from: *const f32, to: *mut f32, places: *mut i32);

    #[kernel(
        series(
            const SIZE = [3, 5],
            block = [64, 256],
            zip(side = [56, 16], pairs = [64, 256], images = [4, 4]),
        ),
        grid = side * side * pairs * images / block,
        args(
            side,
            pairs,
            random_in(side * side * pairs * images, -1.0..1.0),
            random_in(SIZE * SIZE * pairs, -1.0..1.0),
            zeros(side * side * pairs * images),
        ),
        verify = depthwise_on_host,
        tolerance = 1e-2,
    )]
    fn depthwise<const SIZE: i32>(
        side: i32,
        pairs: i32,
        from: *const f16x2,
        weights: *const f16x2,
        to: *mut f16x2,
    );

    #[kernel(
        series(block = [128, 256, 1024], zip(channels = [64, 512], pixels = [3136, 256])),
        grid = channels,
        args(
            16,
            channels,
            pixels,
            random_in(16 * channels * pixels, -1.0..1.0),
            random(channels),
            zeros(channels),
            zeros(channels),
            zeros(16 * channels * pixels),
        ),
        verify = batch_norm_on_host,
        tolerance = 1e-2,
    )]
    fn batch_norm(
        images: i32,
        channels: i32,
        pixels: i32,
        from: *const f32,
        scales: *const f32,
        means: *mut f32,
        variances: *mut f32,
        to: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], zip(rows = [64, 2K], hidden = [1K, 512])),
        grid = rows * hidden / block,
        args(
            hidden,
            random_in(4 * rows * hidden, -2.0..2.0),
            random_in(rows * hidden, -1.0..1.0),
            zeros(rows * hidden),
        ),
        verify = recurrent_cell_on_host,
        tolerance = 1e-3,
    )]
    fn recurrent_cell(hidden: i32, gates: *const f32, cells: *mut f32, outputs: *mut f32);

    #[kernel(
        series(const WIDE = [false, true], block = [128, 512], n = [512K, 16M]),
        grid = if WIDE { n / 8 / block } else { n / block },
        args(random_in(n, -4.0..4.0), random_in(n, -1.0..1.0), zeros(n)),
        verify = swiglu_on_host,
        tolerance = 2e-2,
    )]
    fn swiglu<const WIDE: bool>(gates: *const bf16, values: *const bf16, to: *mut bf16);

    #[kernel(
        series(n = [1K, 2K, 4K]),
        grid = (n / 64, n / 64),
        block = 64,
        args(boxes(n), zeros(n * n / 64)),
        verify = find_overlaps_on_host,
    )]
    fn find_overlaps(boxes: *const f32x4, masks: *mut u64);
}
