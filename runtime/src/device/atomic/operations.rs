//! The types that atomics work on, and which operations each has.

use core::sync::atomic::Ordering;

use super::scope::{Memory, Scope};
use crate::device::half::{bf16, bf16x2, f16, f16x2};

/// One function for each operation.
#[cfg(target_arch = "nvptx64")]
mod ptx {
    pub(super) use super::super::instructions::*;
    pub(super) use super::super::loops::*;
}

mod sealed {
    pub trait Sealed {}
}

/// Types that can be loaded, stored, exchanged and compared atomically: `u16`, `u32`, `i32`, `u64`,
/// `i64`, `f32`, `f64`, [`f16`](struct@f16), [`bf16`], [`f16x2`] and [`bf16x2`].
///
/// PTX has a compare-and-swap of 16 bits (`atom.cas.b16`), and their exchange is a loop around it.
///
/// ```
/// use gpuprof::{atomic, atomic::AtomicValue};
///
/// /// Takes what is in `slot`, of whatever type, and leaves `empty` there.
/// unsafe fn take<T: AtomicValue>(slot: *mut T, empty: T) -> T {
///     unsafe { atomic::exchange(slot, empty) }
/// }
/// ```
pub trait AtomicValue: Copy + sealed::Sealed {
    /// Reads.
    ///
    /// # Safety
    /// `at` is the address of an element that is accessed atomically.
    #[doc(hidden)]
    unsafe fn load<S: Scope, M: Memory>(at: M::Address, order: Ordering) -> Self;

    /// Writes.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[doc(hidden)]
    unsafe fn store<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering);

    /// Writes, and returns what was there.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[doc(hidden)]
    unsafe fn exchange<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;

    /// Writes `new` where the bits are those of `current`; what was there, and whether it did.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[doc(hidden)]
    unsafe fn compare_exchange<S: Scope, M: Memory>(
        at: M::Address,
        current: Self,
        new: Self,
        order: Ordering,
    ) -> (Self, bool);
}

/// Types with an atomic addition: `u32`, `i32`, `u64`, `i64` (all wrapping), `f32`, `f64`,
/// [`f16`](struct@f16), [`bf16`], [`f16x2`] and [`bf16x2`].
///
/// A pair's halves are added each by itself: another thread may see one sum before the other. It is
/// the cheaper one: for a single half the GPU runs a loop around the compare-and-swap of the word
/// that it is in, so that neighbours wait for each other. GPUs before capability 9.0 have no
/// instruction for `bf16` and `bf16x2`, if it is such a loop in PTX (see `--kernel-arch`).
///
/// ```
/// use gpuprof::{atomic, atomic::AtomicAdd};
///
/// /// Adds to `*total`, whatever it counts in.
/// unsafe fn accumulate<T: AtomicAdd>(total: *mut T, own: T) {
///     unsafe { atomic::add(total, own) };
/// }
/// ```
pub trait AtomicAdd: Copy + sealed::Sealed {
    /// Adds.
    ///
    /// # Safety
    /// `at` is the address of an element that is accessed atomically.
    #[doc(hidden)]
    unsafe fn add<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;

    /// The negated value: adding it subtracts.
    #[doc(hidden)]
    fn negated(self) -> Self;
}

/// Types with an atomic minimum and maximum: `u32`, `i32`, `u64`, `i64`, `f32` and `f64`.
///
/// GPUs have none for floats: it is the one of integers, signed or unsigned by the sign of the
/// value. Of zeros, -0 is the smaller one. A value that is NaN changes nothing; an element that is
/// NaN may stay one.
///
/// ```
/// use gpuprof::{atomic, atomic::AtomicOrder};
///
/// /// Widens the range `*low..=*high` until it holds `value`.
/// unsafe fn widen<T: AtomicOrder>(low: *mut T, high: *mut T, value: T) {
///     unsafe { atomic::min(low, value) };
///     unsafe { atomic::max(high, value) };
/// }
/// ```
pub trait AtomicOrder: Copy + sealed::Sealed {
    /// Sets to the smaller one.
    ///
    /// # Safety
    /// `at` is the address of an element that is accessed atomically.
    #[doc(hidden)]
    unsafe fn min<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;

    /// Sets to the larger one.
    ///
    /// # Safety
    /// As for [`min`](Self::min).
    #[doc(hidden)]
    unsafe fn max<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;
}

/// Types with atomic operations on bits: `u32`, `i32`, `u64` and `i64`.
///
/// ```
/// use gpuprof::{atomic, atomic::AtomicBits};
///
/// /// Whether this thread is the first to set `bit`.
/// unsafe fn claim<T: AtomicBits + core::ops::BitAnd<Output = T> + PartialEq + Default>(
///     set: *mut T,
///     bit: T,
/// ) -> bool {
///     (unsafe { atomic::or(set, bit) } & bit) == T::default()
/// }
/// ```
pub trait AtomicBits: Copy + sealed::Sealed {
    /// Keeps the bits of `value` only.
    ///
    /// # Safety
    /// `at` is the address of an element that is accessed atomically.
    #[doc(hidden)]
    unsafe fn and<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;

    /// Sets the bits of `value`.
    ///
    /// # Safety
    /// As for [`and`](Self::and).
    #[doc(hidden)]
    unsafe fn or<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;

    /// Turns the bits of `value`.
    ///
    /// # Safety
    /// As for [`and`](Self::and).
    #[doc(hidden)]
    unsafe fn xor<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) -> Self;
}

macro_rules! values {
    ($($t:ident as $cell:ident($to:expr, $from:expr):
        $load:ident, $store:ident, $exchange:ident, $compare:ident;)*) => {$(
        impl sealed::Sealed for $t {}
        impl AtomicValue for $t {
            #[inline(always)]
            unsafe fn load<S: Scope, M: Memory>(at: M::Address, order: Ordering) -> Self {
                on_device!("atomic"(at, order), {
                    // SAFETY: the caller keeps the contract.
                    $from(unsafe { ptx::$load::<S, M>(at, ptx::of_load::<S>(order)) })
                })
            }

            #[inline(always)]
            unsafe fn store<S: Scope, M: Memory>(at: M::Address, value: Self, order: Ordering) {
                on_device!("atomic"(at, value, order), {
                    // SAFETY: the caller keeps the contract.
                    unsafe { ptx::$store::<S, M>(at, $to(value), ptx::of_store::<S>(order)) }
                })
            }

            #[inline(always)]
            unsafe fn exchange<S: Scope, M: Memory>(
                at: M::Address,
                value: Self,
                order: Ordering,
            ) -> Self {
                on_device!("atomic"(at, value, order), {
                    let order = ptx::of_update::<S>(order);
                    // SAFETY: the caller keeps the contract.
                    $from(unsafe { ptx::$exchange::<S, M>(at, $to(value), order) })
                })
            }

            #[inline(always)]
            unsafe fn compare_exchange<S: Scope, M: Memory>(
                at: M::Address,
                current: Self,
                new: Self,
                order: Ordering,
            ) -> (Self, bool) {
                on_device!("atomic"(at, current, new, order), {
                    let order = ptx::of_update::<S>(order);
                    let expected: $cell = $to(current);
                    // SAFETY: the caller keeps the contract.
                    let old = unsafe { ptx::$compare::<S, M>(at, expected, $to(new), order) };
                    ($from(old), old == expected)
                })
            }
        }
    )*};
}

values! {
    u16 as u16(|value: u16| value, |cell: u16| cell):
        load_u16, store_u16, exchange_u16, compare_u16;
    f16 as u16(f16::to_bits, f16::from_bits):
        load_u16, store_u16, exchange_u16, compare_u16;
    bf16 as u16(bf16::to_bits, bf16::from_bits):
        load_u16, store_u16, exchange_u16, compare_u16;
    u32 as u32(|value: u32| value, |cell: u32| cell):
        load_u32, store_u32, exchange_u32, compare_u32;
    i32 as u32(|value: i32| value as u32, |cell: u32| cell as i32):
        load_u32, store_u32, exchange_u32, compare_u32;
    f32 as u32(f32::to_bits, f32::from_bits):
        load_u32, store_u32, exchange_u32, compare_u32;
    u64 as u64(|value: u64| value, |cell: u64| cell):
        load_u64, store_u64, exchange_u64, compare_u64;
    i64 as u64(|value: i64| value as u64, |cell: u64| cell as i64):
        load_u64, store_u64, exchange_u64, compare_u64;
    f64 as u64(f64::to_bits, f64::from_bits):
        load_u64, store_u64, exchange_u64, compare_u64;
    f16x2 as u32(f16x2::to_bits, f16x2::from_bits):
        load_u32, store_u32, exchange_u32, compare_u32;
    bf16x2 as u32(bf16x2::to_bits, bf16x2::from_bits):
        load_u32, store_u32, exchange_u32, compare_u32;
}

/// One operation of a trait as one instruction.
macro_rules! update {
    ($method:ident, $instruction:ident of $cell:ty) => {
        #[inline(always)]
        unsafe fn $method<S: Scope, M: Memory>(
            at: M::Address,
            value: Self,
            order: Ordering,
        ) -> Self {
            on_device!("atomic"(at, value, order), {
                let order = ptx::of_update::<S>(order);
                // SAFETY: the caller keeps the contract.
                unsafe { ptx::$instruction::<S, M>(at, value as $cell, order) as Self }
            })
        }
    };
}

macro_rules! atomic_add {
    ($($t:ident: $add:ident of $cell:ty, $negated:expr;)*) => {$(
        impl AtomicAdd for $t {
            update!(add, $add of $cell);

            #[inline(always)]
            fn negated(self) -> Self {
                $negated(self)
            }
        }
    )*};
}

atomic_add! {
    u32: add_u32 of u32, u32::wrapping_neg;
    i32: add_u32 of u32, i32::wrapping_neg;
    u64: add_u64 of u64, u64::wrapping_neg;
    i64: add_u64 of u64, i64::wrapping_neg;
    f32: add_f32 of f32, |value: f32| -value;
    f64: add_f64 of f64, |value: f64| -value;
}

macro_rules! atomic_add_of_halves {
    ($($t:ident: $add:ident;)*) => {$(
        impl AtomicAdd for $t {
            #[inline(always)]
            unsafe fn add<S: Scope, M: Memory>(
                at: M::Address,
                value: Self,
                order: Ordering,
            ) -> Self {
                on_device!("atomic"(at, value, order), {
                    let order = ptx::of_update::<S>(order);
                    // SAFETY: the caller keeps the contract.
                    Self::from_bits(unsafe { ptx::$add::<S, M>(at, value.to_bits(), order) })
                })
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }
    )*};
}

atomic_add_of_halves! {
    f16: add_f16;
    bf16: add_bf16;
    f16x2: add_f16x2;
    bf16x2: add_bf16x2;
}

macro_rules! atomic_order {
    ($($t:ident: $min:ident, $max:ident;)*) => {$(
        impl AtomicOrder for $t {
            update!(min, $min of $t);
            update!(max, $max of $t);
        }
    )*};
}

atomic_order! {
    u32: min_u32, max_u32;
    i32: min_i32, max_i32;
    u64: min_u64, max_u64;
    i64: min_i64, max_i64;
}

/// Floats of one sign are ordered as their bits are: those of positive ones as signed integers,
/// which are above all negative floats, and those of negative ones the other way round as unsigned
/// integers, which are above all positive floats.
macro_rules! atomic_order_of_floats {
    ($($t:ident as $signed:ident, $unsigned:ident:
        $min_signed:ident, $max_signed:ident, $min_unsigned:ident, $max_unsigned:ident;)*) => {$(
        impl AtomicOrder for $t {
            #[inline(always)]
            unsafe fn min<S: Scope, M: Memory>(
                at: M::Address,
                value: Self,
                order: Ordering,
            ) -> Self {
                on_device!("atomic"(at, value, order), {
                    let order = ptx::of_update::<S>(order);
                    let bits = if value.is_nan() { Self::INFINITY } else { value }.to_bits();
                    // SAFETY: the caller keeps the contract.
                    Self::from_bits(if bits as $signed >= 0 {
                        unsafe { ptx::$min_signed::<S, M>(at, bits as $signed, order) as $unsigned }
                    } else {
                        unsafe { ptx::$max_unsigned::<S, M>(at, bits, order) }
                    })
                })
            }

            #[inline(always)]
            unsafe fn max<S: Scope, M: Memory>(
                at: M::Address,
                value: Self,
                order: Ordering,
            ) -> Self {
                on_device!("atomic"(at, value, order), {
                    let order = ptx::of_update::<S>(order);
                    let bits = if value.is_nan() { Self::NEG_INFINITY } else { value }.to_bits();
                    // SAFETY: the caller keeps the contract.
                    Self::from_bits(if bits as $signed >= 0 {
                        unsafe { ptx::$max_signed::<S, M>(at, bits as $signed, order) as $unsigned }
                    } else {
                        unsafe { ptx::$min_unsigned::<S, M>(at, bits, order) }
                    })
                })
            }
        }
    )*};
}

atomic_order_of_floats! {
    f32 as i32, u32: min_i32, max_i32, min_u32, max_u32;
    f64 as i64, u64: min_i64, max_i64, min_u64, max_u64;
}

macro_rules! atomic_bits {
    ($($t:ident as $cell:ty: $and:ident, $or:ident, $xor:ident;)*) => {$(
        impl AtomicBits for $t {
            update!(and, $and of $cell);
            update!(or, $or of $cell);
            update!(xor, $xor of $cell);
        }
    )*};
}

atomic_bits! {
    u32 as u32: and_u32, or_u32, xor_u32;
    i32 as u32: and_u32, or_u32, xor_u32;
    u64 as u64: and_u64, or_u64, xor_u64;
    i64 as u64: and_u64, or_u64, xor_u64;
}

/// Operations of `u32` alone: counting up and down in a circle.
pub(super) trait AtomicCount: AtomicValue {
    /// Adds 1 below `limit`, and starts again at 0 from there on.
    ///
    /// # Safety
    /// `at` is the address of an element that is accessed atomically.
    unsafe fn inc<S: Scope, M: Memory>(at: M::Address, limit: Self, order: Ordering) -> Self;

    /// Takes 1 away, and starts again at `limit` from 0 or above `limit`.
    ///
    /// # Safety
    /// As for [`inc`](Self::inc).
    unsafe fn dec<S: Scope, M: Memory>(at: M::Address, limit: Self, order: Ordering) -> Self;
}

impl AtomicCount for u32 {
    update!(inc, inc of u32);
    update!(dec, dec of u32);
}
