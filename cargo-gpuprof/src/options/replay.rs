//! How counters are collected: replay mode, process isolation, and how passes are matched.

use clap::ValueEnum;
use gpuprof_analysis::metrics::replay::{Matching, Strictness};
use serde::Deserialize;

/// How hardware counters are collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayMode {
    /// Every pass runs in its own process.
    #[default]
    Application,
    /// All passes run in one process, each on the original inputs.
    Range,
    /// CUPTI replays each launch.
    Kernel,
    /// No counters, only times.
    None,
}

/// How launches of two passes are matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppReplayMatch {
    /// Those of the same kernel.
    Name,
    /// Those of the same kernel, grid and block.
    Grid,
    /// Those that agree in all recorded facts.
    #[default]
    All,
}

/// How far the launches of two passes may differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppReplayMode {
    /// Every launch must match, in the same order.
    #[default]
    Strict,
    /// Every launch must match, in any order.
    Balanced,
    /// Launches without a match are ignored.
    Relaxed,
}

impl From<AppReplayMatch> for Matching {
    fn from(option: AppReplayMatch) -> Self {
        match option {
            AppReplayMatch::Name => Self::Name,
            AppReplayMatch::Grid => Self::Grid,
            AppReplayMatch::All => Self::All,
        }
    }
}

impl From<AppReplayMode> for Strictness {
    fn from(option: AppReplayMode) -> Self {
        match option {
            AppReplayMode::Strict => Self::Strict,
            AppReplayMode::Balanced => Self::Balanced,
            AppReplayMode::Relaxed => Self::Relaxed,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuprof_analysis::gate::fingerprint::REPLAY_BY_CUPTI;

    use super::*;
    use crate::options::Shown;

    #[test]
    fn provenance_and_comparison_mean_the_same_replay() {
        assert_eq!(ReplayMode::Kernel.text(), REPLAY_BY_CUPTI);
    }
}
