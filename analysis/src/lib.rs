//! The analysis of measurements: metrics, judgements and views.
//!
//! Input: the results of the passes of a configuration, the thresholds of its series, a stored run
//! as its baseline, and a view. Output: every metric with its value or the reason why there is
//! none, one judgement per threshold, the exit code of the run, and the rows to show.
//!
//! Every item here is a function of its arguments: no input or output, no clock, no environment, no
//! state. Invariant: a missing value never becomes a pass, and never a number.

#![forbid(unsafe_code)]

pub mod advice;
pub mod code;
pub mod compared_pair;
pub mod estimates;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod gate;
pub mod history;
pub mod metrics;
pub mod series;
pub mod view;
pub mod why;

pub use gpuprof_statistics::{sequential, stats};
