//! The block's index, the size of blocks, their barriers, and collective operations of their
//! threads: CUDA's `blockIdx`, `blockDim` and `__syncthreads()`, CUB's `BlockReduce` and
//! `BlockScan`.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// Every thread gets the element that its right neighbour loaded.
//! unsafe fn shift(x: *const f32) -> f32 {
//!     let tile = shared!([f32; 256]);
//!     let i = block::x() * block::dim_x() + thread::x();
//!     unsafe { tile.write(thread::x(), *x.add(i as usize)) };
//!     block::sync();
//!     unsafe { tile.read((thread::x() + 1) % block::dim_x()) }
//! }
//! ```

mod collective;
pub(super) mod threads;

pub use collective::{
    SCRATCH, exclusive_scan, exclusive_sum, inclusive_scan, inclusive_sum, reduce, reduce_add,
};
pub use threads::{dim_x, dim_y, dim_z, sync, sync_and, sync_count, sync_or, x, y, z};
