//! Derives the counters of a launch from its execution.
//!
//! For every instruction, the machine counts how often it was issued and for how many threads
//! ([`PcCount`]); for memory, it counts requests and the data they touched ([`MemoryCounts`]).
//! Every reported counter is derived from those two, by name. The same by instruction
//! ([`AccessCounts`]) becomes counts by line of the PTX and of the source ([`Profile`]).
//!
//! Every PTX statement with an opcode counts as one instruction, `ret`, `exit`, `bar` and
//! `ld.param` included. Labels, declarations and directives (`.loc`, `.reg`, …) do not count. A
//! memory request counts if at least one lane is active and not predicated off.

pub mod banks;
mod claims;
mod lines;
mod report;
pub mod sectors;
pub mod trace;
pub mod traffic;

pub use claims::Claims;
pub use lines::{InlinedCall, LineCounts, ListedLine, Listing, Profile};
pub use report::{Reported, report};
pub use traffic::{Traffic, Use};

use std::ops::{AddAssign, Sub};

/// Declares numbers of which each is added and subtracted by itself.
macro_rules! counts {
    ($($(#[$about:meta])* pub struct $name:ident {
        $($(#[$meaning:meta])* pub $field:ident: $ty:ty,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$meaning])* pub $field: $ty,)*
        }

        impl AddAssign for $name {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl Sub for $name {
            type Output = Self;

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self { $($field: self.$field - other.$field),* }
            }
        }
    )*};
}
use counts;

counts! {
    /// How often one instruction was issued.
    pub struct PcCount {
        /// By warps.
        pub warps: u64,
        /// By threads that were active.
        pub threads: u64,
        /// By active threads with a true guard.
        pub threads_on: u64,
    }

    /// The accesses of one instruction, or of one kind.
    pub struct AccessCounts {
        /// Warp-level requests; those of constant memory and of parameters do not count.
        pub requests: u64,
        /// Those of them to local memory.
        pub local_requests: u64,
        /// Distinct sectors of global memory, request by request.
        pub sectors: u64,
        /// Sectors that the same bytes fill.
        pub ideal_sectors: u64,
        /// Distinct bytes of global memory, request by request.
        pub global_bytes: u64,
        /// The same of shared memory.
        pub shared_bytes: u64,
        /// Passes over the banks of shared memory.
        pub wavefronts: u64,
        /// Passes that no bank conflict would have needed.
        pub ideal_wavefronts: u64,
    }

    /// One kind of global access.
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

    /// One kind of access through generic addresses.
    pub struct GenericCounts {
        /// Distinct bytes in global memory.
        pub global_bytes: u64,
        /// Distinct bytes in shared memory.
        pub shared_bytes: u64,
        /// Requests that went to local memory or to parameters.
        pub elsewhere: u64,
    }

    /// Memory and control-flow events of a launch.
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
        /// Generic loads, which the loads above hold by space.
        pub generic_load: GenericCounts,
        /// Generic stores, which the stores above hold by space.
        pub generic_store: GenericCounts,
        /// Shared atomics, warp level.
        pub shared_atomics: u64,
        /// `cp.async`, its reads of global memory.
        pub copies: GlobalCounts,
        /// `ldmatrix`.
        pub matrix_loads: SharedCounts,
        /// `stmatrix`.
        pub matrix_stores: SharedCounts,
        /// Local loads, warp level.
        pub local_loads: u64,
        /// Local stores, warp level.
        pub local_stores: u64,
        /// Loads of launch parameters, warp level.
        pub param_loads: u64,
        /// Conditional branches on which lanes disagreed.
        pub divergent_branches: u64,
        /// Those of them with ways that meet before all do. ptxas decides case by case whether
        /// lanes converge there, so the counts of such a launch may not be the hardware's.
        pub irregular_branches: u64,
        /// Yield points that a part of a warp executed. The order in which a GPU runs the parts,
        /// and whether they join, is known for simple loops only.
        pub split_yields: u64,
    }
}

/// Everything counted of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// By instruction.
    pub profile: Vec<PcCount>,
    /// Accesses by instruction.
    pub accesses: Vec<AccessCounts>,
    /// Branches on which lanes disagreed, by instruction.
    pub divergent: Vec<u64>,
    /// By event.
    pub memory: MemoryCounts,
    /// Blocks run.
    pub blocks: u64,
    /// Warps run.
    pub warps: u64,
    /// The global memory touched; none unless a time is estimated.
    pub traffic: Option<Box<Traffic>>,
}

impl Counts {
    /// Nothing counted yet, of a program with `instructions` instructions.
    pub fn new(instructions: usize) -> Self {
        Self {
            profile: vec![PcCount::default(); instructions],
            accesses: vec![AccessCounts::default(); instructions],
            divergent: vec![0; instructions],
            ..Self::default()
        }
    }
}

impl MemoryCounts {
    /// All loads so far.
    #[inline(always)]
    pub fn loads(&self) -> AccessCounts {
        AccessCounts::new(&self.load, &self.shared_load, self.local_loads)
    }

    /// All stores so far.
    #[inline(always)]
    pub fn stores(&self) -> AccessCounts {
        AccessCounts::new(&self.store, &self.shared_store, self.local_stores)
    }

    /// All accesses so far.
    pub fn all(&self) -> AccessCounts {
        let (mut global, mut shared) = (self.reduction, self.matrix_loads);
        global += self.atomic;
        global += self.copies;
        shared += self.matrix_stores;
        let mut all = AccessCounts::new(&global, &shared, 0);
        all.requests += self.shared_atomics;
        all += self.loads();
        all += self.stores();
        all
    }
}

impl AccessCounts {
    #[inline(always)]
    fn new(global: &GlobalCounts, shared: &SharedCounts, local_requests: u64) -> Self {
        Self {
            requests: global.requests + shared.requests + local_requests,
            local_requests,
            sectors: global.sectors,
            ideal_sectors: 0,
            global_bytes: global.bytes,
            shared_bytes: shared.bytes,
            wavefronts: shared.wavefronts,
            ideal_wavefronts: shared.ideal,
        }
    }

    /// Adds one execution of an instruction, of which these are the counts before and after it.
    #[inline(always)]
    pub fn add(&mut self, before: &Self, after: &Self) {
        let mut made = *after - *before;
        made.ideal_sectors = made.global_bytes.div_ceil(sectors::SECTOR);
        *self += made;
    }
}

impl AddAssign<&Counts> for Counts {
    /// Sums are commutative, so it does not matter which thread ran which block.
    fn add_assign(&mut self, other: &Counts) {
        for (mine, theirs) in self.profile.iter_mut().zip(&other.profile) {
            *mine += *theirs;
        }
        for (mine, theirs) in self.accesses.iter_mut().zip(&other.accesses) {
            *mine += *theirs;
        }
        for (mine, theirs) in self.divergent.iter_mut().zip(&other.divergent) {
            *mine += theirs;
        }
        self.memory += other.memory;
        self.blocks += other.blocks;
        self.warps += other.warps;
        if let Some(theirs) = &other.traffic {
            self.traffic.get_or_insert_default().add(theirs);
        }
    }
}
