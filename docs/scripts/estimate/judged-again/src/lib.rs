//! The second set of kernels on which the model of estimated times is judged: patterns of public
//! suites in code of this project, none of them in the first set. No constant of the model was
//! chosen by them.
//!
//! Kernels with a short host reference have one. Emulated runs check the accesses of all.

mod references;
#[path = "../../shared.rs"]
pub mod shared;

use gpuprof::{bf16, f16, f32x2, f32x4, i32x4, u32x4};
use references::*;
use shared::{ends, scattered};

#[gpuprof::kernels(cuda = "kernels/matrices.cu")]
unsafe extern "C" {
    #[kernel(
        series(
            const TILE = [64, 128],
            const WARPS = [4, 8],
            n = [256, 512, 768],
            block = 32 * WARPS,
        ),
        grid = (n / TILE, n / TILE),
        args(n, random(n * n), random(n * n), zeros(n * n)),
        verify = wmma_product_on_host,
        tolerance = 1e-2,
    )]
    fn wmma_product<const TILE: i32, const WARPS: i32>(
        n: i32,
        a: *const f16,
        b: *const f16,
        c: *mut f32,
    );

    #[kernel(
        series(
            const ROWS = [64, 128],
            const STAGES = [2, 4],
            n = [256, 1K],
            k = [256, 1K],
            block = 2 * ROWS,
        ),
        grid = (n / 64, n / ROWS),
        shared = 2 * STAGES * (ROWS + 64) * 40,
        args(n, k, random(n * k), random(n * k), zeros(n * n)),
        verify = mma_product_on_host,
        tolerance = 1e-2,
    )]
    fn mma_product<const ROWS: i32, const STAGES: i32>(
        n: i32,
        k: i32,
        a: *const bf16,
        b: *const bf16,
        c: *mut f32,
    );

    #[kernel(
        series(
            const TILE = [32, 64],
            const EACH = [2, 4, 8],
            n = [256, 768],
            block = TILE / EACH * (TILE / EACH),
            where block >= 64,
        ),
        grid = (n / TILE, n / TILE),
        args(n, 0.5, 0.25, random(n * n), random(n * n), random(n * n)),
        verify = tiled_product_on_host,
        tolerance = 1e-3,
    )]
    fn tiled_product<const TILE: i32, const EACH: i32>(
        n: i32,
        alpha: f32,
        beta: f32,
        a: *const f32,
        b: *const f32,
        c: *mut f32,
    );

    #[kernel(
        series(const SIZE = [4, 16], block = [64, 128, 256], matrices = [2K, 32K]),
        grid = matrices * SIZE / block,
        shared = 4 * block * SIZE,
        args(
            random(matrices * SIZE * SIZE),
            random(matrices * SIZE * SIZE),
            zeros(matrices * SIZE * SIZE),
        ),
        verify = |a, b, c| small_products_on_host(SIZE as usize, a, b, c),
    )]
    fn small_products<const SIZE: i32>(a: *const f32, b: *const f32, c: *mut f32);

    #[kernel(
        series(const LANES = [1, 4, 32], block = [64, 128, 256], rows = [8K, 64K]),
        grid = rows * LANES / block,
        args(
            rows,
            starts(rows),
            random_in(32 * rows, 0..rows),
            random(32 * rows),
            random(rows),
            zeros(rows),
        ),
        verify = csr_product_on_host,
    )]
    fn csr_product<const LANES: i32>(
        rows: u32,
        starts: *const u32,
        columns: *const u32,
        values: *const f64,
        x: *const f64,
        y: *mut f64,
    );

    #[kernel(
        series(block = [64, 128, 256], rows = [2K, 16K], columns = [1K, 4K]),
        grid = 32 * rows / block,
        args(
            columns,
            random(rows * columns / 16),
            random(rows * columns / 32),
            random(columns / 16),
            random(columns / 32),
            zeros(rows),
        ),
    )]
    fn dot_bytes(
        columns: i32,
        a: *const i32x4,
        a_scales: *const f32,
        x: *const i32x4,
        x_scales: *const f32,
        y: *mut f32,
    );
}

#[gpuprof::kernels(cuda = "kernels/layers.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256, 1024], rows = [128, 2K], columns = [512, 4K]), grid = rows,
        args(columns, 2.0, random_in(rows * columns, -4.0..4.0), zeros(rows * columns)),
        verify = softmax_on_host,
    )]
    fn softmax(columns: i32, scale: f32, x: *const f32, y: *mut f32);

    #[kernel(
        series(block = [64, 128, 256, 512], rows = [1K, 16K], columns = [256, 768]),
        grid = 32 * rows / block,
        args(
            columns,
            random(rows * columns / 2),
            random(columns / 2),
            random(columns / 2),
            zeros(rows * columns / 2),
            zeros(rows),
            zeros(rows),
        ),
    )]
    fn layer_norm(
        columns: i32,
        x: *const f32x2,
        weight: *const f32x2,
        bias: *const f32x2,
        y: *mut f32x2,
        means: *mut f32,
        inverses: *mut f32,
    );

    #[kernel(
        series(block = [128, 256, 512], rows = [1K, 4K], columns = [256, 768]),
        grid = 132,
        shared = 8 * columns,
        args(
            rows,
            columns,
            random_in(rows * columns, -1.0..1.0),
            random(rows * columns),
            random(columns),
            random_in(rows, 0.4..0.6),
            random_in(rows, 3.0..4.0),
            zeros(rows * columns),
            zeros(columns),
            zeros(columns),
        ),
    )]
    fn layer_norm_backward(
        rows: i32,
        columns: i32,
        gradient: *const f32,
        x: *const f32,
        weight: *const f32,
        means: *const f32,
        inverses: *const f32,
        of_x: *mut f32,
        of_weight: *mut f32,
        of_bias: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], heads = [32, 128], context = [256, 1K, 4K]), grid = heads,
        shared = 4 * context.max(2 * block),
        args(
            context,
            random_in(64 * heads, -1.0..1.0),
            random_in(8 * heads * context, -1.0..1.0),
            random_in(8 * heads * context, -1.0..1.0),
            zeros(64 * heads),
        ),
    )]
    fn decode(
        context: i32,
        queries: *const f32,
        keys: *const f16,
        values: *const f16,
        to: *mut f32,
    );

    #[kernel(
        series(block = [64, 128, 256], tokens = [1K, 4K], words = [64, 16K]), grid = tokens,
        args(
            768,
            1024,
            random_in(tokens, 0..words),
            random(192 * tokens),
            zeros(768 * words),
            zeros(768 * 1024),
        ),
    )]
    fn embedding_backward(
        channels: i32,
        positions: i32,
        tokens: *const u32,
        gradient: *const f32x4,
        of_tokens: *mut f32,
        of_positions: *mut f32,
    );
}

#[gpuprof::kernels(cuda = "kernels/blocks.cu")]
unsafe extern "C" {
    #[kernel(
        series(const ITEMS = [4, 16], block = [128, 256, 512], values = [3, 64K], n = [4M]),
        grid = n / ITEMS / block,
        args(0, random_in(n, 0..values), zeros(n / ITEMS / block * 256)),
        verify = digit_counts_on_host,
    )]
    fn digit_counts<const ITEMS: i32>(shift: u32, keys: *const u32, counts: *mut u32);

    #[kernel(
        series(const ITEMS = [4, 8], block = [128, 256, 512], n = [128K, 4M]),
        grid = n / ITEMS / block,
        args(random(n), zeros(n), zeros(n / ITEMS / block), zeros(1)),
        verify = look_back_on_host,
    )]
    fn look_back<const ITEMS: i32>(x: *const u32, y: *mut u32, states: *mut u64, ticket: *mut u32);

    #[kernel(
        series(const VECTORS = [false, true], block = [128, 256, 512, 1024], n = [256K, 4M]),
        grid = if VECTORS { 264 } else { n / 2 / block },
        shared = 4 * block,
        args(n, random(n), zeros(264), zeros(1), zeros(1)),
    )]
    fn reduce<const VECTORS: bool>(
        n: u32,
        x: *const u32,
        parts: *mut u32,
        done: *mut u32,
        sum: *mut u32,
    );

    #[kernel(
        series(block = [128, 256, 1024], distance = [1, 16K], n = [128K, 8M]), grid = n / 2 / block,
        args(distance, 2 * distance, random(n), iota(n)),
        verify = bitonic_step_on_host,
    )]
    fn bitonic_step(distance: u32, size: u32, keys: *mut u32, values: *mut u32);

    #[kernel(
        series(block = [64, 256, 512], room = [2, 16], n = [32K, 512K]), grid = n / block,
        args(n, n * room - 1, random_in(n, 1..4 * n), zeros(n * room), zeros(n * room)),
    )]
    fn insert(n: u32, mask: u32, keys: *const u64, table: *mut u64, counts: *mut u32);

    #[kernel(
        series(const TILED = [false, true], block = [32x4, 32x8, 32x16, 32x32], n = [512, 3K]),
        grid = (n / 32, n / 32),
        args(n, random(n * n), zeros(n * n)),
        verify = transpose_on_host,
    )]
    fn transpose<const TILED: bool>(n: u32, from: *const f32, to: *mut f32);

    #[kernel(
        series(const FIELDS = [3, 13], block = [64, 256, 1024], n = [64K, 1M]), grid = n / block,
        args(n, grouped_order(n), random(FIELDS * n), zeros(FIELDS * n)),
        verify = split_records_on_host,
    )]
    fn split_records<const FIELDS: i32>(
        n: u32,
        order: *const u32,
        records: *const f32,
        fields: *mut f32,
    );
}

#[gpuprof::kernels(cuda = "kernels/grids.cu")]
unsafe extern "C" {
    #[kernel(
        series(const TILED = [false, true], block = [32x4, 32x8, 64x4, 16x16], n = [512, 2K]),
        grid = (n / block.x, n / block.y),
        shared = if TILED { 4 * (block.x + 2) * (block.y + 2) } else { 0 },
        args(n, random(n * n), random(n * n), zeros(n * n)),
        verify = jacobi_on_host,
    )]
    fn jacobi<const TILED: bool>(n: i32, before: *const f32, source: *const f32, after: *mut f32);

    #[kernel(
        series(const TILED = [false, true], block = [32x4x2, 16x8x4, 8x8x8], n = [64, 128]),
        grid = (n / block.x, n / block.y, n / block.z),
        shared = if TILED { 4 * (block.x + 4) * (block.y + 4) * (block.z + 4) } else { 0 },
        args(n, 0.1, random(n * n * n), random(n * n * n), zeros(n * n * n)),
    )]
    fn wave<const TILED: bool>(
        n: i32,
        speed: f32,
        now: *const f32,
        old: *const f32,
        next: *mut f32,
    );

    static taps: [f32; 17];

    #[kernel(
        series(
            const RADIUS = [2, 8],
            const COLUMNS = [false, true],
            block = [32x4, 32x8, 64x4],
            n = [2K],
        ),
        grid = if COLUMNS {
            (n / block.x, n / block.y / 4)
        } else {
            (n / block.x / 4, n / block.y)
        },
        shared = if COLUMNS {
            4 * block.x * (4 * block.y + 2 * RADIUS)
        } else {
            4 * block.y * (4 * block.x + 2 * RADIUS)
        },
        args(n, random(n * n), zeros(n * n)),
        globals(taps = [0.0625; 17]),
    )]
    fn convolve<const RADIUS: i32, const COLUMNS: bool>(n: i32, from: *const f32, to: *mut f32);

    #[kernel(
        series(block = [8x8, 32x4, 16x16, 32x8], radius = [2, 4], n = [128, 384]),
        grid = (n / block.x, n / block.y),
        args(n, radius, random(n * n), zeros(n * n)),
    )]
    fn bilateral(n: i32, radius: i32, from: *const u32, to: *mut u32);

    #[kernel(
        series(block = [64, 128, 256, 512], share = [4, 64], vertices = [64K, 512K]),
        grid = vertices / share / block,
        args(
            vertices / share,
            2,
            frontier(vertices, share),
            edge_starts(vertices),
            random_in(8 * vertices, 0..vertices),
            levels(vertices, share),
            zeros(vertices),
            zeros(1),
        ),
    )]
    fn bfs_step(
        count: u32,
        depth: u32,
        frontier: *const u32,
        starts: *const u32,
        edges: *const u32,
        levels: *mut u32,
        next: *mut u32,
        next_count: *mut u32,
    );
}

#[gpuprof::kernels(cuda = "kernels/elements.cu")]
unsafe extern "C" {
    #[kernel(
        series(block = [64, 128, 256], bits = [16, 64], n = [16K, 256K]), grid = n / block,
        args(
            bits,
            MODULUS,
            minus_inverse(),
            square(),
            random_in(n, 0..MODULUS),
            random(n),
            zeros(n),
        ),
        verify = modular_powers_on_host,
    )]
    fn modular_powers(
        bits: u32,
        m: u64,
        inverse: u64,
        square: u64,
        x: *const u64,
        exponents: *const u64,
        y: *mut u64,
    );

    #[kernel(
        series(block = [64, 128, 256], rounds = [1, 24], n = [16K, 64K]), grid = n / block,
        args(rounds, random(2 * n), random(2 * n), zeros(2 * n)),
        verify = field_products_on_host,
    )]
    fn field_products(rounds: u32, x: *const u32x4, y: *const u32x4, to: *mut u32x4);

    #[kernel(
        series(block = [64, 256, 1024], half = [1, 4K], n = [256K, 4M]), grid = n / 2 / block,
        args(
            half,
            4096 / half,
            random_in(4096, 0..GOLDILOCKS),
            random_in(n, 0..GOLDILOCKS),
        ),
        verify = butterflies_on_host,
    )]
    fn butterflies(half: u32, stride: u32, roots: *const u64, x: *mut u64);

    #[kernel(
        series(block = [64, 128, 256, 512], radius = [6, 20], walkers = [8K, 32K]),
        grid = walkers / block,
        args(radius, 77, zeros(walkers)),
        verify = walks_on_host,
    )]
    fn walks(radius: i32, seed: u32, steps: *mut u32);

    #[kernel(
        series(const ITEMS = [1, 4], block = [64, 256, 512], degree = [16, 256], n = [256K]),
        grid = n / ITEMS / block,
        args(degree, random(degree + 1), random_in(n, -1.0..1.0), zeros(n)),
        verify = horner_on_host,
    )]
    fn horner<const ITEMS: i32>(degree: u32, coefficients: *const f64, x: *const f64, y: *mut f64);

    #[kernel(
        series(block = [32x4, 64x4, 16x16, 8x32], most = [8, 64], n = [256, 1K]),
        grid = (n / block.x, n / block.y),
        args(n, most, zeros(n * n)),
    )]
    fn newton(n: i32, most: i32, to: *mut u32);

    #[kernel(
        series(block = [64, 128, 256], count = [16, 128], atoms = [8K, 64K]), grid = atoms / block,
        args(atoms, count, 0.5, random(atoms), lists(atoms, count), zeros(atoms)),
    )]
    fn neighbours(
        atoms: i32,
        count: i32,
        cut: f32,
        places: *const f32x4,
        lists: *const i32,
        forces: *mut f32x4,
    );

    #[kernel(
        series(block = [32, 128, 256], nodes = [2K, 512K], blocks = [24, 264], steps = [256]),
        grid = blocks,
        args(steps, nodes, linked(nodes), zeros(blocks * block)),
        verify = chase_on_host,
    )]
    fn chase(steps: u32, nodes: u32, words: *const u32, sums: *mut u32);

    #[kernel(
        series(const TABLE = [false, true], block = [64, 128, 256, 512], threads = [16K, 1M]),
        grid = threads / block,
        args(random(3 * threads), zeros(threads)),
        verify = base64_on_host,
    )]
    fn base64<const TABLE: bool>(bytes: *const u32, text: *mut u32x4);
}

/// The start of each row, and the end of the last: of 8 rows with 256 values, one has 200.
fn starts(rows: u64) -> Vec<u32> {
    const LENGTHS: [u32; 8] = [200, 24, 13, 8, 5, 3, 2, 1];
    ends((0..rows).map(|row| LENGTHS[(row * 5 + row / 8 * 3) as usize % 8]))
}

/// The same for vertices, which have 1 to 15 edges, 8 on average.
fn edge_starts(vertices: u64) -> Vec<u32> {
    ends((0..vertices).map(|vertex| {
        let one = scattered(vertex / 2) as u32 % 15 + 1;
        if vertex % 2 == 0 { one } else { 16 - one }
    }))
}

/// One of `share` vertices each, near its own multiple of `share`.
fn frontier(vertices: u64, share: u64) -> Vec<u32> {
    (0..vertices / share).map(|i| (i * share + scattered(i) % share) as u32).collect()
}

/// The level 1 of the frontier and of half of the others, and 0 of those not reached.
fn levels(vertices: u64, share: u64) -> Vec<u32> {
    let mut levels: Vec<u32> = (0..vertices).map(|i| (scattered(i) % 2) as u32).collect();
    frontier(vertices, share).iter().for_each(|i| levels[*i as usize] = 1);
    levels
}

/// An order of groups of 16 neighbours. `n` is a power of two.
fn grouped_order(n: u64) -> Vec<u32> {
    (0..n).map(|i| ((i / 16 * 40_503) % (n / 16) * 16 + i % 16) as u32).collect()
}

/// Neighbours of each atom among the 512 atoms around it, the first of all atoms first.
fn lists(atoms: u64, count: u64) -> Vec<i32> {
    (0..atoms * count)
        .map(|i| ((i % atoms + atoms + scattered(i) % 512 - 256) % atoms) as i32)
        .collect()
}

/// Nodes of 32 words. The last word is the next node, in a cycle of all. `nodes` is a power of two.
fn linked(nodes: u64) -> Vec<u32> {
    (0..nodes * 32)
        .map(|i| {
            let next = (i / 32 * 1_664_525 + 1_013_904_223) % nodes;
            if i % 32 == 31 { next as u32 } else { i as u32 }
        })
        .collect()
}
