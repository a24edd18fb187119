//! CSV: tidy data, one row per configuration and metric.
//!
//! Input: a run. Output: a header and rows of
//! `package,target,kernel,configuration,status,metric,value,unit,source,class,median,mean,p95`,
//! `min,max,stddev,samples,reason,rank`, followed by `axis:NAME` for every axis that any series of
//! the run has, in order of appearance.
//!
//! * `device`, behind `rank`, is the UUID of the device of a row, in a run that had several and in
//!   no other one.
//! * `slice` and `host`, after those, are the slice of a row and the machine that measured it, only
//!   in a merged run; `host` is empty for unmeasured rows.
//! * `low`, `high`, `limit` and `limit_share`, after those and only in a run with estimates, are
//!   the interval of an estimate, the limit of the time and the part of it that it alone takes.
//! * `rank` is `best` for the best value of a column, and `tied` for values indistinguishable from
//!   it; empty if rows may not be compared by the column or all its values are the same. Rows of
//!   two devices are never compared: each device has its best.
//! * Values are in the base unit that `unit` names (ns, B, B/s, FLOP/s, Hz, J, %; empty for counts
//!   and ratios), in full precision with `.`; the statistics are in the same unit and empty without
//!   samples.
//! * A metric has a row if it has a value, or if it is a column of its series: then `value` is
//!   empty and `reason` says why. Other unavailable metrics have no row.
//! * A text that a spreadsheet would take for a formula gets an apostrophe in front: a text that
//!   begins with `=`, `+`, `-`, `@`, a tab or a line break and is not a number.
//! * A configuration that did not finish has a row for each column, with its `status` and `reason`;
//!   one row with an empty `metric` where the series has no columns.

use std::collections::BTreeMap;
use std::io::{self, Write};

use gpuprof_model::SeriesId;
use gpuprof_model::metric::Class;
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, MetricResult, Run};

use super::Report;
use super::cells::metric_names;
use super::escaped;
use super::measured_by::MeasuredBy;
use gpuprof_analysis::view::View;
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::by_device::parts;
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::rank::{Rank, ranking};

/// The columns before the axes.
const COLUMNS: [&str; 18] = [
    "package",
    "target",
    "kernel",
    "configuration",
    "status",
    "metric",
    "value",
    "unit",
    "source",
    "class",
    "median",
    "mean",
    "p95",
    "min",
    "max",
    "stddev",
    "samples",
    "reason",
];

/// Tidy CSV with a header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Csv;

impl Report for Csv {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let axes = all_axes(run);
        let any = |is: fn(&ConfigurationResult) -> bool| {
            run.series.iter().flat_map(|series| &series.configurations).any(is)
        };
        let labelled = any(|row| row.device.is_some());
        let estimated = any(|row| row.estimate.is_some());
        let measured_by = MeasuredBy::collect(run);
        let label = label_columns(labelled, measured_by.is_known(), estimated);
        let mut writer = csv::Writer::from_writer(out);
        let titles = axes.iter().map(|axis| escaped::csv(&format!("axis:{axis}")));
        let fixed = COLUMNS.iter().chain(&["rank"]).chain(&label).map(|&title| title.to_owned());
        writer.write_record(fixed.chain(titles))?;
        for part in run.series.iter().flat_map(parts) {
            let series = &*part.series;
            let id = series.id.to_string();
            let device = labelled.then(|| escaped::csv(part.device.unwrap_or_default()));
            let viewed = view.apply(series);
            let rows = &viewed.series.configurations;
            let names = metric_names(series, view);
            let headline = view.headline(&viewed.series);
            let marks = |name: &str| match headline {
                Some(decides) if decides == name => columns::marks_of_best(name, rows),
                _ => columns::marks(name, rows),
            };
            let ranks: Vec<(&String, Vec<Rank>)> = names
                .iter()
                .filter(|name| marks(name).contains(&true))
                .filter_map(|name| Some((name, ranking(rows, name)?.ranks)))
                .collect();
            let units = units(&names, &series.configurations);
            let known = |name: &str| units.get(name).copied();
            for &at in &viewed.shown {
                let row = &rows[at];
                let value = |axis: &&str| row.configuration.get(axis).map(ToString::to_string);
                let point: Vec<String> = axes
                    .iter()
                    .map(|axis| value(axis).map(|text| escaped::csv(&text)).unwrap_or_default())
                    .collect();
                let by = measured_by.is_known().then(|| {
                    let (slice, host) = measured_by.row(&id, &row.configuration).unzip();
                    let slice = slice.map(|slice: u32| slice.to_string()).unwrap_or_default();
                    [slice, escaped::csv(host.unwrap_or_default())]
                });
                let labels: Vec<&String> = device.iter().chain(by.iter().flatten()).collect();
                for (name, metric) in metrics(&names, row, view.columns.is_empty()) {
                    let rank = ranks.iter().find(|(other, _)| *other == name);
                    let rank = rank.map_or("", |(_, ranks)| ranks[at].word()).to_owned();
                    let cells = cells(&series.id, row, (name, known(name)), metric);
                    let bounds = if estimated { estimate_cells(row, metric) } else { Vec::new() };
                    let all = cells.iter().chain([&rank]).chain(labels.iter().copied());
                    writer.write_record(all.chain(&bounds).chain(&point))?;
                }
            }
        }
        writer.flush()
    }
}

/// The columns of a run with several devices, of a merged run, and of one with estimates.
fn label_columns(devices: bool, slices: bool, estimates: bool) -> Vec<&'static str> {
    let all: [(bool, &[&str]); 3] = [
        (devices, &["device"]),
        (slices, &["slice", "host"]),
        (estimates, &["low", "high", "limit", "limit_share"]),
    ];
    all.into_iter().filter(|(shown, _)| *shown).flat_map(|(_, names)| names).copied().collect()
}

/// Unit and class of `names`: metrics without any value would be searched for in every row.
fn units<'n>(
    names: &'n [String],
    rows: &[ConfigurationResult],
) -> BTreeMap<&'n str, (Unit, Class)> {
    let unit = |name: &'n String| Some((name.as_str(), columns::unit_and_class(name, rows)?));
    names.iter().filter_map(unit).collect()
}

/// The interval of `metric` of `row` and the limit of the time; empty cells if it is no estimate.
fn estimate_cells(row: &ConfigurationResult, metric: Option<&MetricResult>) -> Vec<String> {
    let Some(interval) = metric.and_then(|metric| metric.interval) else {
        return vec![String::new(); 4];
    };
    let first = row.estimate.as_ref().and_then(|estimate| estimate.limits.first());
    vec![
        interval.low.to_string(),
        interval.high.to_string(),
        first.map(|of| of.limit.to_string()).unwrap_or_default(),
        first.map(|of| of.share.to_string()).unwrap_or_default(),
    ]
}

fn all_axes(run: &Run) -> Vec<&str> {
    let mut axes: Vec<&str> = Vec::new();
    for axis in run.series.iter().flat_map(|series| &series.axes) {
        if !axes.contains(&axis.name.as_str()) {
            axes.push(&axis.name);
        }
    }
    axes
}

/// The metrics that `row` has a line for: the columns in their order, then those of `others` with a
/// value.
fn metrics<'r>(
    columns: &'r [String],
    row: &'r ConfigurationResult,
    others: bool,
) -> Vec<(&'r str, Option<&'r MetricResult>)> {
    let named = columns.iter().map(|name| (name.as_str(), row.metrics.get(name)));
    let others = row
        .metrics
        .iter()
        .filter(|(name, metric)| {
            others && metric.value.is_ok() && columns.iter().all(|c| c != name)
        })
        .map(|(name, metric)| (name, Some(metric)));
    let mut all: Vec<_> = named.chain(others).collect();
    if all.is_empty() {
        all.push(("", None));
    }
    all
}

fn cells(
    id: &SeriesId,
    row: &ConfigurationResult,
    (name, known): (&str, Option<(Unit, Class)>),
    metric: Option<&MetricResult>,
) -> [String; COLUMNS.len()] {
    let reason = row.status.reason().or_else(|| best::no_value_reason(row, name));
    let value = best::value(row, name);
    let samples = metric.and_then(|m| m.statistics.as_ref());
    let unit = metric.map(|m| m.unit).or(known.map(|(unit, _)| unit));
    let repeats = metric.map(|m| m.class).or(known.map(|(_, class)| class));
    let text = |text: Option<String>| text.unwrap_or_default();
    let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
    [
        escaped::csv(&id.package),
        escaped::csv(&id.target),
        escaped::csv(&id.name()),
        escaped::csv(&row.configuration.to_string()),
        row.status.word().to_owned(),
        escaped::csv(name),
        number(value),
        text(unit.map(|unit| unit.symbol().to_owned())),
        text(metric.filter(|_| value.is_some()).map(|m| m.source.to_string())),
        text(repeats.map(|repeats| repeats.name().to_owned())),
        number(samples.map(|s| s.median)),
        number(samples.map(|s| s.mean)),
        number(samples.map(|s| s.p95)),
        number(samples.map(|s| s.min)),
        number(samples.map(|s| s.max)),
        number(samples.map(|s| s.standard_deviation)),
        text(samples.map(|s| s.count.to_string())),
        text(reason.map(escaped::csv)),
    ]
}
