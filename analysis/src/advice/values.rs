//! The values that a rule reads from a configuration, with their bounds under noise.
//!
//! Input: a configuration, and a name. Output: the value with its bounds. Stored values come first;
//! values that follow from them by a formula, from the launch or from the device are computed, so
//! that a rule needs no column for them.

use gpuprof_model::measurement::{OccupancyLimiter, Source};
use gpuprof_model::metric::{Class, DEVICE_ATTRIBUTE, Origin};
use gpuprof_model::run::{ConfigurationResult, MetricResult};

use super::context::AdviceContext;
use crate::view::best;

/// The names of rules in addition to metrics: 1 if true, else 0.
pub const FACTS: [(&str, &str); 5] = [
    ("occupancy_limited_by_warps", "whether warps limit the theoretical occupancy"),
    ("occupancy_limited_by_blocks", "whether block slots limit it"),
    ("occupancy_limited_by_registers", "whether registers limit it"),
    ("occupancy_limited_by_shared_memory", "whether shared memory limits it"),
    ("occupancy_limited_by_clusters", "whether clusters limit it"),
];

/// How far one reading of a noisy counter may be off, as a part of it: most counters of two
/// launches differ by less.
const NOISE: f64 = 0.05;

/// A value, and its bounds under noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Reading {
    fn exact(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self { value, low: value, high: value })
    }

    fn noisy(value: f64) -> Option<Self> {
        let reach = value.abs() * NOISE;
        value.is_finite().then_some(Self { value, low: value - reach, high: value + reach })
    }

    fn from_result(result: &MetricResult, value: f64) -> Option<Self> {
        if result.class == Class::Exact {
            return Self::exact(value);
        }
        let medians = || result.processes.iter().map(|process| process.median);
        if result.processes.len() < 3 || medians().any(|median| !median.is_finite()) {
            return Self::noisy(value);
        }
        let low = medians().fold(value, f64::min);
        Some(Self { value, low, high: medians().fold(value, f64::max) })
    }
}

/// The value of `metric` at `row`, if it is known or follows from what is.
pub(super) fn reading(
    row: &ConfigurationResult,
    terms: &AdviceContext<'_>,
    metric: &str,
) -> Option<Reading> {
    let stored = best::value(row, metric).zip(best::result(row, metric));
    // A rule's finding would pass for a measured one.
    if let Some((value, result)) = stored.filter(|(_, it)| it.source != Source::Estimated) {
        return Reading::from_result(result, value);
    }
    of_launch(row, terms, metric).or_else(|| derived(row, terms, metric))
}

/// Whether rows that have the own metrics of `row` may have a [`reading`] of `metric`.
pub(super) fn is_possible(
    row: &ConfigurationResult,
    terms: &AdviceContext<'_>,
    metric: &str,
) -> bool {
    let of_launch = ["occupancy_limited_by_", "launch__", DEVICE_ATTRIBUTE];
    if row.metrics.is_own(metric) || of_launch.iter().any(|start| metric.starts_with(start)) {
        return true;
    }
    if is_counter(metric) {
        return false;
    }
    let Some(found) = terms.catalogue.find(metric) else { return false };
    match &found.origin {
        Origin::Derived(formula) => {
            formula.names().into_iter().all(|name| is_possible(row, terms, name))
        }
        Origin::Hardware(counter) => row.metrics.is_own(counter),
        _ => false,
    }
}

/// Whether `metric` is a counter by its own name, which has no formula; to look for one takes a
/// while in a long series.
fn is_counter(metric: &str) -> bool {
    metric.contains("__") && metric.contains('.')
}

/// A value derived from others by a formula.
fn derived(row: &ConfigurationResult, terms: &AdviceContext<'_>, metric: &str) -> Option<Reading> {
    if is_counter(metric) {
        return None;
    }
    let found = terms.catalogue.find(metric)?;
    let Origin::Derived(formula) = &found.origin else { return aliased(row, &found.origin) };
    let mut noisy = false;
    let readings: Option<Vec<(&str, Reading)>> =
        formula.names().into_iter().map(|name| Some((name, reading(row, terms, name)?))).collect();
    let readings = readings?;
    for (_, reading) in &readings {
        noisy |= reading.low != reading.high;
    }
    let value_of = |name: &str| readings.iter().find(|(own, _)| *own == name).map(|(_, r)| r.value);
    let value = formula.evaluate(value_of).ok()?;
    if noisy { Reading::noisy(value) } else { Reading::exact(value) }
}

/// Our name of a counter that is stored by its own.
fn aliased(row: &ConfigurationResult, origin: &Origin) -> Option<Reading> {
    let Origin::Hardware(counter) = origin else { return None };
    Reading::from_result(best::result(row, counter)?, best::value(row, counter)?)
}

fn of_launch(row: &ConfigurationResult, terms: &AdviceContext<'_>, name: &str) -> Option<Reading> {
    let is = |limiter: OccupancyLimiter| {
        row.occupancy_limiter.map(|own| f64::from(u8::from(own == limiter)))
    };
    let device = terms.device;
    let value = match name {
        "occupancy_limited_by_warps" => is(OccupancyLimiter::Warps)?,
        "occupancy_limited_by_blocks" => is(OccupancyLimiter::Blocks)?,
        "occupancy_limited_by_registers" => is(OccupancyLimiter::Registers)?,
        "occupancy_limited_by_shared_memory" => is(OccupancyLimiter::SharedMemory)?,
        "occupancy_limited_by_clusters" => is(OccupancyLimiter::Clusters)?,
        "launch__sm_count" => f64::from(device?.sm_count),
        "launch__waves_per_multiprocessor" => best::value(row, "waves")?,
        "launch__registers_per_thread" => best::value(row, "registers")?,
        "launch__grid_size" => product(&only_launch(row)?.grid),
        "launch__block_size" => product(&only_launch(row)?.block),
        "launch__thread_count" => {
            let launch = only_launch(row)?;
            product(&launch.grid) * product(&launch.block)
        }
        _ => attribute(terms, name)?,
    };
    Reading::exact(value)
}

fn only_launch(row: &ConfigurationResult) -> Option<&gpuprof_model::measurement::LaunchRecord> {
    match row.launches.as_slice() {
        [launch] => Some(launch),
        _ => None,
    }
}

fn product(extents: &[u32; 3]) -> f64 {
    extents.iter().map(|&extent| f64::from(extent)).product()
}

fn attribute(terms: &AdviceContext<'_>, name: &str) -> Option<f64> {
    let attribute = name.strip_prefix(DEVICE_ATTRIBUTE)?;
    let value = *terms.device?.attributes.get(attribute)?;
    i32::try_from(value).ok().map(f64::from)
}
