//! Collection: the result of one configuration from its passes.
//!
//! Input: the results of each process of pass 0 (on the emulator there is one). Output: a
//! [`ConfigurationResult`] with an entry for every metric of the catalogue, each with its value or
//! the reason there is none. Exact values must be the same in every process; if they are not, the
//! configuration has failed and none of its values is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::{
    CountedPart, DeviceRecord, HardwareValue, LaunchRecord, PassResult, Source, Timing,
};
use gpuprof_model::metric::{
    Catalogue, Class, DIVERGENT_BRANCHES, Metric, Origin, Perturbation, is_patched,
};
use gpuprof_model::parts::{Part, PartResult};
use gpuprof_model::run::{ConfigurationResult, MetricResult, Metrics, ProcessValue, Status};
use gpuprof_model::units::Nanoseconds;

use crate::metrics::derive::DerivedMetric;
use crate::metrics::pass_value;
use crate::metrics::replay::{self, Discipline, Divergence};
use crate::stats::descriptive;
use gpuprof_model::text::printable;

/// The context of the results of a series. The catalogue is consulted here, once for all rows.
#[derive(Debug, Clone)]
pub struct CollectContext<'c> {
    catalogue: &'c Catalogue,
    known: Vec<ResolvedMetric>,
    discipline: Discipline,
}

impl<'c> CollectContext<'c> {
    /// The metrics of our table, by strict discipline.
    pub fn new(catalogue: &'c Catalogue) -> Self {
        let known =
            catalogue.own().map(|metric| ResolvedMetric::new(Arc::clone(metric), catalogue));
        Self { catalogue, known: known.collect(), discipline: Discipline::default() }
    }

    /// With metrics beyond our table: other profilers' names, the user's definitions, launch facts
    /// and device attributes.
    #[must_use]
    pub fn asking(mut self, metrics: impl IntoIterator<Item = Arc<Metric>>) -> Self {
        let catalogue = self.catalogue;
        self.known.extend(metrics.into_iter().map(|metric| ResolvedMetric::new(metric, catalogue)));
        self
    }

    /// With passes that may differ as far as `discipline` says.
    #[must_use]
    pub fn under(self, discipline: Discipline) -> Self {
        Self { discipline, ..self }
    }
}

/// The result of a configuration with processes that all ran to their end.
///
/// Without a pass, or if the passes diverge, it is a failed configuration; its samples are kept.
pub fn finished(
    configuration: Configuration,
    passes: &[PassResult],
    terms: &CollectContext<'_>,
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
            estimate: first.estimate.clone(),
            occupancy_limiter: first.facts.as_ref().and_then(|facts| facts.limiter),
            launches: launches(passes),
            timeline: first.timeline.clone(),
            parts: parts(first, terms),
            costly: first.costly.clone(),
            code: first.code.clone(),
            source: None,
            over_time: None,
            buffer_bytes: first.buffer_bytes,
            inputs: passes.iter().find_map(|pass| pass.inputs),
            setup_ns: passes.iter().filter_map(|pass| pass.setup_ns).reduce(Nanoseconds::max),
            verified: passes.iter().any(|pass| pass.verified),
            largest_error: passes.iter().filter_map(|pass| pass.largest_error).reduce(f64::max),
            verification: passes.iter().find_map(|pass| pass.verification.clone()),
            unverified: passes.iter().find_map(|pass| pass.unverified),
            checks: passes.iter().find_map(|pass| pass.checks),
            retried: None,
            failed_attempts: Vec::new(),
            configuration,
        },
    }
}

/// The launches of the first pass, each with the median times of all passes that know them.
fn launches(passes: &[PassResult]) -> Vec<LaunchRecord> {
    let Some(first) = passes.first() else { return Vec::new() };
    let at = |index: usize, time: fn(&LaunchRecord) -> Option<u64>| {
        let known = passes.iter().filter_map(|pass| pass.launches.get(index).and_then(time));
        let mut known: Vec<u64> = known.collect();
        known.sort_unstable();
        known.get(known.len() / 2).copied()
    };
    let merged = |(index, launch): (usize, &LaunchRecord)| LaunchRecord {
        start_ns: at(index, |launch| launch.start_ns),
        duration_ns: at(index, |launch| launch.duration_ns),
        ..launch.clone()
    };
    first.launches.iter().enumerate().map(merged).collect()
}

/// The metrics of the parts of `pass`.
fn parts(pass: &PassResult, terms: &CollectContext<'_>) -> Vec<PartResult> {
    // Attributes of the device are not a part's.
    let device = DeviceRecord { attributes: BTreeMap::new(), ..pass.device.clone() };
    let of_part = |counted: &CountedPart| {
        let CountedPart { part, counters, hardware, estimate } = counted.clone();
        let launches = match &part {
            Part::Launch(at) => pass.launches.get(*at).cloned().into_iter().collect(),
            Part::Kernel(_) | Part::Range(_) => Vec::new(),
        };
        let device = device.clone();
        let pass =
            PassResult { device, launches, counters, hardware, estimate, ..PassResult::default() };
        // One pass agrees with itself.
        let found = metrics(&[pass], terms).unwrap_or_default();
        // An estimate is no value without its interval.
        let value = |(name, result): (&str, &MetricResult)| {
            let known = result.value.as_ref().ok().filter(|_| result.interval.is_none())?;
            Some((name.to_owned(), *known))
        };
        let metrics = found.iter().filter_map(value).collect();
        PartResult { part, metrics, estimate: counted.estimate.clone() }
    };
    pass.parts.iter().map(of_part).collect()
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
        estimate: None,
        occupancy_limiter: None,
        launches: Vec::new(),
        timeline: None,
        parts: Vec::new(),
        costly: Vec::new(),
        code: Vec::new(),
        source: None,
        over_time: None,
        buffer_bytes: None,
        inputs: None,
        setup_ns: None,
        verified: false,
        largest_error: None,
        verification: None,
        unverified: None,
        checks: None,
        retried: None,
        failed_attempts: Vec::new(),
    }
}

/// Every metric of our table and those asked for over `passes`, repetitions of one pass.
///
/// # Errors
/// The first exact value, launch or device in which two passes differ.
pub fn metrics(passes: &[PassResult], terms: &CollectContext<'_>) -> Result<Metrics, Divergence> {
    replay::agree(passes, terms.discipline)?;
    let Some(first) = passes.first() else { return Ok(Metrics::default()) };
    let emulated = first.device.emulated;
    let patching = perturbation(first);
    let entry = |known: &ResolvedMetric| {
        let perturbation = patching.filter(|_| known.is_patched);
        let class = perturbation.map_or(known.class_on(emulated), |_| Class::Noisy);
        let measured = DeviceMetric { known, class, emulated, perturbation };
        let result = measured.result(passes);
        // Processes that held still say nothing where another did not.
        let alone = result.unstable || result.class == Class::Exact;
        let processes = if alone { Vec::new() } else { measured.per_process(passes) };
        (Arc::from(&*known.metric.name), MetricResult { processes, ..result })
    };
    let catalogue = terms.catalogue;
    let named = first.hardware.keys().filter_map(|name| catalogue.find(name));
    let beyond: Vec<ResolvedMetric> =
        named.map(|metric| ResolvedMetric::new(metric, catalogue)).collect();
    Ok(beyond.iter().chain(&terms.known).map(entry).collect())
}

/// Why patching may have moved the patched counters of a pass, if it may.
fn perturbation(pass: &PassResult) -> Option<Perturbation> {
    let counted = |(name, value): (&String, &HardwareValue)| {
        is_patched(name) && matches!(value, HardwareValue::Value(_))
    };
    match pass.hardware.get(DIVERGENT_BRANCHES) {
        _ if pass.device.emulated || !pass.hardware.iter().any(counted) => None,
        Some(HardwareValue::Value(0.0)) => None,
        Some(HardwareValue::Value(_)) => Some(Perturbation::Divergence),
        Some(HardwareValue::Unavailable(_)) | None => Some(Perturbation::Unknown),
    }
}

/// A metric, and its data in a catalogue.
#[derive(Debug, Clone)]
struct ResolvedMetric {
    metric: Arc<Metric>,
    derived: DerivedMetric,
    /// Whether it needs a counter of patched instructions on hardware.
    is_patched: bool,
    /// How it repeats on hardware, and on the emulated driver.
    classes: [Class; 2],
}

impl ResolvedMetric {
    fn new(metric: Arc<Metric>, catalogue: &Catalogue) -> Self {
        let classes = [false, true].map(|emulated| catalogue.class_on(&metric, emulated));
        let is_patched = catalogue.counts_instructions(&metric)
            || catalogue.hardware_names(&metric).iter().any(|name| is_patched(name));
        let derived = DerivedMetric::new(Arc::clone(&metric), catalogue);
        Self { derived, is_patched, metric, classes }
    }

    fn class_on(&self, emulated: bool) -> Class {
        self.classes[usize::from(emulated)]
    }
}

/// A metric on a device.
struct DeviceMetric<'k> {
    known: &'k ResolvedMetric,
    class: Class,
    emulated: bool,
    perturbation: Option<Perturbation>,
}

impl DeviceMetric<'_> {
    fn result(&self, passes: &[PassResult]) -> MetricResult {
        let ResolvedMetric { metric, derived, .. } = self.known;
        let (value, statistics) = match metric.origin {
            Origin::Derived(_) => derived.value(passes),
            _ => {
                let value = pass_value::value(metric, passes).and_then(finite);
                let step = pass_value::step(&metric.name);
                let samples =
                    || descriptive::over(&pass_value::samples(&metric.name, passes), step);
                let mut statistics = value.is_ok().then(samples).flatten();
                if let (Origin::Energy, Some(statistics)) = (&metric.origin, &mut statistics) {
                    statistics.step = pass_value::energy_resolution(passes);
                }
                (value, statistics)
            }
        };
        let held = |name: &&str| pass_value::unstable(name, passes).is_none();
        let estimated = self.emulated && value.is_ok() && derived.depends_on_duration();
        MetricResult {
            perturbation: self.perturbation.filter(|_| value.is_ok()),
            unstable: value.is_err() && !derived.timed_leaves().iter().all(held),
            value,
            unit: metric.unit,
            direction: metric.direction,
            direction_set: metric.direction_set.is_some(),
            // The model gives the same number again.
            class: if estimated { Class::Exact } else { self.class },
            source: match estimated {
                true => Source::Estimated,
                false => pass_value::source(metric, self.emulated),
            },
            interval: if estimated { derived.interval(passes) } else { None },
            statistics: statistics.map(Box::new),
            processes: Vec::new(),
        }
    }

    /// The value of a noisy metric per process, for comparisons: the process is the unit of
    /// replication.
    fn per_process(&self, passes: &[PassResult]) -> Vec<ProcessValue> {
        // Counters are collected in one process, and every pass holds its values: they are one
        // observation, however many processes took times.
        let passes = match self.known.derived.timed_leaves()[..] {
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
