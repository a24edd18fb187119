//! The types that lanes exchange and compare.

use crate::device::half::{bf16, bf16x2, f16, f16x2};

mod sealed {
    pub trait Sealed {}
}

/// Types that lanes can exchange: up to 32 bits, halves and pairs of them included, in one shuffle,
/// 64 bits in two.
///
/// ```
/// use gpuprof::warp::{self, Shuffle};
///
/// /// The value of lane 0, in every lane.
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
    f16: |value: f16| u64::from(value.to_bits()), |bits: u64| f16::from_bits(bits as u16);
    bf16: |value: bf16| u64::from(value.to_bits()), |bits: u64| bf16::from_bits(bits as u16);
    f16x2: |value: f16x2| u64::from(value.to_bits()), |bits: u64| f16x2::from_bits(bits as u32);
    bf16x2: |value: bf16x2| u64::from(value.to_bits()), |bits: u64| bf16x2::from_bits(bits as u32);
}

/// Types that lanes compare: numbers of 32 and 64 bits. Floats are compared by their bits.
///
/// ```
/// use gpuprof::warp::{self, Match};
///
/// /// Whether another lane has the same key.
/// fn is_shared<T: Match>(key: T) -> bool {
///     warp::match_any(key).count_ones() > 1
/// }
/// ```
pub trait Match: Copy + sealed::Sealed {
    /// The members with this value.
    #[doc(hidden)]
    fn match_any(self, members: u32) -> u32;

    /// Whether all members have this value.
    #[doc(hidden)]
    fn match_all(self, members: u32) -> bool;
}

macro_rules! match_types {
    ($($t:ty: $bits:expr, $any:ident, $all:ident;)*) => {$(
        impl Match for $t {
            #[inline(always)]
            fn match_any(self, members: u32) -> u32 {
                on_device!("warp::match_any"(members), {
                    // SAFETY: a comparison reads registers only.
                    unsafe { crate::device::intrinsics::$any(members, $bits(self)) }
                })
            }

            #[inline(always)]
            fn match_all(self, members: u32) -> bool {
                on_device!("warp::match_all"(members), {
                    // SAFETY: a comparison reads registers only.
                    unsafe { crate::device::intrinsics::pairs::$all(members, $bits(self)).1 }
                })
            }
        }
    )*};
}

match_types! {
    u32: |value: u32| value, match_any_32, match_all_32;
    i32: |value: i32| value as u32, match_any_32, match_all_32;
    f32: f32::to_bits, match_any_32, match_all_32;
    u64: |value: u64| value, match_any_64, match_all_64;
    i64: |value: i64| value as u64, match_any_64, match_all_64;
    f64: f64::to_bits, match_any_64, match_all_64;
}
