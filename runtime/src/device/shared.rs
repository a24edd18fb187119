//! Shared memory: a typed handle on a shared address.
//!
//! The handle keeps the 32-bit address of the shared window and its accesses are `ld.shared` and
//! `st.shared`, so that bank conflicts can be counted; accesses through a pointer would be generic.

mod index;
#[cfg(target_arch = "nvptx64")]
mod words;

use core::marker::PhantomData;
use core::ops::Index;

use super::atomic::{Atomic, AtomicAdd, AtomicOrder, AtomicValue, Block, Ordering, SharedMemory};
use super::half::{bf16, bf16x2, f16, f16x2};

pub use index::SharedIndex;

/// Types that shared memory can hold: numbers, halves and pairs of them, vectors, arrays of all of
/// these, and types that implement this trait.
///
/// A structure needs one line, `impl SharedElement for Particle {}`, in addition to `Copy`. Its
/// values are moved word by word, as large as its alignment allows: a structure of two `f32` in two
/// instructions, or in one with `#[repr(align(8))]`.
///
/// ```
/// use gpuprof::{Shared, SharedElement, shared};
///
/// #[derive(Clone, Copy)]
/// struct Particle {
///     place: [f32; 3],
///     mass: f32,
/// }
///
/// impl SharedElement for Particle {}
///
/// /// Swaps two elements, of any type.
/// unsafe fn swap<T: SharedElement>(tile: Shared<T>, i: u32, j: u32) {
///     unsafe {
///         let (a, b) = (tile.read(i), tile.read(j));
///         tile.write(i, b);
///         tile.write(j, a);
///     }
/// }
///
/// assert_eq!(shared!([Particle; 64]).len(), 64);
/// ```
pub trait SharedElement: Copy {
    /// Reads at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element that has a value.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn load(at: u32) -> Self {
        on_device!("Shared::read"(at), {
            // SAFETY: the caller keeps the contract.
            unsafe { super::words::load(super::words::InShared(at)) }
        })
    }

    /// Writes at a shared address.
    ///
    /// # Safety
    /// `at` is the shared address of an element.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn store(at: u32, value: Self) {
        on_device!("Shared::write"(at, value), {
            // SAFETY: the caller keeps the contract.
            unsafe { words::store(at, value) }
        });
    }
}

impl<T: SharedElement, const N: usize> SharedElement for [T; N] {}

/// Numbers, each by an instruction for its type: instructions that convert between types would
/// affect LLVM's decision how often to unroll a loop.
macro_rules! numbers {
    ($($t:ident in $class:ident of $carrier:ident as $suffix:literal $(by $to:ident, $from:ident)?;)*) => {$(
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
                    numbers!(@from value $(, $from)?)
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
                            value = in($class) numbers!(@to value as $carrier $(, $to)?),
                            options(nostack, preserves_flags),
                        );
                    }
                })
            }
        }
    )*};
    (@from $value:ident) => {
        $value as Self
    };
    (@from $value:ident, $from:ident) => {
        Self::$from($value)
    };
    (@to $value:ident as $carrier:ident) => {
        $value as $carrier
    };
    (@to $value:ident as $carrier:ident, $to:ident) => {
        $value.$to()
    };
}

// PTX has no 8-bit registers: bytes travel in 16 bits.
numbers! {
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
    f16 in reg16 of u16 as "b16" by to_bits, from_bits;
    bf16 in reg16 of u16 as "b16" by to_bits, from_bits;
    f16x2 in reg32 of u32 as "b32" by to_bits, from_bits;
    bf16x2 in reg32 of u32 as "b32" by to_bits, from_bits;
}

/// Elements in shared memory: the result of [`shared!`](crate::shared) and [`dynamic_shared!`](crate::dynamic_shared).
///
/// A handle is an address and a shape, copied freely; all threads of a block that made it at the
/// same place in the source share the elements. They have no value until a thread writes one, and
/// other threads see it after [`block::sync`](crate::block::sync).
///
/// The index is a number, or a row and a column (`Shared<T, (u32, u32)>`), or a plane before these.
/// It is checked if `debug_assertions` are on, which a profile of your workspace can set
/// (`[profile.release] debug-assertions = true`). `tile[(row, column)]` is the element as a
/// [`Slot`], for which `get` and `set` are `read` and `write`.
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
#[doc(alias("__shared__", "SharedArray"))]
#[derive(Debug, Clone, Copy)]
pub struct Shared<T, I = u32> {
    address: u32,
    shape: I,
    element: PhantomData<*mut T>,
}

/// An element of shared memory, as indexing names it: `tile[i]`, `tile[(row, column)]`.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// Turns a tile of 32 by 32; a column more keeps the banks apart.
/// unsafe fn turn(value: f32) -> f32 {
///     let tile = shared!([[f32; 33]; 32]);
///     unsafe { tile[(thread::y(), thread::x())].set(value) };
///     block::sync();
///     unsafe { tile[(thread::x(), thread::y())].get() }
/// }
/// ```
#[derive(Debug)]
pub struct Slot<T> {
    // It has no contents: the slot's address determines the element.
    element: PhantomData<*mut T>,
}

/// The offset of a slot's address from the shared address: the latter may be 0, a reference may
/// not.
const ABOVE: usize = 1 << 32;

impl<T: SharedElement> Slot<T> {
    #[inline(always)]
    fn address(&self) -> u32 {
        core::ptr::from_ref(self).addr() as u32
    }

    /// The element's value.
    ///
    /// # Safety
    /// As for [`Shared::read`].
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The neighbour's value.
    /// unsafe fn next(tile: Shared<f32>) -> f32 {
    ///     unsafe { tile[(thread::x() + 1) % tile.len()].get() }
    /// }
    /// ```
    #[inline(always)]
    pub unsafe fn get(&self) -> T {
        // SAFETY: the caller keeps the contract.
        unsafe { T::load(self.address()) }
    }

    /// Sets the element's value.
    ///
    /// # Safety
    /// As for [`Shared::write`].
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Clears a tile, an element each thread.
    /// unsafe fn clear(tile: Shared<f32>) {
    ///     unsafe { tile[thread::x()].set(0.0) };
    /// }
    /// ```
    #[inline(always)]
    pub unsafe fn set(&self, value: T) {
        // SAFETY: the caller keeps the contract.
        unsafe { T::store(self.address(), value) }
    }
}

impl<T: SharedElement, I: SharedIndex> Index<I> for Shared<T, I> {
    type Output = Slot<T>;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: I) -> &Slot<T> {
        let slot = core::ptr::without_provenance::<Slot<T>>(ABOVE | self.at(index) as usize);
        // SAFETY: a slot has no size, and its place is not null.
        unsafe { &*slot }
    }
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
        Self::shaped(address, len)
    }

    /// The result of `dynamic_shared!` on the host, without a launch that sets its length.
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
            (
                Self::from_address(self.address, middle),
                Self::from_address(rest, self.shape - middle),
            )
        }
    }
}

impl Shared<u8> {
    /// Takes `len` elements of another type from the front, aligned as they need it: how dynamic
    /// shared memory is split into parts.
    ///
    /// # Safety
    /// There are that many bytes left, the ones skipped for the alignment included.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// A key and a count for each thread; the launch has `shared = 12 * block` bytes.
    /// unsafe fn parts() -> (Shared<u64>, Shared<u32>) {
    ///     let mut memory = dynamic_shared!(u8);
    ///     unsafe { (memory.take(block::dim_x()), memory.take(block::dim_x())) }
    /// }
    /// ```
    #[inline(always)]
    #[track_caller]
    pub unsafe fn take<T: SharedElement>(&mut self, len: u32) -> Shared<T> {
        let at = self.address.next_multiple_of(align_of::<T>() as u32);
        let bytes = at - self.address + len * size_of::<T>() as u32;
        if cfg!(debug_assertions) && bytes > self.shape {
            beyond();
        }
        (self.address, self.shape) = (self.address + bytes, self.shape - bytes);
        Shared::shaped(at, len)
    }
}

impl<T: SharedElement, I> Shared<T, I> {
    /// The result of `shared!`.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn shaped(address: u32, shape: I) -> Self {
        Self { address, shape, element: PhantomData }
    }
}

impl<T: SharedElement, I: SharedIndex> Shared<T, I> {
    /// How many elements there are.
    ///
    /// ```
    /// use gpuprof::shared;
    ///
    /// assert_eq!(shared!([f32; 32 * 33]).len(), 1056);
    /// ```
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u32 {
        self.shape.elements()
    }

    /// How many elements there are in each dimension.
    ///
    /// ```
    /// use gpuprof::shared;
    ///
    /// assert_eq!(shared!([[f32; 33]; 32]).shape(), (32, 33));
    /// ```
    #[inline(always)]
    pub fn shape(self) -> I {
        self.shape
    }

    /// The same elements in one dimension, row by row.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Clears a tile by all threads of a block, whatever shape it has.
    /// unsafe fn clear(tile: Shared<f32, (u32, u32)>) {
    ///     let (tile, mut i) = (tile.flat(), thread::index());
    ///     while i < tile.len() {
    ///         unsafe { tile.write(i, 0.0) };
    ///         i += block::dim_x() * block::dim_y();
    ///     }
    /// }
    /// ```
    #[inline(always)]
    pub fn flat(self) -> Shared<T> {
        Shared::shaped(self.address, self.len())
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
    /// /// The value that the thread `distance` further on wrote before the last barrier.
    /// unsafe fn ahead(tile: Shared<f32>, distance: u32) -> f32 {
    ///     unsafe { tile.read((thread::x() + distance) % tile.len()) }
    /// }
    /// ```
    #[doc(alias = "ld.shared")]
    #[inline(always)]
    pub unsafe fn read(self, index: I) -> T {
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
    pub unsafe fn write(self, index: I, value: T) {
        // SAFETY: the caller keeps the contract.
        unsafe { T::store(self.at(index), value) }
    }

    /// Element `index` for atomic operations of all kinds, at the scope of the block.
    ///
    /// # Safety
    /// `index` is below [`len`](Self::len), and the element was written. For as long as a copy of the view is
    /// used, no thread accesses the element without atomics while another thread accesses it.
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
    pub unsafe fn atomic(self, index: I) -> Atomic<T, Block, SharedMemory>
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
    pub unsafe fn atomic_add(self, index: I, value: T) -> T
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
    pub unsafe fn atomic_min(self, index: I, value: T) -> T
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
    pub unsafe fn atomic_max(self, index: I, value: T) -> T
    where
        T: AtomicOrder,
    {
        // SAFETY: the caller keeps the contract.
        unsafe { T::max::<Block, SharedMemory>(self.at(index), value, Ordering::Relaxed) }
    }

    #[inline(always)]
    #[track_caller]
    fn at(self, index: I) -> u32 {
        if cfg!(debug_assertions) && !index.is_inside(self.shape) {
            beyond();
        }
        self.address + index.place(self.shape) * size_of::<T>() as u32
    }
}

/// An access outside, if it is looked for.
#[cold]
#[track_caller]
fn beyond() -> ! {
    panic!("an index beyond the end of shared memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_elements_are_stored_row_by_row() {
        let tile = Shared::<u16, (u32, u32)>::shaped(100, (2, 3));
        assert_eq!((tile.at((0, 2)), tile.at((1, 0)), tile.len()), (104, 106, 6));
        let volume = Shared::<f64, (u32, u32, u32)>::shaped(0, (2, 3, 4));
        assert_eq!((volume.at((1, 2, 3)), volume.len()), (23 * 8, 24));
        assert_eq!((volume.flat().at(23), volume.shape()), (23 * 8, (2, 3, 4)));
    }

    #[test]
    fn the_address_of_an_element_follows_from_its_index() {
        let tile = Shared::<u32, (u32, u32)>::shaped(0, (2, 3));
        assert_eq!((tile[(0, 0)].address(), tile[(1, 1)].address()), (0, 16));
    }

    #[test]
    fn taken_parts_are_aligned_and_consecutive() {
        let mut memory = Shared::<u8>::shaped(2, 100);
        // SAFETY: together they are less than 100 bytes, and nothing is accessed.
        let (bytes, words) = unsafe { (memory.take::<u8>(3), memory.take::<u64>(5)) };
        assert_eq!((bytes.address, bytes.len(), words.address, words.len()), (2, 3, 8, 5));
        assert_eq!((memory.address, memory.len()), (48, 54));
    }

    #[test]
    #[should_panic = "beyond the end of shared memory"]
    fn taking_more_than_is_left_panics() {
        // SAFETY: it panics.
        unsafe { Shared::<u8>::shaped(0, 7).take::<u64>(1) };
    }

    #[test]
    #[should_panic = "beyond the end of shared memory"]
    fn a_column_that_the_row_does_not_have_is_refused() {
        let _ = &Shared::<u32, (u32, u32)>::shaped(0, (2, 3))[(0, 3)];
    }
}
