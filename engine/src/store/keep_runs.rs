//! How many runs are kept below the target folder.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Runs kept where nothing says otherwise.
const DEFAULT: NonZeroU32 = NonZeroU32::new(50).expect("50 is not 0");

/// The accepted values of the setting.
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
                let unexpected = |_| E::invalid_value(Unexpected::Signed(number), &self);
                number.to_string().parse().map_err(unexpected)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<KeepRuns, E> {
                text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_file_and_the_command_line_accept_the_same_texts() {
        #[derive(serde::Deserialize)]
        struct File {
            keep: KeepRuns,
        }
        let read = |value: &str| toml::from_str::<File>(&format!("keep = {value}"));
        for (text, shown) in [("30", "30"), ("all", "all")] {
            assert_eq!(text.parse::<KeepRuns>().unwrap().to_string(), shown);
            assert_eq!(read(&format!("\"{text}\"")).unwrap().keep.to_string(), shown);
        }
        assert_eq!(read("30").unwrap().keep.to_string(), "30");
        for wrong in ["0", "-1", "\"0\"", "\"some\"", "true"] {
            let error = read(wrong).map(|file| file.keep).unwrap_err().to_string();
            assert!(error.contains(EXPECTED), "{error}");
        }
    }
}
