//! Formats of benchmark trackers: Bencher's and that of `github-action-benchmark`.
//!
//! Input: a run. Output: the columns of every finished configuration in base units. A value
//! that is not there is left out: neither format can say why. So are estimates, which a tracker
//! would compare with measured values.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gpuprof_model::measurement::Source;
use gpuprof_model::metric::Direction;
use gpuprof_model::run::{ConfigurationResult, MetricResult, Run, SeriesResult};
use serde::Serialize;

use gpuprof_analysis::view::View;

use super::{Report, on_device};
use gpuprof_analysis::view::best;
use gpuprof_system::json_text;

/// Bencher Metric Format: benchmark → measure → value, with the interval where there is one
/// (<https://bencher.dev/docs/reference/bencher-metric-format/>).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bmf;

/// The format `customSmallerIsBetter` of `github-action-benchmark`. It has no place for metrics of
/// which more is better; they are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GithubActionBenchmark;

#[derive(Serialize)]
struct Measured {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// A value that the report shows.
struct ShownValue<'r> {
    series: &'r SeriesResult,
    row: &'r ConfigurationResult,
    metric: &'r str,
    result: &'r MetricResult,
    value: f64,
}

/// Every value shown.
fn list_values(run: &Run) -> impl Iterator<Item = ShownValue<'_>> {
    run.series.iter().flat_map(|series| {
        series.configurations.iter().flat_map(move |row| {
            series.columns.iter().filter_map(move |metric| {
                let value = best::value(row, metric)?;
                let result =
                    best::result(row, metric).filter(|it| it.source != Source::Estimated)?;
                Some(ShownValue { series, row, metric, result, value })
            })
        })
    })
}

fn key(series: &SeriesResult, row: &ConfigurationResult) -> String {
    match row.configuration.0.is_empty() {
        true => series.id.to_string(),
        false => format!("{}/{}", series.id, row.configuration),
    }
}

impl Report for Bmf {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let mut all: BTreeMap<String, BTreeMap<&str, Measured>> = BTreeMap::new();
        for ShownValue { series, row, metric, result, value } in list_values(run) {
            let interval = result.statistics.as_ref().and_then(|statistics| statistics.interval);
            let measured = Measured {
                value,
                lower_value: interval.map(|interval| interval.low),
                upper_value: interval.map(|interval| interval.high),
            };
            all.entry(key(series, row)).or_default().insert(metric, measured);
        }
        json_text::indented(out, &all)
    }
}

impl Report for GithubActionBenchmark {
    fn write_as(&self, _: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let entry = |ShownValue { series, row, metric, result, value }: ShownValue<'_>| {
            let interval = result.statistics.as_ref().and_then(|statistics| statistics.interval);
            let half = |interval: gpuprof_model::comparison::Interval| {
                format!("± {}", (interval.high - interval.low) / 2.0)
            };
            Entry {
                name: format!("{} {metric}", key(series, row)),
                unit: match result.unit.symbol() {
                    "" => "count",
                    symbol => symbol,
                },
                value,
                range: interval.map(half),
                extra: format!(
                    "{}{} at {}:{}",
                    result.source,
                    on_device(row),
                    series.file,
                    series.line
                ),
            }
        };
        let lower = list_values(run).filter(|it| it.result.direction == Direction::Lower);
        json_text::indented(out, &lower.map(entry).collect::<Vec<_>>())
    }
}
