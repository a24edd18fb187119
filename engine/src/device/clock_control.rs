//! What happens to the clocks of the GPU.

use clap::ValueEnum;
use serde::Deserialize;

/// What happens to the clocks of the GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockControl {
    /// Nothing: the clock of every sample is recorded.
    #[default]
    None,
    /// Locked to the base clock while the run lasts.
    Base,
    /// Locked to the highest clock while the run lasts.
    Boost,
}

impl ClockControl {
    /// The word for it, as the command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Base => "base",
            Self::Boost => "boost",
        }
    }
}
