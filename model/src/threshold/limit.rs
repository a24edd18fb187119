//! The grammar of limits: `100 us`, `60% of peak`, `baseline + 5% and at least 1 us`.
//!
//! Input: the text after the comparison. Output: a [`Limit`] that can be met: a tolerance that
//! always holds, or a floor that widens nothing, is refused at its position.

use crate::metric::built_in;
use crate::quantity::{GPU_UNITS, Quantity, Unit, gpu_unit_named, parse_number};
use crate::suggest::did_you_mean;
use crate::text::{Cursor, ParseError};

/// How the value and the limit are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
    /// `==`
    Equal,
}

impl Comparison {
    /// Each as thresholds write it; a symbol comes before its beginning.
    pub(super) const SYMBOLS: [(&str, Self); 5] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    /// Whether `value` compares with `limit` as asked.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtLeast => value >= limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::Below => value < limit,
            Self::Equal => value == limit,
        }
    }
}

/// The limit of the value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A number with a unit.
    Absolute(Quantity),
    /// This many percent of the device's peak for the metric.
    PercentOfPeak(f64),
    /// The baseline's value, widened by a tolerance.
    Baseline(Tolerance),
}

impl Limit {
    /// Whether each value that `other` forbids under `comparison` is forbidden by this limit, too.
    pub(super) fn allows_no_more_than(self, other: Self, comparison: Comparison) -> bool {
        let tighter = |ours: f64, theirs: f64| match comparison {
            Comparison::AtMost | Comparison::Below => ours <= theirs,
            Comparison::AtLeast | Comparison::Above => ours >= theirs,
            Comparison::Equal => ours == theirs,
        };
        match (self, other) {
            (Self::Absolute(ours), Self::Absolute(theirs)) => {
                ours.unit == theirs.unit && tighter(ours.value, theirs.value)
            }
            (Self::PercentOfPeak(ours), Self::PercentOfPeak(theirs)) => tighter(ours, theirs),
            (Self::Baseline(ours), Self::Baseline(theirs)) => {
                let floor = |of: Tolerance| of.floor.map_or(0.0, |floor| floor.value);
                tighter(ours.percent, theirs.percent) && floor(ours) <= floor(theirs)
            }
            (Self::Absolute(_) | Self::PercentOfPeak(_) | Self::Baseline(_), _) => false,
        }
    }
}

/// How far a value may be from the baseline's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// `+ 5%` is 5, `- 5%` is −5.
    pub percent: f64,
    /// A change must also be at least this large to fail; in the metric's unit.
    pub floor: Option<Quantity>,
}

impl Tolerance {
    /// The limit for the value `baseline` of the baseline: the percentage or the floor, the one
    /// that allows more under `comparison`.
    pub fn limit(self, baseline: f64, comparison: Comparison) -> f64 {
        let by_percent = baseline + baseline.abs() * self.percent / 100.0;
        let Some(floor) = self.floor else { return by_percent };
        match comparison {
            Comparison::AtMost | Comparison::Below => by_percent.max(baseline + floor.value),
            Comparison::AtLeast | Comparison::Above => by_percent.min(baseline - floor.value),
            Comparison::Equal => by_percent,
        }
    }
}

/// Parses the text after the comparison.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    metric: &str,
    comparison: Comparison,
) -> Result<Limit, ParseError> {
    if cursor.eat_word("baseline") {
        return baseline(cursor, comparison).map(Limit::Baseline);
    }
    let mut ahead = cursor.clone();
    let (word, span) = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    if let Some(unit) = gpu_unit_named(word) {
        *cursor = ahead;
        return Ok(Limit::Absolute(unit));
    }
    let names_unit = || built_in(metric).is_some_and(|metric| metric.unit == Unit::GpuUnit);
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) && names_unit() {
        let message = format!("`{word}` is none of {}", GPU_UNITS.join(", "));
        let near = did_you_mean(word, GPU_UNITS);
        let help = near.unwrap_or_else(|| {
            format!("{metric} is the unit that is nearest its peak: write {metric} == dram")
        });
        return Err(ParseError::new(message, span).with_help(help));
    }
    let help =
        "a limit is a number with a unit (100 us, 1.5 TB/s, 32), N% of peak, or baseline + N%";
    quantity_or_peak(cursor, "expected a limit", help)
}

/// Parses the text after `baseline`: `[+|- N%] [and at least VALUE]`.
fn baseline(cursor: &mut Cursor<'_>, comparison: Comparison) -> Result<Tolerance, ParseError> {
    cursor.skip_space();
    let start = cursor.position();
    let sign = if cursor.eat("+") {
        1.0
    } else if cursor.eat("-") {
        -1.0
    } else {
        0.0
    };
    let percent = if sign == 0.0 { 0.0 } else { percentage(cursor, sign, start, comparison)? };
    let floor_start = cursor.clone();
    if !cursor.eat_word("and") {
        return Ok(Tolerance { percent, floor: None });
    }
    if !(cursor.eat_word("at") && cursor.eat_word("least")) {
        *cursor = floor_start;
        return Ok(Tolerance { percent, floor: None });
    }
    cursor.skip_space();
    let start = cursor.position();
    let help = "a floor is a number with a unit, such as 1 us";
    let Limit::Absolute(floor) = quantity_or_peak(cursor, "expected a floor", help)? else {
        return Err(ParseError::new(
            "a floor is not a share of the peak",
            start..cursor.position(),
        )
        .with_help(help));
    };
    let place = start..cursor.position();
    if floor.value < 0.0 {
        return Err(ParseError::new("a floor is not negative", place));
    }
    let widens = match comparison {
        Comparison::AtMost | Comparison::Below => percent >= 0.0,
        Comparison::AtLeast | Comparison::Above => percent <= 0.0,
        Comparison::Equal => false,
    };
    if !widens {
        return Err(ParseError::new("a floor needs a tolerance that it can widen", place)
            .with_help(
                "write <= baseline + 5% and at least 1 us, or >= baseline - 5% and at least 1 GB/s",
            ));
    }
    Ok(Tolerance { percent, floor: Some(floor) })
}

/// The percentage of a tolerance with its `sign` at `start`.
fn percentage(
    cursor: &mut Cursor<'_>,
    sign: f64,
    start: usize,
    comparison: Comparison,
) -> Result<f64, ParseError> {
    let (number, span) =
        cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    if number.is_empty() {
        let place = cursor.next_span();
        return Err(ParseError::new("expected a percentage after `baseline`", place)
            .with_help("write baseline + 5%"));
    }
    let value = parse_number(number, span.clone())?;
    if !cursor.eat("%") {
        return Err(ParseError::new("a tolerance is a percentage", span)
            .with_help("write baseline + 5%, or baseline and at least 1 us"));
    }
    let place = start..cursor.position();
    if value.is_sign_negative() {
        return Err(ParseError::new("a tolerance has one sign", place)
            .with_help("write baseline + 5% or baseline - 5%"));
    }
    if comparison == Comparison::Equal {
        return Err(ParseError::new("`==` has no tolerance", place)
            .with_help("write == baseline, or <= baseline + 5%"));
    }
    if sign < 0.0 && value >= 100.0 {
        let message = match comparison {
            Comparison::AtMost | Comparison::Below => "nothing can decrease by 100% or more",
            _ => "a decrease by 100% or more always holds",
        };
        return Err(ParseError::new(message, place).with_help("write a percentage below 100"));
    }
    Ok(sign * value)
}

fn quantity_or_peak(
    cursor: &mut Cursor<'_>,
    expected: &str,
    help: &str,
) -> Result<Limit, ParseError> {
    let (number, number_span) =
        cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
    if number.is_empty() {
        return Err(ParseError::new(expected, cursor.next_span()).with_help(help));
    }
    // `100us` and `1e6` are both one run of characters: the number ends where it stops parsing.
    let digits = (1..=number.len())
        .rev()
        .find(|&end| {
            number.is_char_boundary(end) && number[..end].replace('_', "").parse::<f64>().is_ok()
        })
        .unwrap_or(number.len());
    let (value, glued) = number.split_at(digits);
    let value_span = number_span.start..number_span.start + digits;
    let percent = glued.is_empty() && cursor.eat("%");
    if percent && cursor.eat_word("of") {
        if !cursor.eat_word("peak") {
            return Err(ParseError::new("expected `peak` after `of`", cursor.next_span()));
        }
        let share = parse_number(value, value_span.clone())?;
        if share < 0.0 {
            return Err(ParseError::new("a share of the peak is not negative", value_span));
        }
        return Ok(Limit::PercentOfPeak(share));
    }
    let (tail, tail_span) = if percent {
        ("%", value_span.end..value_span.end + 1)
    } else if glued.is_empty() {
        let ahead = cursor.clone();
        let taken = cursor.take_while(|c| c.is_alphabetic() || c == '/');
        if taken.0 == "of" {
            return Err(ParseError::new("a share of the peak is a percentage", value_span)
                .with_help(format!("write {value}% of peak")));
        }
        if taken.0 == "and" {
            *cursor = ahead;
            ("", taken.1)
        } else {
            taken
        }
    } else {
        let start = number_span.start + digits;
        let (more, more_span) = if cursor.rest().starts_with('/') {
            cursor.take_while(|c| c.is_alphabetic() || c == '/')
        } else {
            ("", number_span.end..number_span.end)
        };
        let symbol = format!("{glued}{more}");
        return Quantity::from_parts((value, value_span), (&symbol, start..more_span.end))
            .map(Limit::Absolute);
    };
    Quantity::from_parts((value, value_span), (tail, tail_span)).map(Limit::Absolute)
}
