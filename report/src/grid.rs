//! Grids: the headline metric over two axes, one grid for each combination of the others.
//!
//! Input: a series and a metric. Output: lines of text, the last axis across and the one before it
//! down; if colour is allowed, the colour of a grid runs from the best value to the worst. The best
//! value has a `*`, as in the table. Grids that do not fit a screen are counted, not shown.

use gpuprof_system::pad;
use std::collections::HashMap;

use gpuprof_model::metric::Direction;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::{Axis, AxisValue};

use super::cells::NO_VALUE;
use super::estimates::titled;
use super::number::Scale;
use super::paint::Paint;
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::sensitivity;

/// The most grids that are shown.
const MOST: usize = 6;

/// The fewest cells for a grid next to the table.
const FEWEST_CELLS: usize = 6;

/// The lines for `metric`; none where fewer than two axes vary.
pub(super) fn lines(
    series: &SeriesResult,
    metric: &str,
    width: Option<u16>,
    paint: Paint,
) -> Vec<String> {
    let names = sensitivity::independent_axes(series);
    let axes: Vec<&Axis> = names
        .iter()
        .filter_map(|name| series.axes.iter().find(|axis| axis.name == *name))
        .collect();
    let [others @ .., down, across] = axes.as_slice() else { return Vec::new() };
    if down.values.len() * across.values.len() < FEWEST_CELLS {
        return Vec::new();
    }
    let cells = Cells::collect(series, metric, down, across);
    let mut groups: Vec<Vec<(&str, &AxisValue)>> = Vec::new();
    for row in &series.configurations {
        let group: Option<Vec<_>> = others
            .iter()
            .map(|axis| Some((axis.name.as_str(), row.configuration.get(&axis.name)?)))
            .collect();
        groups.extend(group.filter(|group| !groups.contains(group)));
    }
    let symbol = if cells.scale.symbol.is_empty() {
        String::new()
    } else {
        format!(" [{}]", cells.scale.symbol)
    };
    let metric = titled(metric, &series.configurations);
    let mut out = vec![format!("{metric}{symbol}, {} down, {} across", down.name, across.name)];
    for group in groups.iter().take(MOST) {
        let pairs: Vec<String> =
            group.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        if !pairs.is_empty() {
            out.extend([String::new(), pairs.join(",")]);
        }
        out.extend(cells.grid(group, width.map_or(usize::MAX, usize::from), paint));
    }
    if groups.len() > MOST {
        out.push(format!("{} more grids are not shown; --filter chooses", groups.len() - MOST));
    }
    out
}

struct Cells<'s> {
    down: &'s Axis,
    across: &'s Axis,
    scale: Scale,
    direction: Direction,
    /// Value and mark by the values of all axes.
    values: HashMap<Vec<(&'s str, &'s AxisValue)>, (f64, bool)>,
}

impl<'s> Cells<'s> {
    fn collect(series: &'s SeriesResult, metric: &str, down: &'s Axis, across: &'s Axis) -> Self {
        let rows = &series.configurations;
        let found = rows.iter().find_map(|row| best::result(row, metric));
        let marks = columns::marks_of_best(metric, rows);
        let independent = sensitivity::independent_axes(series);
        let mut values = HashMap::new();
        for (row, marked) in rows.iter().zip(marks) {
            let Some(value) = best::value(row, metric) else { continue };
            let place = independent
                .iter()
                .filter_map(|axis| Some((*axis, row.configuration.get(axis)?)))
                .collect();
            values.insert(place, (value, marked));
        }
        let all: Vec<f64> = values.values().map(|(value, _)| *value).collect();
        let unit = found.map_or(gpuprof_model::Unit::Count, |result| result.unit);
        let direction = found.map_or(Direction::Lower, |result| result.direction);
        Self { down, across, scale: Scale::choose(unit, &all), direction, values }
    }

    fn get(
        &self,
        group: &[(&'s str, &'s AxisValue)],
        down: &'s AxisValue,
        across: &'s AxisValue,
    ) -> Option<(f64, bool)> {
        let mut place = group.to_vec();
        place.extend([(self.down.name.as_str(), down), (self.across.name.as_str(), across)]);
        self.values.get(&place).copied()
    }

    /// One grid, cut into several where its columns do not fit.
    fn grid(&self, group: &[(&'s str, &'s AxisValue)], limit: usize, paint: Paint) -> Vec<String> {
        let text = |cell: Option<(f64, bool)>| match cell {
            Some((value, true)) => format!("* {}", self.scale.text(value)),
            Some((value, false)) => self.scale.text(value),
            None => NO_VALUE.to_owned(),
        };
        let all: Vec<f64> = self
            .down
            .values
            .iter()
            .flat_map(|down| {
                self.across.values.iter().filter_map(|across| self.get(group, down, across))
            })
            .map(|(value, _)| value)
            .collect();
        let head = self.down.values.iter().map(|v| v.to_string().len()).max().unwrap_or(0);
        let cell = |across: &'s AxisValue| {
            let cells = self
                .down
                .values
                .iter()
                .map(|down| text(self.get(group, down, across)).chars().count());
            cells.chain([across.to_string().len()]).max().unwrap_or(0)
        };
        let widest = self.across.values.iter().map(cell).max().unwrap_or(0);
        let columns =
            (limit.saturating_sub(head) / (widest + 2)).clamp(1, self.across.values.len());
        let mut out = Vec::new();
        for part in self.across.values.chunks(columns) {
            out.push(String::new());
            let titles: String = part
                .iter()
                .map(|across| format!("  {}", pad::right(&across.to_string(), widest)))
                .collect();
            out.push(format!("{}{}", pad::left("", head), paint.faint(titles)));
            for down in &self.down.values {
                let mut line = paint.faint(pad::right(&down.to_string(), head));
                for across in part {
                    let found = self.get(group, down, across);
                    let padded = pad::right(&text(found), widest);
                    line.push_str("  ");
                    line.push_str(&match found {
                        Some((value, _)) => paint.heat(self.heat(value, &all), padded),
                        None => padded,
                    });
                }
                out.push(line);
            }
        }
        out
    }

    /// Where `value` is between the best (0) and the worst (1) of `all`.
    fn heat(&self, value: f64, all: &[f64]) -> f64 {
        let smallest = all.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest <= smallest {
            return 0.0;
        }
        let place = (value - smallest) / (largest - smallest);
        match self.direction {
            Direction::Lower => place,
            Direction::Higher => 1.0 - place,
            Direction::Neither => 0.0,
        }
    }
}
