//! Whether a threshold fits: its metric, its limit and its axes.
//!
//! Input: the known metrics and the axes of a series. Output: the metric, or the place in the text
//! that does not fit.

use std::ops::Range;
use std::sync::Arc;

use super::{Comparison, Limit, Selector, Statistic, Threshold, Tolerance};
use crate::metric::{Catalogue, Class, Direction, Metric, is_own};
use crate::quantity::Unit;
use crate::space::Space;
use crate::suggest::did_you_mean;
use crate::text::{ParseError, is_name_char};

impl Threshold {
    /// The metric, if the threshold fits it.
    ///
    /// # Errors
    /// The place of a metric that `catalogue` does not have; those of [`Self::check`].
    pub fn metric_of(&self, catalogue: &Catalogue) -> Result<Arc<Metric>, ParseError> {
        let Some(metric) = catalogue.find(&self.metric) else {
            return Err(ParseError::new(catalogue.unknown(&self.metric), self.metric_span.clone()));
        };
        self.check(&metric)?;
        Ok(metric)
    }

    /// Checks that every axis of its `where` is one of `axes`, those of `series` in messages; a
    /// list of all of them ends with `advice`.
    ///
    /// # Errors
    /// The place of the first other one, with the nearest of `axes`, or all of them.
    pub fn check_axes(&self, series: &str, axes: &[&str], advice: &str) -> Result<(), ParseError> {
        let Selector::Where(pairs) = &self.selector else { return Ok(()) };
        let unknown = |axis: &&String| !axes.contains(&axis.as_str());
        let Some(axis) = pairs.iter().map(|(axis, _)| axis).find(unknown) else { return Ok(()) };
        let error = ParseError::new(format!("{series} has no axis `{axis}`"), self.axis_span(axis));
        let all =
            || (!axes.is_empty()).then(|| format!("its axes are {}{advice}", axes.join(", ")));
        Err(ParseError { help: did_you_mean(axis, axes.iter().copied()).or_else(all), ..error })
    }

    /// Checks `==`, the statistic and `best`: what does not depend on the limit.
    fn check_form(&self, metric: &Metric) -> Result<(), ParseError> {
        let number = metric.unit != Unit::GpuUnit;
        if self.comparison == Comparison::Equal && metric.class == Class::Noisy && number {
            return Err(ParseError::new(
                format!("`{}` is noisy and never exactly equal to a limit", metric.name),
                self.metric_span.clone(),
            )
            .with_help("use <= or >="));
        }
        if metric.unit == Unit::GpuUnit && self.comparison != Comparison::Equal {
            return Err(ParseError::new(
                format!(
                    "`{}` is a unit of the GPU, of which none is more than another",
                    metric.name
                ),
                self.metric_span.clone(),
            )
            .with_help("write == with one of sm, l1, l2, dram"));
        }
        if self.statistic != Statistic::Median && metric.class == Class::Exact {
            let end = self.metric_span.end;
            let name = self.statistic.name();
            return Err(ParseError::new(
                format!(
                    "`{}` is exact: it has one value, and no `.{name}` of several",
                    metric.name
                ),
                end..end + 1 + name.len(),
            )
            .with_help(format!("write {}", metric.name)));
        }
        if self.selector.is_best() && self.wanted(metric) == Direction::Neither {
            return Err(ParseError::new(
                format!("neither direction of `{}` is better, so none is best", metric.name),
                self.metric_span.clone(),
            )
            .with_help("add `, lower is better` or `, higher is better`, or write `every`"));
        }
        Ok(())
    }

    /// Checks that the limit has a unit of the metric, that `==` is used with exact metrics only
    /// and a statistic with others only, and that `best` is decidable.
    ///
    /// # Errors
    /// The limit's place with the units that fit, or the metric's.
    pub fn check(&self, metric: &Metric) -> Result<(), ParseError> {
        self.check_form(metric)?;
        let quantity = match self.limit {
            Limit::Absolute(quantity) => quantity,
            Limit::Baseline(Tolerance { floor: Some(floor), .. }) => floor,
            Limit::Baseline(_) => return Ok(()),
            Limit::PercentOfPeak(_) if metric.unit == Unit::BytesPerSecond => return Ok(()),
            Limit::PercentOfPeak(_) => {
                return Err(ParseError::new(
                    format!("`{}` has no peak on a device", metric.name),
                    self.limit_span.clone(),
                )
                .with_help(match metric.unit {
                    Unit::Percent => "it is in percent already; write >= 60%",
                    _ => "only bandwidths such as `throughput` have one; write a limit with a unit",
                }));
            }
        };
        // A metric that a user defined may be a difference.
        let ours = is_own(&metric.name);
        let dimensioned = !matches!(metric.unit, Unit::Count | Unit::Ratio | Unit::Percent);
        if ours && dimensioned && quantity.unit == metric.unit && quantity.value < 0.0 {
            let message = format!("`{}` is never negative", metric.name);
            return Err(ParseError::new(message, self.limit_span.clone()));
        }
        let plain = matches!(metric.unit, Unit::Count | Unit::Ratio);
        // Nothing is nothing in every unit.
        let zero = quantity.value == 0.0 && metric.unit != Unit::GpuUnit;
        if quantity.unit == metric.unit || (quantity.unit == Unit::Count && (plain || zero)) {
            return Ok(());
        }
        let wanted = match metric.unit {
            Unit::Count | Unit::Ratio => "a plain number".to_owned(),
            Unit::GpuUnit => "one of sm, l1, l2, dram".to_owned(),
            unit => match unit.symbols().split_last() {
                Some((last, [])) => format!("a limit in {last}"),
                Some((last, first)) => format!("a limit in {} or {last}", first.join(", ")),
                None => "a limit with a unit".to_owned(),
            },
        };
        let found = match quantity.unit.symbol() {
            _ if quantity.unit == Unit::GpuUnit => "a unit of the GPU".to_owned(),
            "" => "a plain number".to_owned(),
            symbol => format!("a limit in {symbol}"),
        };
        Err(ParseError::new(
            format!("`{}` needs {wanted}, and this is {found}", metric.name),
            self.limit_span.clone(),
        ))
    }

    /// Checks that the threshold applies to a configuration of `spaces`, the possible axes of its
    /// series.
    ///
    /// # Errors
    /// The values of its `where` that the first of `spaces` does not have.
    pub fn check_selector(&self, spaces: &[&Space]) -> Result<(), ParseError> {
        let mut reasons = Vec::new();
        for space in spaces {
            let Some(reason) = self.selector.excluded_by(space) else { return Ok(()) };
            reasons.push(reason);
        }
        let Some(reason) = reasons.into_iter().next() else { return Ok(()) };
        let start = self.text.find("where").unwrap_or(0);
        let end = self.text[..self.metric_span.start.min(self.text.len())].trim_end().len();
        Err(ParseError::new(
            format!("the threshold applies to no configuration: {reason}"),
            start..end,
        ))
    }

    /// The position of the `axis` of a `where` in the text.
    pub fn axis_span(&self, axis: &str) -> Range<usize> {
        let word = |at: &usize| {
            let (before, behind) = (&self.text[..*at], &self.text[at + axis.len()..]);
            !before.ends_with(is_name_char) && !behind.starts_with(is_name_char)
        };
        let start = self.text.match_indices(axis).map(|(at, _)| at).find(word).unwrap_or(0);
        start..start + axis.len()
    }
}
