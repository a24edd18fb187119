//! Parts of a warp: tiles of a power of two of lanes, whole or in part.

use super::exchange::{Match, Shuffle};
use super::reduce::{Operation, Reduce, ReduceBits};

/// `SIZE` neighbouring lanes of a warp, or the participating ones.
///
/// [`tile`] gives a whole one, [`lanes`] the lanes of a warp that a mask names, and [`among`](Self::among) those
/// of a tile: they replace the mask and width of CUDA's `…_sync` functions. The lanes of a tile are
/// counted from 0, in masks too.
///
/// Every participating lane must reach the same call. If one has left the kernel or taken another
/// branch, the value is undefined or the warp hangs; the value from a lane that does not
/// participate is undefined too.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum of each eight neighbouring values, in all eight lanes.
/// fn sum_of_eight(value: f32) -> f32 {
///     warp::tile::<8>().reduce_add(value)
/// }
/// ```
#[doc(alias("thread_block_tile", "tiled_partition", "coalesced_group", "coalesced_threads"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile<const SIZE: u32> {
    /// The lanes of the tile that take part, as bits from 0 on.
    members: u32,
}

/// The tile of `SIZE` lanes that this lane belongs to; `SIZE` is a power of two up to 32.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Sixteen lanes work on a row: lane 0 of them hands its value to the others.
/// fn broadcast_in_row(value: f32) -> f32 {
///     warp::tile::<16>().shuffle_index(value, 0)
/// }
/// ```
#[doc(alias("tiled_partition", "cg::tiled_partition"))]
#[inline(always)]
pub const fn tile<const SIZE: u32>() -> Tile<SIZE> {
    Tile::whole()
}

/// The lanes of the warp with bits set in `mask`: the first argument of CUDA's `…_sync` functions.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum over the lanes that have found something; only these call this.
/// fn sum_of_found(found: u32, value: u32) -> u32 {
///     warp::lanes(found).reduce_add(value)
/// }
/// ```
#[doc(alias("coalesced_threads", "membermask"))]
#[inline(always)]
pub const fn lanes(mask: u32) -> Tile<32> {
    Tile { members: mask }
}

/// This lane's number in its warp.
#[inline(always)]
pub(super) fn lane_of_warp() -> u32 {
    on_device!("thread::lane"(), { crate::device::intrinsics::lane_id() })
}

impl<const SIZE: u32> Tile<SIZE> {
    /// The bits of all lanes.
    const ALL: u32 = {
        assert!(SIZE.is_power_of_two() && SIZE <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes");
        u32::MAX >> (32 - SIZE)
    };

    /// The tile in the form that shuffles need: the bits of a lane that select its tile.
    #[cfg(target_arch = "nvptx64")]
    const SEGMENT: u32 = (32 - SIZE) << 8;

    /// With every lane.
    #[inline(always)]
    pub(crate) const fn whole() -> Self {
        Self { members: Self::ALL }
    }

    /// The lanes with bits set in `mask`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The votes of the even lanes of a tile; only these call this.
    /// fn even(predicate: bool) -> u32 {
    ///     warp::tile::<8>().among(0b0101_0101).ballot(predicate)
    /// }
    /// ```
    #[inline(always)]
    pub const fn among(self, mask: u32) -> Self {
        Self { members: self.members & mask }
    }

    /// One bit for each lane that takes part.
    ///
    /// ```
    /// use gpuprof::warp;
    ///
    /// assert_eq!(warp::tile::<4>().members(), 0b1111);
    /// assert_eq!(warp::lanes(6).members(), 6);
    /// ```
    #[inline(always)]
    pub const fn members(self) -> u32 {
        self.members
    }

    /// This lane's number in its tile.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Each eight lanes copy eight neighbouring elements.
    /// fn column() -> u32 {
    ///     warp::tile::<8>().lane()
    /// }
    /// ```
    #[doc(alias = "thread_rank")]
    #[inline(always)]
    pub fn lane(self) -> u32 {
        lane_of_warp() % SIZE
    }

    /// The number of the tile in its warp.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Each eight lanes of a warp work on a row.
    /// fn row() -> u32 {
    ///     thread::warp() * 4 + warp::tile::<8>().index()
    /// }
    /// ```
    #[doc(alias = "meta_group_rank")]
    #[inline(always)]
    pub fn index(self) -> u32 {
        lane_of_warp() / SIZE
    }

    /// The lanes that take part, as bits of the warp.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn mask(self) -> u32 {
        if SIZE == 32 { self.members } else { self.members << (self.index() * SIZE) }
    }

    /// The bits of the tile among those of the warp.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn own(self, mask: u32) -> u32 {
        if SIZE == 32 { mask } else { mask >> (self.index() * SIZE) & Self::ALL }
    }

    /// The `value` of the lane with a number that differs by the bits of `mask`: `__shfl_xor_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The larger of the two values of neighbouring lanes, in both.
    /// fn larger_of_pair(value: f32) -> f32 {
    ///     value.max(warp::tile::<2>().shuffle_xor(value, 1))
    /// }
    /// ```
    #[doc(alias("__shfl_xor_sync", "shfl_xor", "shuffle_xor_sync"))]
    #[inline(always)]
    pub fn shuffle_xor<T: Shuffle>(self, value: T, mask: u32) -> T {
        on_device!("warp::shuffle_xor"(value, mask), {
            let (members, clamp) = (self.mask(), Self::SEGMENT | 31);
            // SAFETY: a shuffle moves registers only.
            value.map_words(|word| unsafe {
                crate::device::intrinsics::shuffle_xor(members, word, mask, clamp)
            })
        })
    }

    /// The `value` of the lane `delta` above, or this lane's own if the tile has none:
    /// `__shfl_down_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The value of the next lane of the tile; the last lane keeps its own.
    /// fn next(value: u32) -> u32 {
    ///     warp::tile::<8>().shuffle_down(value, 1)
    /// }
    /// ```
    #[doc(alias("__shfl_down_sync", "shfl_down", "shuffle_down_sync"))]
    #[inline(always)]
    pub fn shuffle_down<T: Shuffle>(self, value: T, delta: u32) -> T {
        on_device!("warp::shuffle_down"(value, delta), {
            let (members, clamp) = (self.mask(), Self::SEGMENT | 31);
            // SAFETY: a shuffle moves registers only.
            value.map_words(|word| unsafe {
                crate::device::intrinsics::shuffle_down(members, word, delta, clamp)
            })
        })
    }

    /// The `value` of the lane `delta` below, or this lane's own if the tile has none:
    /// `__shfl_up_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The value of the lane before this one; the first lane keeps its own.
    /// fn before(value: u32) -> u32 {
    ///     warp::tile::<8>().shuffle_up(value, 1)
    /// }
    /// ```
    #[doc(alias("__shfl_up_sync", "shfl_up", "shuffle_up_sync"))]
    #[inline(always)]
    pub fn shuffle_up<T: Shuffle>(self, value: T, delta: u32) -> T {
        on_device!("warp::shuffle_up"(value, delta), {
            // Upwards, the clamp is the first lane.
            let (members, clamp) = (self.mask(), Self::SEGMENT);
            // SAFETY: a shuffle moves registers only.
            value.map_words(|word| unsafe {
                crate::device::intrinsics::shuffle_up(members, word, delta, clamp)
            })
        })
    }

    /// The `value` of lane `lane` of the tile, modulo its size: `__shfl_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The value of the first lane of the tile.
    /// fn of_first(value: f64) -> f64 {
    ///     warp::tile::<16>().shuffle_index(value, 0)
    /// }
    /// ```
    #[doc(alias("__shfl_sync", "shfl", "shuffle_sync"))]
    #[inline(always)]
    pub fn shuffle_index<T: Shuffle>(self, value: T, lane: u32) -> T {
        on_device!("warp::shuffle_index"(value, lane), {
            let (members, clamp) = (self.mask(), Self::SEGMENT | 31);
            // SAFETY: a shuffle moves registers only.
            value.map_words(|word| unsafe {
                crate::device::intrinsics::shuffle_index(members, word, lane, clamp)
            })
        })
    }

    /// One bit a lane of the tile, set where its `predicate` holds: `__ballot_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// How many of the tile's eight lanes have found something.
    /// fn found(found: bool) -> u32 {
    ///     warp::tile::<8>().ballot(found).count_ones()
    /// }
    /// ```
    #[doc(alias("__ballot_sync", "ballot_sync"))]
    #[inline(always)]
    pub fn ballot(self, predicate: bool) -> u32 {
        on_device!("warp::ballot"(predicate), {
            // SAFETY: a vote reads registers only.
            self.own(unsafe { crate::device::intrinsics::ballot(self.mask(), predicate) })
        })
    }

    /// Whether `predicate` holds in any lane: `__any_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The tile continues as long as one of its lanes has work.
    /// fn continues(left: u32) -> bool {
    ///     warp::tile::<4>().any(left > 0)
    /// }
    /// ```
    #[doc(alias("__any_sync", "any_sync"))]
    #[inline(always)]
    pub fn any(self, predicate: bool) -> bool {
        on_device!("warp::any"(predicate), {
            // SAFETY: a vote reads registers only.
            unsafe { crate::device::intrinsics::any(self.mask(), predicate) }
        })
    }

    /// Whether `predicate` holds in every lane: `__all_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Whether all of the tile is inside.
    /// fn is_inside(n: u32) -> bool {
    ///     warp::tile::<4>().all(thread::global_x() < n)
    /// }
    /// ```
    #[doc(alias("__all_sync", "all_sync"))]
    #[inline(always)]
    pub fn all(self, predicate: bool) -> bool {
        on_device!("warp::all"(predicate), {
            // SAFETY: a vote reads registers only.
            unsafe { crate::device::intrinsics::all(self.mask(), predicate) }
        })
    }

    /// Whether `predicate` is the same in every lane: `__uni_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Whether the lanes of the tile take the same branch.
    /// fn agree(left: bool) -> bool {
    ///     warp::tile::<4>().uniform(left)
    /// }
    /// ```
    #[doc(alias("__uni_sync", "vote.sync.uni"))]
    #[inline(always)]
    pub fn uniform(self, predicate: bool) -> bool {
        on_device!("warp::uniform"(predicate), {
            // SAFETY: a vote reads registers only.
            unsafe { crate::device::intrinsics::uniform(self.mask(), predicate) }
        })
    }

    /// One bit a lane of the tile, set where it has the same `value`: `__match_any_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// One atomic for all lanes of the tile that count the same byte.
    /// unsafe fn count(bins: *mut u32, byte: u8) {
    ///     let tile = warp::tile::<16>();
    ///     let same = tile.match_any(u32::from(byte));
    ///     if same.trailing_zeros() == tile.lane() {
    ///         unsafe { atomic::add(bins.add(usize::from(byte)), same.count_ones()) };
    ///     }
    /// }
    /// ```
    #[doc(alias("__match_any_sync", "match_any_sync", "match.any.sync"))]
    #[inline(always)]
    pub fn match_any<T: Match>(self, value: T) -> u32 {
        on_device!("warp::match_any"(value), { self.own(value.match_any(self.mask())) })
    }

    /// Whether every lane has the same `value`: `__match_all_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Whether the lanes of the tile work on one row.
    /// fn one_row(row: u32) -> bool {
    ///     warp::tile::<16>().match_all(row)
    /// }
    /// ```
    #[doc(alias("__match_all_sync", "match_all_sync", "match.all.sync"))]
    #[inline(always)]
    pub fn match_all<T: Match>(self, value: T) -> bool {
        on_device!("warp::match_all"(value), { value.match_all(self.mask()) })
    }

    /// Whether this is the first of the participating lanes.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// One lane of each tile writes the common value.
    /// unsafe fn write(slot: *mut f32, sum: f32) {
    ///     if warp::tile::<8>().elect() {
    ///         unsafe { *slot = sum };
    ///     }
    /// }
    /// ```
    #[doc(alias("elect.sync", "elect_sync", "invoke_one"))]
    #[inline(always)]
    pub fn elect(self) -> bool {
        self.members.trailing_zeros() == self.lane()
    }

    /// Waits until every participating lane arrives, and makes their writes to shared and global
    /// memory visible to all of them: `__syncwarp(mask)`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Hands `value` to the next lane of the tile through shared memory.
    /// unsafe fn rotate(slots: Shared<f32>, value: f32) -> f32 {
    ///     let tile = warp::tile::<8>();
    ///     let first = thread::index() - tile.lane();
    ///     unsafe { slots.write(first + tile.lane(), value) };
    ///     tile.sync();
    ///     unsafe { slots.read(first + (tile.lane() + 1) % 8) }
    /// }
    /// ```
    #[doc(alias("__syncwarp", "syncwarp"))]
    #[inline(always)]
    pub fn sync(self) {
        on_device!("warp::sync"(), {
            // SAFETY: a barrier touches no memory itself; that all lanes reach it is the kernel's
            // contract with this function.
            unsafe { crate::device::intrinsics::sync_warp(self.mask()) }
        });
    }

    /// The values of all participating lanes combined by `combine`, in every one of them.
    ///
    /// `combine` must be associative and commutative. In a whole tile it is called log₂ `SIZE`
    /// times, in a part of one as often as there are members.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The product over the tile.
    /// fn product(value: f32) -> f32 {
    ///     warp::tile::<8>().reduce(value, |a, b| a * b)
    /// }
    /// ```
    #[doc(alias("cg::reduce", "WarpReduce", "warp_reduce"))]
    #[inline(always)]
    pub fn reduce<T: Shuffle>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
        if self.members != Self::ALL {
            return self.over_members(value, combine).1;
        }
        let (mut value, mut distance) = (value, SIZE / 2);
        while distance > 0 {
            value = combine(value, self.shuffle_xor(value, distance));
            distance /= 2;
        }
        value
    }

    /// The values of the lanes up to this one combined by `combine`, in the order of the lanes.
    ///
    /// `combine` must be associative.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The largest value so far.
    /// fn running_maximum(value: f32) -> f32 {
    ///     warp::tile::<32>().inclusive_scan(value, f32::max)
    /// }
    /// ```
    #[doc(alias("WarpScan", "InclusiveScan", "cg::inclusive_scan", "plane_inclusive_sum"))]
    #[inline(always)]
    pub fn inclusive_scan<T: Shuffle>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
        if self.members != Self::ALL {
            return self.over_members(value, combine).0;
        }
        let (mut value, mut distance) = (value, 1);
        while distance < SIZE {
            let below = self.shuffle_up(value, distance);
            if self.lane() >= distance {
                value = combine(below, value);
            }
            distance *= 2;
        }
        value
    }

    /// The result of `combine` over the lanes below this one; `identity` in the first participating
    /// lane.
    ///
    /// `combine` must be associative.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The largest value before this one.
    /// fn maximum_before(value: f32) -> f32 {
    ///     warp::tile::<32>().exclusive_scan(value, f32::NEG_INFINITY, f32::max)
    /// }
    /// ```
    #[doc(alias("ExclusiveScan", "cg::exclusive_scan", "plane_exclusive_sum"))]
    #[inline(always)]
    pub fn exclusive_scan<T: Shuffle>(
        self,
        value: T,
        identity: T,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let inclusive = self.inclusive_scan(value, combine);
        if self.members == Self::ALL {
            let below = self.shuffle_up(inclusive, 1);
            return if self.lane() == 0 { identity } else { below };
        }
        let lower = self.members & !(u32::MAX << self.lane());
        // A lane without one below takes part in the shuffle with its own value.
        let from = if lower == 0 { self.lane() } else { 31 - lower.leading_zeros() };
        let below = self.shuffle_index(inclusive, from);
        if lower == 0 { identity } else { below }
    }

    /// The values of the members up to this lane combined, and those of all.
    #[inline(always)]
    fn over_members<T: Shuffle>(self, value: T, combine: impl Fn(T, T) -> T) -> (T, T) {
        let first = self.members.trailing_zeros();
        let mut all = self.shuffle_index(value, first);
        let (mut own, mut left) = (all, self.members & self.members.wrapping_sub(1));
        while left != 0 {
            let lane = left.trailing_zeros();
            all = combine(all, self.shuffle_index(value, lane));
            if lane == self.lane() {
                own = all;
            }
            left &= left - 1;
        }
        (own, all)
    }

    /// By one instruction where there is one, else by shuffles.
    #[inline(always)]
    fn at_once<T: Shuffle>(
        self,
        value: T,
        at_once: impl Fn(u32, T) -> Option<T>,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        #[cfg(target_arch = "nvptx64")]
        if let Some(result) = at_once(self.mask(), value) {
            return result;
        }
        #[cfg(not(target_arch = "nvptx64"))]
        let _ = at_once;
        self.reduce(value, combine)
    }

    /// The sum over all lanes, in every one: `__reduce_add_sync`, for floats and 64 bits too.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The length of a vector of 16 values, a lane each.
    /// fn length(x: f32) -> f32 {
    ///     warp::tile::<16>().reduce_add(x * x).sqrt()
    /// }
    /// ```
    #[doc(alias("__reduce_add_sync", "redux_sync_add", "reduce_sum_f32", "redux.sync.add"))]
    #[inline(always)]
    pub fn reduce_add<T: Reduce>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux(Operation::Add, mask), T::plus)
    }

    /// The smallest value, in every lane: `__reduce_min_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The nearest of the tile's candidates.
    /// fn nearest(distance: f32) -> f32 {
    ///     warp::tile::<8>().reduce_min(distance)
    /// }
    /// ```
    #[doc(alias("__reduce_min_sync", "redux.sync.min"))]
    #[inline(always)]
    pub fn reduce_min<T: Reduce>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux(Operation::Min, mask), T::lesser)
    }

    /// The largest value, in every lane: `__reduce_max_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The value that a softmax over 32 values subtracts.
    /// fn shift(x: f32) -> f32 {
    ///     warp::tile::<32>().reduce_max(x)
    /// }
    /// ```
    #[doc(alias("__reduce_max_sync", "redux.sync.max"))]
    #[inline(always)]
    pub fn reduce_max<T: Reduce>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux(Operation::Max, mask), T::greater)
    }

    /// The bits that are set in every lane, in every lane: `__reduce_and_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The common bits of all lanes.
    /// fn common(set: u32) -> u32 {
    ///     warp::tile::<32>().reduce_and(set)
    /// }
    /// ```
    #[doc(alias("__reduce_and_sync", "redux.sync.and"))]
    #[inline(always)]
    pub fn reduce_and<T: ReduceBits>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux_bits(Operation::And, mask), T::and)
    }

    /// The bits that are set in any lane, in every lane: `__reduce_or_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The bits of any lane.
    /// fn union(set: u32) -> u32 {
    ///     warp::tile::<32>().reduce_or(set)
    /// }
    /// ```
    #[doc(alias("__reduce_or_sync", "redux.sync.or"))]
    #[inline(always)]
    pub fn reduce_or<T: ReduceBits>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux_bits(Operation::Or, mask), T::or)
    }

    /// The bits that are set in an odd number of lanes, in every lane: `__reduce_xor_sync`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The parity of all bits of the tile.
    /// fn parity(word: u32) -> u32 {
    ///     warp::tile::<32>().reduce_xor(word).count_ones() % 2
    /// }
    /// ```
    #[doc(alias("__reduce_xor_sync", "redux.sync.xor"))]
    #[inline(always)]
    pub fn reduce_xor<T: ReduceBits>(self, value: T) -> T {
        self.at_once(value, |mask, value| value.redux_bits(Operation::Xor, mask), T::xor)
    }

    /// The sum of the values up to this lane's, in the order of the lanes.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The end of this lane's elements in the output of the tile.
    /// fn end(elements: u32) -> u32 {
    ///     warp::tile::<16>().inclusive_sum(elements)
    /// }
    /// ```
    #[doc(alias("InclusiveSum", "scan_add"))]
    #[inline(always)]
    pub fn inclusive_sum<T: Reduce>(self, value: T) -> T {
        self.inclusive_scan(value, T::plus)
    }

    /// The sum of the values of the lanes below this one.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The start of this lane's elements in the output of the tile.
    /// fn begin(elements: u32) -> u32 {
    ///     warp::tile::<16>().exclusive_sum(elements)
    /// }
    /// ```
    #[doc(alias = "ExclusiveSum")]
    #[inline(always)]
    pub fn exclusive_sum<T: Reduce>(self, value: T) -> T {
        self.exclusive_scan(value, T::ZERO, T::plus)
    }
}
