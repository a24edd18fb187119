//! The devices that the user requests for a run.
//!
//! Input: the text of `--devices`, `GPUPROF_DEVICES` or the configuration file. Output: `all`, or
//! names. `device::resolve` looks the names up.

use std::fmt;
use std::str::FromStr;

use gpuprof_model::measurement::MIG_PREFIX;
use serde::{Deserialize, Deserializer, de};

/// The value of `--devices`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSelection {
    /// Every device that the driver shows.
    All,
    /// These.
    These(Vec<RequestedDevice>),
}

/// How a device is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedDevice {
    /// By its position among the visible devices.
    Ordinal(usize),
    /// By its UUID, or the beginning of one.
    Uuid(String),
}

impl fmt::Display for RequestedDevice {
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

impl FromStr for RequestedDevice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.trim();
        if word.starts_with("GPU-") || word.starts_with(MIG_PREFIX) {
            return Ok(Self::Uuid(word.to_owned()));
        }
        word.parse().map(Self::Ordinal).map_err(|_| {
            format!(
                "`{word}` is not a device; expected ordinals, UUIDs (GPU-… or MIG-…) or UUID \
                 prefixes, separated by commas, or `all`"
            )
        })
    }
}

impl FromStr for DeviceSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::These)
    }
}

impl<'de> Deserialize<'de> for DeviceSelection {
    /// `"all"`, `"0,1"`, `1`, `[0, 1]` or `["GPU-…", "GPU-…"]`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum One {
            Ordinal(usize),
            Text(String),
        }
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"all\", \"0,1\" or a list of ordinals and UUIDs")]
        enum Written {
            One(One),
            List(Vec<One>),
        }
        match Written::deserialize(deserializer)? {
            Written::One(One::Ordinal(at)) => Ok(Self::These(vec![RequestedDevice::Ordinal(at)])),
            Written::One(One::Text(text)) => text.parse(),
            Written::List(list) if list.is_empty() => {
                Err("the list of devices is empty; name at least one, or write \"all\"".to_owned())
            }
            Written::List(list) => list
                .into_iter()
                .map(|one| match one {
                    One::Ordinal(at) => Ok(RequestedDevice::Ordinal(at)),
                    One::Text(text) => text.parse(),
                })
                .collect::<Result<_, _>>()
                .map(Self::These),
        }
        .map_err(de::Error::custom)
    }
}
