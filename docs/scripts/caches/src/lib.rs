//! Kernels with measurements that depend on the initial contents of the caches.

use gpuprof::prelude::*;

/// `y ← a·x + y`: every byte comes from device memory.
#[gpuprof::kernel(
    series(block = 64..=1024, n = [16M]),
    grid = n.div_ceil(block),
    args(n, 2.0, random(n), random(n)),
    bytes = 12 * n,
)]
pub unsafe fn axpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    if i < n {
        // SAFETY: both buffers hold `n` elements, and each thread has its own.
        unsafe { *y.add(i as usize) += a * *x.add(i as usize) }
    }
}

/// A point and its six neighbours: most of what is read is in the L2.
#[gpuprof::kernel(
    series(block = [32x4, 64x4, 32x8, 128x2], n = [256]),
    grid = (n.div_ceil(block.x), n.div_ceil(block.y), n),
    args(n, random(n * n * n), zeros(n * n * n)),
    bytes = 8 * n * n * n,
)]
pub unsafe fn stencil(n: u32, x: *const f32, y: *mut f32) {
    let (i, j, k) = (thread::global_x(), thread::global_y(), block::z());
    if i == 0 || j == 0 || k == 0 || i + 1 >= n || j + 1 >= n || k + 1 >= n {
        return;
    }
    // SAFETY: both buffers hold n³ elements, and the points at the border returned.
    let at = |i, j, k| unsafe { *x.add(((k * n + j) * n + i) as usize) };
    let neighbours = at(i - 1, j, k)
        + at(i + 1, j, k)
        + at(i, j - 1, k)
        + at(i, j + 1, k)
        + at(i, j, k - 1)
        + at(i, j, k + 1);
    // SAFETY: as above; each thread writes its own element.
    unsafe { *y.add(((k * n + j) * n + i) as usize) = neighbours - 6.0 * at(i, j, k) };
}

/// Counts into 1,024 bins: one hot buffer of 8 KB. Its address determines the time.
#[gpuprof::kernel(
    series(block = 64..=512, n = [4M]),
    grid = n.div_ceil(block * 16),
    args(n, random_in(n, 0..1024), zeros(1024)),
    bytes = 4 * n,
    verify = histogram_on_host,
)]
pub unsafe fn histogram(n: u32, data: *const u32, bins: *mut u64) {
    let mut i = thread::global_x();
    while i < n {
        // SAFETY: `data` holds `n` numbers below 1,024, and bins are accessed by atomics only.
        unsafe { atomic::add(bins.add(*data.add(i as usize) as usize), 1u64) };
        i += block::dim_x() * grid::dim_x();
    }
}

/// The expected `bins` after `histogram`.
fn histogram_on_host(_n: u32, data: &[u32], bins: &mut [u64]) {
    for &number in data {
        bins[number as usize] += 1;
    }
}

/// A straight line of 640 steps, each done once: every instruction is fetched for one use.
#[gpuprof::kernel(
    series(block = [128], n = [4K, 64K, 1M]),
    grid = n.div_ceil(block),
    args(n, random(n), zeros(n)),
)]
pub unsafe fn straight_line(n: u32, x: *const f32, y: *mut f32) {
    let i = thread::global_x();
    if i >= n {
        return;
    }
    // SAFETY: both buffers hold `n` elements.
    let mut v = unsafe { *x.add(i as usize) };
    macro_rules! steps {
        ($($k:literal)*) => {$(
            v = v.mul_add(1.0 + $k as f32 * 1e-4, v * v * $k as f32).sqrt() + $k as f32;
        )*};
    }
    macro_rules! sixteen_times {
        ($($steps:tt)*) => {
            steps!($($steps)*); steps!($($steps)*); steps!($($steps)*); steps!($($steps)*);
            steps!($($steps)*); steps!($($steps)*); steps!($($steps)*); steps!($($steps)*);
            steps!($($steps)*); steps!($($steps)*); steps!($($steps)*); steps!($($steps)*);
            steps!($($steps)*); steps!($($steps)*); steps!($($steps)*); steps!($($steps)*);
        };
    }
    sixteen_times!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
        21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40);
    // SAFETY: each thread writes its own element.
    unsafe { *y.add(i as usize) = v };
}
