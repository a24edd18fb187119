//! Statistics: what numbers say of a sample, of a sequence, and of two samples.
//!
//! Input: numbers in the order in which they were measured. Output: summaries with their
//! uncertainty, significance, and how many processes should measure. No metric and no run is known
//! here.

pub mod descriptive;
pub mod e_divisive;
pub mod median;
pub mod one_sample;
pub mod random;
pub mod repeats;
pub mod sequence;
pub mod trend;
pub mod two_sample;
