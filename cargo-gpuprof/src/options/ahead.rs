//! The number of processes that prepare while another one works.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of processes that prepare while another one works, at most [`AheadCount::MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8")]
pub struct AheadCount(u8);

impl AheadCount {
    /// The most: each holds memory of the device.
    pub const MOST: u8 = 4;
}

impl TryFrom<u8> for AheadCount {
    type Error = String;

    fn try_from(count: u8) -> Result<Self, String> {
        if count <= Self::MOST { Ok(Self(count)) } else { Err(expected()) }
    }
}

impl From<AheadCount> for u8 {
    fn from(count: AheadCount) -> Self {
        count.0
    }
}

impl FromStr for AheadCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| expected()).and_then(|count: u8| count.try_into())
    }
}

impl fmt::Display for AheadCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn expected() -> String {
    format!("expected a number of processes, at most {}", AheadCount::MOST)
}
