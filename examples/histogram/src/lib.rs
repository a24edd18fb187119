//! A histogram of bytes: atomics in shared memory first, then in global memory.
//!
//! Every block counts into its own bins in shared memory, where atomics are cheap, and at the end
//! adds each bin to the result with one global atomic. Larger blocks are fewer blocks, so they need
//! fewer global atomics for the same data.
//!
//! ```text
//! cargo gpuprof run --package histogram
//! ```
//!
//! Look at `global_sectors`: 32,768 of them are the data, and every block adds 32 for its 256 bins.
//! The sum falls from 65,536 with blocks of 64 threads to 34,816 with blocks of 1,024.

use gpuprof::prelude::*;

/// One bin for each value of a byte.
const BINS: usize = 256;

/// Bytes that one thread counts.
const BYTES_PER_THREAD: u64 = 16;

/// `bins[v] ← bins[v] + the number of bytes in data that equal v`
#[gpuprof::kernel(
    series(block = 64..=1024, n = [1M]),
    grid = n.div_ceil(block * BYTES_PER_THREAD),
    args(n, random(n), zeros(256)),
    bytes = n,
    metrics(throughput, load_sectors_per_request, global_sectors),
    threshold("every load_sectors_per_request <= 1"),
    verify = histogram_on_host,
)]
pub unsafe fn histogram(n: u32, data: *const u8, bins: *mut u32) {
    let block_bins = shared!([u32; BINS]);

    let mut bin = thread::x();
    while bin < BINS as u32 {
        // SAFETY: each bin is cleared by one thread.
        unsafe { block_bins.write(bin, 0) };
        bin += block::dim_x();
    }
    block::sync();

    let mut i = thread::global_x();
    while i < n {
        // SAFETY: `data` holds `n` bytes, and a byte is below `BINS`. Between the barriers the bins
        // are accessed with atomics only.
        unsafe { block_bins.atomic_add(u32::from(*data.add(i as usize)), 1) };
        i += block::dim_x() * grid::dim_x();
    }
    block::sync();

    let mut bin = thread::x();
    while bin < BINS as u32 {
        // SAFETY: all counts were made before the barrier, and `bins` holds `BINS` elements, which
        // blocks access with atomics only.
        unsafe { atomic::add(bins.add(bin as usize), block_bins.read(bin)) };
        bin += block::dim_x();
    }
}

/// The expected `bins`.
fn histogram_on_host(_n: u32, data: &[u8], bins: &mut [u32]) {
    for &byte in data {
        bins[usize::from(byte)] += 1;
    }
}
