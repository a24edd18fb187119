//! Which thread this is.

/// The thread's index in its block, in x.
#[inline(always)]
pub fn x() -> u32 {
    on_device!("thread::x"(), {
        // SAFETY: reading `%tid.x` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_x() as u32 }
    })
}

/// The thread's index in its block, in y.
#[inline(always)]
pub fn y() -> u32 {
    on_device!("thread::y"(), {
        // SAFETY: reading `%tid.y` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_y() as u32 }
    })
}

/// The thread's index in its block, in z.
#[inline(always)]
pub fn z() -> u32 {
    on_device!("thread::z"(), {
        // SAFETY: reading `%tid.z` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_z() as u32 }
    })
}

/// The thread's index in the grid, in x: `block::x() * block::dim_x() + thread::x()`.
#[inline(always)]
pub fn global_x() -> u32 {
    crate::block::x() * crate::block::dim_x() + x()
}

/// The thread's index in the grid, in y: `block::y() * block::dim_y() + thread::y()`.
#[inline(always)]
pub fn global_y() -> u32 {
    crate::block::y() * crate::block::dim_y() + y()
}

/// The thread's index in the grid, in z: `block::z() * block::dim_z() + thread::z()`.
#[inline(always)]
pub fn global_z() -> u32 {
    crate::block::z() * crate::block::dim_z() + z()
}

/// The thread's index in its block with x running fastest, then y, then z.
#[inline(always)]
pub fn index() -> u32 {
    (z() * crate::block::dim_y() + y()) * crate::block::dim_x() + x()
}

/// The thread's lane: its index in its warp, below [`warp::SIZE`](crate::warp::SIZE).
#[inline(always)]
pub fn lane() -> u32 {
    on_device!("thread::lane"(), { super::intrinsics::lane_id() })
}

/// The warp of the block that the thread is in: [`index`] divided by the warp size.
#[inline(always)]
pub fn warp() -> u32 {
    index() / crate::warp::SIZE
}
