//! Thresholds: conditions on a metric that a series must meet.
//!
//! Input: `[warn] [on "DEVICE"] [best|every|where AXIS==V [and AXIS==V]…]
//! METRIC[.median|.p95|.min|.mean] (>=|<=|>|<|==) LIMIT[, lower|higher is better]`, where a limit
//! is a number with a unit, `N% of peak`, or `baseline [+|- N%] [and at least VALUE]`. Output: a
//! [`Threshold`] whose limit is finite and in a unit the metric has. A threshold without a selector
//! holds for every configuration.
//!
//! A limit relative to the baseline may have a tolerance in percent and a floor in the metric's
//! unit. Both must be exceeded to fail: `duration <= baseline + 5% and at least 1 us` lets a kernel
//! of 2 µs take 3 µs, and one of 100 µs take 105 µs.

mod limit;
mod selector;
mod written;

pub use limit::{Comparison, Limit, Tolerance};
pub use selector::Selector;
pub use written::WrittenThreshold;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::metric::{Class, Direction, Metric, is_own};
use crate::quantity::Unit;
use crate::space::Space;
use crate::suggest::did_you_mean;
use crate::text::{Cursor, ParseError, is_name_char};

/// The statistic of the samples to compare; the value itself if there are no samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The middle sample.
    Median,
    /// The 95th percentile.
    P95,
    /// The smallest sample.
    Min,
    /// The arithmetic mean.
    Mean,
}

impl Statistic {
    /// As thresholds write it, behind the metric and a dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::P95 => "p95",
            Self::Min => "min",
            Self::Mean => "mean",
        }
    }
}

/// The effect of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It fails the gate.
    #[default]
    Hard,
    /// It is reported but fails nothing: `warn`.
    Warn,
}

/// A condition on a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The threshold as written.
    pub text: String,
    /// The effect of a violation.
    pub severity: Severity,
    /// A part of the name of the devices it applies to; of all where there is none.
    pub device: Option<String>,
    /// Which configurations it applies to.
    pub selector: Selector,
    /// The metric's name.
    pub metric: String,
    /// The position of the metric in the text.
    pub metric_span: Range<usize>,
    /// The statistic it compares.
    pub statistic: Statistic,
    /// How it compares.
    pub comparison: Comparison,
    /// The limit.
    pub limit: Limit,
    /// Which way is better, if the threshold says it.
    pub better: Option<Direction>,
    limit_span: Range<usize>,
}

/// Words that may precede a metric.
const WORDS: [&str; 5] = ["warn", "on", "best", "every", "where"];

/// How a threshold is written.
const FORM: &str = "a threshold is written [warn] [on \"DEVICE\"] [best|every|where AXIS==VALUE] \
                    METRIC >= LIMIT, such as best throughput >= 60% of peak";

impl Threshold {
    /// Parses a threshold.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let severity = if cursor.eat_word("warn") { Severity::Warn } else { Severity::Hard };
        let device = selector::device(&mut cursor)?;
        if device.is_some() && cursor.clone().eat_word("warn") {
            return Err(ParseError::new("`warn` comes first", cursor.next_span())
                .with_help("write warn on \"DEVICE\" METRIC <= LIMIT"));
        }
        let selector = selector::selector(&mut cursor)?;
        let (word, span) = cursor.take_while(|c| is_name_char(c) || c == '.');
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ParseError::new(
                "expected a metric",
                cursor.next_span().start.min(span.start)..span.end.max(cursor.next_span().end),
            )
            .with_help(FORM));
        }
        let (metric, statistic) = split_statistic(word, &span)?;
        let metric_span = span.start..span.start + metric.len();
        let another = cursor.clone().take_while(is_name_char).0;
        if another.starts_with(|c: char| c.is_alphabetic())
            && let Some(near) = did_you_mean(word, WORDS)
        {
            return Err(ParseError::new(format!("`{word}` is not a word of a threshold"), span)
                .with_help(near));
        }
        let comparison = comparison(&mut cursor)?;
        cursor.skip_space();
        let limit_start = cursor.position();
        let limit = limit::parse(&mut cursor, metric, comparison)?;
        let limit_length = text[limit_start..cursor.position()].trim_end().len();
        let limit_span = limit_start..limit_start + limit_length;
        let better = better(&mut cursor)?;
        if !cursor.at_end() {
            return Err(ParseError::new(
                format!("unexpected `{}` after the limit", cursor.rest().trim_end()),
                cursor.next_span(),
            )
            .with_help("write one condition per threshold"));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            severity,
            device,
            selector,
            metric: metric.to_owned(),
            metric_span,
            statistic,
            comparison,
            limit,
            better,
            limit_span,
        })
    }

    /// Which way is better for `metric`: as the threshold says, or else as the metric has it.
    pub fn direction(&self, metric: &Metric) -> Direction {
        self.better.unwrap_or(metric.direction)
    }

    /// As [`Self::direction`]; if neither is better, the direction that the comparison implies:
    /// `<=` wants less. `==` implies none.
    pub fn wanted(&self, metric: &Metric) -> Direction {
        match (self.direction(metric), self.comparison) {
            (Direction::Neither, Comparison::AtMost | Comparison::Below) => Direction::Lower,
            (Direction::Neither, Comparison::AtLeast | Comparison::Above) => Direction::Higher,
            (direction, _) => direction,
        }
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
}

impl Threshold {
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

    /// Whether it is compared with a baseline.
    pub fn needs_baseline(&self) -> bool {
        matches!(self.limit, Limit::Baseline(_))
    }

    /// Whether it takes the place of `default`, a hard limit relative to the baseline over every
    /// configuration: a `warn`, a `where`, `best`, a fixed limit and one to the other side leave
    /// open what `default` closes.
    pub fn replaces(&self, default: &Self) -> bool {
        use Comparison::{Above, AtLeast, AtMost, Below, Equal};
        let same_side = match (self.comparison, default.comparison) {
            (Equal, _) => true,
            (AtMost | Below, other) => matches!(other, AtMost | Below),
            (AtLeast | Above, other) => matches!(other, AtLeast | Above),
        };
        same_side && self.has_subject_of(default)
    }

    /// Whether it takes the place of `earlier`, a threshold of a layer with less weight.
    pub fn supersedes(&self, earlier: &Self) -> bool {
        let device = |of: &Self| of.device.as_ref().map(|name| name.to_lowercase());
        self.comparison == earlier.comparison
            && device(self) == device(earlier)
            && self.has_subject_of(earlier)
    }

    /// Whether it limits the same statistic of the same metric and configurations.
    fn has_subject_of(&self, other: &Self) -> bool {
        // A limit on a change does not replace an absolute limit: both stay.
        self.needs_baseline() == other.needs_baseline()
            // A warning does not lift a gate.
            && !(self.severity == Severity::Warn && other.severity == Severity::Hard)
            && self.selector.means_the_same(&other.selector)
            && (&self.metric, self.statistic) == (&other.metric, other.statistic)
    }

    /// Whether it applies to a device of this name.
    pub fn applies_to_device(&self, device: &str) -> bool {
        let part = self.device.as_ref().map(|part| part.to_lowercase());
        part.is_none_or(|part| device.to_lowercase().contains(&part))
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `duration.p95` → (`duration`, p95); a PerfWorks name keeps its own roll-up.
fn split_statistic<'t>(
    word: &'t str,
    span: &Range<usize>,
) -> Result<(&'t str, Statistic), ParseError> {
    let Some((head, tail)) = word.rsplit_once('.') else { return Ok((word, Statistic::Median)) };
    let known = [Statistic::Median, Statistic::P95, Statistic::Min, Statistic::Mean];
    let statistic = match known.into_iter().find(|statistic| statistic.name() == tail) {
        Some(statistic) => statistic,
        _ if word.contains("__") => return Ok((word, Statistic::Median)),
        _ => {
            let dot = span.start + head.len();
            return Err(ParseError::new(
                format!("`.{tail}` is not a statistic"),
                dot..dot + 1 + tail.len(),
            )
            .with_help("statistics are .median, .p95, .min and .mean"));
        }
    };
    if word.contains("__") && !head.contains('.') {
        return Ok((word, Statistic::Median));
    }
    Ok((head, statistic))
}

/// `, lower is better`, behind a limit.
fn better(cursor: &mut Cursor<'_>) -> Result<Option<Direction>, ParseError> {
    if !cursor.eat(",") {
        return Ok(None);
    }
    let place = cursor.next_span();
    let number_goes_on = cursor.rest().starts_with(|c: char| c.is_ascii_digit());
    let direction = if cursor.eat_word("lower") {
        Some(Direction::Lower)
    } else if cursor.eat_word("higher") {
        Some(Direction::Higher)
    } else {
        None
    };
    match direction {
        Some(_) if cursor.eat_word("is") && cursor.eat_word("better") => Ok(direction),
        _ => Err(ParseError::new("expected `lower is better` or `higher is better`", place)
            .with_help(match number_goes_on {
                true => "numbers have no commas: write 20000 or 20_000",
                false => "write one condition per threshold",
            })),
    }
}

fn comparison(cursor: &mut Cursor<'_>) -> Result<Comparison, ParseError> {
    for (symbol, comparison) in [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        ("==", Comparison::Equal),
        (">", Comparison::Above),
        ("<", Comparison::Below),
    ] {
        if cursor.eat(symbol) {
            return Ok(comparison);
        }
    }
    Err(ParseError::new("expected a comparison: >=, <=, >, < or ==", cursor.next_span()))
}

#[cfg(test)]
#[path = "threshold/tests.rs"]
mod tests;
