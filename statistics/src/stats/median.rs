//! The median.
//!
//! Input: samples in any order. Output: their middle; none without samples.
//!
//! The `statistical` crate gives mean and standard deviation. Its `median` sorts with a quicksort
//! that is quadratic in time and linear in stack where samples are equal, and CUDA events, with
//! their resolution of 32 ns, make many equal samples; so samples are sorted here and it gets the
//! middle.

use statistical::mean;

/// The middle of `samples`, in any order; `None` without samples.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

/// The middle of a sorted slice: one element, or the mean of two.
pub(crate) fn middle(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(mean(&sorted[last / 2..=sorted.len() / 2]))
}
