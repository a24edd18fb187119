//! The values of an axis, and their text.
//!
//! Input: a number, extents or a word. Output: a value that knows its kind and prints in its input
//! form.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One value of an axis. Its serde form is its text (`"64"`, `"16x16x1"`, `"f32"`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum AxisValue {
    /// A whole number.
    Int(u64),
    /// Extents in x, y and z.
    Dims([u32; 3]),
    /// A word, such as a data type.
    Word(String),
}

impl AxisValue {
    /// What kind of value this is.
    pub fn kind(&self) -> AxisKind {
        match self {
            Self::Int(_) => AxisKind::Int,
            Self::Dims(_) => AxisKind::Dims,
            Self::Word(_) => AxisKind::Word,
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Dims([x, y, 1]) => write!(f, "{x}x{y}"),
            Self::Dims([x, y, z]) => write!(f, "{x}x{y}x{z}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl From<AxisValue> for String {
    fn from(value: AxisValue) -> Self {
        value.to_string()
    }
}

/// The kind that all values of one axis share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// Whole numbers.
    Int,
    /// Two- or three-dimensional extents.
    Dims,
    /// Words.
    Word,
}

impl fmt::Display for AxisKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "whole numbers",
            Self::Dims => "extents such as 16x16",
            Self::Word => "words",
        })
    }
}
