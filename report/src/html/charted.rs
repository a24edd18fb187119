//! The charts of a series: which axis is horizontal, which others make lines, cells or pictures of
//! their own.
//!
//! Input: a series and the metric that decides. Output: the data of the charts. The axis with the
//! most values is horizontal; numbers come before words.

use std::collections::BTreeMap;

use gpuprof_analysis::view::best;
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::pareto;
use gpuprof_analysis::view::rank::{Rank, ranking};
use gpuprof_analysis::view::sensitivity::independent_axes;
use gpuprof_model::AxisValue;
use gpuprof_model::axis::{Axis, AxisKind};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::{ConfigurationResult, SeriesResult};

use super::section::Section;
use crate::chart::{Cell, Course, Heat, Line, Lines, MOST_LINES, Parallel, Point, Scale, Strip};
use crate::{estimates, key, number};

/// The most pictures of one series.
const MOST_PICTURES: usize = 6;

/// The most strips: below them a reader looks for a row, not for a shape.
const MOST_STRIPS: usize = 60;

/// The data of the charts of a series.
pub(super) struct Charted<'s> {
    section: &'s Section<'s>,
    series: &'s SeriesResult,
    metric: &'s str,
    scale: number::Scale,
    ranks: Vec<Rank>,
    base: BTreeMap<&'s str, f64>,
}

impl<'s> Charted<'s> {
    /// The charts of the metric that `decides`, or else of the first that differs from row to row,
    /// of which no value is marked as the best; none where fewer than two configurations have it.
    pub fn draw(section: &'s Section<'s>, decides: Option<&'s str>) -> Option<Self> {
        let series = &*section.viewed.series;
        let metric = decides.or_else(|| columns::first_that_differs(series))?;
        let rows = &series.configurations;
        let values: Vec<f64> = rows.iter().filter_map(|row| best::value(row, metric)).collect();
        if values.len() < 2 {
            return None;
        }
        let ranks = decides.and_then(|name| ranking(rows, name)).map(|ranking| ranking.ranks);
        let changes = series.changes.iter().filter(|change| change.metric == metric);
        let base = changes.filter_map(|c| Some((c.configuration.as_str(), c.baseline?.value)));
        Some(Self {
            section,
            series,
            metric,
            scale: scale_of(rows, metric),
            ranks: ranks.unwrap_or_else(|| vec![Rank::Other; rows.len()]),
            base: base.collect(),
        })
    }

    /// The metric.
    pub fn metric(&self) -> &str {
        self.metric
    }

    /// The metric, marked if its values are estimates.
    fn named(&self) -> String {
        estimates::titled(self.metric, &self.series.configurations)
    }

    /// The metric with its unit.
    pub fn title(&self) -> String {
        titled(&self.named(), &self.scale)
    }

    /// The axes that turn on their own: the horizontal one first.
    fn axes(&self) -> Vec<&'s Axis> {
        let names = independent_axes(self.series);
        let mut axes: Vec<&Axis> =
            self.series.axes.iter().filter(|axis| names.contains(&axis.name.as_str())).collect();
        let words = |axis: &Axis| axis.kind() != AxisKind::Int;
        // Stable: of equal ones the first that was written.
        axes.sort_by_key(|axis| (words(axis), std::cmp::Reverse(axis.values.len())));
        axes
    }

    /// A chart of lines, and how many lines were left out; none without an axis.
    pub fn lines(&self) -> Option<(Lines, usize)> {
        let axes = self.axes();
        let (across, others) = axes.split_first()?;
        let mut groups: Vec<(String, Vec<Point>)> = Vec::new();
        for (row, result) in self.series.configurations.iter().enumerate() {
            let Some(point) = self.point(row, result, across) else { continue };
            let name = named(result, others);
            match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, points)) => points.push(point),
                None => groups.push((name, vec![point])),
            }
        }
        let left_out = groups.len().saturating_sub(MOST_LINES);
        groups.truncate(MOST_LINES);
        let lines = groups.into_iter().map(|(name, mut points)| {
            points.sort_by_key(|point| point.at);
            Line { name, points }
        });
        let chart = Lines {
            title: format!("{} along {}", self.title(), across.name),
            axis: across.name.clone(),
            scale: Scale::of_axis(&across.values),
            metric: self.title(),
            lines: lines.collect(),
        };
        Some((chart, left_out))
    }

    fn point(&self, row: usize, result: &ConfigurationResult, across: &Axis) -> Option<Point> {
        let value = best::value(result, self.metric)?;
        let at = position(result, across)?;
        let interval =
            best::result(result, self.metric)?.statistics.as_ref().and_then(|s| s.interval);
        let interval = best::result(result, self.metric)?.interval.or(interval);
        let scaled = |value: f64| self.scale.scaled(value);
        let base = self.base.get(result.configuration.to_string().as_str());
        Some(Point {
            at,
            value: scaled(value),
            interval: interval.map(|i| (scaled(i.low), scaled(i.high))),
            base: base.map(|&base| scaled(base)),
            rank: self.ranks[row],
            label: self.label(result, value),
            row: self.section.row(row),
        })
    }

    fn label(&self, result: &ConfigurationResult, value: f64) -> String {
        let statistics = best::result(result, self.metric).and_then(|r| r.statistics.as_ref());
        let processes = match statistics {
            Some(s) if s.processes > 1 => format!(", {} processes", s.processes),
            _ => String::new(),
        };
        let sign = estimates::sign(self.metric, std::slice::from_ref(result));
        let (value, symbol) = (self.scale.text(value), self.scale.symbol);
        format!("{}: {sign}{value} {symbol}{processes}", key(result))
    }

    /// A picture of cells for each combination of the axes beyond two, and how many pictures were
    /// left out.
    pub fn heats(&self) -> (Vec<Heat>, usize) {
        let axes = self.axes();
        let [across, down, others @ ..] = axes.as_slice() else { return (Vec::new(), 0) };
        let ratios = best::ratios(&self.series.configurations, self.metric);
        let worst = ratios.iter().flatten().copied().fold(1.0, f64::max);
        let mut pictures: Vec<(String, Vec<Cell>)> = Vec::new();
        for (row, result) in self.series.configurations.iter().enumerate() {
            let badness = match ratios[row] {
                Some(ratio) if worst > 1.0 => ratio.max(1.0).ln() / worst.ln(),
                _ => 0.0,
            };
            let Some(cell) = self.cell(row, result, across, down, badness) else { continue };
            let name = named(result, others);
            match pictures.iter_mut().find(|(other, _)| *other == name) {
                Some((_, cells)) => cells.push(cell),
                None => pictures.push((name, vec![cell])),
            }
        }
        let left_out = pictures.len().saturating_sub(MOST_PICTURES);
        let texts = |axis: &Axis| axis.values.iter().map(ToString::to_string).collect();
        let heat = |(name, cells): (String, Vec<Cell>)| Heat {
            title: match name.as_str() {
                "" => format!("{} over {} and {}", self.title(), across.name, down.name),
                _ => format!("{} at {name}", self.title()),
            },
            columns: (across.name.clone(), texts(across)),
            rows: (down.name.clone(), texts(down)),
            cells,
        };
        (pictures.into_iter().take(MOST_PICTURES).map(heat).collect(), left_out)
    }

    fn cell(
        &self,
        row: usize,
        result: &ConfigurationResult,
        across: &Axis,
        down: &Axis,
        badness: f64,
    ) -> Option<Cell> {
        let value = best::value(result, self.metric)?;
        Some(Cell {
            at: (position(result, across)?, position(result, down)?),
            badness,
            rank: self.ranks[row],
            text: short(self.scale.scaled(value)),
            label: self.label(result, value),
            row: self.section.row(row),
        })
    }

    /// All axes and the deciding metric side by side, for three axes and more; none for fewer. With
    /// `--pareto`, its metrics, and their front.
    pub fn parallel(&self) -> Option<Parallel> {
        let axes = self.axes();
        let rows = &self.series.configurations;
        (axes.len() > 2).then_some(())?;
        let traded = &self.section.view.pareto;
        let own = vec![self.metric.to_owned()];
        let metrics = if traded.len() > 1 { traded } else { &own };
        let front = pareto::front(rows, metrics);
        let scales: Vec<number::Scale> = metrics.iter().map(|name| scale_of(rows, name)).collect();
        let course = |(row, result): (usize, &ConfigurationResult)| {
            let values = metrics.iter().zip(&scales);
            let value = |(name, scale): (&String, &number::Scale)| {
                Some(scale.scaled(best::value(result, name)?))
            };
            Some(Course {
                at: axes.iter().map(|axis| position(result, axis)).collect::<Option<_>>()?,
                values: values.map(value).collect::<Option<_>>()?,
                rank: self.ranks[row],
                front: metrics.len() > 1 && front[row],
                label: self.label(result, best::value(result, self.metric)?),
                row: self.section.row(row),
            })
        };
        let titled = |(name, scale): (&String, &number::Scale)| {
            titled(&estimates::titled(name, rows), scale)
        };
        Some(Parallel {
            title: format!("{} over {}", self.named(), names(&axes)),
            axes: axes.iter().map(|a| (a.name.clone(), Scale::of_axis(&a.values))).collect(),
            metrics: metrics.iter().zip(&scales).map(titled).collect(),
            courses: rows.iter().enumerate().filter_map(course).collect(),
        })
    }

    /// The processes of each configuration that has several, the best first, and how many
    /// configurations were left out.
    pub fn strips(&self) -> (Vec<Strip>, usize) {
        let rows = self.series.configurations.iter().enumerate();
        let mut strips: Vec<Strip> = rows
            .filter_map(|(row, result)| {
                let metric = best::result(result, self.metric)?;
                let scaled = |value: f64| self.scale.scaled(value);
                let values = metric.processes.iter().map(|p| {
                    // The slowest samples are not of the process: most end at the 95th percentile.
                    let samples = (p.min < p.p95).then(|| (scaled(p.min), scaled(p.p95)));
                    (scaled(p.median), samples)
                });
                let values = values.collect::<Vec<_>>();
                (values.len() > 1).then_some(())?;
                let value = scaled(best::value(result, self.metric)?);
                Some(Strip { name: key(result), values, value, rank: self.ranks[row] })
            })
            .collect();
        let lower = best::direction(&self.series.configurations, self.metric)
            .is_none_or(|direction| direction.better(1.0, 2.0));
        strips.sort_by(|a, b| {
            if lower { a.value.total_cmp(&b.value) } else { b.value.total_cmp(&a.value) }
        });
        let left_out = strips.len().saturating_sub(MOST_STRIPS);
        strips.truncate(MOST_STRIPS);
        (strips, left_out)
    }
}

/// The scale of the values of `metric`.
fn scale_of(rows: &[ConfigurationResult], metric: &str) -> number::Scale {
    let unit = rows.iter().find_map(|row| Some(best::result(row, metric)?.unit));
    let values: Vec<f64> = rows.iter().filter_map(|row| best::value(row, metric)).collect();
    number::Scale::choose(unit.unwrap_or(Unit::Count), &values)
}

fn titled(metric: &str, scale: &number::Scale) -> String {
    match scale.symbol {
        "" => metric.to_owned(),
        symbol => format!("{metric} [{symbol}]"),
    }
}

fn names(axes: &[&Axis]) -> String {
    axes.iter().map(|axis| &*axis.name).collect::<Vec<_>>().join(", ")
}

/// A value in four digits, as far as it has them behind the point.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    number::grouped(value, if value.fract() == 0.0 { 0 } else { decimals })
}

/// The position of a row on `axis`.
fn position(result: &ConfigurationResult, axis: &Axis) -> Option<usize> {
    let own: &AxisValue = result.configuration.get(&axis.name)?;
    axis.values.iter().position(|value| value == own)
}

/// The values of `axes` that a row has: `n=1048576, TILE=8`.
fn named(result: &ConfigurationResult, axes: &[&Axis]) -> String {
    let texts = axes.iter().filter_map(|axis| {
        Some(format!("{}={}", axis.name, result.configuration.get(&axis.name)?))
    });
    texts.collect::<Vec<_>>().join(", ")
}
