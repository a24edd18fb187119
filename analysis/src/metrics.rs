//! Metrics: from the passes of one configuration to its values.
//!
//! Input: the results of passes. Output: every metric with its value or the reason why there is
//! none, or the first thing in which repetitions of a pass differ.

pub mod collect;
mod derive;
mod links;
mod pass_value;
pub mod replay;

use gpuprof_model::run::ConfigurationResult;

pub use pass_value::LAUNCHED_NOTHING;

/// Whether `row` has no counts because its measured range launched nothing.
pub fn launched_nothing(row: &ConfigurationResult) -> bool {
    let mut metrics = row.metrics.iter();
    metrics.any(|(_, metric)| metric.value.as_ref().is_err_and(|why| why == LAUNCHED_NOTHING))
}

/// Whether `row` finished without any work of the device in its range, so that nothing of it was
/// measured. Copies and fills are work, though counters have no value without a launch.
pub fn did_nothing(row: &ConfigurationResult) -> bool {
    let is_outside = !row.launches.is_empty() && row.launches.iter().all(|launch| launch.outside);
    (row.timeline.is_none() || is_outside) && launched_nothing(row)
}
