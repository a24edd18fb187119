//! A curve: the metric that decides along the longest axis of numbers of a series.
//!
//! Input: a series and a metric. Output: a value for each value of the axis that has one; nothing
//! if no axis has five values, or if they are all equal. If other axes vary too, it is the best
//! over them.

use std::collections::HashMap;

use gpuprof_model::metric::Direction;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::{Axis, AxisValue, Unit};

use super::estimates::titled;
use super::number::Scale;
use gpuprof_analysis::view::{best, columns, sensitivity};

/// The fewest values that are worth a curve.
const FEWEST: usize = 5;

/// A metric along an axis.
pub(super) struct Curve<'s> {
    /// The metric's title.
    metric: String,
    /// What is horizontal.
    pub axis: &'s Axis,
    /// The other varying axes.
    others: Vec<&'s str>,
    direction: Direction,
    /// How values are written.
    pub scale: Scale,
    /// A value for each value of the axis, in the unit of the scale.
    pub values: Vec<Option<f64>>,
    /// The smallest of them.
    pub low: f64,
    /// The largest of them.
    pub high: f64,
}

impl<'s> Curve<'s> {
    /// The curve of `metric`.
    pub fn choose(series: &'s SeriesResult, metric: &'s str) -> Option<Self> {
        let names = sensitivity::independent_axes(series);
        let turning = || series.axes.iter().filter(|axis| names.contains(&axis.name.as_str()));
        let numbers = |axis: &&Axis| {
            axis.values.len() >= FEWEST
                && axis.values.iter().all(|v| matches!(v, AxisValue::Int(_)))
        };
        // Of equal ones the first that was written.
        let axis = turning().filter(numbers).rev().max_by_key(|axis| axis.values.len())?;
        let direction = best::direction(&series.configurations, metric)
            .filter(|direction| *direction != Direction::Neither)?;
        let values = best_along(series, metric, axis, direction);
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let low = known.iter().copied().fold(f64::INFINITY, f64::min);
        let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if known.len() < FEWEST || low >= high {
            return None;
        }
        let unit = columns::unit_and_class(metric, &series.configurations);
        let scale = Scale::choose(unit.map_or(Unit::Count, |(unit, _)| unit), &known);
        let others = turning().map(|other| other.name.as_str());
        Some(Self {
            metric: titled(metric, &series.configurations),
            axis,
            others: others.filter(|name| *name != axis.name).collect(),
            direction,
            values: values.into_iter().map(|value| value.map(|v| scale.scaled(v))).collect(),
            low: scale.scaled(low),
            high: scale.scaled(high),
            scale,
        })
    }

    /// The metric with its unit.
    pub fn quantity(&self) -> String {
        match self.scale.symbol {
            "" => self.metric.clone(),
            symbol => format!("{} [{symbol}]", self.metric),
        }
    }

    /// The curve's title: `duration [µs] along n, the best of each block`.
    pub fn title(&self) -> String {
        let best = match self.others.as_slice() {
            [] => String::new(),
            others => format!(", the best of each {}", others.join(" and ")),
        };
        format!("{} along {}{best}", self.quantity(), self.axis.name)
    }

    /// The best value.
    pub fn best(&self) -> f64 {
        if self.direction == Direction::Lower { self.low } else { self.high }
    }
}

/// The best value of `metric` at each value of `axis`.
fn best_along(
    series: &SeriesResult,
    metric: &str,
    axis: &Axis,
    direction: Direction,
) -> Vec<Option<f64>> {
    let places: HashMap<&AxisValue, usize> = axis.values.iter().zip(0..).collect();
    let mut values: Vec<Option<f64>> = vec![None; axis.values.len()];
    for row in &series.configurations {
        let place = row.configuration.get(&axis.name).and_then(|value| places.get(value));
        if let (Some(&at), Some(value)) = (place, best::value(row, metric)) {
            let better = values[at].is_none_or(|other| direction.better(value, other));
            if better {
                values[at] = Some(value);
            }
        }
    }
    values
}
