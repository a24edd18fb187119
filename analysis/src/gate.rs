//! The merge gate: from metrics and thresholds to verdicts and an exit code.
//!
//! Input: the configurations of a run, thresholds, and the run they are compared with. Output: one
//! judgement per threshold, the changes with their certainty, and one exit code.

pub mod applied_thresholds;
pub mod baseline;
pub mod budget;
mod by_key;
pub mod calibrate;
pub mod conclusion;
pub mod default_thresholds;
pub mod default_time_limit;
pub mod fingerprint;
pub mod forecast;
pub mod judge;
pub mod nothing_judged;
pub mod outcome;
pub mod prediction;
pub mod rates;
pub mod rounds;
pub mod run;
pub mod simulate;
#[cfg(test)]
mod two_catalogues_tests;
#[cfg(test)]
mod unstable_tests;
mod weakened_checks;
