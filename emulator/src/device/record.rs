//! The configuration of a launch, and its results.

use super::Checks;
use crate::timing::Estimate;

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// The number of its blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }
}

/// The calls of a program to the profiler since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profiler {
    /// Nothing.
    #[default]
    Untouched,
    /// To start (`cuProfilerStart`).
    Started,
    /// To stop (`cuProfilerStop`), after a start.
    Stopped,
}

/// The results of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchRecord {
    /// Whether the program had started or stopped the profiler before it.
    pub profiler: Profiler,
    /// The kernel's name.
    pub kernel: String,
    /// How it was launched.
    pub config: LaunchConfig,
    /// The stream's number; 0 is the default stream.
    pub stream: u64,
    /// The checks that ran in it.
    pub checks: Checks,
    /// Whether it accessed more global memory than the search for races records.
    pub races_in_part: bool,
    /// Counters by name.
    pub counters: Vec<(String, u64)>,
    /// The counters that differ from the hardware's in this kernel, with the reasons.
    pub unclaimed: Vec<(String, String)>,
    /// Its estimated time; none if the caller of the program wants none.
    pub estimate: Option<Estimate>,
}

impl LaunchRecord {
    /// The number of its blocks.
    pub fn blocks(&self) -> u64 {
        self.config.blocks()
    }

    /// A counter's value.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}
