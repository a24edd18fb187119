//! Statistics: descriptions and tests of a sample, of a sequence, and of two samples.
//!
//! Input: numbers in the order of measurement. Output: summaries with their uncertainty,
//! significance, and how many processes should measure. This module knows no metric and no run.

pub mod descriptive;
pub mod e_divisive;
pub mod median;
pub mod one_sample;
pub mod random;
pub mod repeats;
pub mod sequence;
pub mod trend;
pub mod two_sample;
