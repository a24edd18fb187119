//! Thresholds: conditions on a metric that a series must meet.
//!
//! Comes in: `[warn] [on "DEVICE"] [best|every|where AXIS==V [and AXIS==V]…]
//! METRIC[.median|.p95|.min|.mean] (>=|<=|>|<|==) LIMIT`, where a limit is a number with a unit,
//! `N% of peak`, or `baseline [+|- N%] [and at least VALUE]`. Goes out: a [`Threshold`] whose limit is
//! finite and in a unit the metric has. A threshold without a selector holds for every configuration.
//!
//! A limit relative to the baseline may have a tolerance in percent and a floor in the metric's unit.
//! Both must be exceeded to fail: `duration <= baseline + 5% and at least 1 us` lets a kernel of 2 µs
//! take 3 µs, and one of 100 µs take 105 µs.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::axis::AxisValue;
use crate::configuration::Configuration;
use crate::metric::{Class, Metric};
use crate::quantity::{Quantity, Unit, parse_number};
use crate::text::{Cursor, ParseError, is_name_char};

/// Which configurations a threshold speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The configuration with the best value of the metric.
    Best,
    /// Every configuration.
    Every,
    /// Every configuration with these axis values.
    Where(Vec<(String, AxisValue)>),
}

impl Selector {
    /// Whether the selector speaks of `configuration`; [`Selector::Best`] speaks of all at first.
    pub fn matches(&self, configuration: &Configuration) -> bool {
        match self {
            Self::Best | Self::Every => true,
            Self::Where(pairs) => pairs.iter().all(|(axis, v)| configuration.get(axis) == Some(v)),
        }
    }
}

/// Which statistic of the samples is compared; the value itself where there are no samples.
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

/// What the value is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A number with a unit.
    Absolute(Quantity),
    /// This many percent of the device's peak for the metric.
    PercentOfPeak(f64),
    /// The baseline's value, widened by a tolerance.
    Baseline(Tolerance),
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
    /// The limit for a value whose baseline is `baseline`: the percentage or the floor, whichever
    /// allows more under `comparison`.
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

/// What a violation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It fails the gate.
    #[default]
    Hard,
    /// It is told and fails nothing: `warn`.
    Warn,
}

/// A condition on a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// The threshold as written.
    pub text: String,
    /// What a violation does.
    pub severity: Severity,
    /// A part of the name of the devices it speaks of; of all where there is none.
    pub device: Option<String>,
    /// Which configurations it speaks of.
    pub selector: Selector,
    /// The metric's name.
    pub metric: String,
    /// Where the metric stands in the text.
    pub metric_span: Range<usize>,
    /// The statistic it compares.
    pub statistic: Statistic,
    /// How it compares.
    pub comparison: Comparison,
    /// What with.
    pub limit: Limit,
    limit_span: Range<usize>,
}

impl Threshold {
    /// Parses a threshold.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let severity = if cursor.eat_word("warn") { Severity::Warn } else { Severity::Hard };
        let device = device(&mut cursor)?;
        if device.is_some() && cursor.clone().eat_word("warn") {
            return Err(ParseError::new("`warn` comes first", cursor.next_span())
                .with_help("write warn on \"DEVICE\" METRIC <= LIMIT"));
        }
        let selector = selector(&mut cursor)?;
        let (word, span) = cursor.take_while(|c| is_name_char(c) || c == '.');
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ParseError::new("expected a metric", cursor.next_span().start.min(span.start)..span.end.max(cursor.next_span().end))
                .with_help("a threshold is written [warn] [on \"DEVICE\"] [best|every|where AXIS==VALUE] METRIC >= LIMIT, such as best throughput >= 60% of peak"));
        }
        let (metric, statistic) = split_statistic(word, &span)?;
        let metric_span = span.start..span.start + metric.len();
        let comparison = comparison(&mut cursor)?;
        cursor.skip_space();
        let limit_start = cursor.position();
        let limit = limit(&mut cursor, comparison)?;
        let limit_span = limit_start..limit_start + text[limit_start..].trim_end().len();
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
            limit_span,
        })
    }

    /// Checks that the limit is in a unit the metric has, and that `==` is asked of exact metrics only.
    ///
    /// # Errors
    /// The limit's place with the units that fit.
    pub fn check(&self, metric: &Metric) -> Result<(), ParseError> {
        if self.comparison == Comparison::Equal && metric.class == Class::Noisy {
            return Err(ParseError::new(
                format!("`{}` is noisy and never exactly equal to a limit", metric.name),
                self.metric_span.clone(),
            )
            .with_help("use <= or >="));
        }
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
                .with_help(
                    "only bandwidths such as `throughput` have one; write a limit with a unit",
                ));
            }
        };
        let plain = matches!(metric.unit, Unit::Count | Unit::Ratio);
        if quantity.unit == metric.unit || (plain && quantity.unit == Unit::Count) {
            return Ok(());
        }
        let wanted = match metric.unit {
            Unit::Count | Unit::Ratio => "a plain number".to_owned(),
            unit => format!("a limit in {}", unit.symbol()),
        };
        let found = match quantity.unit.symbol() {
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
    /// Whether it is held against a baseline.
    pub fn needs_baseline(&self) -> bool {
        matches!(self.limit, Limit::Baseline(_))
    }

    /// Whether it speaks of a device of this name.
    pub fn speaks_of(&self, device: &str) -> bool {
        let part = self.device.as_ref().map(|part| part.to_lowercase());
        part.is_none_or(|part| device.to_lowercase().contains(&part))
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `on "H200"`, where it comes next.
fn device(cursor: &mut Cursor<'_>) -> Result<Option<String>, ParseError> {
    if !cursor.eat_word("on") {
        return Ok(None);
    }
    cursor.skip_space();
    let start = cursor.position();
    let help = "write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name";
    let Some(quote) = ['"', '\''].into_iter().find(|quote| cursor.rest().starts_with(*quote))
    else {
        return Err(ParseError::new("expected a device in quotes after `on`", cursor.next_span())
            .with_help(help));
    };
    let rest = &cursor.rest()[1..];
    let Some(length) = rest.find(quote) else {
        let end = start + 1 + rest.len();
        return Err(
            ParseError::new("the device's closing quote is not there", start..end).with_help(help)
        );
    };
    let name = rest[..length].trim();
    if name.is_empty() {
        return Err(
            ParseError::new("the device has no name", start..start + length + 2).with_help(help)
        );
    }
    cursor.advance(length + 2);
    Ok(Some(name.to_owned()))
}

fn selector(cursor: &mut Cursor<'_>) -> Result<Selector, ParseError> {
    if cursor.eat_word("best") {
        return Ok(Selector::Best);
    }
    if cursor.eat_word("every") || !cursor.eat_word("where") {
        return Ok(Selector::Every);
    }
    let mut pairs = Vec::new();
    loop {
        let (axis, span) = cursor.take_while(is_name_char);
        if axis.is_empty() {
            return Err(ParseError::new("expected an axis name after `where`", cursor.next_span())
                .with_help("write where block==256 METRIC >= LIMIT"));
        }
        if !cursor.eat("==") {
            return Err(ParseError::new(
                format!("expected `==` and a value after `{axis}`"),
                cursor.next_span(),
            )
            .with_help(format!("write where {axis}==VALUE METRIC >= LIMIT")));
        }
        let (value, value_span) =
            cursor.take_while(|c| is_name_char(c) || matches!(c, '-' | ':' | '.'));
        let value =
            AxisValue::try_from(value.to_owned()).map_err(|e| e.shifted(value_span.start))?;
        debug_assert!(span.start <= value_span.start);
        pairs.push((axis.to_owned(), value));
        if !(cursor.eat("&&") || cursor.eat_word("and") || cursor.eat(",")) {
            return Ok(Selector::Where(pairs));
        }
    }
}

/// `duration.p95` → (`duration`, p95); a PerfWorks name keeps its own roll-up.
fn split_statistic<'t>(
    word: &'t str,
    span: &Range<usize>,
) -> Result<(&'t str, Statistic), ParseError> {
    let Some((head, tail)) = word.rsplit_once('.') else { return Ok((word, Statistic::Median)) };
    let statistic = match tail {
        "median" => Statistic::Median,
        "p95" => Statistic::P95,
        "min" => Statistic::Min,
        "mean" => Statistic::Mean,
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

fn limit(cursor: &mut Cursor<'_>, comparison: Comparison) -> Result<Limit, ParseError> {
    if cursor.eat_word("baseline") {
        return baseline(cursor, comparison).map(Limit::Baseline);
    }
    let help =
        "a limit is a number with a unit (100 us, 1.5 TB/s, 32), N% of peak, or baseline + N%";
    quantity_or_peak(cursor, "expected a limit", help)
}

/// What follows `baseline`: `[+|- N%] [and at least VALUE]`.
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
    let mut percent = 0.0;
    if sign != 0.0 {
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
            return Err(ParseError::new("a decrease by 100% or more always holds", place)
                .with_help("write a percentage below 100"));
        }
        percent = sign * value;
    }
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
        return parse_number(value, value_span).map(Limit::PercentOfPeak);
    }
    let (tail, tail_span) = if percent {
        ("%", value_span.end..value_span.end + 1)
    } else if glued.is_empty() {
        let ahead = cursor.clone();
        let taken = cursor.take_while(|c| c.is_alphabetic() || c == '/');
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::find;
    use proptest::prelude::*;

    fn parse(text: &str) -> Threshold {
        Threshold::parse(text).unwrap_or_else(|e| panic!("{}", e.render("test", text)))
    }

    fn error(text: &str) -> String {
        Threshold::parse(text).unwrap_err().render("--threshold", text)
    }

    #[test]
    fn the_forms_of_the_book_parse() {
        let t = parse("best throughput >= 60% of peak");
        assert_eq!((t.selector, t.limit), (Selector::Best, Limit::PercentOfPeak(60.0)));
        let t = parse("every duration.p95 <= 100us");
        assert_eq!(t.statistic, Statistic::P95);
        assert_eq!(t.limit, Limit::Absolute(Quantity::new(1e5, Unit::Nanoseconds)));
        let t = parse("where block==256 and n == 16M throughput > 1.5 TB/s");
        assert_eq!(
            t.selector,
            Selector::Where(vec![
                ("block".into(), AxisValue::Int(256)),
                ("n".into(), AxisValue::Int(16 << 20))
            ])
        );
        assert_eq!(t.limit, Limit::Absolute(Quantity::new(1.5e12, Unit::BytesPerSecond)));
        let t = parse("bank_conflicts == 0");
        assert_eq!((t.selector, t.comparison), (Selector::Every, Comparison::Equal));
        assert_eq!(
            parse("registers <= 1_000").limit,
            Limit::Absolute(Quantity::new(1000.0, Unit::Count))
        );
        assert_eq!(
            parse("throughput >= 900GB/s").limit,
            Limit::Absolute(Quantity::new(9e11, Unit::BytesPerSecond))
        );
        assert_eq!(
            parse("theoretical_occupancy >= 50 %").limit,
            Limit::Absolute(Quantity::new(50.0, Unit::Percent))
        );
    }

    #[test]
    fn a_perfworks_name_keeps_its_roll_up() {
        let t = parse("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum <= 32");
        assert_eq!(t.metric, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
        assert_eq!(parse("dram__bytes.min <= 1").metric, "dram__bytes.min");
        assert_eq!(parse("dram__bytes.sum.p95 <= 1").statistic, Statistic::P95);
    }

    #[test]
    fn the_caret_stands_under_the_mistake() {
        assert_eq!(
            error("best throughput => 60%"),
            "expected a comparison: >=, <=, >, < or ==\n  --> --threshold\n   |\n   | best throughput => 60%\n   \
             |                 ^^"
        );
        for (text, message) in [
            ("", "expected a metric"),
            ("best >= 5", "expected a metric"),
            ("duration.p99 < 5 us", "`.p99` is not a statistic"),
            ("duration < fast", "`fast` is not a number"),
            ("duration < nan us", "`nan` is not a finite number"),
            ("duration < inf", "`inf` is not a finite number"),
            ("duration < 5 uss", "no unit is called `uss`"),
            ("duration <", "expected a limit"),
            ("throughput >= 60% of roof", "expected `peak` after `of`"),
            ("where >= 5", "expected an axis name"),
            ("where block 5", "expected `==`"),
            ("registers <= 32 and more", "unexpected `and more`"),
        ] {
            assert!(error(text).starts_with(message), "{text}: {}", error(text));
        }
    }

    #[test]
    fn a_limit_must_be_in_the_metrics_unit() {
        let check = |text: &str| parse(text).check(find(&parse(text).metric).unwrap());
        assert!(check("duration <= 5 us").is_ok());
        assert!(check("load_sectors_per_request <= 4.5").is_ok());
        assert_eq!(
            check("duration <= 5").unwrap_err().message,
            "`duration` needs a limit in ns, and this is a plain number"
        );
        assert_eq!(
            check("registers <= 32 us").unwrap_err().message,
            "`registers` needs a plain number, and this is a limit in ns"
        );
        assert!(check("duration == 5 us").unwrap_err().message.contains("is noisy"));
        assert!(check("registers <= 60% of peak").unwrap_err().message.contains("no peak"));
    }

    #[test]
    fn a_limit_may_be_relative_to_the_baseline() {
        let tolerance = |text: &str| match parse(text).limit {
            Limit::Baseline(Tolerance { percent, floor }) => (percent, floor.map(|f| f.value)),
            other => panic!("{other:?}"),
        };
        assert_eq!(tolerance("every duration <= baseline + 5%"), (5.0, None));
        assert_eq!(tolerance("duration<=baseline+5%"), (5.0, None));
        assert_eq!(tolerance("throughput >= baseline - 2.5 %"), (-2.5, None));
        assert_eq!(tolerance("bank_conflicts == baseline"), (0.0, None));
        assert_eq!(tolerance("duration <= baseline + 5% and at least 1 us"), (5.0, Some(1000.0)));
        assert_eq!(tolerance("duration <= baseline and at least 1us"), (0.0, Some(1000.0)));
        assert!(parse("duration <= baseline").needs_baseline());
        assert!(!parse("duration <= 5 us").needs_baseline());
    }

    #[test]
    fn both_the_percentage_and_the_floor_must_be_exceeded() {
        let limit = |text: &str, baseline| {
            let threshold = parse(text);
            let Limit::Baseline(tolerance) = threshold.limit else { panic!("{text}") };
            tolerance.limit(baseline, threshold.comparison)
        };
        let text = "duration <= baseline + 5% and at least 1 us";
        assert_eq!(limit(text, 2_000.0), 3_000.0);
        assert_eq!(limit(text, 100_000.0), 105_000.0);
        let text = "throughput >= baseline - 10% and at least 50 GB/s";
        assert_eq!(limit(text, 1e12), 0.9e12);
        assert_eq!(limit(text, 1e11), 0.5e11);
        assert_eq!(limit("duration <= baseline - 20%", 100.0), 80.0);
        assert_eq!(limit("bank_conflicts == baseline", 7.0), 7.0);
    }

    #[test]
    fn a_threshold_may_only_warn_and_speak_of_one_device() {
        let t = parse("warn on \"H200\" best throughput >= 60% of peak");
        assert_eq!((t.severity, t.device.as_deref()), (Severity::Warn, Some("H200")));
        assert_eq!(t.selector, Selector::Best);
        assert!(t.speaks_of("NVIDIA H200") && !t.speaks_of("NVIDIA H100"));
        assert_eq!(parse("on 'gtx 1080' duration < 5 us").device.as_deref(), Some("gtx 1080"));
        let plain = parse("duration < 5 us");
        assert_eq!((plain.severity, plain.speaks_of("any")), (Severity::Hard, true));
    }

    #[test]
    fn baseline_warn_and_device_errors_are_told_in_full() {
        for (text, expected) in [
            (
                "duration <= baseline + 5",
                "a tolerance is a percentage\n  --> --threshold\n   |\n   | duration <= baseline + 5\n   \
                 |                        ^\n   = help: write baseline + 5%, or baseline and at least 1 us",
            ),
            (
                "duration <= baseline +",
                "expected a percentage after `baseline`\n  --> --threshold\n   |\n   | duration <= baseline +\n   \
                 |                       ^\n   = help: write baseline + 5%",
            ),
            (
                "duration <= baseline + nan%",
                "`nan` is not a finite number\n  --> --threshold\n   |\n   | duration <= baseline + nan%\n   \
                 |                        ^^^",
            ),
            (
                "duration <= baseline + -5%",
                "a tolerance has one sign\n  --> --threshold\n   |\n   | duration <= baseline + -5%\n   \
                 |                      ^^^^^\n   = help: write baseline + 5% or baseline - 5%",
            ),
            (
                "bank_conflicts == baseline + 5%",
                "`==` has no tolerance\n  --> --threshold\n   |\n   | bank_conflicts == baseline + 5%\n   \
                 |                            ^^^^\n   = help: write == baseline, or <= baseline + 5%",
            ),
            (
                "throughput >= baseline - 100%",
                "a decrease by 100% or more always holds\n  --> --threshold\n   |\n   | throughput >= baseline - 100%\n   \
                 |                        ^^^^^^\n   = help: write a percentage below 100",
            ),
            (
                "duration <= baseline + 5% and at most 1 us",
                "unexpected `and at most 1 us` after the limit\n  --> --threshold\n   |\n   \
                 | duration <= baseline + 5% and at most 1 us\n   \
                 |                           ^^^\n   = help: write one condition per threshold",
            ),
            (
                "duration <= baseline - 5% and at least 1 us",
                "a floor needs a tolerance that it can widen\n  --> --threshold\n   |\n   \
                 | duration <= baseline - 5% and at least 1 us\n   \
                 |                                        ^^^^\n   = help: write <= baseline + 5% and at least \
                 1 us, or >= baseline - 5% and at least 1 GB/s",
            ),
            (
                "duration <= baseline and at least 5% of peak",
                "a floor is not a share of the peak\n  --> --threshold\n   |\n   \
                 | duration <= baseline and at least 5% of peak\n   \
                 |                                   ^^^^^^^^^^\n   = help: a floor is a number with a unit, such as 1 us",
            ),
            (
                "on H200 duration < 5 us",
                "expected a device in quotes after `on`\n  --> --threshold\n   |\n   | on H200 duration < 5 us\n   \
                 |    ^^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name",
            ),
            (
                "on \"H200 duration < 5 us",
                "the device's closing quote is not there\n  --> --threshold\n   |\n   | on \"H200 duration < 5 us\n   \
                 |    ^^^^^^^^^^^^^^^^^^^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the text is a part of the \
                 device's name",
            ),
            (
                "on \" \" duration < 5 us",
                "the device has no name\n  --> --threshold\n   |\n   | on \" \" duration < 5 us\n   \
                 |    ^^^\n   = help: write on \"H200\" METRIC <= LIMIT; the text is a part of the device's name",
            ),
            (
                "on \"H200\" warn duration < 5 us",
                "`warn` comes first\n  --> --threshold\n   |\n   | on \"H200\" warn duration < 5 us\n   \
                 |           ^^^^\n   = help: write warn on \"DEVICE\" METRIC <= LIMIT",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn a_floor_must_be_in_the_metrics_unit() {
        let check = |text: &str| parse(text).check(find(&parse(text).metric).unwrap());
        assert!(check("duration <= baseline + 5% and at least 1 us").is_ok());
        assert!(check("registers <= baseline and at least 2").is_ok());
        assert_eq!(
            check("duration <= baseline + 5% and at least 2").unwrap_err().message,
            "`duration` needs a limit in ns, and this is a plain number"
        );
        assert!(check("duration == baseline").unwrap_err().message.contains("is noisy"));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_spans_stay_inside(
            text in "(warn )?(on \"H)?(best|every|where |duration <= baseline )?[ -~µ]{0,24}",
        ) {
            if let Err(error) = Threshold::parse(&text) {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?}");
                error.render("x", &text);
            }
        }
    }
}
