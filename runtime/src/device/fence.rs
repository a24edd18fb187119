//! CUDA's fences: this thread's earlier writes become visible to the named threads before its later
//! ones.
//!
//! They are sequentially consistent, like CUDA's. A release or acquire fence, which costs less, is
//! [`atomic::fence`](crate::atomic::fence). [`block::sync`](crate::block::sync) and [`warp::sync`](crate::warp::sync) need none in addition.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// Whether this block is the last to arrive; it then sees the others' writes to global memory.
//! unsafe fn is_last(counter: *mut u32) -> bool {
//!     fence::device();
//!     unsafe { atomic::inc(counter, grid::dim_x() - 1) == grid::dim_x() - 1 }
//! }
//! ```

use super::atomic::{self, Block, Device, Ordering, System};

/// For the threads of the block: `__threadfence_block()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Hands a value to another warp of the block, which reads `full` first.
/// unsafe fn hand_over(slot: Shared<f32>, full: Shared<u32>, value: f32) {
///     unsafe { slot.write(0, value) };
///     fence::block();
///     unsafe { full.write(0, 1) };
/// }
/// ```
#[doc(alias("__threadfence_block", "threadfence_block", "membar.cta"))]
#[inline(always)]
pub fn block() {
    atomic::fence::<Block>(Ordering::SeqCst);
}

/// For all threads of the GPU: `__threadfence()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Publishes `value` to all blocks.
/// unsafe fn publish(slot: *mut f32, full: *mut u32, value: f32) {
///     unsafe { *slot = value };
///     fence::device();
///     unsafe { atomic::exchange(full, 1) };
/// }
/// ```
#[doc(alias("__threadfence", "threadfence", "device_fence", "membar.gl"))]
#[inline(always)]
pub fn device() {
    atomic::fence::<Device>(Ordering::SeqCst);
}

/// For all threads of all GPUs and of the CPU: `__threadfence_system()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Publishes `value` to the CPU, in mapped memory.
/// unsafe fn publish(slot: *mut f32, full: *mut u32, value: f32) {
///     unsafe { slot.write_volatile(value) };
///     fence::system();
///     unsafe { full.write_volatile(1) };
/// }
/// ```
#[doc(alias("__threadfence_system", "threadfence_system", "system_fence", "membar.sys"))]
#[inline(always)]
pub fn system() {
    atomic::fence::<System>(Ordering::SeqCst);
}
