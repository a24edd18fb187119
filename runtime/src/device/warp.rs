//! What the 32 threads of a warp do together: shuffles and votes.
//!
//! All of these are CUDA's `…_sync` functions over the whole warp: every lane must be there. Where
//! some have left the kernel or taken another branch, the value is undefined or the warp hangs.

/// Threads of a warp.
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
#[inline(always)]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    on_device!("warp::shuffle_up"(value, delta), {
        // SAFETY: a shuffle moves registers only. Upwards, the clamp is the first lane.
        value.map_words(|word| unsafe { super::intrinsics::shuffle_up(ALL_LANES, word, delta, 0) })
    })
}

/// The `value` of `lane`, modulo the warp size: `__shfl_sync`.
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
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    on_device!("warp::ballot"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::ballot(ALL_LANES, predicate) }
    })
}

/// Whether `predicate` holds in any lane: `__any_sync`.
#[inline(always)]
pub fn any(predicate: bool) -> bool {
    on_device!("warp::any"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::any(ALL_LANES, predicate) }
    })
}

/// Whether `predicate` holds in every lane: `__all_sync`.
#[inline(always)]
pub fn all(predicate: bool) -> bool {
    on_device!("warp::all"(predicate), {
        // SAFETY: a vote reads registers only.
        unsafe { super::intrinsics::all(ALL_LANES, predicate) }
    })
}

/// One bit a lane, set where the lane is executing this call: `__activemask`.
#[inline(always)]
pub fn active_mask() -> u32 {
    on_device!("warp::active_mask"(), {
        // SAFETY: reading the mask has no precondition.
        unsafe { super::intrinsics::active_mask() }
    })
}
