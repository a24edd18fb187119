//! A configuration: one point of a series, a value for every axis.
//!
//! Input: axis names and values in axis order. Output: lookups by name and the canonical text
//! `block=64,n=1048576`, which is the same for the same point in every file and process.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::axis::AxisValue;

/// One point of a series: `(axis, value)` pairs in axis order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Configuration(pub Vec<(String, AxisValue)>);

impl Configuration {
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
