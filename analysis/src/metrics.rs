//! Metrics: from the passes of one configuration to its values.
//!
//! Input: the results of passes. Output: every metric with its value or the reason why there is
//! none, or the first thing in which repetitions of a pass differ.

pub mod collect;
mod derive;
mod leaf;
mod links;
pub mod replay;

pub use leaf::LAUNCHED_NOTHING;
