//! The resources that limit launches.

/// A resource that limits a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The slots in which warps issue instructions.
    Issue,
    /// One kind of execution unit.
    Pipe,
    /// Dependences between instructions, barriers, and too few warps to hide them.
    Latency,
    /// L1 and the units in front of it.
    L1,
    /// The banks of shared memory.
    Shared,
    /// The bandwidth of L2.
    L2,
    /// The bandwidth of device memory.
    Dram,
    /// Atomics.
    Atomics,
    /// How fast blocks start.
    Dispatch,
    /// Multiprocessors that are empty while the last blocks run.
    Tail,
    /// The launch itself.
    Launch,
}

impl Limit {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Pipe => "pipe",
            Self::Latency => "latency",
            Self::L1 => "l1",
            Self::Shared => "shared",
            Self::L2 => "l2",
            Self::Dram => "dram",
            Self::Atomics => "atomics",
            Self::Dispatch => "dispatch",
            Self::Tail => "tail",
            Self::Launch => "launch",
        }
    }
}
