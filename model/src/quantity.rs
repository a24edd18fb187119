//! Quantities: numbers with units, their text and their scaling for people.
//!
//! Input: `100 us`, `1.5 TB/s`, `60 %`, `32`. Output: a [`Quantity`] in the base unit of its
//! dimension (nanoseconds, bytes, bytes a second, …). NaN and infinities never get in.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::suggest::did_you_mean;
use crate::text::ParseError;

/// The base unit of a dimension; every [`Quantity`] is kept in one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Unit {
    /// A count of things.
    #[serde(rename = "count")]
    Count,
    /// A quotient of two like things.
    #[serde(rename = "ratio")]
    Ratio,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Bytes a second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Floating-point operations a second.
    #[serde(rename = "FLOP/s")]
    FlopPerSecond,
    /// Cycles a second.
    #[serde(rename = "Hz")]
    Hertz,
    /// Joules.
    #[serde(rename = "J")]
    Joules,
    /// A unit of the GPU, by its place: 1 the multiprocessors (`sm`), 2 `l1`, 3 `l2`, 4 `dram`.
    #[serde(rename = "gpu-unit")]
    GpuUnit,
}

/// The units of the GPU, as thresholds and tables name them; the first has place 1.
pub const GPU_UNITS: [&str; 4] = ["sm", "l1", "l2", "dram"];

/// The name of the unit of the GPU at a place.
pub fn gpu_unit(place: f64) -> Option<&'static str> {
    (1..).zip(GPU_UNITS).find(|(at, _)| f64::from(*at) == place).map(|(_, name)| name)
}

/// The unit of the GPU called `name`, by its place.
pub fn gpu_unit_named(name: &str) -> Option<Quantity> {
    let found = (1..).zip(GPU_UNITS).find(|(_, known)| known.eq_ignore_ascii_case(name));
    found.map(|(at, _)| Quantity::new(f64::from(at), Unit::GpuUnit))
}

/// Unit symbols, the unit each belongs to, and how many base units one of it is.
const SYMBOLS: &[(&str, Unit, f64)] = &[
    ("ns", Unit::Nanoseconds, 1.0),
    ("us", Unit::Nanoseconds, 1e3),
    ("µs", Unit::Nanoseconds, 1e3),
    ("ms", Unit::Nanoseconds, 1e6),
    ("s", Unit::Nanoseconds, 1e9),
    ("B", Unit::Bytes, 1.0),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("GiB", Unit::Bytes, 1_073_741_824.0),
    ("kB", Unit::Bytes, 1e3),
    ("MB", Unit::Bytes, 1e6),
    ("GB", Unit::Bytes, 1e9),
    ("B/s", Unit::BytesPerSecond, 1.0),
    ("kB/s", Unit::BytesPerSecond, 1e3),
    ("MB/s", Unit::BytesPerSecond, 1e6),
    ("GB/s", Unit::BytesPerSecond, 1e9),
    ("TB/s", Unit::BytesPerSecond, 1e12),
    ("FLOP/s", Unit::FlopPerSecond, 1.0),
    ("MFLOP/s", Unit::FlopPerSecond, 1e6),
    ("GFLOP/s", Unit::FlopPerSecond, 1e9),
    ("TFLOP/s", Unit::FlopPerSecond, 1e12),
    ("Hz", Unit::Hertz, 1.0),
    ("MHz", Unit::Hertz, 1e6),
    ("GHz", Unit::Hertz, 1e9),
    ("J", Unit::Joules, 1.0),
    ("kJ", Unit::Joules, 1e3),
    ("mJ", Unit::Joules, 1e-3),
    ("uJ", Unit::Joules, 1e-6),
    ("µJ", Unit::Joules, 1e-6),
    ("%", Unit::Percent, 1.0),
];

impl Unit {
    /// The symbol of the base unit; empty for counts and ratios.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Count | Self::Ratio | Self::GpuUnit => "",
            Self::Percent => "%",
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::BytesPerSecond => "B/s",
            Self::FlopPerSecond => "FLOP/s",
            Self::Hertz => "Hz",
            Self::Joules => "J",
        }
    }

    /// All symbols of the dimension, the base unit's first; none of counts and ratios.
    pub fn symbols(self) -> Vec<&'static str> {
        SYMBOLS.iter().filter(|(_, unit, _)| *unit == self).map(|(symbol, ..)| *symbol).collect()
    }

    /// The scale in which `magnitude` base units read best: its symbol and its size in base units.
    pub fn scale_for(self, magnitude: f64) -> (&'static str, f64) {
        let preferred: &[&str] = match self {
            Self::Nanoseconds => &["s", "ms", "µs", "ns"],
            Self::Bytes => &["GiB", "MiB", "KiB", "B"],
            Self::BytesPerSecond => &["TB/s", "GB/s", "MB/s", "kB/s", "B/s"],
            Self::FlopPerSecond => &["TFLOP/s", "GFLOP/s", "MFLOP/s", "FLOP/s"],
            Self::Hertz => &["GHz", "MHz", "Hz"],
            Self::Joules => &["kJ", "J", "mJ", "µJ"],
            Self::Percent => &["%"],
            Self::Count | Self::Ratio | Self::GpuUnit => return ("", 1.0),
        };
        let sized =
            |symbol: &&str| SYMBOLS.iter().find(|(s, unit, _)| s == symbol && *unit == self);
        preferred
            .iter()
            .filter_map(sized)
            .find(|(_, _, size)| magnitude.abs() >= *size)
            .or_else(|| preferred.last().and_then(sized))
            .map_or(("", 1.0), |&(symbol, _, size)| (symbol, size))
    }
}

/// A number in the base unit of its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quantity {
    /// How many base units.
    pub value: f64,
    /// The base unit.
    pub unit: Unit,
}

/// How many decimals of a percentage of change are written: one, and more for a small one, so that
/// it differs from none.
pub fn decimals_of_percent(percent: f64) -> usize {
    match percent.abs() {
        size if size >= 0.05 => 1,
        size if size >= 0.005 => 2,
        _ => 3,
    }
}

impl Quantity {
    /// `value` base units of `unit`.
    pub fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }

    /// Reads a number and its unit symbol; without a symbol the quantity is a count.
    ///
    /// `number` and `symbol` are slices of one text; their ranges in it are given for errors.
    ///
    /// # Errors
    /// A number that is not finite or not decimal; a symbol that no dimension has.
    pub fn from_parts(
        number: (&str, Range<usize>),
        symbol: (&str, Range<usize>),
    ) -> Result<Self, ParseError> {
        let value = parse_number(number.0, number.1)?;
        if symbol.0.is_empty() {
            return Ok(Self::new(value, Unit::Count));
        }
        let Some(&(_, unit, size)) = SYMBOLS.iter().find(|(s, _, _)| *s == symbol.0) else {
            let suffix = matches!(symbol.0, "k" | "K" | "m" | "M" | "g" | "G");
            let help = suffix.then(|| {
                let power = match symbol.0 {
                    "k" | "K" => 3,
                    "m" | "M" => 6,
                    _ => 9,
                };
                format!("only axes have suffixes such as K, M and G: write {}e{power}", number.0)
            });
            let help = help.unwrap_or_else(|| {
                let near = did_you_mean(symbol.0, SYMBOLS.iter().map(|(s, _, _)| *s));
                near.unwrap_or_else(|| {
                    "units are ns us ms s, B KiB MiB GiB, GB/s TB/s, GFLOP/s TFLOP/s, MHz GHz, mJ J, %"
                        .into()
                })
            });
            return Err(
                ParseError::new(format!("unknown unit `{}`", symbol.0), symbol.1).with_help(help)
            );
        };
        Ok(Self::new(value * size, unit))
    }
}

/// Reads a decimal number; NaN and infinities are refused.
pub(crate) fn parse_number(text: &str, span: Range<usize>) -> Result<f64, ParseError> {
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(ParseError::new(format!("`{text}` is not a finite number"), span)),
        Err(_) => Err(ParseError::new(format!("`{text}` is not a number"), span)),
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = gpu_unit(self.value).filter(|_| self.unit == Unit::GpuUnit) {
            return f.write_str(name);
        }
        let (symbol, size) = self.unit.scale_for(self.value);
        let number = format_number(self.value / size);
        match symbol {
            "" => f.write_str(&number),
            "%" => write!(f, "{number}%"),
            _ => write!(f, "{number} {symbol}"),
        }
    }
}

/// A number for people: whole numbers with thousands separators, others with four digits.
pub fn format_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return grouped(value, 0);
    }
    let before_point = value.abs().log10().floor().max(0.0);
    let decimals = (3.0 - before_point).clamp(0.0, 3.0);
    format!("{value:.*}", decimals as usize)
}

/// `value` with `decimals` decimals and thousands separators; what is rounded to 0 has no sign.
pub fn grouped(value: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut out = String::new();
    if value < 0.0 && plain.bytes().any(|digit| matches!(digit, b'1'..=b'9')) {
        out.push('-');
    }
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(number: &str, symbol: &str) -> Result<Quantity, ParseError> {
        Quantity::from_parts((number, 0..number.len()), (symbol, 0..symbol.len()))
    }

    #[test]
    fn quantities_are_kept_in_base_units() {
        assert_eq!(parse("100", "us").unwrap(), Quantity::new(1e5, Unit::Nanoseconds));
        assert_eq!(parse("1.5", "TB/s").unwrap(), Quantity::new(1.5e12, Unit::BytesPerSecond));
        assert_eq!(parse("1_000", "").unwrap(), Quantity::new(1000.0, Unit::Count));
    }

    #[test]
    fn a_quantity_that_is_not_finite_is_refused() {
        for bad in ["nan", "NaN", "inf", "-inf", "1e999", "five", ""] {
            assert!(parse(bad, "us").is_err(), "{bad}");
        }
        assert_eq!(
            parse("1", "uss").unwrap_err().help.unwrap(),
            "did you mean `us`, `ns` or `µs`?"
        );
    }

    #[test]
    fn quantities_are_shown_with_readable_units() {
        for (value, unit, text) in [
            (72_345.0, Unit::Nanoseconds, "72.34 µs"),
            (4.26e12, Unit::BytesPerSecond, "4.260 TB/s"),
            (1_048_576.0, Unit::Count, "1,048,576"),
            (58.25, Unit::Percent, "58.25%"),
            (0.5, Unit::Nanoseconds, "0.500 ns"),
            (2.0 / 3.0, Unit::Ratio, "0.667"),
        ] {
            assert_eq!(Quantity::new(value, unit).to_string(), text);
        }
    }
}
