//! Atomic read-modify-write on global memory, relaxed and at the scope of the GPU as in CUDA.
//!
//! Each is one `atom.global` instruction; where the old value is not used, the hardware runs the
//! cheaper reduction (`red`). [`Shared`](crate::Shared) has the same functions for shared memory.
//!
//! ```
//! use gpuprof::prelude::*;
//!
//! /// Counts how often each byte occurs; `bins` has 256 elements.
//! unsafe fn histogram(n: u32, data: *const u8, bins: *mut u32) {
//!     let i = thread::global_x();
//!     if i < n {
//!         unsafe { atomic::add(bins.add(usize::from(*data.add(i as usize))), 1) };
//!     }
//! }
//! ```

mod sealed {
    pub trait Sealed {}
}

/// Types with an atomic addition: `u32`, `i32`, `u64`, `i64` (all wrapping), `f32` and `f64`.
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
    /// Adds at a global address.
    ///
    /// # Safety
    /// As for [`add`].
    #[doc(hidden)]
    unsafe fn add_global(at: *mut Self, value: Self) -> Self;

    /// Adds at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element.
    #[doc(hidden)]
    unsafe fn add_shared(at: u32, value: Self) -> Self;
}

/// Types with an atomic minimum and maximum: `u32`, `i32`, `u64` and `i64`.
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
    /// The minimum at a global address.
    ///
    /// # Safety
    /// As for [`min`].
    #[doc(hidden)]
    unsafe fn min_global(at: *mut Self, value: Self) -> Self;

    /// The maximum at a global address.
    ///
    /// # Safety
    /// As for [`max`].
    #[doc(hidden)]
    unsafe fn max_global(at: *mut Self, value: Self) -> Self;

    /// The minimum at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element.
    #[doc(hidden)]
    unsafe fn min_shared(at: u32, value: Self) -> Self;

    /// The maximum at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element.
    #[doc(hidden)]
    unsafe fn max_shared(at: u32, value: Self) -> Self;
}

/// Adds `value` to `*at` and returns the old value.
///
/// # Safety
/// `at` points to an aligned element of global memory, which no thread accesses without atomics at
/// the same time.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Appends `item` to a list and returns where it went.
/// unsafe fn push(list: *mut u32, length: *mut u32, item: u32) -> u32 {
///     let slot = unsafe { atomic::add(length, 1) };
///     unsafe { *list.add(slot as usize) = item };
///     slot
/// }
/// ```
#[doc(alias("atomicAdd", "atom.add"))]
#[inline(always)]
pub unsafe fn add<T: AtomicAdd>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::add_global(at, value) }
}

/// Sets `*at` to the smaller of itself and `value`, and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Remembers the first position at which something was found.
/// unsafe fn remember(first: *mut u32, found: bool) {
///     if found {
///         unsafe { atomic::min(first, thread::global_x()) };
///     }
/// }
/// ```
#[doc(alias("atomicMin", "atom.min"))]
#[inline(always)]
pub unsafe fn min<T: AtomicOrder>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::min_global(at, value) }
}

/// Sets `*at` to the larger of itself and `value`, and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The largest element of `x`, in `*most`.
/// unsafe fn largest(n: u32, x: *const i32, most: *mut i32) {
///     let i = thread::global_x();
///     if i < n {
///         unsafe { atomic::max(most, *x.add(i as usize)) };
///     }
/// }
/// ```
#[doc(alias("atomicMax", "atom.max"))]
#[inline(always)]
pub unsafe fn max<T: AtomicOrder>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::max_global(at, value) }
}

/// One `atom` on a global address, which the instruction wants without the generic window.
macro_rules! global {
    ($name:ident, $class:ident, $operation:expr) => {
        #[inline(always)]
        unsafe fn $name(at: *mut Self, value: Self) -> Self {
            on_device!("atomic"(at, value), {
                let old: Self;
                // SAFETY: the caller vouches for the address; the instruction accesses nothing
                // else.
                unsafe {
                    core::arch::asm!(
                        "{{",
                        ".reg .b64 address;",
                        "cvta.to.global.u64 address, {at};",
                        concat!("atom.global.", $operation, " {old}, [address], {value};"),
                        "}}",
                        at = in(reg64) at,
                        value = in($class) value,
                        old = out($class) old,
                        options(nostack, preserves_flags),
                    );
                }
                old
            })
        }
    };
}

/// One `atom` on a shared address.
macro_rules! shared {
    ($name:ident, $class:ident, $operation:expr) => {
        #[inline(always)]
        unsafe fn $name(at: u32, value: Self) -> Self {
            on_device!("Shared"(at, value), {
                let old: Self;
                // SAFETY: the caller vouches for the address; the instruction accesses nothing
                // else.
                unsafe {
                    core::arch::asm!(
                        concat!("atom.shared.", $operation, " {old}, [{at}], {value};"),
                        at = in(reg32) at,
                        value = in($class) value,
                        old = out($class) old,
                        options(nostack, preserves_flags),
                    );
                }
                old
            })
        }
    };
}

macro_rules! atomic_add {
    ($($t:ident in $class:ident as $suffix:literal;)*) => {$(
        impl sealed::Sealed for $t {}
        impl AtomicAdd for $t {
            global!(add_global, $class, concat!("add.", $suffix));
            shared!(add_shared, $class, concat!("add.", $suffix));
        }
    )*};
}

// PTX has no `add.s64`: two's complement makes it the unsigned one.
atomic_add! {
    u32 in reg32 as "u32";
    i32 in reg32 as "s32";
    u64 in reg64 as "u64";
    i64 in reg64 as "u64";
    f32 in reg32 as "f32";
    f64 in reg64 as "f64";
}

macro_rules! atomic_order {
    ($($t:ident in $class:ident as $suffix:literal;)*) => {$(
        impl AtomicOrder for $t {
            global!(min_global, $class, concat!("min.", $suffix));
            global!(max_global, $class, concat!("max.", $suffix));
            shared!(min_shared, $class, concat!("min.", $suffix));
            shared!(max_shared, $class, concat!("max.", $suffix));
        }
    )*};
}

atomic_order! {
    u32 in reg32 as "u32";
    i32 in reg32 as "s32";
    u64 in reg64 as "u64";
    i64 in reg64 as "s64";
}
