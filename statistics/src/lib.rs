//! The statistics of measurements: of one sample, of a sequence, of two samples, and of rounds.
//!
//! Input: numbers in the order of measurement, and limits. Output: summaries with their
//! uncertainty, significance, decisions, and how many processes should measure. Every item is a
//! function of its arguments. Nothing here knows a metric or a run, and all that computes for long
//! is here: a development build optimises this package alone.

#![forbid(unsafe_code)]

pub mod sequential;
pub mod stats;
