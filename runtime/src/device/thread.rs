//! Which thread this is: CUDA's `threadIdx`, and what is computed from it.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// Sets every element of an `n`-element vector, one thread each.
//! unsafe fn fill(n: u32, x: *mut f32, value: f32) {
//!     let i = thread::global_x();
//!     if i < n {
//!         unsafe { *x.add(i as usize) = value };
//!     }
//! }
//! ```

use super::index::{Indices, ThreadIndex};
use super::{block, grid};

/// The thread's index in its block, in x.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Reverses the block's own part of `x` into `y`.
/// unsafe fn reverse_in_block(x: *const f32, y: *mut f32) {
///     let first = block::x() * block::dim_x();
///     let from = first + thread::x();
///     let to = first + block::dim_x() - 1 - thread::x();
///     unsafe { *y.add(to as usize) = *x.add(from as usize) };
/// }
/// ```
#[doc(alias("threadIdx", "threadIdx.x", "%tid.x"))]
#[inline(always)]
pub fn x() -> u32 {
    on_device!("thread::x"(), {
        // SAFETY: reading `%tid.x` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_x() as u32 }
    })
}

/// The thread's index in its block, in y.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The row and column of a tile of 8 by 32 that the thread loads.
/// fn place_in_tile() -> (u32, u32) {
///     (thread::y() % 8, thread::x() % 32)
/// }
/// ```
#[doc(alias("threadIdx.y", "%tid.y"))]
#[inline(always)]
pub fn y() -> u32 {
    on_device!("thread::y"(), {
        // SAFETY: reading `%tid.y` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_y() as u32 }
    })
}

/// The thread's index in its block, in z.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A block is 8 by 8 by 8 threads, each with its own voxel.
/// fn voxel() -> u32 {
///     (thread::z() * 8 + thread::y()) * 8 + thread::x()
/// }
/// ```
#[doc(alias("threadIdx.z", "%tid.z"))]
#[inline(always)]
pub fn z() -> u32 {
    on_device!("thread::z"(), {
        // SAFETY: reading `%tid.z` has no precondition.
        unsafe { core::arch::nvptx::_thread_idx_z() as u32 }
    })
}

/// The thread's index in the grid, in x: `block::x() * block::dim_x() + thread::x()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A grid-stride loop: correct for every grid, and neighbours read neighbours.
/// unsafe fn sum_of_own(n: u32, x: *const f32) -> f32 {
///     let (mut i, mut sum) = (thread::global_x(), 0.0);
///     while i < n {
///         sum += unsafe { *x.add(i as usize) };
///         i += block::dim_x() * grid::dim_x();
///     }
///     sum
/// }
/// ```
#[doc(alias = "blockIdx.x*blockDim.x+threadIdx.x")]
#[inline(always)]
pub fn global_x() -> u32 {
    super::block::threads::x() * super::block::threads::dim_x() + x()
}

/// The thread's index in the grid, in y: `block::y() * block::dim_y() + thread::y()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Where the thread's element of a row-major matrix lies.
/// fn element(columns: u32) -> u32 {
///     thread::global_y() * columns + thread::global_x()
/// }
/// ```
#[inline(always)]
pub fn global_y() -> u32 {
    super::block::threads::y() * super::block::threads::dim_y() + y()
}

/// The thread's index in the grid, in z: `block::z() * block::dim_z() + thread::z()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether the thread's voxel is inside a volume with edges of `n`.
/// fn is_inside(n: u32) -> bool {
///     thread::global_x() < n && thread::global_y() < n && thread::global_z() < n
/// }
/// ```
#[inline(always)]
pub fn global_z() -> u32 {
    super::block::threads::z() * super::block::threads::dim_z() + z()
}

/// The thread's index in its block with x running fastest, then y, then z.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Clears shared bins, whatever shape the block has.
/// unsafe fn clear(bins: Shared<u32>) {
///     let mut bin = thread::index();
///     while bin < bins.len() {
///         unsafe { bins.write(bin, 0) };
///         bin += block::dim_x() * block::dim_y() * block::dim_z();
///     }
/// }
/// ```
#[doc(alias = "thread_rank")]
#[inline(always)]
pub fn index() -> u32 {
    (z() * super::block::threads::dim_y() + y()) * super::block::threads::dim_x() + x()
}

/// The thread's lane: its index in its warp, below [`warp::SIZE`](crate::warp::SIZE).
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// One atomic a warp in place of 32.
/// unsafe fn count(counter: *mut u32, found: bool) {
///     let ballot = warp::ballot(found);
///     if thread::lane() == 0 {
///         unsafe { atomic::add(counter, ballot.count_ones()) };
///     }
/// }
/// ```
#[doc(alias("laneid", "lane_id", "%laneid"))]
#[inline(always)]
pub fn lane() -> u32 {
    on_device!("thread::lane"(), { super::intrinsics::lane_id() })
}

/// The index of the thread's warp in its block: [`index`] divided by the warp size.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Leaves the sum of each warp in a separate element.
/// unsafe fn keep(sums: Shared<f32>, sum_of_warp: f32) {
///     if thread::lane() == 0 {
///         unsafe { sums.write(thread::warp(), sum_of_warp) };
///     }
/// }
/// ```
#[doc(alias("warpid", "warp_id"))]
#[inline(always)]
pub fn warp() -> u32 {
    index() / super::warp::SIZE
}

/// The cycle counter of the multiprocessor that the thread runs on.
///
/// Differences count only within one thread: every multiprocessor has its own counter.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many cycles the load of `*x` took, in `*cycles`.
/// unsafe fn time_a_load(x: *const u32, cycles: *mut u64, sink: *mut u32) {
///     let begin = thread::clock();
///     unsafe { *sink = *x };
///     unsafe { *cycles = thread::clock() - begin };
/// }
/// ```
#[doc(alias("clock64", "%clock64"))]
#[inline(always)]
pub fn clock() -> u64 {
    on_device!("thread::clock"(), { super::intrinsics::clock() })
}

/// The nanoseconds of a clock that all multiprocessors share. On most GPUs it advances about once a
/// microsecond; on the emulated driver, with the instructions executed.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// When each block began.
/// unsafe fn note(began: *mut u64) {
///     if thread::index() == 0 {
///         unsafe { *began.add(block::x() as usize) = thread::nanoseconds() };
///     }
/// }
/// ```
#[doc(alias("globaltimer", "%globaltimer"))]
#[inline(always)]
pub fn nanoseconds() -> u64 {
    on_device!("thread::nanoseconds"(), {
        let time: u64;
        // SAFETY: reading the special register has no precondition. It is not `pure`, since it
        // changes.
        unsafe {
            core::arch::asm!(
                "mov.u64 {time}, %globaltimer;",
                time = out(reg64) time,
                options(nomem, nostack, preserves_flags),
            );
        }
        time
    })
}

/// The number of the multiprocessor that the thread runs on.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many blocks each multiprocessor got.
/// unsafe fn count(blocks: *mut u32) {
///     if thread::index() == 0 {
///         unsafe { atomic::add(blocks.add(thread::multiprocessor() as usize), 1) };
///     }
/// }
/// ```
#[doc(alias("smid", "%smid"))]
#[inline(always)]
pub fn multiprocessor() -> u32 {
    on_device!("thread::multiprocessor"(), {
        let number: u32;
        // SAFETY: reading the special register has no precondition.
        unsafe {
            core::arch::asm!(
                "mov.u32 {number}, %smid;",
                number = out(reg32) number,
                options(nomem, nostack, preserves_flags),
            );
        }
        number
    })
}

/// Waits for about this many nanoseconds, at most twice as many and at most a millisecond. It is
/// meant for a loop that waits for another block.
///
/// ```
/// use gpuprof::atomic::{Atomic, Ordering};
/// use gpuprof::prelude::*;
///
/// /// Waits for another block without taking issue slots from those at work.
/// fn wait(flag: Atomic<u32>) {
///     while flag.load(Ordering::Acquire) == 0 {
///         thread::sleep(100);
///     }
/// }
/// ```
#[doc(alias("__nanosleep", "nanosleep"))]
#[inline(always)]
pub fn sleep(nanoseconds: u32) {
    on_device!("thread::sleep"(nanoseconds), {
        // SAFETY: waiting has no precondition.
        unsafe {
            core::arch::asm!(
                "nanosleep.u32 {nanoseconds};",
                nanoseconds = in(reg32) nanoseconds,
                options(nomem, nostack, preserves_flags),
            );
        }
    });
}

/// The thread's index in the launch, which no other thread has: `block::x() * block::dim_x() +
/// thread::x()` if blocks and grid have one dimension, and the threads counted in x, y and z, block
/// after block, if they have more.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Stores each thread's index in its element.
/// fn number(mut y: DisjointSlice<u32>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y = i.get() as u32;
///     }
/// }
/// ```
#[doc(alias("blockIdx.x * blockDim.x + threadIdx.x", "ThreadIndex", "index_2d"))]
#[inline(always)]
pub fn index_1d() -> ThreadIndex {
    let across =
        |block: u32, size: u32, thread: u32| block as usize * size as usize + thread as usize;
    // Each is at least 1.
    let further = block::dim_y() | block::dim_z() | grid::dim_y() | grid::dim_z();
    let at = if further == 1 {
        across(block::x(), block::dim_x(), x())
    } else {
        let place = (block::z() as usize * grid::dim_y() as usize + block::y() as usize)
            * grid::dim_x() as usize
            + block::x() as usize;
        let size = block::dim_x() * block::dim_y() * block::dim_z();
        let within = (z() * block::dim_y() + y()) * block::dim_x() + x();
        place * size as usize + within as usize
    };
    ThreadIndex::new(at)
}

/// The thread's share of `0..length`: [`index_1d`], and from there on every index as many further
/// as the launch has threads. Whatever the grid, each index belongs to one thread.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← 2·x, with as many blocks as fit on the device.
/// #[gpuprof::kernel(
///     series(block = [256], grid = [132, 264], n = [1M]),
///     args(random(n), zeros(n)),
/// )]
/// pub fn double(x: &[f32], mut y: DisjointSlice<f32>) {
///     for i in thread::indices_1d(y.len()) {
///         y[i] = 2.0 * x[i.get()];
///     }
/// }
/// ```
#[doc(alias = "grid-stride loop")]
#[inline(always)]
pub fn indices_1d(length: usize) -> impl Iterator<Item = ThreadIndex> {
    let threads = block::dim_x() * block::dim_y() * block::dim_z();
    let blocks = grid::dim_x() as usize * (grid::dim_y() as usize * grid::dim_z() as usize);
    Indices { next: index_1d().get(), step: threads as usize * blocks, length }
}
