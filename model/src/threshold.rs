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

mod check;
mod limit;
mod selector;
mod written;

pub use limit::{Comparison, Limit, Tolerance};
pub use selector::Selector;
pub use written::WrittenThreshold;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Metric};
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

    /// The threshold that no configuration gets worse in `metric` than the baseline by more than
    /// `percent`, where worse is beyond the `comparison`.
    pub fn against_baseline(metric: &str, comparison: Comparison, percent: f64) -> Self {
        let written = Comparison::SYMBOLS.into_iter().find(|(_, known)| *known == comparison);
        let head = format!("every {metric} {} ", written.map_or("", |(symbol, _)| symbol));
        let limit = match percent {
            0.0 => "baseline".to_owned(),
            _ => format!("baseline {} {}%", if percent < 0.0 { '-' } else { '+' }, percent.abs()),
        };
        let start = "every ".len();
        Self {
            severity: Severity::Hard,
            device: None,
            selector: Selector::Every,
            metric: metric.to_owned(),
            metric_span: start..start + metric.len(),
            statistic: Statistic::Median,
            comparison,
            limit: Limit::Baseline(Tolerance { percent, floor: None }),
            better: None,
            limit_span: head.len()..head.len() + limit.len(),
            text: head + &limit,
        }
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

    /// Whether it is compared with a baseline.
    pub fn needs_baseline(&self) -> bool {
        matches!(self.limit, Limit::Baseline(_))
    }

    /// Whether it takes the place of `default`, a hard limit relative to the baseline over every
    /// configuration: a `warn`, a `where`, `best`, a fixed limit and one to the other side permit
    /// violations of `default`.
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

    /// Whether each value that `earlier` forbids is forbidden by it, too.
    pub fn covers(&self, earlier: &Self) -> bool {
        use Comparison::{Above, AtLeast, AtMost, Below, Equal};
        let device = |of: &Self| of.device.as_ref().map(|name| name.to_lowercase());
        let everywhere = Self { selector: Selector::Every, ..earlier.clone() };
        // `==` and `<` also forbid everything that `<=` with the same limit forbids.
        let forbids_as_much = self.comparison == earlier.comparison
            || matches!(
                (self.comparison, earlier.comparison),
                (Equal | Below, AtMost) | (Equal | Above, AtLeast)
            );
        forbids_as_much
            && (self.device.is_none() || device(self) == device(earlier))
            && (self.has_subject_of(earlier) || self.has_subject_of(&everywhere))
            && self.limit.allows_no_more_than(earlier.limit, earlier.comparison)
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
    for (symbol, comparison) in Comparison::SYMBOLS {
        if cursor.eat(symbol) {
            return Ok(comparison);
        }
    }
    Err(ParseError::new("expected a comparison: >=, <=, >, < or ==", cursor.next_span()))
}

#[cfg(test)]
#[path = "threshold/tests.rs"]
mod tests;
