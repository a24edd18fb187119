//! Which devices a run is asked to measure on.
//!
//! Input: the text of `--devices`, `GPUPROF_DEVICES` or the configuration file. Output: `all`, or
//! names. `device::choice` looks the names up.

use std::fmt;
use std::str::FromStr;

use gpuprof_model::measurement::MIG_PREFIX;
use serde::{Deserialize, Deserializer, de};

/// What `--devices` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSelection {
    /// Every device that the driver shows.
    All,
    /// These.
    These(Vec<DeviceName>),
}

/// How a device is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceName {
    /// By its position among those that the driver shows.
    Ordinal(usize),
    /// By its UUID, or the beginning of one.
    Uuid(String),
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(at) => at.fmt(f),
            Self::Uuid(start) => f.write_str(start),
        }
    }
}

impl fmt::Display for DeviceSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::These(names) => {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl FromStr for DeviceSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let wrong = |word: &str| {
            format!(
                "`{word}` is not a device; expected ordinals, UUIDs (GPU-… or MIG-…) or UUID \
                 prefixes, separated by commas, or `all`"
            )
        };
        let name = |word: &str| match word.trim() {
            word if word.starts_with("GPU-") || word.starts_with(MIG_PREFIX) => {
                Ok(DeviceName::Uuid(word.to_owned()))
            }
            word => word.parse().map(DeviceName::Ordinal).map_err(|_| wrong(word)),
        };
        text.split(',').map(name).collect::<Result<_, _>>().map(Self::These)
    }
}

impl<'de> Deserialize<'de> for DeviceSelection {
    /// `"all"`, `"0,1"`, `1`, `[0, 1]` or `["GPU-…", "GPU-…"]`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"all\", \"0,1\" or a list of ordinals and UUIDs")]
        enum Written {
            Ordinal(usize),
            Text(String),
            List(Vec<Written>),
        }
        fn text(written: &Written) -> String {
            match written {
                Written::Ordinal(at) => at.to_string(),
                Written::Text(text) => text.clone(),
                Written::List(list) => list.iter().map(text).collect::<Vec<_>>().join(","),
            }
        }
        text(&Written::deserialize(deserializer)?).parse().map_err(de::Error::custom)
    }
}
