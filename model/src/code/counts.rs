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
    /// Loads from local memory by warps.
    LocalLoads,
    /// Stores to local memory by warps.
    LocalStores,
    /// Additions, multiplications, divisions and roots of 64-bit floating-point numbers by threads;
    /// a fused multiply-add counts twice.
    Fp64Operations,
    /// Samples of warps on a GPU, which are those of all states that follow.
    Samples,
    /// Those of them in which the scheduler issued nothing.
    SamplesNotIssued,
    /// Samples: the warp waits at a barrier of its block.
    Barrier,
    /// Samples: it waits for the target of a branch.
    BranchResolving,
    /// Samples: the dispatcher holds it back.
    DispatchStall,
    /// Samples: it has ended and waits for its stores.
    Drain,
    /// Samples: it waits for the cache of immediate constants.
    ImcMiss,
    /// Samples: the queue for local and global memory is full.
    LgThrottle,
    /// Samples: it waits for global, local or texture memory.
    LongScoreboard,
    /// Samples: the pipe that it needs is busy.
    MathPipeThrottle,
    /// Samples: it waits at a memory barrier.
    Membar,
    /// Samples: the queue for shared memory and special functions is full.
    MioThrottle,
    /// Samples: it waits for its instructions.
    NoInstructions,
    /// Samples: it is ready, and another warp was chosen.
    NotSelected,
    /// Samples: it issued an instruction.
    Selected,
    /// Samples: it waits for shared memory or a special function.
    ShortScoreboard,
    /// Samples: all of its threads sleep.
    Sleeping,
    /// Samples: the queue for textures is full.
    TexThrottle,
    /// Samples: it waits for a fixed number of cycles.
    Wait,
    /// Samples: any other state.
    OtherState,
}

impl Counter {
    /// How many the emulated driver counts, the first of [`Counter::ALL`].
    pub const EMULATED: usize = 15;

    /// All of them.
    pub const ALL: [Self; 35] = [
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
        Self::LocalLoads,
        Self::LocalStores,
        Self::Fp64Operations,
        Self::Samples,
        Self::SamplesNotIssued,
        Self::Barrier,
        Self::BranchResolving,
        Self::DispatchStall,
        Self::Drain,
        Self::ImcMiss,
        Self::LgThrottle,
        Self::LongScoreboard,
        Self::MathPipeThrottle,
        Self::Membar,
        Self::MioThrottle,
        Self::NoInstructions,
        Self::NotSelected,
        Self::Selected,
        Self::ShortScoreboard,
        Self::Sleeping,
        Self::TexThrottle,
        Self::Wait,
        Self::OtherState,
    ];

    /// The states of sampled warps, with the names that CUPTI gives them.
    pub const STATES: [(Self, &'static str); 18] = [
        (Self::Barrier, "barrier"),
        (Self::BranchResolving, "branch_resolving"),
        (Self::DispatchStall, "dispatch_stall"),
        (Self::Drain, "drain"),
        (Self::ImcMiss, "imc_miss"),
        (Self::LgThrottle, "lg_throttle"),
        (Self::LongScoreboard, "long_scoreboard"),
        (Self::MathPipeThrottle, "math_pipe_throttle"),
        (Self::Membar, "membar"),
        (Self::MioThrottle, "mio_throttle"),
        (Self::NoInstructions, "no_instructions"),
        (Self::NotSelected, "not_selected"),
        (Self::Selected, "selected"),
        (Self::ShortScoreboard, "short_scoreboard"),
        (Self::Sleeping, "sleeping"),
        (Self::TexThrottle, "tex_throttle"),
        (Self::Wait, "wait"),
        (Self::OtherState, "misc"),
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
            Self::LocalLoads => "local loads",
            Self::LocalStores => "local stores",
            Self::Fp64Operations => "FP64 operations",
            Self::Samples => "samples",
            Self::SamplesNotIssued => "samples without an issue",
            Self::Barrier => "samples: barrier",
            Self::BranchResolving => "samples: branch resolving",
            Self::DispatchStall => "samples: dispatch stall",
            Self::Drain => "samples: drain",
            Self::ImcMiss => "samples: IMC miss",
            Self::LgThrottle => "samples: LG throttle",
            Self::LongScoreboard => "samples: long scoreboard",
            Self::MathPipeThrottle => "samples: math pipe throttle",
            Self::Membar => "samples: membar",
            Self::MioThrottle => "samples: MIO throttle",
            Self::NoInstructions => "samples: no instructions",
            Self::NotSelected => "samples: not selected",
            Self::Selected => "samples: selected",
            Self::ShortScoreboard => "samples: short scoreboard",
            Self::Sleeping => "samples: sleeping",
            Self::TexThrottle => "samples: tex throttle",
            Self::Wait => "samples: wait",
            Self::OtherState => "samples: other",
        }
    }
}

/// The counts of a line, by counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCounts(pub [u64; Counter::ALL.len()]);

impl Default for LineCounts {
    fn default() -> Self {
        Self([0; Counter::ALL.len()])
    }
}

impl LineCounts {
    /// The state of most samples, and how many have it; not that of warps that were ready.
    #[must_use]
    pub fn most_waited(&self) -> Option<(Counter, u64)> {
        let waits = Counter::STATES.iter().map(|(state, _)| (*state, self[*state]));
        let waits =
            waits.filter(|(state, _)| !matches!(state, Counter::Selected | Counter::NotSelected));
        waits.filter(|(_, samples)| *samples > 0).max_by_key(|(_, samples)| *samples)
    }

    /// Accesses to local memory.
    #[must_use]
    pub fn local_accesses(&self) -> u64 {
        self[Counter::LocalLoads] + self[Counter::LocalStores]
    }

    /// Bank conflicts: wavefronts beyond the ideal ones.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self[Counter::Wavefronts].saturating_sub(self[Counter::IdealWavefronts])
    }
}

impl From<[u64; Counter::EMULATED]> for LineCounts {
    fn from(counted: [u64; Counter::EMULATED]) -> Self {
        let mut counts = Self::default();
        counts.0[..Counter::EMULATED].copy_from_slice(&counted);
        counts
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
