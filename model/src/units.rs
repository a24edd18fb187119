//! Times and rates with the unit in their type. Metrics are [`Quantity`]s, whose unit is a value.

use std::ops::{Add, AddAssign, Mul};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::quantity::{Quantity, Unit};

/// A time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanoseconds(pub f64);

/// A rate in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub f64);

impl Nanoseconds {
    /// The longer one of both.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl From<Duration> for Nanoseconds {
    fn from(time: Duration) -> Self {
        Self(time.as_nanos() as f64)
    }
}

impl From<Nanoseconds> for Duration {
    fn from(Nanoseconds(time): Nanoseconds) -> Self {
        Self::from_nanos(time as u64)
    }
}

impl From<Nanoseconds> for Quantity {
    fn from(Nanoseconds(time): Nanoseconds) -> Self {
        Self::new(time, Unit::Nanoseconds)
    }
}

impl From<BytesPerSecond> for Quantity {
    fn from(BytesPerSecond(rate): BytesPerSecond) -> Self {
        Self::new(rate, Unit::BytesPerSecond)
    }
}

impl Add for Nanoseconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Nanoseconds {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}

/// In documents, both are numbers.
#[cfg(test)]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator};

    use super::{BytesPerSecond, Nanoseconds};

    macro_rules! number {
        ($($unit:ty),*) => {$(
            impl JsonSchema for $unit {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    f64::schema_name()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    f64::json_schema(generator)
                }
            }
        )*};
    }

    number!(Nanoseconds, BytesPerSecond);
}
