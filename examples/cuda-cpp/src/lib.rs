//! CUDA C++ kernels, declared in Rust: which shape should a stencil's block have, and which tiles a
//! matrix product on tensor cores?
//!
//! The kernels are in `kernels`: `jacobi.cu`, and `matmul.cu`, a template of a tile's size and a
//! type. Their declarations have the annotation of a kernel in Rust. By default they come from the
//! PTX files next to them, compiled in advance, so you need no compiler; with the feature `nvrtc`
//! `cargo gpuprof` compiles the files by NVRTC, which
//! `python3 -m pip install nvidia-cuda-nvrtc` installs. On a GPU, the feature `cublas` adds rows
//! of cuBLAS:
//!
//! ```text
//! cargo gpuprof run --package cuda-cpp
//! cargo gpuprof run --package cuda-cpp --features nvrtc
//! cargo gpuprof run --package cuda-cpp --features cublas matmul --series n=4K
//! ```
//!
//! Look at `load_sectors_per_request` of `jacobi`: it falls from 5.96 with blocks of 8x32 to 4.43
//! with 32x8. A warp of the narrow block spans four rows, each with two ends in further
//! sectors; a warp of a block that is 32 wide spans one row.

#[cfg(feature = "cublas")]
mod cublas;
mod matmul;

#[cfg_attr(feature = "nvrtc", gpuprof::kernels(cuda = "kernels/jacobi.cu"))]
#[cfg_attr(not(feature = "nvrtc"), gpuprof::kernels(ptx = "kernels/jacobi.ptx"))]
unsafe extern "C" {
    /// One Jacobi step of the Laplace equation on an n by n grid
    ///
    /// Most left and right neighbours of a point lie in sectors that its warp loads anyway.
    #[kernel(
        series(block = [8x32, 16x16, 32x8, 64x4], n = [1K]),
        grid = (n.div_ceil(block.x), n.div_ceil(block.y)),
        args(n, random(n * n), zeros(n * n)),
        bytes = 8 * n * n,
        flops = 4 * n * n,
        verify = jacobi_on_host,
        metrics(throughput, load_sectors_per_request, store_sectors_per_request),
        threshold("where block==32x8 load_sectors_per_request <= 5"),
        threshold("every store_sectors_per_request <= 4"),
    )]
    fn jacobi(n: u32, before: *const f32, after: *mut f32);
}

/// The same step on the host.
fn jacobi_on_host(n: u32, before: &[f32], after: &mut [f32]) {
    let n = n as usize;
    for (i, after) in after.iter_mut().enumerate() {
        let (row, column) = (i / n, i % n);
        let inner = row > 0 && column > 0 && row < n - 1 && column < n - 1;
        *after = if inner {
            0.25 * ((before[i - 1] + before[i + 1]) + (before[i - n] + before[i + n]))
        } else {
            before[i]
        };
    }
}
