//! Atomic operations on global and shared memory, with std's names, scopes and orderings.
//!
//! The functions of this module are CUDA's: relaxed, at the scope of the GPU, on a pointer to
//! global memory. [`Atomic`] has every ordering and scope, and [`Shared::atomic`](crate::Shared) gives one in
//! shared memory. Each operation is one instruction; if the old value is unused, the hardware runs
//! the cheaper reduction (`red`).
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

#[cfg(target_arch = "nvptx64")]
mod instructions;
#[cfg(target_arch = "nvptx64")]
mod loops;
mod operations;
mod scope;
mod view;

/// The orderings of `core::sync::atomic`.
///
/// ```
/// use gpuprof::atomic::{Atomic, Ordering};
///
/// /// Reads the value that another block publishes.
/// fn read(flag: Atomic<u32>) -> u32 {
///     flag.load(Ordering::Acquire)
/// }
/// ```
#[doc(alias("memory_order", "AtomicOrdering"))]
pub use core::sync::atomic::Ordering;

pub use operations::{AtomicAdd, AtomicBits, AtomicOrder, AtomicValue};
pub use scope::{Block, Device, GlobalMemory, Memory, Scope, SharedMemory, System};
pub use view::Atomic;

/// Orders this thread's earlier accesses before its later ones, for the threads of the scope `S`:
/// std's `fence`, with a scope.
///
/// With `Relaxed` it does nothing. [`fence`](crate::fence) has CUDA's fences.
///
/// ```
/// use gpuprof::atomic::{self, Atomic, Device, Ordering};
///
/// /// Publishes `value` with one fence for several flags.
/// unsafe fn publish(slot: *mut f32, value: f32, flags: [Atomic<u32>; 2]) {
///     unsafe { *slot = value };
///     atomic::fence::<Device>(Ordering::Release);
///     flags.map(|flag| flag.store(1, Ordering::Relaxed));
/// }
/// ```
#[doc(alias("atomic_thread_fence", "fence.acq_rel", "fence.sc"))]
#[inline(always)]
pub fn fence<S: Scope>(order: Ordering) {
    on_device!("atomic::fence"(order), { instructions::fence::<S>(order) });
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
    unsafe { T::add::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
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
    unsafe { T::min::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
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
    unsafe { T::max::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
}

/// Takes `value` away from `*at` and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether this thread took the last of what was left.
/// unsafe fn took_last(left: *mut u32) -> bool {
///     unsafe { atomic::sub(left, 1) == 1 }
/// }
/// ```
#[doc(alias = "atomicSub")]
#[inline(always)]
pub unsafe fn sub<T: AtomicAdd>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { add(at, value.negated()) }
}

/// Keeps only the bits of `value` in `*at`, and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Takes `vertex` out of a set of bits.
/// unsafe fn remove(set: *mut u32, vertex: u32) {
///     unsafe { atomic::and(set.add(vertex as usize / 32), !(1 << (vertex % 32))) };
/// }
/// ```
#[doc(alias("atomicAnd", "atom.and"))]
#[inline(always)]
pub unsafe fn and<T: AtomicBits>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::and::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
}

/// Sets the bits of `value` in `*at`, and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Puts `vertex` into a set of bits.
/// unsafe fn insert(set: *mut u32, vertex: u32) {
///     unsafe { atomic::or(set.add(vertex as usize / 32), 1 << (vertex % 32)) };
/// }
/// ```
#[doc(alias("atomicOr", "atom.or"))]
#[inline(always)]
pub unsafe fn or<T: AtomicBits>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::or::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
}

/// Turns the bits of `value` in `*at`, and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A checksum that does not depend on the order.
/// unsafe fn fold(checksum: *mut u64, word: u64) {
///     unsafe { atomic::xor(checksum, word) };
/// }
/// ```
#[doc(alias("atomicXor", "atom.xor"))]
#[inline(always)]
pub unsafe fn xor<T: AtomicBits>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::xor::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
}

/// Writes `value` to `*at` and returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether this thread is the first to find something.
/// unsafe fn is_first(found: *mut u32) -> bool {
///     unsafe { atomic::exchange(found, 1) == 0 }
/// }
/// ```
#[doc(alias("atomicExch", "atom.exch", "swap"))]
#[inline(always)]
pub unsafe fn exchange<T: AtomicValue>(at: *mut T, value: T) -> T {
    // SAFETY: the caller keeps the contract.
    unsafe { T::exchange::<Device, GlobalMemory>(at.cast(), value, Ordering::Relaxed) }
}

/// Writes `new` to `*at` if `current` is there, and returns the old value: in `Ok` if it did.
/// Floats are compared by their bits.
///
/// # Safety
/// As for [`add`].
///
/// # Errors
/// The old value, which was not `current`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Takes a free slot of a hash table for `key`, or finds that it is there.
/// unsafe fn claim(slot: *mut u32, key: u32) -> bool {
///     let taken = unsafe { atomic::compare_exchange(slot, u32::MAX, key) };
///     taken.map_or_else(|there| there == key, |_| true)
/// }
/// ```
#[doc(alias("atomicCAS", "atom.cas"))]
#[inline(always)]
pub unsafe fn compare_exchange<T: AtomicValue>(at: *mut T, current: T, new: T) -> Result<T, T> {
    let relaxed = Ordering::Relaxed;
    // SAFETY: the caller keeps the contract.
    unsafe { Atomic::from_ptr(at) }.compare_exchange(current, new, relaxed, relaxed)
}

/// Adds 1 to `*at` if it is below `limit`, else sets it to 0; returns the old value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Whether this block is the last of the grid to come here; the counter then is 0 again.
/// unsafe fn is_last(counter: *mut u32) -> bool {
///     unsafe { atomic::inc(counter, grid::dim_x() - 1) == grid::dim_x() - 1 }
/// }
/// ```
#[doc(alias("atomicInc", "atom.inc"))]
#[inline(always)]
pub unsafe fn inc(at: *mut u32, limit: u32) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe { Atomic::from_ptr(at) }.fetch_inc(limit, Ordering::Relaxed)
}

/// Takes 1 away from `*at`, or sets it to `limit` if it is 0 or above `limit`; returns the old
/// value.
///
/// # Safety
/// As for [`add`].
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// A slot of a ring of `n`, one before the other.
/// unsafe fn slot(next: *mut u32, n: u32) -> u32 {
///     unsafe { atomic::dec(next, n - 1) }
/// }
/// ```
#[doc(alias("atomicDec", "atom.dec"))]
#[inline(always)]
pub unsafe fn dec(at: *mut u32, limit: u32) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe { Atomic::from_ptr(at) }.fetch_dec(limit, Ordering::Relaxed)
}
