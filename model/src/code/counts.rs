//! The counts of a line.

use std::ops::{AddAssign, Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A count of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Instructions executed by warps.
    Instructions,
    /// By active threads.
    ThreadInstructions,
    /// By active threads with a true guard.
    ThreadInstructionsOn,
    /// Memory requests of warps; those of constant memory and of parameters do not count.
    Requests,
    /// Sectors of global memory, request by request.
    Sectors,
    /// Sectors that the same bytes fill.
    IdealSectors,
    /// Distinct bytes of global and shared memory, request by request.
    Bytes,
    /// Passes over the banks of shared memory.
    Wavefronts,
    /// Passes that no bank conflict would have needed.
    IdealWavefronts,
    /// Conditional branches of warps.
    Branches,
    /// Those of them on which lanes disagreed.
    DivergentBranches,
    /// Atomics of warps.
    Atomics,
}

impl Counter {
    /// All of them, in the order in which the emulated driver reports them.
    pub const ALL: [Self; 12] = [
        Self::Instructions,
        Self::ThreadInstructions,
        Self::ThreadInstructionsOn,
        Self::Requests,
        Self::Sectors,
        Self::IdealSectors,
        Self::Bytes,
        Self::Wavefronts,
        Self::IdealWavefronts,
        Self::Branches,
        Self::DivergentBranches,
        Self::Atomics,
    ];

    /// It in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::ThreadInstructions => "thread instructions",
            Self::ThreadInstructionsOn => "thread instructions, predicated on",
            Self::Requests => "requests",
            Self::Sectors => "sectors",
            Self::IdealSectors => "ideal sectors",
            Self::Bytes => "bytes",
            Self::Wavefronts => "wavefronts",
            Self::IdealWavefronts => "ideal wavefronts",
            Self::Branches => "branches",
            Self::DivergentBranches => "divergent branches",
            Self::Atomics => "atomics",
        }
    }
}

/// The counts of a line, by counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts(pub [u64; Counter::ALL.len()]);

impl LineCounts {
    /// Bank conflicts: wavefronts beyond the ideal ones.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self[Counter::Wavefronts].saturating_sub(self[Counter::IdealWavefronts])
    }
}

impl Index<Counter> for LineCounts {
    type Output = u64;

    fn index(&self, counter: Counter) -> &u64 {
        &self.0[counter as usize]
    }
}

impl IndexMut<Counter> for LineCounts {
    fn index_mut(&mut self, counter: Counter) -> &mut u64 {
        &mut self.0[counter as usize]
    }
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}
