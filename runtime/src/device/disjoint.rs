//! Slices that all threads of a launch have at once: [`DisjointSlice`] gives each thread its own
//! elements.
//!
//! A `&[T]` is a plain slice, since no thread writes there. A `&mut [T]` cannot be one: every
//! thread would have it at the same time, which Rust rules out. The compiler relies on that: it
//! would keep an element in a register across a barrier at which another thread changes it. The
//! compiler can check that no two threads use one index, so an index is a value that only
//! [`thread::index_1d`](crate::thread::index_1d) and [`thread::indices_1d`](crate::thread::indices_1d) make.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use super::index::ThreadIndex;

/// Device memory that a kernel writes, as a parameter: every thread has all of it, and each element
/// belongs to the thread with its [`ThreadIndex`].
///
/// Accesses of a thread to its own elements are safe: [`get_mut`](Self::get_mut), or indexing, which ends the
/// launch if the index is out of bounds. Accesses that may conflict with other threads are
/// `unsafe`: [`read`](Self::read), [`write`](Self::write), and those through [`as_mut_ptr`](Self::as_mut_ptr), such as atomics.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← a·x + y
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     args(2.0, random(n), random(n)),
///     verify = saxpy_on_host,
/// )]
/// pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y += a * x[i.get()];
///     }
/// }
///
/// fn saxpy_on_host(a: f32, x: &[f32], y: &mut [f32]) {
///     y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
/// }
/// ```
#[doc(alias("restrict", "__restrict__"))]
#[derive(Debug)]
pub struct DisjointSlice<'a, T> {
    start: *mut T,
    length: usize,
    memory: PhantomData<&'a mut [T]>,
}

impl<T> DisjointSlice<'_, T> {
    /// The `length` elements from `start` on.
    ///
    /// # Safety
    /// They are there for as long as the kernel runs, and only its threads' slices made of them
    /// access them.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(crate) const unsafe fn new(start: *mut T, length: usize) -> Self {
        Self { start, length, memory: PhantomData }
    }

    /// How many elements there are.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn last_of(y: &DisjointSlice<f32>) -> Option<usize> {
    ///     y.len().checked_sub(1)
    /// }
    /// ```
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn has_work(y: &DisjointSlice<f32>) -> bool {
    ///     !y.is_empty()
    /// }
    /// ```
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The thread's element; none if the index is out of bounds.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn own(y: &DisjointSlice<f32>) -> f32 {
    ///     y.get(thread::index_1d()).copied().unwrap_or(0.0)
    /// }
    /// ```
    #[inline(always)]
    pub fn get(&self, index: ThreadIndex) -> Option<&T> {
        // SAFETY: the element is in bounds, and belongs to this thread.
        (index.get() < self.length).then(|| unsafe { &*self.start.add(index.get()) })
    }

    /// The thread's element, to be changed; none if the index is out of bounds.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// fn double(mut y: DisjointSlice<f32>) {
    ///     if let Some(y) = y.get_mut(thread::index_1d()) {
    ///         *y *= 2.0;
    ///     }
    /// }
    /// ```
    #[doc(alias = "get_mut_indexed")]
    #[inline(always)]
    pub fn get_mut(&mut self, index: ThreadIndex) -> Option<&mut T> {
        // SAFETY: the element is in bounds and belongs to this thread, which has no other
        // reference to it: that would borrow the slice.
        (index.get() < self.length).then(|| unsafe { &mut *self.start.add(index.get()) })
    }

    /// Any element, which ends the launch where `at` is out of bounds.
    ///
    /// # Safety
    /// No other thread writes the element at the same time: a barrier or the end of the kernel lies
    /// between.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The neighbour's element, after a barrier.
    /// unsafe fn next(y: &DisjointSlice<f32>) -> f32 {
    ///     block::sync();
    ///     unsafe { y.read(thread::index_1d().get() + 1) }
    /// }
    /// ```
    #[inline(always)]
    #[track_caller]
    pub unsafe fn read(&self, at: usize) -> T
    where
        T: Copy,
    {
        check(at, self.length);
        // SAFETY: the element is in bounds; the caller vouches for the rest.
        unsafe { *self.start.add(at) }
    }

    /// Sets any element; ends the launch if `at` is out of bounds.
    ///
    /// # Safety
    /// No other thread accesses the element at the same time.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Each thread of `n` sets the element opposite its own.
    /// unsafe fn mirror(n: usize, mut y: DisjointSlice<u32>) {
    ///     let i = thread::index_1d().get();
    ///     if i < n {
    ///         unsafe { y.write(n - 1 - i, i as u32) };
    ///     }
    /// }
    /// ```
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(&mut self, at: usize, value: T)
    where
        T: Copy,
    {
        check(at, self.length);
        // SAFETY: the element is in bounds; the caller vouches for the rest.
        unsafe { *self.start.add(at) = value };
    }

    /// The address of the first element, for atomics and for whatever has its own rules.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// Counts into one of 256 bins.
    /// unsafe fn count(mut bins: DisjointSlice<u32>, value: u8) {
    ///     unsafe { atomic::add(bins.as_mut_ptr().add(value as usize), 1) };
    /// }
    /// ```
    #[inline(always)]
    pub const fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }
}

#[inline(always)]
#[track_caller]
fn check(at: usize, length: usize) {
    assert!(at < length, "index out of bounds: the len is {length} but the index is {at}");
}

impl<T> Index<ThreadIndex> for DisjointSlice<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: ThreadIndex) -> &T {
        check(index.get(), self.length);
        // SAFETY: as in `get`.
        unsafe { &*self.start.add(index.get()) }
    }
}

impl<T> IndexMut<ThreadIndex> for DisjointSlice<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: ThreadIndex) -> &mut T {
        check(index.get(), self.length);
        // SAFETY: as in `get_mut`.
        unsafe { &mut *self.start.add(index.get()) }
    }
}

/// The slice of `length` elements; `start` is the first of the kernel's two parameters for it.
///
/// # Safety
/// `start` is the address of `length` elements that no thread writes while the kernel runs.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub unsafe fn slice<'a, T>(start: &[T; 0], length: usize) -> &'a [T] {
    // SAFETY: the caller vouches for it; the launch passes the address of the whole buffer.
    unsafe { core::slice::from_raw_parts(start.as_ptr(), length) }
}

/// The same for memory that the kernel writes.
///
/// # Safety
/// `start` is the address of `length` elements that nothing but this launch accesses.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub unsafe fn disjoint<'a, T>(start: *mut T, length: usize) -> DisjointSlice<'a, T> {
    // SAFETY: the caller vouches for it.
    unsafe { DisjointSlice::new(start, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slice on the host, without a launch.
    fn slice_of(elements: &mut [u32]) -> DisjointSlice<'_, u32> {
        DisjointSlice { start: elements.as_mut_ptr(), length: elements.len(), memory: PhantomData }
    }

    #[test]
    fn an_index_out_of_bounds_gives_none_or_panics() {
        let mut elements = [1, 2];
        let mut slice = slice_of(&mut elements);
        let [inside, beyond] = [1, 2].map(ThreadIndex::new);
        *slice.get_mut(inside).unwrap() += 5;
        assert_eq!((slice[inside], slice.get(beyond)), (7, None));
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| slice[beyond] = 1));
        let told = told.unwrap_err();
        assert_eq!(
            told.downcast_ref::<String>().unwrap(),
            "index out of bounds: the len is 2 but the index is 2"
        );
    }
}
