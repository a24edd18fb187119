//! Metrics: from the passes of one configuration to its values.
//!
//! Input: the results of passes. Output: every metric with its value or the reason why there is
//! none, or the first thing in which repetitions of a pass differ.

pub mod collect;
mod derive;
mod leaf;
mod links;
pub mod replay;

use gpuprof_model::run::ConfigurationResult;

pub use leaf::LAUNCHED_NOTHING;

/// Whether `row` finished without any work of the device in its range, so that nothing of it was
/// measured. Copies and fills are work, though counters have no value without a launch.
pub fn did_nothing(row: &ConfigurationResult) -> bool {
    let launched_nothing = |why: &String| why == LAUNCHED_NOTHING;
    let mut metrics = row.metrics.iter();
    let is_outside = !row.launches.is_empty() && row.launches.iter().all(|launch| launch.outside);
    (row.timeline.is_none() || is_outside)
        && metrics.any(|(_, metric)| metric.value.as_ref().is_err_and(launched_nothing))
}
