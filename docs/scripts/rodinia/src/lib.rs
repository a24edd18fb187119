//! Kernels of Rodinia 3.1 in CUDA C++, declared with the annotations of their ports, and verified
//! by the same host functions. Rodinia's files are in `suite`.
//!
//! Not here: `nn` and `lavaMD`, which take structures, and `kmeans`, whose textures compilers from
//! CUDA 12 on do not support.

use ported::backprop::layer_forward_on_host;
use ported::gaussian::fan2_on_host;
use ported::hotspot3d::hotspot_on_host;
use ported::lud::internal_on_host;
use ported::needleman_wunsch::tiles_on_host;
use ported::pathfinder::dynproc_on_host;
use ported::srad::srad_on_host;

#[gpuprof::kernels(cuda = "suite/cuda/gaussian/fan2.cu")]
unsafe extern "C" {
    /// One step of Gaussian elimination
    #[kernel(
        series(block = 16x16, 32x8, n = [64], t = [0, 17, 62]),
        grid = (n.div_ceil(block.x), n.div_ceil(block.y)),
        args(random(n * n), random(n * n), random(n), n, 0, t),
        verify = fan2,
    )]
    fn Fan2(m: *mut f32, a: *mut f32, b: *mut f32, size: i32, unused: i32, t: i32);
}

fn fan2(m: &mut [f32], a: &mut [f32], b: &mut [f32], size: i32, _unused: i32, t: i32) {
    fan2_on_host(m, a, b, size as u32, t as u32);
}

#[gpuprof::kernels(
    cuda = "suite/cuda/hotspot3D/opt1.cu",
    include = ["stubs"],
    options = ["--pre-include=host.h"],
)]
unsafe extern "C" {
    /// One step of a 7-point stencil
    #[kernel(
        series(block = 32x4, 64x4, nx = [64], ny = [32], nz = [8]),
        grid = (nx / block.x, ny / block.y),
        args(
            random(nx * ny * nz),
            random_in(nx * ny * nz, 300.0..350.0),
            zeros(nx * ny * nz),
            0.34, nx, ny, nz, 0.03, 0.03, 0.05, 0.05, 0.07, 0.07, 0.63,
        ),
        bytes = 12 * nx * ny * nz,
        verify = hotspot,
    )]
    fn hotspotOpt1(
        power: *mut f32,
        before: *mut f32,
        after: *mut f32,
        sdc: f32,
        nx: i32,
        ny: i32,
        nz: i32,
        ce: f32,
        cw: f32,
        cn: f32,
        cs: f32,
        ct: f32,
        cb: f32,
        cc: f32,
    );
}

#[allow(clippy::too_many_arguments)]
fn hotspot(
    power: &mut [f32],
    before: &mut [f32],
    after: &mut [f32],
    _sdc: f32,
    nx: i32,
    ny: i32,
    nz: i32,
    _ce: f32,
    _cw: f32,
    _cn: f32,
    _cs: f32,
    _ct: f32,
    _cb: f32,
    _cc: f32,
) {
    hotspot_on_host(power, before, after, nx as u32, ny as u32, nz as u32);
}

#[gpuprof::kernels(
    cuda = "suite/cuda/pathfinder/pathfinder.cu",
    include = ["stubs"],
    options = ["--pre-include=host.h"],
)]
unsafe extern "C" {
    /// Some rows of the cheapest way through a grid
    #[kernel(
        series(block = [256], columns = [1000], steps = [1, 5, 20]),
        grid = columns.div_ceil(block - 2 * steps),
        args(
            steps,
            random_in(columns * steps, 0..10),
            random_in(columns, 0..100),
            zeros(columns),
            columns, steps, 0, steps,
        ),
        verify = dynproc,
    )]
    fn dynproc_kernel(
        iteration: i32,
        wall: *mut i32,
        source: *mut i32,
        results: *mut i32,
        columns: i32,
        rows: i32,
        start: i32,
        border: i32,
    );
}

#[allow(clippy::too_many_arguments)]
fn dynproc(
    _iteration: i32,
    wall: &mut [i32],
    source: &mut [i32],
    results: &mut [i32],
    columns: i32,
    _rows: i32,
    _start: i32,
    _border: i32,
) {
    dynproc_on_host(wall, source, results, columns);
}

#[gpuprof::kernels(cuda = "suite/cuda/nw/needle_kernel.cu")]
unsafe extern "C" {
    /// The tiles of one diagonal of the score matrix
    #[kernel(
        series(block = [16], columns = [65], diagonal = [1, 4]),
        grid = diagonal,
        args(
            random_in(columns * columns, 0..20),
            random_in(columns * columns, 0..100),
            columns, 10, diagonal, 4,
        ),
        verify = needle,
    )]
    fn needle_cuda_shared_1(
        reference: *mut i32,
        matrix: *mut i32,
        columns: i32,
        penalty: i32,
        diagonal: i32,
        width: i32,
    );
}

fn needle(
    reference: &mut [i32],
    matrix: &mut [i32],
    columns: i32,
    penalty: i32,
    diagonal: i32,
    _width: i32,
) {
    tiles_on_host(reference, matrix, columns as u32, penalty, diagonal as u32);
}

#[gpuprof::kernels(
    cuda = "suite/cuda/srad/srad_v1/srad_kernel.cu",
    define(fp = float),
)]
unsafe extern "C" {
    /// Derivatives and diffusion of each pixel; the four derivatives are buffers of their own
    #[kernel(
        series(block = [128, 512], const NUMBER_THREADS = [128, 512], where block == NUMBER_THREADS,
            rows = [50], columns = [46]),
        grid = (rows * columns).div_ceil(block),
        args(
            0.0, rows, columns, rows * columns,
            random_in(rows, 0..rows),
            random_in(rows, 0..rows),
            random_in(columns, 0..columns),
            random_in(columns, 0..columns),
            zeros(rows * columns), zeros(rows * columns), zeros(rows * columns), zeros(rows * columns),
            0.05,
            zeros(rows * columns),
            random_in(rows * columns, 0.5..1.5),
        ),
        verify = srad_of_parts,
    )]
    fn srad(
        lambda: f32,
        rows: i32,
        columns: i32,
        pixels: i64,
        north: *mut i32,
        south: *mut i32,
        east: *mut i32,
        west: *mut i32,
        to_north: *mut f32,
        to_south: *mut f32,
        to_east: *mut f32,
        to_west: *mut f32,
        noise: f32,
        coefficients: *mut f32,
        image: *mut f32,
    );
}

#[allow(clippy::too_many_arguments)]
fn srad_of_parts(
    _lambda: f32,
    rows: i32,
    _columns: i32,
    _pixels: i64,
    north: &mut [i32],
    south: &mut [i32],
    east: &mut [i32],
    west: &mut [i32],
    to_north: &mut [f32],
    to_south: &mut [f32],
    to_east: &mut [f32],
    to_west: &mut [f32],
    noise: f32,
    coefficients: &mut [f32],
    image: &mut [f32],
) {
    let [north, south, west, east] =
        [north, south, west, east].map(|of| of.iter().map(|at| *at as u32).collect::<Vec<u32>>());
    let mut all = vec![0.0; 4 * image.len()];
    srad_on_host(
        rows as u32, &north, &south, &west, &east, &mut all, noise, coefficients, image,
    );
    let parts = [to_north, to_south, to_west, to_east];
    for (to, from) in parts.into_iter().zip(all.chunks(image.len())) {
        to.copy_from_slice(from);
    }
}

#[gpuprof::kernels(cuda = "suite/cuda/lud/cuda/lud_kernel.cu")]
unsafe extern "C" {
    /// Subtracts a row and a column of tiles from the rest of the matrix
    #[kernel(
        series(block = 16x16, n = [96], offset = [0, 64]),
        grid = ((n - offset) / 16 - 1, (n - offset) / 16 - 1),
        args(random(n * n), n, offset),
        verify = lud,
    )]
    fn lud_internal(m: *mut f32, n: i32, offset: i32);
}

fn lud(m: &mut [f32], n: i32, offset: i32) {
    internal_on_host(m, n as u32, offset as u32);
}

#[gpuprof::kernels(cuda = "suite/cuda/backprop/backprop_cuda_kernel.cu")]
unsafe extern "C" {
    /// The weighted inputs of a layer
    #[kernel(
        series(block = 16x16, inputs = [256]),
        grid = (1, inputs / 16),
        args(random(inputs + 1), zeros(1), random((inputs + 1) * 17), zeros(inputs), inputs, 16),
        verify = layer_forward,
    )]
    fn bpnn_layerforward_CUDA(
        input: *mut f32,
        unused: *mut f32,
        weights: *mut f32,
        sums: *mut f32,
        inputs: i32,
        hidden: i32,
    );
}

fn layer_forward(
    input: &mut [f32],
    _unused: &mut [f32],
    weights: &mut [f32],
    sums: &mut [f32],
    _inputs: i32,
    hidden: i32,
) {
    layer_forward_on_host(input, weights, sums, hidden as u32);
}
