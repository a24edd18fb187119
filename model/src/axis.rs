//! Axes: named launch parameters with their values, and their grammar.
//!
//! Input: `64..=1024`, `64..1024`, `64..1024 step 32`, `64..1024 * 4`, `[64, 96]`, `64,96`, `1K`,
//! `1 << 20`, `16x16,32x8`, `f32,f16`. Output: an [`Axis`] whose values are all of one
//! [`AxisKind`], not empty and without duplicates. Both ends of a range belong to it; an end that
//! the steps never reach is an error, so nothing is rounded behind the user's back.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::text::{Cursor, ParseError, is_name_char};

mod literal;
#[cfg(test)]
mod tests;
mod value;
mod values;

pub(crate) use literal::literal;
pub use value::{AxisKind, AxisValue};
pub use values::MAX_VALUES;

/// Axes that are launch parameters of CUDA itself; every other name is the user's own.
pub const LAUNCH_AXES: [&str; 4] = ["block", "grid", "shared", "cluster"];

/// One named launch parameter with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Axis {
    /// The axis name: `block`, `grid`, `shared`, `cluster`, or the user's own.
    pub name: String,
    /// The values, in the order written, all of one kind.
    pub values: Vec<AxisValue>,
}

impl Axis {
    /// Parses `NAME=VALUES`, the form of the command line.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let (name, span) = cursor.take_while(is_name_char);
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ParseError::new("expected an axis name", span)
                .with_help("an axis is written NAME=VALUES, such as block=64..=1024"));
        }
        if !cursor.eat("=") {
            return Err(ParseError::new(
                format!("expected `=` and the values of axis `{name}`"),
                cursor.next_span(),
            )
            .with_help(format!("write {name}=64..=1024 or {name}=64,96,128")));
        }
        let start = cursor.position();
        Self::from_values_text(name, &text[start..]).map_err(|e| e.shifted(start))
    }

    /// Parses the values of the axis `name` from `text`; spans are positions in `text`.
    ///
    /// # Errors
    /// The place in `text` that does not follow the grammar, a value that is out of range for the
    /// launch parameter `name`, values of different kinds, or a value that is there twice.
    pub fn from_values_text(name: &str, text: &str) -> Result<Self, ParseError> {
        Self::checked(name, text, false)
    }

    /// As [`Axis::from_values_text`] for an axis of a zip, if a value may be there twice.
    pub(crate) fn from_repeated_values_text(name: &str, text: &str) -> Result<Self, ParseError> {
        Self::checked(name, text, true)
    }

    fn checked(name: &str, text: &str, repeated: bool) -> Result<Self, ParseError> {
        let values = values::parse(text)?;
        let all = text.len() - text.trim_start().len()..text.trim_end().len();
        let kind = values[0].0.kind();
        let mut seen = HashSet::with_capacity(values.len());
        for (value, span) in &values {
            if value.kind() != kind {
                return Err(ParseError::new(
                    format!("axis `{name}` mixes {kind} with {}", value.kind()),
                    span.clone(),
                )
                .with_help(
                    "give every value of an axis the same kind; 256 is 256x1 as an extent",
                ));
            }
            if !seen.insert(value) && !repeated {
                return Err(ParseError::new(
                    format!("axis `{name}` has the value {value} twice"),
                    span.clone(),
                ));
            }
            if let Some(problem) = out_of_range(name, value) {
                let at = if span.is_empty() { all.clone() } else { span.clone() };
                return Err(ParseError::new(problem, at));
            }
        }
        Ok(Self { name: name.to_owned(), values: values.into_iter().map(|(v, _)| v).collect() })
    }

    /// The kind of the axis' values.
    pub fn kind(&self) -> AxisKind {
        self.values.first().map_or(AxisKind::Int, AxisValue::kind)
    }
}

pub(crate) fn out_of_range(axis: &str, value: &AxisValue) -> Option<String> {
    let launch = LAUNCH_AXES.contains(&axis);
    match value {
        AxisValue::Int(0) if launch && axis != "shared" => {
            Some(format!("axis `{axis}` cannot be 0: a launch needs at least 1"))
        }
        AxisValue::Dims(dims) if dims.contains(&0) => {
            Some(format!("axis `{axis}` has the extent {value}: every extent must be at least 1"))
        }
        AxisValue::Int(n) if launch && u32::try_from(*n).is_err() => Some(format!(
            "axis `{axis}` has the value {n}, above the 32 bits of a launch parameter"
        )),
        AxisValue::Word(word) if launch => {
            Some(format!("axis `{axis}` is a launch parameter and cannot be the word `{word}`"))
        }
        _ => None,
    }
}
