//! How large the grid is.

/// Blocks of the grid in x.
#[inline(always)]
pub fn dim_x() -> u32 {
    on_device!("grid::dim_x"(), {
        // SAFETY: reading `%nctaid.x` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_x() as u32 }
    })
}

/// Blocks of the grid in y.
#[inline(always)]
pub fn dim_y() -> u32 {
    on_device!("grid::dim_y"(), {
        // SAFETY: reading `%nctaid.y` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_y() as u32 }
    })
}

/// Blocks of the grid in z.
#[inline(always)]
pub fn dim_z() -> u32 {
    on_device!("grid::dim_z"(), {
        // SAFETY: reading `%nctaid.z` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_z() as u32 }
    })
}
