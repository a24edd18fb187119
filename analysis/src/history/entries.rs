//! The entries that a run adds to a history.
//!
//! Input: a run and its revision. Output: an entry for each series and metric, with the values of
//! all its configurations.

use std::collections::BTreeMap;

use gpuprof_model::each_once::add_new;
use gpuprof_model::history::{Conditions, Entry, Revision, SCHEMA_VERSION, Value};
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::Class;
use gpuprof_model::run::{MetricResult, Run, SeriesResult, Status};

use crate::view::columns;

/// The significant digits that are kept of a noisy value: more are noise, and cost bytes.
const DIGITS: usize = 7;

/// One entry for each series and metric of `run`: the named `metrics`, or by default the metrics
/// that are shown and judged.
pub fn entries(run: &Run, revision: Option<&Revision>, metrics: &[String]) -> Vec<Entry> {
    let of_series = |series| {
        let names = if metrics.is_empty() { kept(series) } else { metrics.to_vec() };
        let entry = move |name: &String| entry(run, revision, series, name);
        names.iter().filter_map(entry).collect::<Vec<_>>()
    };
    run.series.iter().flat_map(of_series).collect()
}

/// The metrics of `series` that are columns or judged, each once.
fn kept(series: &SeriesResult) -> Vec<String> {
    let mut names = columns::choose(&series.columns, &series.configurations);
    let judged = series.judgements.iter().filter_map(|judgement| judgement.threshold.metric());
    add_new(&mut names, judged.map(str::to_owned));
    names
}

fn entry(
    run: &Run,
    revision: Option<&Revision>,
    series: &SeriesResult,
    metric: &str,
) -> Option<Entry> {
    let rows = series.configurations.iter().filter(|row| row.status == Status::Finished);
    let found = rows.filter_map(|row| {
        let result = row.metrics.get(metric)?;
        Some((row.configuration.to_string(), result, value(result)?))
    });
    let found: Vec<(String, &MetricResult, Value)> = found.collect();
    let (_, first, _) = found.first()?;
    let provenance = &run.provenance;
    let device = provenance.device_of(&series.id);
    Some(Entry {
        schema: SCHEMA_VERSION,
        run: run.id.clone(),
        started: provenance.started.clone(),
        revision: revision.cloned(),
        conditions: Conditions {
            device: device.map(|device| device.name.clone()).unwrap_or_default(),
            backend: provenance.backend,
            cache_control: provenance.cache_control,
            clock_control: provenance.clock_control,
        },
        tool: provenance.tool_version.clone(),
        driver: device.map_or(0, |device| device.driver_version),
        toolchain: provenance.kernel_toolchain.clone(),
        series: series.id.to_string(),
        target: series.id.target_beside_key(),
        metric: metric.to_owned(),
        unit: first.unit,
        direction: first.direction,
        class: first.class,
        source: first.source,
        values: found
            .iter()
            .map(|(configuration, _, value)| (configuration.clone(), *value))
            .collect::<BTreeMap<_, _>>(),
    })
}

/// The value of `result`; none of an estimate, in which a new version of the model would look like
/// a change of the code.
fn value(result: &MetricResult) -> Option<Value> {
    if result.source == Source::Estimated {
        return None;
    }
    let value = result.value.as_ref().ok().copied().filter(|value| value.is_finite())?;
    let statistics = result.statistics.as_deref();
    let interval = statistics.and_then(|statistics| statistics.interval);
    let interval = interval.map(|mut interval| {
        interval.low = short(interval.low);
        interval.high = short(interval.high);
        interval
    });
    let value = if result.class == Class::Exact { value } else { short(value) };
    let processes = result.processes.len().max(1);
    Some(Value { value, interval, processes })
}

/// `value` with [`DIGITS`] significant digits.
fn short(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}
