//! Shared memory: a typed handle on a shared address.
//!
//! The handle keeps the 32-bit address of the shared window and its accesses are `ld.shared` and
//! `st.shared`, which is what makes bank conflicts countable; through a pointer they would be
//! generic.

use core::marker::PhantomData;

use super::atomic::{Atomic, AtomicAdd, AtomicOrder, AtomicValue, Block, Ordering, SharedMemory};

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Types that shared memory can hold: whole numbers and floats of fixed size.
///
/// ```
/// use gpuprof::{Shared, SharedElement};
///
/// /// Swaps two elements, of whatever type.
/// unsafe fn swap<T: SharedElement>(tile: Shared<T>, i: u32, j: u32) {
///     unsafe {
///         let (a, b) = (tile.read(i), tile.read(j));
///         tile.write(i, b);
///         tile.write(j, a);
///     }
/// }
/// ```
pub trait SharedElement: Copy + sealed::Sealed {
    /// Reads at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element that has a value.
    #[doc(hidden)]
    unsafe fn load(at: u32) -> Self;

    /// Writes at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element.
    #[doc(hidden)]
    unsafe fn store(at: u32, value: Self);
}

macro_rules! shared_elements {
    ($($t:ident in $class:ident of $carrier:ident as $suffix:literal;)*) => {$(
        impl sealed::Sealed for $t {}
        impl SharedElement for $t {
            #[inline(always)]
            unsafe fn load(at: u32) -> Self {
                on_device!("Shared::read"(at), {
                    let value: $carrier;
                    // SAFETY: the caller vouches for the address. The read is not `pure`, so that
                    // it stays where it is among barriers and writes.
                    unsafe {
                        core::arch::asm!(
                            concat!("ld.shared.", $suffix, " {value}, [{at}];"),
                            at = in(reg32) at,
                            value = out($class) value,
                            options(readonly, nostack, preserves_flags),
                        );
                    }
                    value as Self
                })
            }

            #[inline(always)]
            unsafe fn store(at: u32, value: Self) {
                on_device!("Shared::write"(at, value), {
                    // SAFETY: the caller vouches for the address; the instruction writes nothing
                    // else.
                    unsafe {
                        core::arch::asm!(
                            concat!("st.shared.", $suffix, " [{at}], {value};"),
                            at = in(reg32) at,
                            value = in($class) value as $carrier,
                            options(nostack, preserves_flags),
                        );
                    }
                })
            }
        }
    )*};
}

// PTX has no 8-bit registers: bytes travel in 16 bits.
shared_elements! {
    u8 in reg16 of u16 as "u8";
    i8 in reg16 of i16 as "s8";
    u16 in reg16 of u16 as "b16";
    i16 in reg16 of i16 as "b16";
    u32 in reg32 of u32 as "b32";
    i32 in reg32 of i32 as "b32";
    f32 in reg32 of f32 as "b32";
    u64 in reg64 of u64 as "b64";
    i64 in reg64 of i64 as "b64";
    f64 in reg64 of f64 as "b64";
}

/// Elements in shared memory: what [`shared!`](crate::shared) and
/// [`dynamic_shared!`](crate::dynamic_shared) give.
///
/// A handle is two numbers, copied freely; all threads of a block that made it at the same place in
/// the source share the elements. They have no value until a thread writes one, and what another
/// thread wrote is there after [`block::sync`](crate::block::sync).
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The sum of the block's values, in every thread; a block has at most 1024.
/// unsafe fn sum_of_block(own: f32) -> f32 {
///     let values = shared!([f32; 1024]);
///     unsafe { values.write(thread::x(), own) };
///     block::sync();
///     (0..block::dim_x()).map(|i| unsafe { values.read(i) }).sum()
/// }
/// ```
#[doc(alias = "__shared__")]
#[derive(Debug, Clone, Copy)]
pub struct Shared<T> {
    address: u32,
    len: u32,
    element: PhantomData<*mut T>,
}

impl<T: SharedElement> Shared<T> {
    /// A handle on `len` elements from the 32-bit shared address `address`.
    ///
    /// # Safety
    /// That memory belongs to the block, is aligned for `T`, and holds `len` elements.
    ///
    /// ```
    /// use gpuprof::Shared;
    ///
    /// // As `__cvta_generic_to_shared` gives it, for memory that inline assembly declared.
    /// let tile = unsafe { Shared::<f32>::from_address(1024, 256) };
    /// assert_eq!(tile.len(), 256);
    /// ```
    #[doc(alias = "__cvta_generic_to_shared")]
    #[inline(always)]
    pub const unsafe fn from_address(address: u32, len: u32) -> Self {
        Self { address, len, element: PhantomData }
    }

    /// What `shared!` gives on the host: a handle that knows its length only.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn fixed(len: usize) -> Self {
        Self { address: 0, len: len as u32, element: PhantomData }
    }

    /// What `dynamic_shared!` gives on the host, where no launch says how long it is.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    #[track_caller]
    pub fn dynamic() -> Self {
        super::function::device_only("dynamic_shared!")
    }

    /// Elements that fit in the launch's dynamic shared memory.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn dynamic_length() -> u32 {
        let bytes: u32;
        // SAFETY: reading the special register has no precondition.
        unsafe {
            core::arch::asm!(
                "mov.u32 {0}, %dynamic_smem_size;",
                out(reg32) bytes,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        bytes / size_of::<T>() as u32
    }

    /// How many elements there are.
    ///
    /// ```
    /// use gpuprof::shared;
    ///
    /// assert_eq!(shared!([f32; 32 * 33]).len(), 1056);
    /// ```
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(self) -> u32 {
        self.len
    }

    /// The first `middle` elements, and the rest.
    ///
    /// # Safety
    /// `middle` is at most [`len`](Self::len).
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// // Two tiles in one allocation.
    /// let (a, b) = unsafe { shared!([f32; 512]).split_at(256) };
    /// assert_eq!((a.len(), b.len()), (256, 256));
    /// ```
    #[inline(always)]
    pub const unsafe fn split_at(self, middle: u32) -> (Self, Self) {
        let rest = self.address + middle * size_of::<T>() as u32;
        // SAFETY: both lie inside this handle's elements.
        unsafe {
            (Self::from_address(self.address, middle), Self::from_address(rest, self.len - middle))
        }
    }

    /// Element `index`.
    ///
    /// # Safety
    /// `index` is below [`len`](Self::len), the element was written, and no other thread writes it
    /// before the next barrier.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// What the thread `distance` further on wrote before the last barrier.
    /// unsafe fn ahead(tile: Shared<f32>, distance: u32) -> f32 {
    ///     unsafe { tile.read((thread::x() + distance) % tile.len()) }
    /// }
    /// ```
    #[doc(alias = "ld.shared")]
    #[inline(always)]
    pub unsafe fn read(self, index: u32) -> T {
        // SAFETY: the caller keeps the contract.
        unsafe { T::load(self.at(index)) }
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// `index` is below [`len`](Self::len), and no other thread accesses the element before the
    /// next barrier.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Loads the block's part of `x`, one element a thread.
    /// unsafe fn load(tile: Shared<f32>, x: *const f32) {
    ///     unsafe { tile.write(thread::x(), *x.add(thread::global_x() as usize)) };
    ///     block::sync();
    /// }
    /// ```
    #[doc(alias = "st.shared")]
    #[inline(always)]
    pub unsafe fn write(self, index: u32, value: T) {
        // SAFETY: the caller keeps the contract.
        unsafe { T::store(self.at(index), value) }
    }

    /// Element `index` for atomic operations of all kinds, at the scope of the block.
    ///
    /// # Safety
    /// `index` is below [`len`](Self::len), the element was written, and for as long as a copy of the
    /// view is used it is accessed only atomically or where no other thread accesses it at the same
    /// time.
    ///
    /// ```
    /// use gpuprof::atomic::Ordering;
    /// use gpuprof::prelude::*;
    ///
    /// /// Takes the next task of the block.
    /// unsafe fn next(tasks: Shared<u32>) -> u32 {
    ///     unsafe { tasks.atomic(0) }.fetch_add(1, Ordering::Relaxed)
    /// }
    /// ```
    #[doc(alias("atomic_ref", "atom.shared"))]
    #[inline(always)]
    pub unsafe fn atomic(self, index: u32) -> Atomic<T, Block, SharedMemory>
    where
        T: AtomicValue,
    {
        Atomic::from_shared(self.at(index))
    }

    /// Adds `value` to element `index` atomically and returns the old value.
    ///
    /// # Safety
    /// `index` is below [`len`](Self::len), the element was written, and until the next barrier
    /// threads access it with atomics only.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Counts in bins of the block's own, which are cheaper than global ones.
    /// unsafe fn count(bins: Shared<u32>, byte: u8) {
    ///     unsafe { bins.atomic_add(u32::from(byte), 1) };
    /// }
    /// ```
    #[doc(alias("atomicAdd", "atom.shared.add"))]
    #[inline(always)]
    pub unsafe fn atomic_add(self, index: u32, value: T) -> T
    where
        T: AtomicAdd,
    {
        // SAFETY: the caller keeps the contract.
        unsafe { T::add::<Block, SharedMemory>(self.at(index), value, Ordering::Relaxed) }
    }

    /// Sets element `index` to the smaller of itself and `value` atomically, and returns the old
    /// value.
    ///
    /// # Safety
    /// As for [`atomic_add`](Self::atomic_add).
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Keeps the smallest key that the block has seen in element 0.
    /// unsafe fn keep_smallest(least: Shared<u32>, key: u32) {
    ///     unsafe { least.atomic_min(0, key) };
    /// }
    /// ```
    #[doc(alias("atomicMin", "atom.shared.min"))]
    #[inline(always)]
    pub unsafe fn atomic_min(self, index: u32, value: T) -> T
    where
        T: AtomicOrder,
    {
        // SAFETY: the caller keeps the contract.
        unsafe { T::min::<Block, SharedMemory>(self.at(index), value, Ordering::Relaxed) }
    }

    /// Sets element `index` to the larger of itself and `value` atomically, and returns the old
    /// value.
    ///
    /// # Safety
    /// As for [`atomic_add`](Self::atomic_add).
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Keeps the largest key that the block has seen in element 0.
    /// unsafe fn keep_largest(most: Shared<u32>, key: u32) {
    ///     unsafe { most.atomic_max(0, key) };
    /// }
    /// ```
    #[doc(alias("atomicMax", "atom.shared.max"))]
    #[inline(always)]
    pub unsafe fn atomic_max(self, index: u32, value: T) -> T
    where
        T: AtomicOrder,
    {
        // SAFETY: the caller keeps the contract.
        unsafe { T::max::<Block, SharedMemory>(self.at(index), value, Ordering::Relaxed) }
    }

    #[inline(always)]
    fn at(self, index: u32) -> u32 {
        self.address + index * size_of::<T>() as u32
    }
}
