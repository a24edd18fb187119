//! Collection: the result of one configuration from its passes.
//!
//! Input: what each process of pass 0 found (on the emulator there is one). Output: a
//! [`ConfigurationResult`] with an entry for every metric of the catalogue, each with its value or
//! the reason there is none. Exact values must be the same in every process; where they are not,
//! the configuration has failed and none of its values is shown.

use std::collections::BTreeMap;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::{PassResult, Timing};
use gpuprof_model::metric::{self, CATALOGUE, Class, Metric, Origin};
use gpuprof_model::run::{ConfigurationResult, MetricResult, ProcessValue, Status};

use crate::metrics::derive;
use crate::metrics::leaf;
use crate::metrics::replay::{self, Discipline, Divergence};
use crate::stats::descriptive;
use gpuprof_model::text::printable;

/// The result of a configuration whose processes all ran to their end.
///
/// Without a pass, or where the passes diverge, it is a failed configuration; its samples are kept.
pub fn finished(configuration: Configuration, passes: &[PassResult]) -> ConfigurationResult {
    finished_with(configuration, passes, &Terms::default())
}

/// What a result is made by.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Metrics beyond the catalogue that were asked for: older profilers' names, the user's
    /// definitions, launch facts and device attributes.
    pub asked: Vec<&'static Metric>,
    /// How far passes may differ.
    pub discipline: Discipline,
}

/// As [`finished`], by these terms.
pub fn finished_with(
    configuration: Configuration,
    passes: &[PassResult],
    terms: &Terms,
) -> ConfigurationResult {
    let failed = |reason| unfinished(configuration.clone(), Status::Failed { reason });
    let Some(first) = passes.first() else {
        return failed("no pass ran to its end".to_owned());
    };
    let timings: Vec<Timing> = passes.iter().filter_map(|pass| pass.timing.clone()).collect();
    match metrics(passes, terms) {
        Err(divergence) => ConfigurationResult { timings, ..failed(divergence.to_string()) },
        Ok(metrics) => ConfigurationResult {
            device: None,
            status: Status::Finished,
            metrics,
            timings,
            occupancy_limiter: first.facts.as_ref().and_then(|facts| facts.limiter),
            launches: first.launches.clone(),
            verified: passes.iter().any(|pass| pass.verified),
            configuration,
        },
    }
}

/// The result of a configuration that did not finish: it has no metrics.
///
/// Control characters and terminal sequences are taken out of the reason in `status`.
pub fn unfinished(configuration: Configuration, mut status: Status) -> ConfigurationResult {
    match &mut status {
        Status::Finished => {}
        Status::Invalid { reason }
        | Status::Failed { reason }
        | Status::Timeout { reason }
        | Status::Skipped { reason } => *reason = printable(reason),
    }
    ConfigurationResult {
        configuration,
        device: None,
        status,
        metrics: BTreeMap::new(),
        timings: Vec::new(),
        occupancy_limiter: None,
        launches: Vec::new(),
        verified: false,
    }
}

/// Every metric of the catalogue and those asked for over `passes`, repetitions of one pass.
///
/// # Errors
/// The first exact value, launch or device in which two passes differ.
pub fn metrics(
    passes: &[PassResult],
    terms: &Terms,
) -> Result<BTreeMap<String, MetricResult>, Divergence> {
    replay::agree(passes, terms.discipline)?;
    let named = passes.first().into_iter().flat_map(|pass| pass.hardware.keys());
    let beyond = named.filter_map(|name| metric::find(name));
    let entry = |metric: &Metric| {
        let result = result(metric, passes);
        // Processes that held still say nothing where another did not.
        let processes = if result.unstable { Vec::new() } else { per_process(metric, passes) };
        (metric.name.to_owned(), MetricResult { processes, ..result })
    };
    Ok(CATALOGUE.iter().chain(beyond).chain(terms.asked.iter().copied()).map(entry).collect())
}

fn result(metric: &Metric, passes: &[PassResult]) -> MetricResult {
    let emulated = passes.first().is_some_and(|pass| pass.device.emulated);
    let (value, statistics) = match metric.origin {
        Origin::Derived(_) => derive::value(metric, passes),
        _ => {
            let value = leaf::value(metric, passes).and_then(finite);
            let samples = || descriptive::over(&leaf::samples(metric.name, passes));
            let statistics = value.is_ok().then(samples).flatten();
            (value, statistics)
        }
    };
    let held = |name: &&str| leaf::unstable(name, passes).is_none();
    MetricResult {
        unstable: value.is_err() && !derive::timed_leaves(metric).iter().all(held),
        value,
        unit: metric.unit,
        direction: metric.direction,
        class: metric.class_on(emulated),
        source: leaf::source(metric, emulated),
        statistics,
        processes: Vec::new(),
    }
}

/// What each process alone says of a noisy metric, for comparisons: the process is the unit of
/// replication.
fn per_process(metric: &Metric, passes: &[PassResult]) -> Vec<ProcessValue> {
    let emulated = passes.first().is_some_and(|pass| pass.device.emulated);
    if metric.class_on(emulated) == Class::Exact {
        return Vec::new();
    }
    let of_process = |pass: &PassResult| {
        let alone = result(metric, std::slice::from_ref(pass));
        let value = alone.value.ok()?;
        Some(
            alone
                .statistics
                .map_or(ProcessValue { median: value, p95: value, min: value, mean: value }, |s| {
                    ProcessValue { median: value, p95: s.p95, min: s.min, mean: s.mean }
                }),
        )
    };
    passes.iter().filter_map(of_process).collect()
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err("the value is not a finite number".to_owned()) }
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
