//! Indices of shared memory: one number per dimension.

mod sealed {
    pub trait Sealed {}
}

/// Indices of shared memory, and its shape: `u32`, `(row, column)` and `(plane, row, column)`.
///
/// ```
/// use gpuprof::{Shared, SharedElement, SharedIndex};
///
/// /// Copies an element, in however many dimensions.
/// unsafe fn copy<T: SharedElement, I: SharedIndex>(tile: Shared<T, I>, from: I, to: I) {
///     unsafe { tile.write(to, tile.read(from)) };
/// }
/// ```
pub trait SharedIndex: Copy + sealed::Sealed {
    /// How many elements there are, of a shape.
    #[doc(hidden)]
    fn elements(self) -> u32;

    /// The number of the element, row by row.
    #[doc(hidden)]
    fn place(self, shape: Self) -> u32;

    /// Whether there is such an element.
    #[doc(hidden)]
    fn is_inside(self, shape: Self) -> bool;
}

impl sealed::Sealed for u32 {}
impl sealed::Sealed for (u32, u32) {}
impl sealed::Sealed for (u32, u32, u32) {}

impl SharedIndex for u32 {
    #[inline(always)]
    fn elements(self) -> u32 {
        self
    }

    #[inline(always)]
    fn place(self, _: u32) -> u32 {
        self
    }

    #[inline(always)]
    fn is_inside(self, shape: u32) -> bool {
        self < shape
    }
}

impl SharedIndex for (u32, u32) {
    #[inline(always)]
    fn elements(self) -> u32 {
        self.0 * self.1
    }

    #[inline(always)]
    fn place(self, shape: Self) -> u32 {
        self.0 * shape.1 + self.1
    }

    #[inline(always)]
    fn is_inside(self, shape: Self) -> bool {
        self.0 < shape.0 && self.1 < shape.1
    }
}

impl SharedIndex for (u32, u32, u32) {
    #[inline(always)]
    fn elements(self) -> u32 {
        self.0 * self.1 * self.2
    }

    #[inline(always)]
    fn place(self, shape: Self) -> u32 {
        (self.0 * shape.1 + self.1) * shape.2 + self.2
    }

    #[inline(always)]
    fn is_inside(self, shape: Self) -> bool {
        self.0 < shape.0 && self.1 < shape.1 && self.2 < shape.2
    }
}
