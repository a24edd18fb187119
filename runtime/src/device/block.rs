//! Which block this is, how large blocks are, and their barrier.

/// The block's index in the grid, in x.
#[inline(always)]
pub fn x() -> u32 {
    on_device!("block::x"(), {
        // SAFETY: reading `%ctaid.x` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_x() as u32 }
    })
}

/// The block's index in the grid, in y.
#[inline(always)]
pub fn y() -> u32 {
    on_device!("block::y"(), {
        // SAFETY: reading `%ctaid.y` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_y() as u32 }
    })
}

/// The block's index in the grid, in z.
#[inline(always)]
pub fn z() -> u32 {
    on_device!("block::z"(), {
        // SAFETY: reading `%ctaid.z` has no precondition.
        unsafe { core::arch::nvptx::_block_idx_z() as u32 }
    })
}

/// Threads of a block in x.
#[inline(always)]
pub fn dim_x() -> u32 {
    on_device!("block::dim_x"(), {
        // SAFETY: reading `%ntid.x` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_x() as u32 }
    })
}

/// Threads of a block in y.
#[inline(always)]
pub fn dim_y() -> u32 {
    on_device!("block::dim_y"(), {
        // SAFETY: reading `%ntid.y` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_y() as u32 }
    })
}

/// Threads of a block in z.
#[inline(always)]
pub fn dim_z() -> u32 {
    on_device!("block::dim_z"(), {
        // SAFETY: reading `%ntid.z` has no precondition.
        unsafe { core::arch::nvptx::_block_dim_z() as u32 }
    })
}

/// Waits until every thread of the block is here, and makes what they wrote to shared and global
/// memory visible to all of them: CUDA's `__syncthreads()`.
///
/// Every thread of the block must reach the same call. Where some take another way, the block hangs
/// or its memory is in no defined order.
#[inline(always)]
pub fn sync() {
    on_device!("block::sync"(), {
        // SAFETY: a barrier touches no memory itself; that all threads reach it is the kernel's
        // contract with this function, and breaking it stops the block rather than this promise.
        unsafe { core::arch::nvptx::_syncthreads() }
    });
}
