//! Reductions and scans over all threads of a block.
//!
//! Each warp combines its values by shuffles and stores one in shared memory; the first warp
//! combines those, and stores the value that each warp must add. That is two barriers, and 5 or 10
//! shuffles per word in the warps and as many again in the first one. Threads are counted like
//! [`thread::index`](crate::thread::index), and a block may have any number of them.

use super::threads as block;
use crate::device::shared::{Shared, SharedElement};
use crate::device::thread;
use crate::device::warp::{self, Reduce, Shuffle};

/// Elements of shared memory that [`reduce`] and the scans need: one for each warp of the largest
/// block, and one for the whole.
///
/// ```
/// use gpuprof::prelude::*;
///
/// assert_eq!(shared!([f32; block::SCRATCH]).len(), 33);
/// ```
pub const SCRATCH: usize = 33;

/// The values of all threads combined by `combine`, in every thread.
///
/// `combine` must be associative; the values are combined in the order of the threads.
///
/// # Safety
/// Every thread of the block reaches the call, `scratch` has an element for each warp and one more
/// ([`SCRATCH`] are enough), and no thread accesses them for anything else until the next barrier.
/// Further calls may use the same at once.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value of the block, in every thread.
/// unsafe fn largest(value: f32) -> f32 {
///     unsafe { block::reduce(value, shared!([f32; block::SCRATCH]), f32::max) }
/// }
/// ```
#[doc(alias("BlockReduce", "block_reduce", "cg::reduce"))]
#[inline(always)]
pub unsafe fn reduce<T: Shuffle + SharedElement>(
    value: T,
    scratch: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> T {
    let place = ThreadPosition::of_thread();
    let own = place.reduce(value, place.lanes, &combine);
    if place.lane == 0 {
        // SAFETY: there is an element for each warp, and only this thread writes it.
        unsafe { scratch.write(place.warp, own) };
    }
    block::sync();
    if place.warp == 0 {
        // A lane without a warp has some value, which is not combined.
        let of_warp = if place.lane < place.warps {
            // SAFETY: its warp wrote it before the barrier.
            unsafe { scratch.read(place.lane) }
        } else {
            value
        };
        let whole = place.reduce(of_warp, place.warps, &combine);
        if place.lane == 0 {
            // SAFETY: no warp has this element.
            unsafe { scratch.write(place.warps, whole) };
        }
    }
    block::sync();
    // SAFETY: it was written before the barrier, and the next call writes it after a barrier.
    unsafe { scratch.read(place.warps) }
}

/// The values of the threads up to this one combined by `combine`.
///
/// `combine` must be associative; the values are combined in the order of the threads.
///
/// # Safety
/// As for [`reduce`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value so far.
/// unsafe fn running_maximum(value: f32) -> f32 {
///     unsafe { block::inclusive_scan(value, shared!([f32; block::SCRATCH]), f32::max) }
/// }
/// ```
#[doc(alias("BlockScan", "block_scan", "InclusiveScan"))]
#[inline(always)]
pub unsafe fn inclusive_scan<T: Shuffle + SharedElement>(
    value: T,
    scratch: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> T {
    let place = ThreadPosition::of_thread();
    let in_warp = place.scan(value, &combine);
    // SAFETY: the caller keeps the contract.
    match unsafe { place.before_warp(in_warp, scratch, &combine) } {
        Some(before) => combine(before, in_warp),
        None => in_warp,
    }
}

/// The values of the threads below this one combined by `combine`; `identity` in the first one.
///
/// `combine` must be associative; the values are combined in the order of the threads.
///
/// # Safety
/// As for [`reduce`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value before this one.
/// unsafe fn maximum_before(value: u32) -> u32 {
///     unsafe { block::exclusive_scan(value, 0, shared!([u32; block::SCRATCH]), u32::max) }
/// }
/// ```
#[doc(alias("BlockScan", "block_scan", "ExclusiveScan"))]
#[inline(always)]
pub unsafe fn exclusive_scan<T: Shuffle + SharedElement>(
    value: T,
    identity: T,
    scratch: Shared<T>,
    combine: impl Fn(T, T) -> T,
) -> T {
    let place = ThreadPosition::of_thread();
    let in_warp = place.scan(value, &combine);
    let below = warp::lanes(place.members).shuffle_up(in_warp, 1);
    // SAFETY: the caller keeps the contract.
    match unsafe { place.before_warp(in_warp, scratch, &combine) } {
        Some(before) if place.lane == 0 => before,
        Some(before) => combine(before, below),
        None if place.lane == 0 => identity,
        None => below,
    }
}

/// The sum of the values of all threads, in every one of them.
///
/// # Safety
/// As for [`reduce`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The mean of the block's values.
/// unsafe fn mean(value: f32) -> f32 {
///     let sum = unsafe { block::reduce_add(value, shared!([f32; block::SCRATCH])) };
///     sum / block::dim_x() as f32
/// }
/// ```
#[doc(alias("BlockReduce", "block_reduce_sum"))]
#[inline(always)]
pub unsafe fn reduce_add<T: Reduce + SharedElement>(value: T, scratch: Shared<T>) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { reduce(value, scratch, T::plus) }
}

/// The sum of the values up to this thread's.
///
/// # Safety
/// As for [`reduce`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The end of this thread's elements in the output of the block.
/// unsafe fn end(elements: u32) -> u32 {
///     unsafe { block::inclusive_sum(elements, shared!([u32; block::SCRATCH])) }
/// }
/// ```
#[doc(alias("BlockScan", "InclusiveSum"))]
#[inline(always)]
pub unsafe fn inclusive_sum<T: Reduce + SharedElement>(value: T, scratch: Shared<T>) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { inclusive_scan(value, scratch, T::plus) }
}

/// The sum of the values of the threads below this one.
///
/// # Safety
/// As for [`reduce`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Appends this thread's finding after those of the threads before it.
/// unsafe fn compact(found: Option<u32>, list: *mut u32) {
///     let scratch = shared!([u32; block::SCRATCH]);
///     let at = unsafe { block::exclusive_sum(u32::from(found.is_some()), scratch) };
///     if let Some(found) = found {
///         unsafe { *list.add(at as usize) = found };
///     }
/// }
/// ```
#[doc(alias("BlockScan", "ExclusiveSum"))]
#[inline(always)]
pub unsafe fn exclusive_sum<T: Reduce + SharedElement>(value: T, scratch: Shared<T>) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { exclusive_scan(value, T::ZERO, scratch, T::plus) }
}

/// The position of a thread in a block. Its last warp may lack lanes.
#[derive(Clone, Copy)]
struct ThreadPosition {
    lane: u32,
    warp: u32,
    /// Warps of the block.
    warps: u32,
    /// Threads of this warp, and the bits of their lanes.
    lanes: u32,
    members: u32,
}

impl ThreadPosition {
    #[inline(always)]
    fn of_thread() -> Self {
        let threads = block::dim_x() * block::dim_y() * block::dim_z();
        let (index, warps) = (thread::index(), threads.div_ceil(warp::SIZE));
        let (lane, warp) = (index % warp::SIZE, index / warp::SIZE);
        let lanes = (threads - warp * warp::SIZE).min(warp::SIZE);
        Self { lane, warp, warps, lanes, members: u32::MAX >> (warp::SIZE - lanes) }
    }

    /// The values of the first `count` lanes combined, in lane 0.
    #[inline(always)]
    fn reduce<T: Shuffle>(self, mut value: T, count: u32, combine: &impl Fn(T, T) -> T) -> T {
        let mut distance = 1;
        while distance < warp::SIZE {
            let above = warp::lanes(self.members).shuffle_down(value, distance);
            if self.lane + distance < count {
                value = combine(value, above);
            }
            distance *= 2;
        }
        value
    }

    /// The values up to this lane's combined.
    #[inline(always)]
    fn scan<T: Shuffle>(self, mut value: T, combine: &impl Fn(T, T) -> T) -> T {
        let mut distance = 1;
        while distance < warp::SIZE {
            let below = warp::lanes(self.members).shuffle_up(value, distance);
            if self.lane >= distance {
                value = combine(below, value);
            }
            distance *= 2;
        }
        value
    }

    /// The values of all warps before this one combined, if there are any; `in_warp` is the scan of
    /// each.
    ///
    /// Element `w` of `scratch` is written and read only by warp `w`, except by the first warp
    /// between the two barriers: so the next call cannot disturb a reader.
    #[inline(always)]
    unsafe fn before_warp<T: Shuffle + SharedElement>(
        self,
        in_warp: T,
        scratch: Shared<T>,
        combine: &impl Fn(T, T) -> T,
    ) -> Option<T> {
        // This warp's reads of an earlier call are complete.
        warp::lanes(self.members).sync();
        if self.lane == self.lanes - 1 {
            // SAFETY: there is an element for each warp, and only this thread writes it.
            unsafe { scratch.write(self.warp, in_warp) };
        }
        block::sync();
        if self.warp == 0 {
            let of_warp = if self.lane < self.warps {
                // SAFETY: its warp wrote it before the barrier.
                unsafe { scratch.read(self.lane) }
            } else {
                in_warp
            };
            let up_to_warp = self.scan(of_warp, combine);
            // All lanes have read the elements that some write.
            warp::lanes(self.members).sync();
            if self.lane < self.warps {
                // SAFETY: the element of the next warp, or the one after all warps.
                unsafe { scratch.write(self.lane + 1, up_to_warp) };
            }
        }
        block::sync();
        // SAFETY: the first warp wrote it before the barrier.
        (self.warp > 0).then(|| unsafe { scratch.read(self.warp) })
    }
}
