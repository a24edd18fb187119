//! The types that lanes add up, compare and combine bit by bit.

use super::exchange::Shuffle;
use crate::device::half::{bf16, bf16x2, f16, f16x2};

/// The operations of `redux.sync`.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The sum.
    Add,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The bits that are set in all.
    And,
    /// The bits that are set in any.
    Or,
    /// The bits that are set in an odd number.
    Xor,
}

/// Types with a sum, a minimum and a maximum over lanes: `u32`, `i32`, `u64`, `i64` (all wrapping),
/// `f32`, `f64`, halves and pairs of them. The minimum and the maximum of floats ignore NaN.
///
/// From capability 8.0 on, each is one instruction (`redux.sync`) for `u32` and `i32`. The others
/// are shuffles, and those of 64 bits two for each exchange.
///
/// ```
/// use gpuprof::warp::{self, Reduce};
///
/// /// How far the values of the warp lie apart.
/// fn spread<T: Reduce + core::ops::Sub<Output = T>>(value: T) -> T {
///     warp::reduce_max(value) - warp::reduce_min(value)
/// }
/// ```
pub trait Reduce: Shuffle {
    /// The initial value of a sum.
    #[doc(hidden)]
    const ZERO: Self;

    /// The sum.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;

    /// The smaller one.
    #[doc(hidden)]
    fn lesser(self, other: Self) -> Self;

    /// The larger one.
    #[doc(hidden)]
    fn greater(self, other: Self) -> Self;

    /// By one instruction, if the GPU has one.
    #[doc(hidden)]
    #[inline(always)]
    fn redux(self, operation: Operation, members: u32) -> Option<Self> {
        let _ = (operation, members);
        None
    }
}

/// Types that are combined bit by bit: `u32`, `i32`, `u64` and `i64`.
///
/// ```
/// use gpuprof::warp::{self, ReduceBits};
///
/// /// All bits that any lane has.
/// fn union<T: ReduceBits>(set: T) -> T {
///     warp::reduce_or(set)
/// }
/// ```
pub trait ReduceBits: Shuffle {
    /// The bits of both.
    #[doc(hidden)]
    fn and(self, other: Self) -> Self;

    /// The bits of either.
    #[doc(hidden)]
    fn or(self, other: Self) -> Self;

    /// The bits of one.
    #[doc(hidden)]
    fn xor(self, other: Self) -> Self;

    /// By one instruction, if the GPU has one.
    #[doc(hidden)]
    #[inline(always)]
    fn redux_bits(self, operation: Operation, members: u32) -> Option<Self> {
        let _ = (operation, members);
        None
    }
}

macro_rules! reduce {
    ($($t:ident: $zero:expr, $plus:expr, $lesser:expr, $greater:expr $(, by $min:ident $max:ident of $of:ty)?;)*) => {$(
        impl Reduce for $t {
            const ZERO: Self = $zero;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                $lesser(self, other)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                $greater(self, other)
            }

            $(
                #[cfg(gpuprof_redux)]
                #[inline(always)]
                fn redux(self, operation: Operation, members: u32) -> Option<Self> {
                    use crate::device::intrinsics::redux;
                    // SAFETY: a reduction reads registers only.
                    Some(unsafe {
                        match operation {
                            Operation::Add => redux::add(self as u32, members) as Self,
                            Operation::Min => redux::$min(self as $of, members),
                            Operation::Max => redux::$max(self as $of, members),
                            Operation::And | Operation::Or | Operation::Xor => return None,
                        }
                    })
                }
            )?
        }
    )*};
}

reduce! {
    u32: 0, u32::wrapping_add, Ord::min, Ord::max, by min_u32 max_u32 of u32;
    i32: 0, i32::wrapping_add, Ord::min, Ord::max, by min_i32 max_i32 of i32;
    u64: 0, u64::wrapping_add, Ord::min, Ord::max;
    i64: 0, i64::wrapping_add, Ord::min, Ord::max;
    f32: 0.0, |a, b| a + b, f32::min, f32::max;
    f64: 0.0, |a, b| a + b, f64::min, f64::max;
    f16: f16::ZERO, |a, b| a + b, f16::min, f16::max;
    bf16: bf16::ZERO, |a, b| a + b, bf16::min, bf16::max;
    f16x2: f16x2::splat(f16::ZERO), |a, b| a + b, f16x2::min, f16x2::max;
    bf16x2: bf16x2::splat(bf16::ZERO), |a, b| a + b, bf16x2::min, bf16x2::max;
}

macro_rules! reduce_bits {
    ($($t:ident $($redux:ident)?;)*) => {$(
        impl ReduceBits for $t {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            $(
                #[cfg(gpuprof_redux)]
                #[inline(always)]
                fn redux_bits(self, operation: Operation, members: u32) -> Option<Self> {
                    use crate::device::intrinsics::$redux;
                    // SAFETY: a reduction reads registers only.
                    Some(unsafe {
                        match operation {
                            Operation::And => $redux::and(self as u32, members) as Self,
                            Operation::Or => $redux::or(self as u32, members) as Self,
                            Operation::Xor => $redux::xor(self as u32, members) as Self,
                            Operation::Add | Operation::Min | Operation::Max => return None,
                        }
                    })
                }
            )?
        }
    )*};
}

reduce_bits! {
    u32 redux;
    i32 redux;
    u64;
    i64;
}
