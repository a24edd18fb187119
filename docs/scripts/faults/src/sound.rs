//! Sound kernels that a naive check blames.

use gpuprof::atomic::{Atomic, Ordering};
use gpuprof::prelude::*;

/// sound [slices]: a grid-stride loop
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_grid_stride(x: &[f32], mut y: DisjointSlice<f32>) {
    for i in thread::indices_1d(x.len()) {
        y[i] = 2.0 * x[i.get()];
    }
}

/// sound [slices]: the last vector ends where the buffer ends
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_vectors(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    let fours = f32x4::slice(x);
    y[i] = fours[i.get() % fours.len()][3];
}

/// sound [slices]: warps that end before the barrier of the others
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_warps_end_early(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 96]);
    let i = thread::index_1d();
    if thread::x() >= 96 {
        return;
    }
    unsafe { tile.write(thread::x(), x[i.get()]) };
    block::sync();
    y[i] = unsafe { tile.read(95 - thread::x()) };
}

/// sound [slices]: a padded tile turned around in place
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_transposition_in_place(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([[f32; 17]; 8]);
    let i = thread::index_1d();
    let (row, column) = (thread::x() / 16, thread::x() % 16);
    unsafe { tile.write((row, column), x[i.get()]) };
    block::sync();
    let opposite = unsafe { tile.read((7 - row, 15 - column)) };
    block::sync();
    unsafe { tile.write((row, column), opposite) };
    block::sync();
    y[i] = unsafe { tile.read((7 - row, column)) };
}

/// sound [slices]: two buffers in turn, one barrier a round
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_two_buffers(x: &[f32], mut y: DisjointSlice<f32>) {
    let buffers = shared!([[f32; 128]; 2]);
    let i = thread::index_1d();
    let mut sum = 0.0;
    let mut round = 0;
    while round < 6 {
        unsafe { buffers.write((round % 2, thread::x()), x[i.get()] + round as f32) };
        block::sync();
        sum += unsafe { buffers.read((round % 2, (thread::x() + 32) % 128)) };
        round += 1;
    }
    y[i] = sum;
}

/// sound [slices]: lanes exchange behind a barrier of the warp
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_warp_sync(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 128]);
    let i = thread::index_1d();
    unsafe { tile.write(thread::x(), x[i.get()]) };
    warp::sync();
    y[i] = unsafe { tile.read(thread::x() ^ 1) };
}

/// sound [slices]: the library's reduction of a block, twice in the same memory
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_reduce_twice(x: &[f32], mut y: DisjointSlice<f32>) {
    let scratch = shared!([f32; block::SCRATCH]);
    let i = thread::index_1d();
    let sum = unsafe { block::reduce_add(x[i.get()], scratch) };
    let most = unsafe { block::reduce(x[i.get()], scratch, f32::max) };
    y[i] = sum + most;
}

/// sound [block=96 slices]: the library's scan of a block that has no 32 warps
#[gpuprof::kernel(grid = 2, block = 96, args(iota(256), zeros(256)))]
pub fn rust_scan(x: &[f32], mut y: DisjointSlice<f32>) {
    let scratch = shared!([f32; block::SCRATCH]);
    let i = thread::index_1d();
    y[i] = unsafe { block::inclusive_sum(x[i.get()], scratch) };
}

/// sound [slices]: tiles of eight lanes in different arms
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_tiles_in_arms(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    let tile = warp::tile::<8>();
    y[i] = if tile.index() % 2 == 0 {
        tile.shuffle_xor(x[i.get()], 1)
    } else {
        tile.reduce_add(x[i.get()])
    };
}

/// sound [slices]: a histogram by atomics in shared memory
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_atomic_histogram(x: &[f32], mut y: DisjointSlice<f32>) {
    let bins = shared!([u32; 8]);
    let i = thread::index_1d();
    if thread::x() < 8 {
        unsafe { bins.write(thread::x(), 0) };
    }
    block::sync();
    unsafe { bins.atomic_add(x[i.get()] as u32 % 8, 1) };
    block::sync();
    y[i] = unsafe { bins.read(thread::x() % 8) } as f32;
}

/// sound [slices]: dynamic shared memory in parts of two types
#[gpuprof::kernel(grid = 2, block = 128, shared = 512, args(iota(256), zeros(256)))]
pub fn rust_dynamic_parts(x: &[f32], mut y: DisjointSlice<f32>) {
    let mut memory = dynamic_shared!(u8);
    let (wide, narrow) = unsafe { (memory.take::<f64>(32), memory.take::<f32>(64)) };
    let i = thread::index_1d();
    if thread::x() < 32 {
        unsafe { wide.write(thread::x(), f64::from(x[i.get()])) };
    } else if thread::x() < 96 {
        unsafe { narrow.write(thread::x() - 32, x[i.get()]) };
    }
    block::sync();
    let sum = unsafe { wide.read(thread::x() % 32) as f32 + narrow.read(thread::x() % 64) };
    y[i] = sum;
}

/// sound [slices]: each block turns its part around in place, in global memory
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub unsafe fn rust_reverse_in_place(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    y[i] = x[i.get()];
    block::sync();
    let first = block::x() * block::dim_x();
    let opposite = (first + block::dim_x() - 1 - thread::x()) as usize;
    // SAFETY: barriers lie between the block's writes and this read.
    let value = unsafe { y.read(opposite) };
    block::sync();
    y[i] = value;
}

/// sound: the last block adds the sums of all
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_last_block(x: *const f32, y: *mut u32, n: u32) {
    if thread::x() > 0 {
        return;
    }
    // SAFETY: the counter is the last element; its ordering publishes the sums.
    unsafe {
        *y.add(block::x() as usize) = *x.add(thread::global_x() as usize) as u32;
        let finished = Atomic::from_ptr(y.add(n as usize - 1));
        if finished.fetch_add(1, Ordering::AcqRel) == grid::dim_x() - 1 {
            *y.add(16) = (0..grid::dim_x()).map(|i| *y.add(i as usize)).sum();
        }
    }
}

/// sound [grid=8 block=32]: blocks hand over a sum by release and acquire
#[gpuprof::kernel(grid = 8, block = 32, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_look_back(_x: *const f32, y: *mut u32, n: u32) {
    if thread::x() > 0 {
        return;
    }
    let block = block::x() as usize;
    // SAFETY: the flags are the last 32 elements, and order the sums.
    unsafe {
        let flag = |block: usize| Atomic::from_ptr(y.add(n as usize - 32 + block));
        let mut before = 0;
        if block > 0 {
            while flag(block - 1).load(Ordering::Acquire) == 0 {}
            before = *y.add(block - 1);
        }
        *y.add(block) = before + 1;
        flag(block).store(1, Ordering::Release);
    }
}

/// sound: slots are counted by atomics, and only their order depends on the run
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_append(x: *const f32, y: *mut u32, n: u32) {
    let value = unsafe { *x.add(thread::global_x() as usize) };
    if value < 100.0 {
        // SAFETY: the counter is the last element; each slot belongs to the thread that got it.
        unsafe {
            let slot = atomic::add(y.add(n as usize - 1), 1);
            *y.add(slot as usize) = value as u32;
        }
    }
}
