//! An element that threads access atomically, with the methods of std's atomics.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use super::operations::{AtomicAdd, AtomicBits, AtomicCount, AtomicOrder, AtomicValue};
use super::scope::{Device, GlobalMemory, Memory, Scope, SharedMemory};

/// An element that threads access atomically: like std's `AtomicU32`, with a scope.
///
/// It is one address, copied freely. `T` is an integer, a float, a half or a pair of halves: see
/// [`AtomicValue`]. `S` is the scope: [`Device`] by default, changed by [`with_scope`](Self::with_scope). `M` is the
/// memory of the element. The methods are those of `core::sync::atomic`, and [`Ordering`] is its
/// type: every ordering and scope is in the PTX (`atom.acq_rel.gpu.global.add.u32`).
///
/// An ordering must be a constant, as in all ordinary code: otherwise the kernel chooses between
/// the instructions at run time.
///
/// ```
/// use gpuprof::atomic::{Atomic, Ordering};
/// use gpuprof::prelude::*;
///
/// /// The last block to finish sums the results of all blocks in `sums`.
/// unsafe fn finish(sums: *mut f32, total: *mut f32, finished: *mut u32, own: f32) {
///     let finished = unsafe { Atomic::from_ptr(finished) };
///     if thread::x() == 0 {
///         unsafe { *sums.add(block::x() as usize) = own };
///         if finished.fetch_add(1, Ordering::AcqRel) == grid::dim_x() - 1 {
///             let all = (0..grid::dim_x()).map(|i| unsafe { *sums.add(i as usize) });
///             unsafe { *total = all.sum() };
///         }
///     }
/// }
/// ```
#[doc(alias("atomic_ref", "AtomicU32", "AtomicF32", "DeviceAtomicU64", "DeviceAtomicF64"))]
pub struct Atomic<T, S = Device, M: Memory = GlobalMemory> {
    at: M::Address,
    kind: PhantomData<(*mut T, S)>,
}

impl<T, S, M: Memory> Clone for Atomic<T, S, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S, M: Memory> Copy for Atomic<T, S, M> {}

impl<T, S, M: Memory> fmt::Debug for Atomic<T, S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Atomic").finish_non_exhaustive()
    }
}

impl<T: AtomicValue> Atomic<T> {
    /// The element at `pointer` in global memory, at the scope of the GPU.
    ///
    /// # Safety
    /// For as long as a copy of the view is used, `pointer` points to an aligned element of global
    /// memory. No thread accesses the element without atomics while another thread accesses it, and
    /// each scope includes all threads that access it.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Whether this thread is the first to arrive.
    /// unsafe fn is_first(seen: *mut u32) -> bool {
    ///     unsafe { Atomic::from_ptr(seen) }.swap(1, Ordering::Relaxed) == 0
    /// }
    /// ```
    #[inline(always)]
    pub const unsafe fn from_ptr(pointer: *mut T) -> Self {
        Self { at: pointer.cast(), kind: PhantomData }
    }
}

impl<T, S> Atomic<T, S, SharedMemory> {
    /// The element at a shared address.
    #[inline(always)]
    pub(crate) const fn from_shared(address: u32) -> Self {
        Self { at: address, kind: PhantomData }
    }
}

impl<T, S, M: Memory> Atomic<T, S, M> {
    /// The same element, at the scope `R`.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering, System};
    ///
    /// /// Counts where the CPU reads while the kernel runs.
    /// fn count(finished: Atomic<u32>) {
    ///     finished.with_scope::<System>().fetch_add(1, Ordering::Release);
    /// }
    /// ```
    #[inline(always)]
    pub const fn with_scope<R: Scope>(self) -> Atomic<T, R, M> {
        Atomic { at: self.at, kind: PhantomData }
    }
}

impl<T: AtomicValue, S: Scope, M: Memory> Atomic<T, S, M> {
    /// Reads the element.
    ///
    /// # Panics
    /// `order` is `Release` or `AcqRel`.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Waits for another block to store 1, and sees its earlier writes.
    /// fn wait(flag: Atomic<u32>) {
    ///     while flag.load(Ordering::Acquire) == 0 {}
    /// }
    /// ```
    #[doc(alias("ld.acquire", "ld.relaxed"))]
    #[inline(always)]
    pub fn load(self, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::load::<S, M>(self.at, order) }
    }

    /// Writes the element.
    ///
    /// # Panics
    /// `order` is `Acquire` or `AcqRel`.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Signals that the earlier writes of this thread are complete.
    /// fn publish(flag: Atomic<u32>) {
    ///     flag.store(1, Ordering::Release);
    /// }
    /// ```
    #[doc(alias("st.release", "st.relaxed"))]
    #[inline(always)]
    pub fn store(self, value: T, order: Ordering) {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::store::<S, M>(self.at, value, order) }
    }

    /// Writes the element and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Puts `node` at the head of a list, and returns its successor.
    /// fn push(head: Atomic<u32>, node: u32) -> u32 {
    ///     head.swap(node, Ordering::AcqRel)
    /// }
    /// ```
    #[doc(alias("atomicExch", "atom.exch", "exchange"))]
    #[inline(always)]
    pub fn swap(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::exchange::<S, M>(self.at, value, order) }
    }

    /// Writes `new` if the element is `current`, and returns the old value: in `Ok` if it did.
    ///
    /// Floats are compared by their bits, so that NaN equals itself and the two zeros differ. One
    /// instruction does both cases, with the stronger of both orderings.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Takes a free slot of a hash table for `key`, or finds that it is there.
    /// fn claim(slot: Atomic<u32>, key: u32) -> bool {
    ///     match slot.compare_exchange(u32::MAX, key, Ordering::Relaxed, Ordering::Relaxed) {
    ///         Ok(_) => true,
    ///         Err(there) => there == key,
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The old value, which was not `current`.
    ///
    /// # Panics
    /// `failure` is `Release` or `AcqRel`.
    #[doc(alias("atomicCAS", "atom.cas"))]
    #[inline(always)]
    pub fn compare_exchange(
        self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        let order = either(success, failure);
        // SAFETY: the creator of the view guarantees the element.
        let (old, stored) = unsafe { T::compare_exchange::<S, M>(self.at, current, new, order) };
        if stored { Ok(old) } else { Err(old) }
    }

    /// The same as [`compare_exchange`](Self::compare_exchange), under the other name of std: a GPU
    /// never fails without reason.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Multiplies atomically.
    /// fn fetch_mul(cell: Atomic<f32>, factor: f32) -> f32 {
    ///     let mut old = cell.load(Ordering::Relaxed);
    ///     loop {
    ///         let (new, relaxed) = (old * factor, Ordering::Relaxed);
    ///         match cell.compare_exchange_weak(old, new, relaxed, relaxed) {
    ///             Ok(old) => break old,
    ///             Err(now) => old = now,
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// The old value, which was not `current`.
    ///
    /// # Panics
    /// `failure` is `Release` or `AcqRel`.
    #[inline(always)]
    pub fn compare_exchange_weak(
        self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T> {
        self.compare_exchange(current, new, success, failure)
    }

    /// Replaces the element by `change` of it, again as often as others come in between, until
    /// `change` gives `None`; returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Takes one of what is left.
    /// fn take(left: Atomic<u32>) -> bool {
    ///     let relaxed = Ordering::Relaxed;
    ///     left.fetch_update(relaxed, relaxed, |n| n.checked_sub(1)).is_ok()
    /// }
    /// ```
    ///
    /// # Errors
    /// The value for which `change` gave `None`.
    ///
    /// # Panics
    /// `load` is `Release` or `AcqRel`.
    #[inline(always)]
    pub fn fetch_update(
        self,
        set: Ordering,
        load: Ordering,
        mut change: impl FnMut(T) -> Option<T>,
    ) -> Result<T, T> {
        let mut old = self.load(load);
        while let Some(new) = change(old) {
            match self.compare_exchange(old, new, set, load) {
                Ok(old) => return Ok(old),
                Err(now) => old = now,
            }
        }
        Err(old)
    }
}

/// The weakest ordering that is as strong as both.
#[inline(always)]
fn either(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (_, Ordering::Release | Ordering::AcqRel) => panic!("a failed exchange cannot release"),
        (success, Ordering::Relaxed) => success,
        (Ordering::SeqCst, _) | (_, Ordering::SeqCst) => Ordering::SeqCst,
        (Ordering::Release | Ordering::AcqRel, _) => Ordering::AcqRel,
        _ => Ordering::Acquire,
    }
}

impl<T: AtomicAdd, S: Scope, M: Memory> Atomic<T, S, M> {
    /// Adds to the element, wrapping, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// The next free element of a list.
    /// fn next(length: Atomic<u32>) -> u32 {
    ///     length.fetch_add(1, Ordering::Relaxed)
    /// }
    /// ```
    #[doc(alias("atomicAdd", "atom.add"))]
    #[inline(always)]
    pub fn fetch_add(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::add::<S, M>(self.at, value, order) }
    }

    /// Takes away from the element, wrapping, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Whether this was the last user.
    /// fn release(users: Atomic<u32>) -> bool {
    ///     users.fetch_sub(1, Ordering::AcqRel) == 1
    /// }
    /// ```
    #[doc(alias = "atomicSub")]
    #[inline(always)]
    pub fn fetch_sub(self, value: T, order: Ordering) -> T {
        self.fetch_add(value.negated(), order)
    }
}

impl<T: AtomicOrder, S: Scope, M: Memory> Atomic<T, S, M> {
    /// Sets the element to the smaller of itself and `value`, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Relaxes an edge of a shortest path; whether it became shorter.
    /// fn relax(distance: Atomic<f32>, by: f32) -> bool {
    ///     distance.fetch_min(by, Ordering::Relaxed) > by
    /// }
    /// ```
    #[doc(alias("atomicMin", "atom.min"))]
    #[inline(always)]
    pub fn fetch_min(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::min::<S, M>(self.at, value, order) }
    }

    /// Sets the element to the larger of itself and `value`, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Keeps the largest magnitude.
    /// fn keep(most: Atomic<f32>, x: f32) {
    ///     most.fetch_max(x.abs(), Ordering::Relaxed);
    /// }
    /// ```
    #[doc(alias("atomicMax", "atom.max"))]
    #[inline(always)]
    pub fn fetch_max(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::max::<S, M>(self.at, value, order) }
    }
}

impl<T: AtomicBits, S: Scope, M: Memory> Atomic<T, S, M> {
    /// Keeps only the bits of `value`, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Clears a bit; whether it was set.
    /// fn clear(set: Atomic<u64>, bit: u32) -> bool {
    ///     set.fetch_and(!(1 << bit), Ordering::Relaxed) >> bit & 1 == 1
    /// }
    /// ```
    #[doc(alias("atomicAnd", "atom.and"))]
    #[inline(always)]
    pub fn fetch_and(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::and::<S, M>(self.at, value, order) }
    }

    /// Sets the bits of `value`, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// Marks a vertex as visited; whether it was not.
    /// fn visit(visited: Atomic<u32>, vertex: u32) -> bool {
    ///     let bit = 1 << (vertex % 32);
    ///     visited.fetch_or(bit, Ordering::Relaxed) & bit == 0
    /// }
    /// ```
    #[doc(alias("atomicOr", "atom.or"))]
    #[inline(always)]
    pub fn fetch_or(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::or::<S, M>(self.at, value, order) }
    }

    /// Turns the bits of `value`, and returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// The parity of all words, in one word.
    /// fn fold(parity: Atomic<u32>, word: u32) {
    ///     parity.fetch_xor(word, Ordering::Relaxed);
    /// }
    /// ```
    #[doc(alias("atomicXor", "atom.xor"))]
    #[inline(always)]
    pub fn fetch_xor(self, value: T, order: Ordering) -> T {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { T::xor::<S, M>(self.at, value, order) }
    }
}

impl<S: Scope, M: Memory> Atomic<u32, S, M> {
    /// Adds 1 if the element is below `limit`, else sets it to 0; returns the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// A slot of a ring of 64, one after the other.
    /// fn slot(next: Atomic<u32>) -> u32 {
    ///     next.fetch_inc(63, Ordering::Relaxed)
    /// }
    /// ```
    #[doc(alias("atomicInc", "atom.inc"))]
    #[inline(always)]
    pub fn fetch_inc(self, limit: u32, order: Ordering) -> u32 {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { u32::inc::<S, M>(self.at, limit, order) }
    }

    /// Takes 1 away from the element, or sets it to `limit` if it is 0 or above `limit`; returns
    /// the old value.
    ///
    /// ```
    /// use gpuprof::atomic::{Atomic, Ordering};
    ///
    /// /// A slot of a ring of 64, one before the other.
    /// fn slot(next: Atomic<u32>) -> u32 {
    ///     next.fetch_dec(63, Ordering::Relaxed)
    /// }
    /// ```
    #[doc(alias("atomicDec", "atom.dec"))]
    #[inline(always)]
    pub fn fetch_dec(self, limit: u32, order: Ordering) -> u32 {
        // SAFETY: the creator of the view guarantees the element.
        unsafe { u32::dec::<S, M>(self.at, limit, order) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compare_and_swap_has_the_stronger_of_its_orderings() {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        for (success, failure, both) in [
            (Relaxed, Relaxed, Relaxed),
            (Relaxed, Acquire, Acquire),
            (Release, Relaxed, Release),
            (Release, Acquire, AcqRel),
            (Acquire, Acquire, Acquire),
            (AcqRel, Acquire, AcqRel),
            (Relaxed, SeqCst, SeqCst),
            (SeqCst, Acquire, SeqCst),
        ] {
            assert_eq!(either(success, failure), both, "{success:?}, {failure:?}");
        }
    }

    #[test]
    fn a_failed_compare_and_swap_cannot_release() {
        let panics = std::panic::catch_unwind(|| either(Ordering::AcqRel, Ordering::Release));
        assert!(panics.is_err());
    }
}
