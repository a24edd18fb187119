//! Collectors: the measurements of a pass.

pub(crate) mod launched;
pub(crate) mod named_ranges;
pub(crate) mod nvtx;
pub(crate) mod selected_nvtx_ranges;

pub(super) mod activity;
pub(crate) mod attributes;
pub(crate) mod bandwidth;
pub(crate) mod clock;
mod conflicts;
mod convergence;
pub(crate) mod cubins;
pub(crate) mod cupti;
pub(crate) mod duration_samples;
mod empty_caches;
pub(crate) mod emulator;
pub(crate) mod energy;
pub(crate) mod flush;
pub(crate) mod identity;
pub(crate) mod launch_facts;
pub(crate) mod launches;
pub(crate) mod links;
pub(crate) mod measured_work;
pub(crate) mod over_time;
pub(crate) mod parts;
pub(crate) mod persisting;
pub(crate) mod plan;
pub(crate) mod profiler;
mod profiler_calls;
mod recorder;
pub(crate) mod source_counters;
mod throttling;
mod timeline;
