//! What gpuprof makes of measurements: statistics, metrics, judgements and views.
//!
//! Input: what the passes of a configuration found, the thresholds of its series, a stored run as
//! its baseline, and a view. Output: every metric with its value or the reason why there is none,
//! one judgement a threshold, the exit code of the run, and the rows to show.
//!
//! Everything here is a function of its arguments: no input or output, no clock, no environment, no
//! state. What must stay true: a value that is not there never becomes a pass, and never a number.

#![forbid(unsafe_code)]

pub mod advice;
pub mod change;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod gate;
pub mod history;
pub mod metrics;
pub mod sequential;
pub mod stats;
pub mod view;
pub mod why;
