//! How many runs are kept below the target folder.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Runs kept where nothing says otherwise.
const DEFAULT: NonZeroU32 = NonZeroU32::new(50).expect("50 is not 0");

/// What the setting may be.
const EXPECTED: &str = "a number of runs, at least 1, or \"all\"";

/// How many runs are kept: `keep-runs` of the configuration file, a number or `"all"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepRuns {
    /// The newest.
    Newest(NonZeroU32),
    /// Every one.
    All,
}

impl Default for KeepRuns {
    fn default() -> Self {
        Self::Newest(DEFAULT)
    }
}

impl fmt::Display for KeepRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newest(n) => write!(f, "{n}"),
            Self::All => f.write_str("all"),
        }
    }
}

impl FromStr for KeepRuns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::Newest(number)),
            _ => Err(format!("expected {EXPECTED}")),
        }
    }
}

impl<'de> Deserialize<'de> for KeepRuns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl Visitor<'_> for Written {
            type Value = KeepRuns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<KeepRuns, E> {
                let unexpected = || E::invalid_value(Unexpected::Signed(number), &self);
                let number = u32::try_from(number).ok().and_then(NonZeroU32::new);
                number.map(KeepRuns::Newest).ok_or_else(unexpected)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<KeepRuns, E> {
                match text {
                    "all" => Ok(KeepRuns::All),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(Written)
    }
}
