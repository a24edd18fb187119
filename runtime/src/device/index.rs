//! Indices that belong to one thread each.

use core::marker::PhantomData;

/// An index that belongs to this thread alone, of all threads of the launch.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← 2·x
/// #[gpuprof::kernel(
///     series(block = 64..=1024, n = [1M]),
///     grid = n.div_ceil(block),
///     args(random(n), zeros(n)),
/// )]
/// pub fn double(x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y = 2.0 * x[i.get()];
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadIndex {
    at: usize,
    /// It stays with its thread.
    thread: PhantomData<*mut ()>,
}

impl ThreadIndex {
    /// The index `at`, which the caller gives to one thread only.
    #[inline(always)]
    pub(crate) const fn new(at: usize) -> Self {
        Self { at, thread: PhantomData }
    }

    /// The index as a number, for a `&[T]`.
    ///
    /// ```
    /// use gpuprof::prelude::*;
    ///
    /// /// The thread's element of `x`.
    /// fn own(x: &[f32]) -> Option<f32> {
    ///     x.get(thread::index_1d().get()).copied()
    /// }
    /// ```
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.at
    }
}

/// Every `step`-th index from `next` on, below `length`.
pub(crate) struct Indices {
    pub(crate) next: usize,
    pub(crate) step: usize,
    pub(crate) length: usize,
}

impl Iterator for Indices {
    type Item = ThreadIndex;

    #[inline(always)]
    fn next(&mut self) -> Option<ThreadIndex> {
        let at = self.next;
        if at >= self.length {
            return None;
        }
        self.next = at.saturating_add(self.step);
        Some(ThreadIndex::new(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_share_stops_at_the_length() {
        let share = |next| Indices { next, step: 4, length: 10 }.map(ThreadIndex::get);
        assert_eq!(share(1).collect::<Vec<_>>(), [1, 5, 9]);
        assert_eq!(share(3).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(share(10).count(), 0);
    }
}
