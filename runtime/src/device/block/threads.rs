//! The block's place in the grid, its size and its barriers.

/// The block's index in the grid, in x.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The first of the `per_block` elements that belong to the block.
/// fn first_of_block(per_block: u32) -> u32 {
///     block::x() * per_block
/// }
/// ```
#[doc(alias("blockIdx", "blockIdx.x", "%ctaid.x"))]
#[inline(always)]
pub fn x() -> u32 {
    on_device!("block::x"(), {
        // SAFETY: reading `%ctaid.x` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_x() as u32 }
    })
}

/// The block's index in the grid, in y.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The upper left corner of the block's tile of 32 by 32.
/// fn corner() -> (u32, u32) {
///     (block::x() * 32, block::y() * 32)
/// }
/// ```
#[doc(alias("blockIdx.y", "%ctaid.y"))]
#[inline(always)]
pub fn y() -> u32 {
    on_device!("block::y"(), {
        // SAFETY: reading `%ctaid.y` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_y() as u32 }
    })
}

/// The block's index in the grid, in z.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// One plane of blocks for each matrix of a batch.
/// unsafe fn matrix_of_batch(batch: *const f32, elements: usize) -> *const f32 {
///     unsafe { batch.add(block::z() as usize * elements) }
/// }
/// ```
#[doc(alias("blockIdx.z", "%ctaid.z"))]
#[inline(always)]
pub fn z() -> u32 {
    on_device!("block::z"(), {
        // SAFETY: reading `%ctaid.z` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_z() as u32 }
    })
}

/// Threads of a block in x.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many warps the block has, if it extends in x only.
/// fn warps() -> u32 {
///     block::dim_x().div_ceil(warp::SIZE)
/// }
/// ```
#[doc(alias("blockDim", "blockDim.x", "%ntid.x"))]
#[inline(always)]
pub fn dim_x() -> u32 {
    on_device!("block::dim_x"(), {
        // SAFETY: reading `%ntid.x` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_x() as u32 }
    })
}

/// Threads of a block in y.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The rows of a tile of 32 rows that this thread copies.
/// fn rows() -> u32 {
///     32_u32.div_ceil(block::dim_y())
/// }
/// ```
#[doc(alias("blockDim.y", "%ntid.y"))]
#[inline(always)]
pub fn dim_y() -> u32 {
    on_device!("block::dim_y"(), {
        // SAFETY: reading `%ntid.y` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_y() as u32 }
    })
}

/// Threads of a block in z.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Threads of the block in all dimensions.
/// fn threads() -> u32 {
///     block::dim_x() * block::dim_y() * block::dim_z()
/// }
/// ```
#[doc(alias("blockDim.z", "%ntid.z"))]
#[inline(always)]
pub fn dim_z() -> u32 {
    on_device!("block::dim_z"(), {
        // SAFETY: reading `%ntid.z` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_z() as u32 }
    })
}

/// Waits until every thread of the block arrives, and makes their writes to shared and global
/// memory visible to all of them: CUDA's `__syncthreads()`.
///
/// Every thread of the block must reach the same call. If some take another branch, the block hangs
/// or reads memory in no defined order; the emulated driver reports the barrier.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Transposes a tile in shared memory: rows in, columns out.
/// unsafe fn turn(x: *const f32, y: *mut f32) {
///     let tile = shared!([f32; 32 * 33]);
///     let (column, row) = (thread::x(), thread::y());
///     unsafe { tile.write(row * 33 + column, *x.add((row * 32 + column) as usize)) };
///     block::sync();
///     unsafe { *y.add((row * 32 + column) as usize) = tile.read(column * 33 + row) };
/// }
/// ```
#[doc(alias("__syncthreads", "barrier", "bar.sync", "sync_threads"))]
#[inline(always)]
pub fn sync() {
    on_device!("block::sync"(), {
        // SAFETY: a barrier touches no memory itself; that all threads reach it is the kernel's
        // contract with this function, and breaking it stops the block rather than this promise.
        unsafe { core::arch::nvptx::_syncthreads() }
    });
}

/// [`sync`], and in how many threads of the block `predicate` holds: CUDA's
/// `__syncthreads_count()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many threads of the block have found something.
/// fn found(found: bool) -> u32 {
///     block::sync_count(found)
/// }
/// ```
#[doc(alias("__syncthreads_count", "sync_threads_count", "barrier.red.popc"))]
#[inline(always)]
pub fn sync_count(predicate: bool) -> u32 {
    on_device!("block::sync_count"(predicate), {
        // SAFETY: as for `sync`.
        unsafe { crate::device::intrinsics::sync_count(0, predicate) }
    })
}

/// [`sync`], and whether `predicate` holds in every thread of the block: CUDA's
/// `__syncthreads_and()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether no thread of the block has anything left to do.
/// fn is_done(left: u32) -> bool {
///     block::sync_and(left == 0)
/// }
/// ```
#[doc(alias("__syncthreads_and", "sync_threads_and", "barrier.red.and"))]
#[inline(always)]
pub fn sync_and(predicate: bool) -> bool {
    on_device!("block::sync_and"(predicate), {
        // SAFETY: as for `sync`.
        unsafe { crate::device::intrinsics::sync_and(0, predicate) }
    })
}

/// [`sync`], and whether `predicate` holds in any thread of the block: CUDA's
/// `__syncthreads_or()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether another round is needed, since something changed.
/// fn continues(changed: bool) -> bool {
///     block::sync_or(changed)
/// }
/// ```
#[doc(alias("__syncthreads_or", "sync_threads_or", "barrier.red.or"))]
#[inline(always)]
pub fn sync_or(predicate: bool) -> bool {
    on_device!("block::sync_or"(predicate), {
        // SAFETY: as for `sync`.
        unsafe { crate::device::intrinsics::sync_or(0, predicate) }
    })
}
