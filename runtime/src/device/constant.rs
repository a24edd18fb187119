//! Constant memory: values that the compiler knows, read by `ld.const`.
//!
//! On the device a [`Constant`] has no size: its place is the address of the value in constant
//! memory, as `#[constant]` reads it off the variable. On the host it is the value.

#[cfg(target_arch = "nvptx64")]
use core::marker::PhantomData;

#[cfg(target_arch = "nvptx64")]
use super::words::{InConstant, load};

/// A value in constant memory: the type of a static with [`#[constant]`](macro@crate::constant).
///
/// All lanes of a warp that read the same element are served at once, as fast as from a register;
/// different elements are read one after the other. For a table that lanes index differently, a
/// `&[T]` parameter is better.
///
/// A function takes one as `&Constant<[f32; N]>`, the type of `&FILTER`. On the host it reads the
/// same data, so a reference can use the kernel's table.
///
/// ```
/// use gpuprof::Constant;
///
/// #[gpuprof::constant]
/// static POWERS: [[f32; 3]; 2] = [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]];
///
/// /// A polynomial of two coefficients, for any powers.
/// fn at<const N: usize>(powers: &Constant<[[f32; N]; 2]>, row: u32) -> f32 {
///     3.0 * powers.read((row, 1)) + powers.read((row, 2))
/// }
///
/// assert_eq!(at(&POWERS, 1), 18.0);
/// assert_eq!(POWERS.read(0), [1.0, 2.0, 4.0]);
/// ```
#[doc(alias("__constant__", "ConstantMemory", "ld.const"))]
#[derive(Debug)]
#[repr(transparent)]
pub struct Constant<A> {
    #[cfg(not(target_arch = "nvptx64"))]
    value: A,
    // It has no contents: its address determines the value.
    #[cfg(target_arch = "nvptx64")]
    value: PhantomData<A>,
}

/// The bytes of constant memory that a module has.
const ROOM: usize = 64 << 10;

/// The offset of an item's address from the constant address: the latter may be 0, a reference may
/// not.
#[cfg(target_arch = "nvptx64")]
const ABOVE: u64 = 1 << 62;

impl<A: Copy> Constant<A> {
    /// `value`, which constant memory has room for.
    #[doc(hidden)]
    pub const fn fits(value: A) -> A {
        assert!(size_of::<A>() <= ROOM, "constant memory has 64 KiB: pass a `&[T]` parameter");
        value
    }

    /// The expansion of `#[constant]` for a static on the host.
    #[doc(hidden)]
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn new(value: A) -> Self {
        Self { value: Self::fits(value) }
    }

    /// The expansion of `#[constant]` for a static's address on the device.
    ///
    /// # Safety
    /// It is the address of an `A` in constant memory.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub unsafe fn at(address: u64) -> &'static Self {
        let place = core::ptr::without_provenance::<Self>(address.wrapping_add(ABOVE) as usize);
        // SAFETY: a constant has no size here, and its place is not null.
        unsafe { &*place }
    }

    /// The whole value.
    ///
    /// ```
    /// #[derive(Clone, Copy)]
    /// struct Lens {
    ///     focus: f32,
    ///     width: u32,
    /// }
    ///
    /// #[gpuprof::constant]
    /// static LENS: Lens = Lens { focus: 0.5, width: 4 };
    ///
    /// assert_eq!(LENS.get().focus * 2.0, 1.0);
    /// # assert_eq!(LENS.get().width, 4);
    /// ```
    #[inline(always)]
    pub fn get(&self) -> A {
        // SAFETY: this is the value's place.
        unsafe { self.element(0) }
    }

    /// The element at `index`: a number, or `(row, column)` or `(plane, row, column)`. A number
    /// for a table of two dimensions gives a row of it.
    ///
    /// # Panics
    /// There is none: this ends the launch. An index that the compiler sees to be inside, such as
    /// one masked or counted up to the length, costs nothing.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// #[gpuprof::constant]
    /// static FILTER: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
    ///
    /// /// Smooths `x` around `i`.
    /// fn smooth(x: &[f32], i: usize) -> f32 {
    ///     (0..FILTER.len()).map(|k| FILTER.read(k) * x[i + k as usize]).sum()
    /// }
    ///
    /// assert_eq!(smooth(&[8.0; 5], 0), 8.0);
    /// ```
    #[doc(alias = "ld.const")]
    #[inline(always)]
    #[track_caller]
    pub fn read<I>(&self, index: I) -> A::Element
    where
        A: ConstantArray<I>,
    {
        let Some(place) = A::place(index) else { beyond() };
        // SAFETY: there is such an element.
        unsafe { self.element(place) }
    }

    /// The element at `index`, which is not checked.
    ///
    /// # Safety
    /// There is one.
    ///
    /// ```
    /// #[gpuprof::constant]
    /// static SQUARES: [u32; 4] = [0, 1, 4, 9];
    ///
    /// assert_eq!(unsafe { SQUARES.read_unchecked(3) }, 9);
    /// ```
    #[inline(always)]
    pub unsafe fn read_unchecked<I>(&self, index: I) -> A::Element
    where
        A: ConstantArray<I>,
    {
        // SAFETY: the caller vouches for the index.
        unsafe { self.element(A::unchecked(index)) }
    }

    /// How many elements, or rows or planes, there are.
    ///
    /// ```
    /// #[gpuprof::constant]
    /// static POINTS: [[f32; 3]; 2] = [[0.0; 3]; 2];
    ///
    /// assert_eq!(POINTS.len(), 2);
    /// ```
    #[inline(always)]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32
    where
        A: ConstantArray<u32>,
    {
        A::LENGTH
    }

    /// Element `place` of the value as an array of `E`.
    ///
    /// # Safety
    /// The value is one, and has it.
    #[inline(always)]
    unsafe fn element<E: Copy>(&self, place: usize) -> E {
        #[cfg(target_arch = "nvptx64")]
        {
            let address = (core::ptr::from_ref(self).addr() as u64).wrapping_sub(ABOVE);
            let at = address.wrapping_add((place * size_of::<E>()) as u64);
            // SAFETY: the caller keeps the contract.
            unsafe { load(InConstant(at)) }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: the caller keeps the contract.
        unsafe {
            (&raw const self.value).cast::<E>().add(place).read()
        }
    }
}

/// An index beyond the end.
#[cold]
#[track_caller]
fn beyond() -> ! {
    panic!("an index beyond the end of constant memory")
}

mod sealed {
    pub trait Sealed {}
}

/// Arrays that [`Constant::read`] indexes by an `I`: a number, `(row, column)` or `(plane, row,
/// column)`, of `u32`.
///
/// ```
/// use gpuprof::{Constant, ConstantArray};
///
/// /// The first element, in however many dimensions.
/// fn first<A: ConstantArray<(u32, u32), Element = f32>>(table: &Constant<A>) -> f32 {
///     table.read((0, 0))
/// }
///
/// #[gpuprof::constant]
/// static TABLE: [[f32; 2]; 2] = [[0.5, 1.0], [1.5, 2.0]];
///
/// assert_eq!(first(&TABLE), 0.5);
/// ```
pub trait ConstantArray<I>: Copy + sealed::Sealed {
    /// The type of an indexed element.
    ///
    /// ```
    /// use gpuprof::ConstantArray;
    ///
    /// /// An element of a table of two dimensions.
    /// type Of<A> = <A as ConstantArray<(u32, u32)>>::Element;
    ///
    /// let element: Of<[[f32; 3]; 2]> = 1.5;
    /// # assert_eq!(element, 1.5);
    /// ```
    type Element: Copy;

    /// How many elements the outermost dimension has.
    #[doc(hidden)]
    const LENGTH: u32;

    /// The number of the element, row by row.
    #[doc(hidden)]
    fn unchecked(index: I) -> usize;

    /// The same, if there is such an element.
    #[doc(hidden)]
    fn place(index: I) -> Option<usize>;
}

impl<T: Copy, const N: usize> sealed::Sealed for [T; N] {}

impl<T: Copy, const N: usize> ConstantArray<u32> for [T; N] {
    type Element = T;
    const LENGTH: u32 = N as u32;

    #[inline(always)]
    fn unchecked(index: u32) -> usize {
        index as usize
    }

    #[inline(always)]
    fn place(index: u32) -> Option<usize> {
        (index < N as u32).then_some(index as usize)
    }
}

impl<T: Copy, const N: usize, const M: usize> ConstantArray<(u32, u32)> for [[T; N]; M] {
    type Element = T;
    const LENGTH: u32 = M as u32;

    #[inline(always)]
    fn unchecked((row, column): (u32, u32)) -> usize {
        row as usize * N + column as usize
    }

    #[inline(always)]
    fn place((row, column): (u32, u32)) -> Option<usize> {
        (row < M as u32 && column < N as u32).then_some(Self::unchecked((row, column)))
    }
}

impl<T: Copy, const N: usize, const M: usize, const L: usize> ConstantArray<(u32, u32, u32)>
    for [[[T; N]; M]; L]
{
    type Element = T;
    const LENGTH: u32 = L as u32;

    #[inline(always)]
    fn unchecked((plane, row, column): (u32, u32, u32)) -> usize {
        (plane as usize * M + row as usize) * N + column as usize
    }

    #[inline(always)]
    fn place((plane, row, column): (u32, u32, u32)) -> Option<usize> {
        let is_inside = plane < L as u32 && row < M as u32 && column < N as u32;
        is_inside.then_some(Self::unchecked((plane, row, column)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static VOLUME: Constant<[[[u16; 4]; 3]; 2]> = Constant::new({
        let mut value = [[[0; 4]; 3]; 2];
        let mut i = 0;
        while i < 24 {
            value[i / 12][i / 4 % 3][i % 4] = i as u16;
            i += 1;
        }
        value
    });

    #[test]
    fn constant_elements_are_laid_out_as_in_rust() {
        assert_eq!((VOLUME.read((1, 2, 3)), VOLUME.read((1, 2))), (23, [20, 21, 22, 23]));
        assert_eq!((VOLUME.read(1)[0], VOLUME.get()[0][2]), ([12, 13, 14, 15], [8, 9, 10, 11]));
        assert_eq!(VOLUME.len(), 2);
        // SAFETY: there is such an element.
        assert_eq!(unsafe { VOLUME.read_unchecked((0, 1, 1)) }, 5);
    }

    #[test]
    #[should_panic = "beyond the end of constant memory"]
    fn a_column_that_the_row_does_not_have_is_refused() {
        VOLUME.read((0, 0, 4));
    }
}
