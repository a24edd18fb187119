//! The order of the passes.

use serde::Deserialize;

/// In which order the passes of a sweep run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Interleave {
    /// In rounds: every configuration once in random order, then all once more, so that drift of
    /// the machine does not pick the winner.
    #[default]
    Rounds,
    /// One configuration after the other.
    None,
}
