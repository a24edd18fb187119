//! How large the grid is: CUDA's `gridDim`.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// Threads of the grid in x: the step of a grid-stride loop.
//! fn stride() -> u32 {
//!     grid::dim_x() * block::dim_x()
//! }
//! ```

/// Blocks of the grid in x.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether this is the last block.
/// fn is_last() -> bool {
///     block::x() == grid::dim_x() - 1
/// }
/// ```
#[doc(alias("gridDim", "gridDim.x", "%nctaid.x"))]
#[inline(always)]
pub fn dim_x() -> u32 {
    on_device!("grid::dim_x"(), {
        // SAFETY: reading `%nctaid.x` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_x() as u32 }
    })
}

/// Blocks of the grid in y.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The block's number, row by row.
/// fn number() -> u32 {
///     block::x() * grid::dim_y() + block::y()
/// }
/// ```
#[doc(alias("gridDim.y", "%nctaid.y"))]
#[inline(always)]
pub fn dim_y() -> u32 {
    on_device!("grid::dim_y"(), {
        // SAFETY: reading `%nctaid.y` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_y() as u32 }
    })
}

/// Blocks of the grid in z.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many planes of a volume of `n` planes this block computes.
/// fn planes(n: u32) -> u32 {
///     n.div_ceil(grid::dim_z())
/// }
/// ```
#[doc(alias("gridDim.z", "%nctaid.z"))]
#[inline(always)]
pub fn dim_z() -> u32 {
    on_device!("grid::dim_z"(), {
        // SAFETY: reading `%nctaid.z` has no precondition.
        unsafe { core::arch::nvptx::_grid_dim_z() as u32 }
    })
}
