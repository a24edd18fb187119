//! Collective operations of the 32 threads of a warp: shuffles, votes, matches, reductions and
//! scans.
//!
//! The functions are CUDA's `…_sync` functions over the whole warp: every lane must take part. If
//! some have left the kernel or taken another branch, the value is undefined or the warp hangs.
//! [`tile`] and [`lanes`] have the same over a part of the warp.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// The sum of `value` over the warp, in every lane.
//! fn sum_of_warp(mut value: f32) -> f32 {
//!     let mut distance = warp::SIZE / 2;
//!     while distance > 0 {
//!         value += warp::shuffle_xor(value, distance);
//!         distance /= 2;
//!     }
//!     value
//! }
//! ```

/// Threads of a warp.
///
/// ```
/// use gpuprof::warp;
///
/// let threads = 8 * warp::SIZE;
/// assert_eq!(threads, 256);
/// ```
#[doc(alias("warpSize", "WARP_SZ"))]
pub const SIZE: u32 = 32;

mod exchange;
mod reduce;
mod tile;

pub use exchange::{Match, Shuffle};
pub use reduce::{Reduce, ReduceBits};
pub use tile::{Tile, lanes, tile};

/// Every lane of a warp.
const WHOLE: Tile<SIZE> = Tile::whole();

/// The `value` of the lane with a number that differs by the bits of `mask`: `__shfl_xor_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The larger of the two values of neighbouring lanes, in both.
/// fn larger_of_pair(value: f32) -> f32 {
///     value.max(warp::shuffle_xor(value, 1))
/// }
/// ```
#[doc(alias("__shfl_xor_sync", "shfl.sync.bfly", "shuffle_xor_sync", "shuffle_xor_f32"))]
#[inline(always)]
pub fn shuffle_xor<T: Shuffle>(value: T, mask: u32) -> T {
    WHOLE.shuffle_xor(value, mask)
}

/// The `value` of the lane `delta` above, or this lane's own where there is none:
/// `__shfl_down_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum over the warp, in lane 0.
/// fn sum_in_lane_0(mut value: u32) -> u32 {
///     for distance in [16, 8, 4, 2, 1] {
///         value += warp::shuffle_down(value, distance);
///     }
///     value
/// }
/// ```
#[doc(alias("__shfl_down_sync", "shfl.sync.down", "shuffle_down_sync", "shuffle_down_f32"))]
#[inline(always)]
pub fn shuffle_down<T: Shuffle>(value: T, delta: u32) -> T {
    WHOLE.shuffle_down(value, delta)
}

/// The `value` of the lane `delta` below, or this lane's own where there is none: `__shfl_up_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum over this lane and all lanes below it.
/// fn inclusive_scan(mut value: u32) -> u32 {
///     for distance in [1, 2, 4, 8, 16] {
///         let below = warp::shuffle_up(value, distance);
///         if thread::lane() >= distance {
///             value += below;
///         }
///     }
///     value
/// }
/// ```
#[doc(alias("__shfl_up_sync", "shfl.sync.up", "shuffle_up_sync", "shuffle_up_f32"))]
#[inline(always)]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    WHOLE.shuffle_up(value, delta)
}

/// The `value` of `lane`, modulo the warp size: `__shfl_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Lane 0 reserves room for the whole warp; every lane learns where it begins.
/// unsafe fn reserve(length: *mut u32) -> u32 {
///     let mut first = 0;
///     if thread::lane() == 0 {
///         first = unsafe { atomic::add(length, warp::SIZE) };
///     }
///     warp::shuffle_index(first, 0) + thread::lane()
/// }
/// ```
#[doc(alias("__shfl_sync", "shfl.sync.idx", "shuffle", "shuffle_sync", "shuffle_f32"))]
#[inline(always)]
pub fn shuffle_index<T: Shuffle>(value: T, lane: u32) -> T {
    WHOLE.shuffle_index(value, lane)
}

/// One bit a lane, set where its `predicate` holds: `__ballot_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many lanes below this one have found something.
/// fn found_below(found: bool) -> u32 {
///     let below = (1 << thread::lane()) - 1;
///     (warp::ballot(found) & below).count_ones()
/// }
/// ```
#[doc(alias("__ballot_sync", "vote.sync.ballot", "ballot_sync"))]
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    WHOLE.ballot(predicate)
}

/// Whether `predicate` holds in any lane: `__any_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The warp continues as long as one of its lanes has work.
/// fn continues(left: u32) -> bool {
///     warp::any(left > 0)
/// }
/// ```
#[doc(alias("__any_sync", "vote.sync.any", "any_sync"))]
#[inline(always)]
pub fn any(predicate: bool) -> bool {
    WHOLE.any(predicate)
}

/// Whether `predicate` holds in every lane: `__all_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether the whole warp is inside, so that no lane needs to check its bounds.
/// fn is_inside(n: u32) -> bool {
///     warp::all(thread::global_x() < n)
/// }
/// ```
#[doc(alias("__all_sync", "vote.sync.all", "all_sync"))]
#[inline(always)]
pub fn all(predicate: bool) -> bool {
    WHOLE.all(predicate)
}

/// Whether `predicate` is the same in every lane: `__uni_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether all lanes take the same branch.
/// fn agree(left: bool) -> bool {
///     warp::uniform(left)
/// }
/// ```
#[doc(alias("__uni_sync", "vote.sync.uni"))]
#[inline(always)]
pub fn uniform(predicate: bool) -> bool {
    WHOLE.uniform(predicate)
}

/// One bit a lane, set where it has the same `value`: `__match_any_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// One atomic for all lanes that count the same byte.
/// unsafe fn count(bins: *mut u32, byte: u8) {
///     let same = warp::match_any(u32::from(byte));
///     if same.trailing_zeros() == thread::lane() {
///         unsafe { atomic::add(bins.add(usize::from(byte)), same.count_ones()) };
///     }
/// }
/// ```
#[doc(alias("__match_any_sync", "match.any.sync", "match_any_sync", "match_any_i64_sync"))]
#[inline(always)]
pub fn match_any<T: Match>(value: T) -> u32 {
    WHOLE.match_any(value)
}

/// Whether every lane has the same `value`: `__match_all_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether the warp works on one row.
/// fn one_row(row: u32) -> bool {
///     warp::match_all(row)
/// }
/// ```
#[doc(alias("__match_all_sync", "match.all.sync", "match_all_sync", "match_all_i64_sync"))]
#[inline(always)]
pub fn match_all<T: Match>(value: T) -> bool {
    WHOLE.match_all(value)
}

/// The values of all lanes combined by `combine`, which is associative and commutative, in each
/// lane.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The product over the warp.
/// fn product(value: f32) -> f32 {
///     warp::reduce(value, |a, b| a * b)
/// }
/// ```
#[doc(alias("cg::reduce", "WarpReduce", "warp_reduce"))]
#[inline(always)]
pub fn reduce<T: Shuffle>(value: T, combine: impl Fn(T, T) -> T) -> T {
    WHOLE.reduce(value, combine)
}

/// The sum over all lanes, in each: `__reduce_add_sync`, for floats and 64 bits too.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum over the warp.
/// fn sum(value: f32) -> f32 {
///     warp::reduce_add(value)
/// }
/// ```
#[doc(alias(
    "__reduce_add_sync",
    "redux.sync.add",
    "redux_sync_add",
    "reduce_sum_f32",
    "reduce_sum_f64",
    "warp_reduce_sum"
))]
#[inline(always)]
pub fn reduce_add<T: Reduce>(value: T) -> T {
    WHOLE.reduce_add(value)
}

/// The smallest value, in every lane: `__reduce_min_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The smallest value of the warp.
/// fn smallest(value: f32) -> f32 {
///     warp::reduce_min(value)
/// }
/// ```
#[doc(alias(
    "__reduce_min_sync",
    "redux.sync.min",
    "redux_sync_min_u32",
    "redux_sync_min_i32",
    "reduce_min_f32",
    "reduce_min_f64"
))]
#[inline(always)]
pub fn reduce_min<T: Reduce>(value: T) -> T {
    WHOLE.reduce_min(value)
}

/// The largest value, in every lane: `__reduce_max_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value of the warp.
/// fn largest(value: f32) -> f32 {
///     warp::reduce_max(value)
/// }
/// ```
#[doc(alias(
    "__reduce_max_sync",
    "redux.sync.max",
    "redux_sync_max_u32",
    "redux_sync_max_i32",
    "reduce_max_f32",
    "reduce_max_f64"
))]
#[inline(always)]
pub fn reduce_max<T: Reduce>(value: T) -> T {
    WHOLE.reduce_max(value)
}

/// The bits that are set in every lane, in each: `__reduce_and_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sets of all lanes combined.
/// fn combined(set: u32) -> u32 {
///     warp::reduce_and(set)
/// }
/// ```
#[doc(alias("__reduce_and_sync", "redux.sync.and", "redux_sync_and"))]
#[inline(always)]
pub fn reduce_and<T: ReduceBits>(value: T) -> T {
    WHOLE.reduce_and(value)
}

/// The bits that are set in any lane, in each: `__reduce_or_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sets of all lanes combined.
/// fn combined(set: u32) -> u32 {
///     warp::reduce_or(set)
/// }
/// ```
#[doc(alias("__reduce_or_sync", "redux.sync.or", "redux_sync_or"))]
#[inline(always)]
pub fn reduce_or<T: ReduceBits>(value: T) -> T {
    WHOLE.reduce_or(value)
}

/// The bits that are set in an odd number of lanes, in each: `__reduce_xor_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sets of all lanes combined.
/// fn combined(set: u32) -> u32 {
///     warp::reduce_xor(set)
/// }
/// ```
#[doc(alias("__reduce_xor_sync", "redux.sync.xor", "redux_sync_xor"))]
#[inline(always)]
pub fn reduce_xor<T: ReduceBits>(value: T) -> T {
    WHOLE.reduce_xor(value)
}

/// The values up to this lane's combined by `combine`, which is associative.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value so far.
/// fn running_maximum(value: f32) -> f32 {
///     warp::inclusive_scan(value, f32::max)
/// }
/// ```
#[doc(alias("WarpScan", "InclusiveScan", "warp_scan"))]
#[inline(always)]
pub fn inclusive_scan<T: Shuffle>(value: T, combine: impl Fn(T, T) -> T) -> T {
    WHOLE.inclusive_scan(value, combine)
}

/// The values of the lanes below combined by `combine`, which is associative; `identity` in lane 0.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest value before this one.
/// fn maximum_before(value: u32) -> u32 {
///     warp::exclusive_scan(value, 0, u32::max)
/// }
/// ```
#[doc(alias("WarpScan", "ExclusiveScan"))]
#[inline(always)]
pub fn exclusive_scan<T: Shuffle>(value: T, identity: T, combine: impl Fn(T, T) -> T) -> T {
    WHOLE.exclusive_scan(value, identity, combine)
}

/// The sum of the values up to this lane's.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The end of this lane's elements in the output of the warp.
/// fn end(elements: u32) -> u32 {
///     warp::inclusive_sum(elements)
/// }
/// ```
#[doc(alias("InclusiveSum", "scan_add"))]
#[inline(always)]
pub fn inclusive_sum<T: Reduce>(value: T) -> T {
    WHOLE.inclusive_sum(value)
}

/// The sum of the values of the lanes below this one.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The start of this lane's elements in the output of the warp.
/// fn begin(elements: u32) -> u32 {
///     warp::exclusive_sum(elements)
/// }
/// ```
#[doc(alias("ExclusiveSum"))]
#[inline(always)]
pub fn exclusive_sum<T: Reduce>(value: T) -> T {
    WHOLE.exclusive_sum(value)
}

/// Whether this is the first of the lanes that execute this call, whichever do.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// One lane writes.
/// unsafe fn write(done: *mut u32) {
///     if warp::elect() {
///         unsafe { *done = 1 };
///     }
/// }
/// ```
#[doc(alias("elect.sync", "elect_sync", "invoke_one", "is_elected_sync"))]
#[inline(always)]
pub fn elect() -> bool {
    active_mask().trailing_zeros() == tile::lane_of_warp()
}

/// The bit of this lane: `%lanemask_eq`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many of those lanes have found something.
/// fn found_there(found: bool) -> u32 {
///     (warp::ballot(found) & warp::lanemask_eq()).count_ones()
/// }
/// ```
#[doc(alias("__lanemask_eq", "%lanemask_eq"))]
#[inline(always)]
pub fn lanemask_eq() -> u32 {
    on_device!("warp::lanemask_eq"(), { super::intrinsics::lane_mask_eq() })
}

/// The bits of the lanes below this one: `%lanemask_lt`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many of those lanes have found something.
/// fn found_there(found: bool) -> u32 {
///     (warp::ballot(found) & warp::lanemask_lt()).count_ones()
/// }
/// ```
#[doc(alias("__lanemask_lt", "%lanemask_lt"))]
#[inline(always)]
pub fn lanemask_lt() -> u32 {
    on_device!("warp::lanemask_lt"(), { super::intrinsics::lane_mask_lt() })
}

/// The bits of the lanes up to this one: `%lanemask_le`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many of those lanes have found something.
/// fn found_there(found: bool) -> u32 {
///     (warp::ballot(found) & warp::lanemask_le()).count_ones()
/// }
/// ```
#[doc(alias("__lanemask_le", "%lanemask_le"))]
#[inline(always)]
pub fn lanemask_le() -> u32 {
    on_device!("warp::lanemask_le"(), { super::intrinsics::lane_mask_le() })
}

/// The bits of the lanes above this one: `%lanemask_gt`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many of those lanes have found something.
/// fn found_there(found: bool) -> u32 {
///     (warp::ballot(found) & warp::lanemask_gt()).count_ones()
/// }
/// ```
#[doc(alias("__lanemask_gt", "%lanemask_gt"))]
#[inline(always)]
pub fn lanemask_gt() -> u32 {
    on_device!("warp::lanemask_gt"(), { super::intrinsics::lane_mask_gt() })
}

/// The bits of this lane and those above it: `%lanemask_ge`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// How many of those lanes have found something.
/// fn found_there(found: bool) -> u32 {
///     (warp::ballot(found) & warp::lanemask_ge()).count_ones()
/// }
/// ```
#[doc(alias("__lanemask_ge", "%lanemask_ge"))]
#[inline(always)]
pub fn lanemask_ge() -> u32 {
    on_device!("warp::lanemask_ge"(), { super::intrinsics::lane_mask_ge() })
}

/// One bit a lane, set where the lane is executing this call: `__activemask`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether the warp is whole here.
/// fn is_whole() -> bool {
///     warp::active_mask() == u32::MAX
/// }
/// ```
#[doc(alias("__activemask", "activemask"))]
#[inline(always)]
pub fn active_mask() -> u32 {
    on_device!("warp::active_mask"(), {
        // SAFETY: reading the mask has no precondition.
        unsafe { super::intrinsics::active_mask() }
    })
}

/// Waits until every lane of the warp arrives, and makes their writes to shared and global memory
/// visible to all of them: `__syncwarp()`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Hands `value` to the next lane through shared memory, without a barrier of the block.
/// unsafe fn rotate(slots: Shared<f32>, value: f32) -> f32 {
///     unsafe { slots.write(thread::lane(), value) };
///     warp::sync();
///     unsafe { slots.read((thread::lane() + 1) % warp::SIZE) }
/// }
/// ```
#[doc(alias("__syncwarp", "bar.warp.sync"))]
#[inline(always)]
pub fn sync() {
    WHOLE.sync();
}
