//! Kernels of another crate: three of candle, from the published `candle-kernels`. How large should
//! the blocks be that candle launches?
//!
//! The crate compiles its CUDA C++ files by nvcc when cargo builds it, and holds the PTX as
//! constants, from which the declarations below take their kernels. Its sources and candle itself
//! stay unchanged. You need the CUDA toolkit, or these packages, a host compiler, and nvcc in
//! `PATH`; without a GPU, `CUDA_COMPUTE_CAP` is the architecture for nvcc. The first build takes
//! minutes, as it does for candle:
//!
//! ```text
//! python3 -m pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl
//! cd examples/candle
//! CUDA_COMPUTE_CAP=90 cargo gpuprof run
//! ```
//!
//! The linker must find `libcudart.so`. The packages hold `libcudart.so.13` alone: link the shorter
//! name to it, and name the folder of that link by `RUSTFLAGS="-L FOLDER"`.
//!
//! candle launches `argsort` with a thread for each column, up to 1,024: on an H100 that is 6.4
//! times as fast as blocks of 64. An emulated run cannot show this: blocks of 64 execute fewer
//! instructions. Look at `load_sectors_per_request` of `block_sums`, too: a thread loads 16 bytes
//! at once, so a request of a warp takes 16 sectors if all threads have work, and fewer in
//! blocks that are wider than a row.

#[gpuprof::kernels(ptx = candle_kernels::UNARY.ptx())]
unsafe extern "C" {
    /// y ← gelu(x), by the approximation with a hyperbolic tangent
    #[kernel(
        series(block = 64..=1024, n = [1M]),
        grid = n.div_ceil(block),
        args(n, 1, contiguous(n), normal(n, 0, 1), zeros(n)),
        bytes = 8 * n,
        verify = gelu_on_host,
        tolerance = 1e-5,
        symbol = "ugelu_f32",
        threshold("every load_sectors_per_request <= 4"),
        threshold("every store_sectors_per_request <= 4"),
    )]
    fn gelu(n: usize, dimensions: usize, layout: *const usize, x: *const f32, y: *mut f32);
}

#[gpuprof::kernels(ptx = candle_kernels::REDUCE.ptx())]
unsafe extern "C" {
    /// sums ← the sum of each row
    #[kernel(
        series(block = 32..=1024, columns = [1K, 4K], rows = [256]),
        grid = rows,
        args(
            rows * columns,
            columns,
            1,
            contiguous(rows * columns),
            random(rows * columns),
            zeros(rows),
        ),
        bytes = 4 * rows * (columns + 1),
        verify = |_n, columns, _, _, x: &[f32], sums: &mut [f32]| {
            for (sum, row) in sums.iter_mut().zip(x.chunks_exact(columns)) {
                *sum = row.iter().sum();
            }
        },
        tolerance = 1e-5,
        symbol = "fast_sum_f32",
        threshold("every load_sectors_per_request <= 16"),
        threshold("every bank_conflicts == 0"),
    )]
    fn block_sums(
        n: usize,
        columns: usize,
        dimensions: usize,
        layout: *const usize,
        x: *const f32,
        sums: *mut f32,
    );
}

#[gpuprof::kernels(ptx = candle_kernels::SORT.ptx())]
unsafe extern "C" {
    /// order ← the places of each row's elements in ascending order
    #[kernel(
        series(block = 64..=1024, columns = [1K], rows = [16]),
        grid = rows,
        shared = 4 * columns,
        args(random(rows * columns), zeros(rows * columns), columns, columns),
        bytes = 8 * rows * columns,
        verify = argsort_on_host,
        symbol = "asort_asc_f32",
        threshold("where block==1024 load_sectors_per_request <= 32"),
    )]
    fn argsort(x: *const f32, order: *mut u32, columns: i32, padded: i32);
}

/// Candle's arguments for a tensor with one dimension: its length and its stride.
fn contiguous(n: u64) -> Vec<usize> {
    vec![n as usize, 1]
}

fn gelu_on_host(_n: usize, _dimensions: usize, _layout: &[usize], x: &[f32], y: &mut [f32]) {
    let factor = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    for (y, &x) in y.iter_mut().zip(x) {
        let x = f64::from(x);
        let inner = factor * (x + 0.044715 * x * x * x);
        *y = (0.5 * x * (1.0 + inner.tanh())) as f32;
    }
}

fn argsort_on_host(x: &[f32], order: &mut [u32], columns: i32, _padded: i32) {
    let columns = columns as usize;
    for (order, row) in order.chunks_exact_mut(columns).zip(x.chunks_exact(columns)) {
        for (at, place) in order.iter_mut().enumerate() {
            *place = at as u32;
        }
        order.sort_by(|&a, &b| row[a as usize].total_cmp(&row[b as usize]));
    }
}
