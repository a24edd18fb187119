//! Comparison: from pass results to metrics, and from metrics to verdicts.
//!
//! Input: what the passes of one configuration found, and the thresholds of its series. Goes
//! out: every metric of the catalogue with its value or the reason there is none, the best
//! configuration, and one judgement a threshold. Everything here is pure: no clock, no files, no
//! environment. What must stay true: a value that is not there never becomes a pass, and never a
//! number.

pub mod against;
pub mod best;
pub mod by_device;
pub mod calibrate;
pub mod change;
pub mod collect;
pub mod columns;
mod derive;
pub mod fingerprint;
#[cfg(test)]
pub(crate) mod fixture;
pub mod judge;
mod leaf;
pub mod pareto;
pub mod rank;
pub mod rates;
pub mod replay;
pub(crate) mod sanitize;
pub mod sensitivity;
pub mod sequence;
pub mod statistics;
pub mod trend;
pub mod two_sample;
#[cfg(test)]
mod unstable_tests;
pub mod view;
