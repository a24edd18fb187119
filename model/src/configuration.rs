//! A configuration: one point of a series, a value for every axis.
//!
//! Input: axis names and values in axis order. Output: lookups by name and the canonical text
//! `block=64,n=1048576`, which is the same for the same point in every file and process.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::axis::AxisValue;
use crate::expression::Type;

/// One point of a series: `(axis, value)` pairs in axis order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Configuration(pub Vec<(String, AxisValue)>);

impl Configuration {
    /// The configuration with this canonical text; a value that is none is a word.
    pub fn from_key(key: &str) -> Self {
        let value = |text: &str| {
            let word = |_| AxisValue::Word(text.to_owned());
            AxisValue::try_from(text.to_owned()).unwrap_or_else(word)
        };
        let pairs = key.split(',').filter_map(|pair| pair.split_once('='));
        Self(pairs.map(|(axis, text)| (axis.to_owned(), value(text))).collect())
    }

    /// The type of each value, with its axis.
    pub fn types(&self) -> Vec<(&str, Type)> {
        self.0.iter().map(|(axis, value)| (axis.as_str(), value.kind().into())).collect()
    }

    /// The value of `axis`, if the configuration has it.
    pub fn get(&self, axis: &str) -> Option<&AxisValue> {
        self.0.iter().find(|(name, _)| name == axis).map(|(_, value)| value)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (axis, value)) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{axis}={value}")?;
        }
        Ok(())
    }
}
