//! How counters are collected: replay mode, process isolation, and how passes are matched.

use gpuprof_analysis::metrics::replay::{Matching, Strictness};
use gpuprof_model::protocol::Replay;

gpuprof_model::words! {
    /// How hardware counters are collected.
    pub enum ReplayMode = Application {
        /// Every pass runs in its own process.
        Application = "application",
        /// All passes run in one process, each on the original inputs.
        Range = "range",
        /// Like `range`, with inputs restored and the cache flushed before each pass, as in the
        /// kernel replay of Nsight Compute.
        Kernel = "kernel",
        /// No counters, only times.
        None = "none",
    }
}

gpuprof_model::words! {
    /// How launches of two passes are matched.
    pub enum AppReplayMatch = All {
        /// Launches of the same kernel.
        Name = "name",
        /// Launches of the same kernel, grid and block.
        Grid = "grid",
        /// Launches that agree in all recorded facts.
        All = "all",
    }
}

gpuprof_model::words! {
    /// How far the launches of two passes may differ.
    pub enum AppReplayMode = Strict {
        /// Every launch must match, in the same order.
        Strict = "strict",
        /// Every launch must match, in any order.
        Balanced = "balanced",
        /// Launches without a match are ignored.
        Relaxed = "relaxed",
    }
}

impl ReplayMode {
    /// How counters are replayed; none if none are collected.
    pub fn replay(self) -> Option<Replay> {
        match self {
            Self::Application => Some(Replay::Application),
            Self::Range => Some(Replay::Range),
            Self::Kernel => Some(Replay::Kernel),
            Self::None => None,
        }
    }
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
