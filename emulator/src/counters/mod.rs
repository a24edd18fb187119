//! From what a launch did to its counters.
//!
//! The machine counts, for every instruction, how often it was issued and for how many threads
//! ([`PcCount`]), and, for memory, requests and what they touched ([`MemoryCounts`]). Everything
//! reported is derived from those two, by name.
//!
//! What counts as an instruction: every PTX statement with an opcode, one each, `ret`, `exit`,
//! `bar` and `ld.param` included. Labels, declarations and directives (`.loc`, `.reg`, …) count
//! nothing. A memory request counts if at least one lane is active and not predicated off.

pub mod banks;
mod claims;
mod report;
pub mod sectors;

pub use claims::Claims;
pub use report::{Reported, report};

use std::ops::AddAssign;

/// How often one instruction was issued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PcCount {
    /// By warps.
    pub warps: u64,
    /// By threads that were active.
    pub threads: u64,
    /// By threads that were active and whose guard held.
    pub threads_on: u64,
}

/// One kind of global access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GlobalCounts {
    /// Warp-level requests.
    pub requests: u64,
    /// Distinct 32-byte sectors, request by request.
    pub sectors: u64,
    /// Distinct bytes, request by request (seen on an H100).
    pub bytes: u64,
    /// Atomics: sectors that L1 counts beyond the distinct ones.
    pub repeated: u64,
}

/// One kind of shared access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedCounts {
    /// Warp-level requests.
    pub requests: u64,
    /// Passes over the banks.
    pub wavefronts: u64,
    /// Passes that no bank conflict would have needed.
    pub ideal: u64,
    /// Distinct bytes, request by request.
    pub bytes: u64,
}

/// Memory and control-flow events of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Global loads.
    pub load: GlobalCounts,
    /// Global stores.
    pub store: GlobalCounts,
    /// Global reductions.
    pub reduction: GlobalCounts,
    /// Other global atomics.
    pub atomic: GlobalCounts,
    /// Shared loads.
    pub shared_load: SharedCounts,
    /// Shared stores.
    pub shared_store: SharedCounts,
    /// Shared atomics, warp level.
    pub shared_atomics: u64,
    /// `cp.async`, its reads of global memory.
    pub copies: GlobalCounts,
    /// `ldmatrix`.
    pub matrices: SharedCounts,
    /// Local loads, warp level.
    pub local_loads: u64,
    /// Local stores, warp level.
    pub local_stores: u64,
    /// Conditional branches on which lanes disagreed.
    pub divergent_branches: u64,
    /// Those of them with ways that meet before all do. ptxas decides case by case whether lanes
    /// converge there, so the counts of such a launch may not be the hardware's.
    pub irregular_branches: u64,
    /// Yield points that a part of a warp executed. The order in which a GPU runs the parts, and
    /// whether they join, is known for simple loops only.
    pub split_yields: u64,
}

/// Everything counted of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By instruction.
    pub profile: Vec<PcCount>,
    /// By event.
    pub memory: MemoryCounts,
    /// Blocks run.
    pub blocks: u64,
    /// Warps run.
    pub warps: u64,
}

impl Counts {
    /// Nothing counted yet, of a program with `instructions` instructions.
    pub fn new(instructions: usize) -> Self {
        Self { profile: vec![PcCount::default(); instructions], ..Self::default() }
    }
}

impl AddAssign for GlobalCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.bytes += other.bytes;
        self.repeated += other.repeated;
    }
}

impl AddAssign for SharedCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal += other.ideal;
        self.bytes += other.bytes;
    }
}

impl AddAssign<&Counts> for Counts {
    /// Sums are commutative, so it does not matter which thread ran which block.
    fn add_assign(&mut self, other: &Counts) {
        for (mine, theirs) in self.profile.iter_mut().zip(&other.profile) {
            mine.warps += theirs.warps;
            mine.threads += theirs.threads;
            mine.threads_on += theirs.threads_on;
        }
        let (mine, theirs) = (&mut self.memory, &other.memory);
        mine.load += theirs.load;
        mine.store += theirs.store;
        mine.reduction += theirs.reduction;
        mine.atomic += theirs.atomic;
        mine.shared_load += theirs.shared_load;
        mine.shared_store += theirs.shared_store;
        mine.copies += theirs.copies;
        mine.matrices += theirs.matrices;
        mine.shared_atomics += theirs.shared_atomics;
        mine.local_loads += theirs.local_loads;
        mine.local_stores += theirs.local_stores;
        mine.divergent_branches += theirs.divergent_branches;
        mine.irregular_branches += theirs.irregular_branches;
        mine.split_yields += theirs.split_yields;
        self.blocks += other.blocks;
        self.warps += other.warps;
    }
}
