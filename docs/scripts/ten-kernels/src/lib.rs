//! Ten kernels of 1 µs to 1 ms on an H100, each bound by something else. The feature `slower` gives
//! each of them about 3 % more to do in blocks of 256 threads; the device's code is the same.

use gpuprof::prelude::*;

/// The steps of a kernel in a block of so many threads: `usual`, and `more` of them in the
/// configuration that the feature makes slower.
fn steps(block: u64, usual: u64, more: u64) -> u64 {
    if cfg!(feature = "slower") && block == 256 { usual + more } else { usual }
}

/// 1 µs: a launch, and a short chain of additions. A step is 2 ns.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 1, args(steps(block, 64, 17), zeros(block)))]
pub unsafe fn additions(steps: u32, y: *mut f32) {
    let mut sum = 0.0;
    for step in 0..steps {
        sum += step as f32;
    }
    // SAFETY: the buffer holds an element for each thread of the block.
    unsafe { *y.add(thread::x() as usize) = sum }
}

/// 2 µs: a chain of square roots.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 4, args(steps(block, 40, 3), zeros(4 * block)))]
pub unsafe fn roots(steps: u32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let mut root = i as f32;
    for _ in 0..steps {
        root = (root + 1.0).sqrt();
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i) = root }
}

/// 4 µs: integer arithmetic.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 132, args(steps(block, 256, 12), zeros(132 * block)))]
pub unsafe fn hashes(steps: u32, y: *mut u32) {
    let i = thread::global_x();
    let mut hash = i;
    for step in 0..steps {
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d).wrapping_add(step);
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i as usize) = hash }
}

/// 8 µs: double precision.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 132, args(steps(block, 256, 9), zeros(132 * block)))]
pub unsafe fn doubles(steps: u32, y: *mut f64) {
    let i = thread::global_x() as usize;
    let mut value = i as f64;
    for _ in 0..steps {
        value = value.mul_add(0.999, 1.0);
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i) = value }
}

/// The sum of `count` elements of `x`, which holds 64 for each thread.
///
/// # Safety
/// `x` holds as many.
unsafe fn sum(x: *const f32, count: u32) -> f32 {
    let threads = block::dim_x() * grid::dim_x();
    let mut sum = 0.0;
    for step in 0..count {
        let i = thread::global_x() + step % 64 * threads;
        // SAFETY: the caller's.
        sum += unsafe { *x.add(i as usize) };
    }
    sum
}

/// 15 µs: reads device memory.
#[gpuprof::kernel(
    series(block = 64..=1024 step 64),
    grid = 132,
    args(steps(block, 64, 2), zeros(132 * block * 64), zeros(132 * block)),
)]
pub unsafe fn reads(steps: u32, x: *const f32, y: *mut f32) {
    // SAFETY: `x` holds 64 elements for each thread, and `y` one.
    unsafe { *y.add(thread::global_x() as usize) = sum(x, steps) }
}

/// 30 µs: follows indices, one after the other.
#[gpuprof::kernel(
    series(block = 64..=1024 step 64),
    grid = 132,
    args(steps(block, 64, 2), random_in(1048576, 0..1048576), zeros(132 * block)),
)]
pub unsafe fn indices(steps: u32, next: *const u32, y: *mut u32) {
    let i = thread::global_x();
    let mut at = i;
    for _ in 0..steps {
        // SAFETY: `next` holds 2^20 numbers below 2^20, and there are fewer threads.
        at = unsafe { *next.add(at as usize) };
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i as usize) = at }
}

/// 60 µs: atomics on 4,096 numbers.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 132, args(steps(block, 128, 4), zeros(4096)))]
pub unsafe fn atomics(steps: u32, counts: *mut u32) {
    let i = thread::global_x();
    for step in 0..steps {
        let at = (i.wrapping_mul(0x9e37_79b1) ^ step.wrapping_mul(0x85eb_ca6b)) >> 20;
        // SAFETY: 12 bits index 4,096 numbers, which are accessed by atomics only.
        unsafe { atomic::add(counts.add(at as usize), 1u32) };
    }
}

/// 150 µs: exponentials.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 1056, args(steps(block, 1024, 32), zeros(1056 * block)))]
pub unsafe fn exponentials(steps: u32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let mut value = i as f32 * 1e-6;
    for _ in 0..steps {
        value = (-value).exp();
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i) = value }
}

/// 300 µs: reads device memory several times.
#[gpuprof::kernel(
    series(block = 64..=1024 step 64),
    grid = 264,
    args(steps(block, 2048, 64), zeros(264 * block * 64), zeros(264 * block)),
)]
pub unsafe fn streams(steps: u32, x: *const f32, y: *mut f32) {
    // SAFETY: `x` holds 64 elements for each thread, and `y` one.
    unsafe { *y.add(thread::global_x() as usize) = sum(x, steps) }
}

/// 1 ms: a long chain of multiplications and additions.
#[gpuprof::kernel(series(block = 64..=1024 step 64), grid = 1056, args(steps(block, 131072, 4096), zeros(1056 * block)))]
pub unsafe fn products(steps: u32, y: *mut f32) {
    let i = thread::global_x() as usize;
    let mut value = i as f32;
    for _ in 0..steps {
        value = value.mul_add(0.999, 1.0);
    }
    // SAFETY: the buffer holds an element for each thread.
    unsafe { *y.add(i) = value }
}
