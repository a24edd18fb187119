//! Kernels with a fault.

use gpuprof::atomic::{Atomic, Ordering};
use gpuprof::prelude::*;

/// memory: the last thread stores behind the buffer
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_store_past_end(x: *const f32, y: *mut f32, n: u32) {
    let i = thread::global_x();
    let at = i + u32::from(i == n - 1);
    // SAFETY: none: the last thread's element is behind the buffer.
    unsafe { *y.add(at as usize) = *x.add(i as usize) }; // FAULT
}

/// memory: four floats from an address that is a multiple of one
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_misaligned(x: *const f32, y: *mut f32, n: u32) {
    let i = thread::global_x() as usize;
    if i < n as usize / 8 {
        // SAFETY: none: the address of `x` is no multiple of 16.
        unsafe { *y.cast::<f32x4>().add(i) = *x.add(4 * i + 1).cast::<f32x4>() }; // FAULT
    }
}

/// memory: an index behind a shared array
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_shared_past_end(x: *const f32, y: *mut f32, _n: u32) {
    let tile = shared!([f32; 128]);
    let i = thread::global_x() as usize;
    // SAFETY: none: the last thread's element is behind the array.
    unsafe { tile.write(thread::x() + thread::x() / 127, *x.add(i)) }; // FAULT
    block::sync();
    unsafe { *y.add(i) = tile.read(thread::x() ^ 1) };
}

/// memory: an index behind dynamic shared memory
#[gpuprof::kernel(grid = 2, block = 128, shared = 512, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_dynamic_past_end(x: *const f32, y: *mut f32, _n: u32) {
    let tile = dynamic_shared!(f32);
    let i = thread::global_x() as usize;
    unsafe { tile[thread::x()].set(*x.add(i)) };
    block::sync();
    // SAFETY: none: half of the elements are behind the memory.
    let far = unsafe { tile[thread::x() + 64].get() }; // FAULT
    unsafe { *y.add(i) = far };
}

/// init [slices]: the last element of a shared array is not written
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_shared_unwritten(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 128]);
    let i = thread::index_1d();
    if thread::x() < 127 {
        unsafe { tile.write(thread::x(), x[i.get()]) };
    }
    block::sync();
    // SAFETY: none: the last element is not written.
    let value = unsafe { tile.read(thread::x()) }; // FAULT
    if let Some(y) = y.get_mut(i) {
        *y = value;
    }
}

/// init [slices]: a counter in shared memory that is never set to zero
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_counter_not_zeroed(x: &[f32], mut y: DisjointSlice<f32>) {
    let count = shared!([u32; 1]);
    let i = thread::index_1d();
    if x[i.get()] > 3.0 {
        // SAFETY: none: the counter is not written.
        unsafe { count.atomic_add(0, 1) }; // FAULT
    }
    block::sync();
    y[i] = unsafe { count.read(0) } as f32;
}

/// race [slices]: the next round writes what another warp still reads
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_write_after_read(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 128]);
    let i = thread::index_1d();
    let mut sum = 0.0;
    let mut round = 0;
    while round < 4 {
        // SAFETY: none: no barrier ends the round.
        unsafe { tile.write(thread::x(), x[i.get()] + round as f32) }; // FAULT
        block::sync();
        sum += unsafe { tile.read((thread::x() + 32) % 128) }; // FAULT
        round += 1;
    }
    y[i] = sum;
}

/// race [slices]: lanes of one warp exchange without a barrier of the warp
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_lanes_without_sync(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 128]);
    let i = thread::index_1d();
    // SAFETY: none: no barrier orders the two.
    unsafe { tile.write(thread::x(), x[i.get()]) }; // FAULT
    let other = unsafe { tile.read(thread::x() ^ 1) }; // FAULT
    y[i] = other;
}

/// race [slices]: a histogram in shared memory without atomics
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_shared_histogram(x: &[f32], mut y: DisjointSlice<f32>) {
    let bins = shared!([u32; 8]);
    let i = thread::index_1d();
    if thread::x() < 8 {
        unsafe { bins.write(thread::x(), 0) };
    }
    block::sync();
    let bin = x[i.get()] as u32 % 8;
    // SAFETY: none: others update the bin too.
    let before = unsafe { bins.read(bin) }; // FAULT
    unsafe { bins.write(bin, before + 1) }; // FAULT
    block::sync();
    y[i] = unsafe { bins.read(thread::x() % 8) } as f32;
}

/// race [slices]: a plain read of what other threads still update atomically
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_atomic_and_plain(x: &[f32], mut y: DisjointSlice<f32>) {
    let count = shared!([u32; 1]);
    let i = thread::index_1d();
    if thread::x() == 0 {
        unsafe { count.write(0, 0) };
    }
    block::sync();
    if x[i.get()] >= 0.0 {
        unsafe { count.atomic_add(0, 1) }; // FAULT
    }
    // SAFETY: none: others still count.
    let now = unsafe { count.read(0) }; // FAULT
    y[i] = now as f32;
}

/// race [slices]: a stencil in place, of which a neighbour belongs to another thread
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub unsafe fn rust_stencil_in_place(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    // SAFETY: none: another block writes the neighbour of the last thread.
    let right = unsafe { y.read((i.get() + 1) % x.len()) }; // FAULT
    block::sync();
    y[i] = right + x[i.get()]; // FAULT
}

/// race: all threads add to one place without atomics
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_lost_update(x: *const f32, y: *mut f32, _n: u32) {
    let value = unsafe { *x.add(thread::global_x() as usize) };
    // SAFETY: none: all threads update one element.
    unsafe { *y += value }; // FAULT
}

/// race [grid=8 block=32]: blocks hand over a sum by a flag without an ordering
#[gpuprof::kernel(grid = 8, block = 32, args(iota(256), zeros(256), 256))]
pub unsafe fn rust_relaxed_look_back(_x: *const f32, y: *mut u32, n: u32) {
    if thread::x() > 0 {
        return;
    }
    let block = block::x() as usize;
    // SAFETY: the flags are the last 32 elements; none for the sums, which nothing orders.
    unsafe {
        let flag = |block: usize| Atomic::from_ptr(y.add(n as usize - 32 + block));
        let mut before = 0;
        if block > 0 {
            while flag(block - 1).load(Ordering::Relaxed) == 0 {}
            before = *y.add(block - 1); // FAULT
        }
        *y.add(block) = before + 1; // FAULT
        flag(block).store(1, Ordering::Relaxed);
    }
}

/// sync [slices]: half of the lanes meet at a barrier of the block
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_divergent_barrier(x: &[f32], mut y: DisjointSlice<f32>) {
    let tile = shared!([f32; 128]);
    let i = thread::index_1d();
    unsafe { tile.write(thread::x(), x[i.get()]) };
    if thread::x() % 2 == 1 {
        block::sync(); // FAULT
    }
    y[i] = unsafe { tile.read(thread::x()) };
}

/// sync [slices]: the caller is not in the mask of its shuffle
#[gpuprof::kernel(grid = 2, block = 128, args(iota(256), zeros(256)))]
pub fn rust_shuffle_without_the_caller(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    let most = warp::lanes(0xffff_fffe);
    let other = most.shuffle_index(x[i.get()], 1); // FAULT
    y[i] = other;
}
