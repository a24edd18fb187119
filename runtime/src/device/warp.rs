//! What the 32 threads of a warp do together: shuffles and votes.
//!
//! All of these are CUDA's `…_sync` functions over the whole warp: every lane must take part. If
//! some have left the kernel or taken another branch, the value is undefined or the warp hangs.
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

/// Every lane of a warp takes part.
#[cfg(target_arch = "nvptx64")]
const ALL_LANES: u32 = u32::MAX;

/// Lanes are clamped to the warp as a whole, not to a segment of it.
#[cfg(target_arch = "nvptx64")]
const LAST_LANE: u32 = SIZE - 1;

mod sealed {
    pub trait Sealed {}
}

/// Types that lanes can exchange: 32 bits in one shuffle, 64 bits in two.
///
/// ```
/// use gpuprof::warp::{self, Shuffle};
///
/// /// What lane 0 holds, in every lane.
/// fn broadcast<T: Shuffle>(value: T) -> T {
///     warp::shuffle_index(value, 0)
/// }
/// ```
pub trait Shuffle: Copy + sealed::Sealed {
    /// The value with `exchange` applied to each of its 32-bit words.
    #[doc(hidden)]
    fn map_words(self, exchange: impl Fn(u32) -> u32) -> Self;
}

macro_rules! shuffle_types {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Shuffle for $t {
            #[inline(always)]
            fn map_words(self, exchange: impl Fn(u32) -> u32) -> Self {
                let bits: u64 = $to(self);
                let low = u64::from(exchange(bits as u32));
                let high = if size_of::<Self>() == 8 {
                    u64::from(exchange((bits >> 32) as u32)) << 32
                } else {
                    0
                };
                $from(low | high)
            }
        }
    )*};
}

shuffle_types! {
    u32: u64::from, |bits: u64| bits as u32;
    i32: |value: i32| u64::from(value as u32), |bits: u64| bits as i32;
    f32: |value: f32| u64::from(value.to_bits()), |bits: u64| f32::from_bits(bits as u32);
    u64: |value: u64| value, |bits: u64| bits;
    i64: |value: i64| value as u64, |bits: u64| bits as i64;
    f64: f64::to_bits, f64::from_bits;
}

/// The `value` of the lane whose number differs by the bits of `mask`: `__shfl_xor_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The larger of the two values of neighbouring lanes, in both.
/// fn larger_of_pair(value: f32) -> f32 {
///     value.max(warp::shuffle_xor(value, 1))
/// }
/// ```
#[doc(alias("__shfl_xor_sync", "shfl.sync.bfly"))]
#[inline(always)]
pub fn shuffle_xor<T: Shuffle>(value: T, mask: u32) -> T {
    on_device!("warp::shuffle_xor"(value, mask), {
        // SAFETY: a shuffle moves registers only.
        value.map_words(|word| unsafe {
            super::intrinsics::shuffle_xor(ALL_LANES, word, mask, LAST_LANE)
        })
    })
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
#[doc(alias("__shfl_down_sync", "shfl.sync.down"))]
#[inline(always)]
pub fn shuffle_down<T: Shuffle>(value: T, delta: u32) -> T {
    on_device!("warp::shuffle_down"(value, delta), {
        // SAFETY: a shuffle moves registers only.
        value.map_words(|word| unsafe {
            super::intrinsics::shuffle_down(ALL_LANES, word, delta, LAST_LANE)
        })
    })
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
#[doc(alias("__shfl_up_sync", "shfl.sync.up"))]
#[inline(always)]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    on_device!("warp::shuffle_up"(value, delta), {
        // SAFETY: a shuffle moves registers only. Upwards, the clamp is the first lane.
        value.map_words(|word| unsafe { super::intrinsics::shuffle_up(ALL_LANES, word, delta, 0) })
    })
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
#[doc(alias("__shfl_sync", "shfl.sync.idx"))]
#[inline(always)]
pub fn shuffle_index<T: Shuffle>(value: T, lane: u32) -> T {
    on_device!("warp::shuffle_index"(value, lane), {
        // SAFETY: a shuffle moves registers only.
        value.map_words(|word| unsafe {
            super::intrinsics::shuffle_index(ALL_LANES, word, lane, LAST_LANE)
        })
    })
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
#[doc(alias("__ballot_sync", "vote.sync.ballot"))]
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    on_device!("warp::ballot"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::ballot(ALL_LANES, predicate) }
    })
}

/// Whether `predicate` holds in any lane: `__any_sync`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The warp goes on for as long as one of its lanes has work.
/// fn goes_on(left: u32) -> bool {
///     warp::any(left > 0)
/// }
/// ```
#[doc(alias("__any_sync", "vote.sync.any"))]
#[inline(always)]
pub fn any(predicate: bool) -> bool {
    on_device!("warp::any"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::any(ALL_LANES, predicate) }
    })
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
#[doc(alias("__all_sync", "vote.sync.all"))]
#[inline(always)]
pub fn all(predicate: bool) -> bool {
    on_device!("warp::all"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::all(ALL_LANES, predicate) }
    })
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

/// Waits until every lane of the warp is here, and makes what they wrote to shared and global
/// memory visible to all of them: `__syncwarp()`.
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
    on_device!("warp::sync"(), {
        // SAFETY: a barrier touches no memory itself; that all lanes reach it is the kernel's
        // contract with this function.
        unsafe { super::intrinsics::sync_warp(ALL_LANES) }
    });
}
