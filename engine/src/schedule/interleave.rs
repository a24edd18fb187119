//! The order of the passes.

use serde::Deserialize;

/// In which order the passes of a sweep run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Interleave {
    /// In rounds: every configuration once in random order, then all again, so that machine drift
    /// does not pick the winner.
    #[default]
    Rounds,
    /// All passes of one configuration, then the next.
    None,
}
