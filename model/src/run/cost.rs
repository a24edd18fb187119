//! The cost of the series of a run.

use serde::{Deserialize, Serialize};

/// How long the passes of a series had a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesCost {
    /// The series.
    pub series: String,
    /// How many of its configurations this counts: those with all passes watched by the run.
    pub configurations: u64,
    /// How long their passes had a device, in microseconds, with those of the other revision where
    /// one was measured next to.
    pub microseconds: u64,
}

impl SeriesCost {
    /// The mean cost of a configuration, in microseconds, at least one.
    pub fn of_each(&self) -> u64 {
        (self.microseconds / self.configurations.max(1)).max(1)
    }
}
