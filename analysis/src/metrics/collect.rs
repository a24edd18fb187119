//! Collection: the result of one configuration from its passes.
//!
//! Input: what each process of pass 0 found (on the emulator there is one). Output: a
//! [`ConfigurationResult`] with an entry for every metric of the catalogue, each with its value or
//! the reason there is none. Exact values must be the same in every process; where they are not,
//! the configuration has failed and none of its values is shown.

use std::sync::Arc;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::{PassResult, Timing};
use gpuprof_model::metric::{Catalogue, Class, Metric, Origin};
use gpuprof_model::run::{ConfigurationResult, MetricResult, Metrics, ProcessValue, Status};

use crate::metrics::derive::Derived;
use crate::metrics::leaf;
use crate::metrics::replay::{self, Discipline, Divergence};
use crate::stats::descriptive;
use gpuprof_model::text::printable;

/// What a result is made by.
#[derive(Debug, Clone)]
pub struct Terms<'c> {
    /// The metrics that are known.
    pub catalogue: &'c Catalogue,
    /// Metrics beyond our table that were asked for: other profilers' names, the user's
    /// definitions, launch facts and device attributes.
    pub asked: Vec<Arc<Metric>>,
    /// How far passes may differ.
    pub discipline: Discipline,
}

impl<'c> Terms<'c> {
    /// The metrics of our table, by strict discipline.
    pub fn new(catalogue: &'c Catalogue) -> Self {
        Self { catalogue, asked: Vec::new(), discipline: Discipline::default() }
    }
}

/// The result of a configuration whose processes all ran to their end.
///
/// Without a pass, or where the passes diverge, it is a failed configuration; its samples are kept.
pub fn finished(
    configuration: Configuration,
    passes: &[PassResult],
    terms: &Terms<'_>,
) -> ConfigurationResult {
    let failed = |reason| unfinished(configuration.clone(), Status::Failed { reason });
    let Some(first) = passes.first() else {
        return failed("no pass finished".to_owned());
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
            largest_error: passes.iter().filter_map(|pass| pass.largest_error).reduce(f64::max),
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
        metrics: Metrics::default(),
        timings: Vec::new(),
        occupancy_limiter: None,
        launches: Vec::new(),
        verified: false,
        largest_error: None,
    }
}

/// Every metric of our table and those asked for over `passes`, repetitions of one pass.
///
/// # Errors
/// The first exact value, launch or device in which two passes differ.
pub fn metrics(passes: &[PassResult], terms: &Terms<'_>) -> Result<Metrics, Divergence> {
    replay::agree(passes, terms.discipline)?;
    let catalogue = terms.catalogue;
    let named = passes.first().into_iter().flat_map(|pass| pass.hardware.keys());
    let beyond = named.filter_map(|name| catalogue.find(name));
    let all = catalogue.own().cloned().chain(beyond).chain(terms.asked.iter().cloned());
    let emulated = passes.first().is_some_and(|pass| pass.device.emulated);
    let entry = |metric: Arc<Metric>| {
        let measured = Measured {
            metric: &metric,
            class: catalogue.class_on(&metric, emulated),
            derived: Derived::new(&metric, catalogue),
            emulated,
        };
        let result = measured.result(passes);
        // Processes that held still say nothing where another did not.
        let processes = if result.unstable { Vec::new() } else { measured.per_process(passes) };
        (Arc::from(&*metric.name), MetricResult { processes, ..result })
    };
    Ok(all.map(entry).collect())
}

/// A metric on a device.
struct Measured<'m> {
    metric: &'m Metric,
    class: Class,
    derived: Derived<'m>,
    emulated: bool,
}

impl Measured<'_> {
    fn result(&self, passes: &[PassResult]) -> MetricResult {
        let metric = self.metric;
        let (value, statistics) = match metric.origin {
            Origin::Derived(_) => self.derived.value(passes),
            _ => {
                let value = leaf::value(metric, passes).and_then(finite);
                let samples = || descriptive::over(&leaf::samples(&metric.name, passes));
                let statistics = value.is_ok().then(samples).flatten();
                (value, statistics)
            }
        };
        let held = |name: &&str| leaf::unstable(name, passes).is_none();
        MetricResult {
            unstable: value.is_err() && !self.derived.timed_leaves().iter().all(held),
            value,
            unit: metric.unit,
            direction: metric.direction,
            direction_set: metric.direction_set.is_some(),
            class: self.class,
            source: leaf::source(metric, self.emulated),
            statistics: statistics.map(Box::new),
            processes: Vec::new(),
        }
    }

    /// What each process alone says of a noisy metric, for comparisons: the process is the unit of
    /// replication.
    fn per_process(&self, passes: &[PassResult]) -> Vec<ProcessValue> {
        if self.class == Class::Exact {
            return Vec::new();
        }
        // Counters are collected in one process, and every pass holds its values: they are one
        // observation, however many processes took times.
        let passes = match self.derived.timed_leaves()[..] {
            [] => &passes[..passes.len().min(1)],
            _ => passes,
        };
        let of_process = |pass: &PassResult| {
            let alone = self.result(std::slice::from_ref(pass));
            let value = alone.value.ok()?;
            let without = ProcessValue { median: value, p95: value, min: value, mean: value };
            Some(alone.statistics.map_or(without, |s| ProcessValue {
                median: value,
                p95: s.p95,
                min: s.min,
                mean: s.mean,
            }))
        };
        passes.iter().filter_map(of_process).collect()
    }
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err("the value is not a finite number".to_owned()) }
}

#[cfg(test)]
#[path = "collect_tests.rs"]
mod tests;
