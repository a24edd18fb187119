//! The values of expressions, and their types.
//!
//! Input: a value or a kind of an axis. Output: the value or type that expressions calculate with.

use std::fmt;

use crate::axis::{AxisKind, AxisValue};

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// A whole number.
    Int(i128),
    /// A truth value.
    Bool(bool),
    /// A word.
    Word(&'v str),
    /// Extents in x, y and z.
    Dims([u32; 3]),
}

impl<'v> From<&'v AxisValue> for Value<'v> {
    fn from(value: &'v AxisValue) -> Self {
        match value {
            AxisValue::Int(n) => Self::Int(i128::from(*n)),
            AxisValue::Dims(dims) => Self::Dims(*dims),
            AxisValue::Word(word) => Self::Word(word),
        }
    }
}

/// What kind of value an expression has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// A word.
    Word,
    /// Extents.
    Dims,
}

impl From<AxisKind> for Type {
    fn from(kind: AxisKind) -> Self {
        match kind {
            AxisKind::Int => Self::Int,
            AxisKind::Dims => Self::Dims,
            AxisKind::Word => Self::Word,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "a whole number",
            Self::Bool => "a condition",
            Self::Word => "a word",
            Self::Dims => "an extent",
        })
    }
}
