//! The shape of a launch, as its time depends on it.

/// The shape of a launch on its chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Warps of a block.
    pub warps: u32,
    /// Blocks that a multiprocessor holds at once.
    pub resident: u32,
    /// Multiprocessors.
    pub sms: u32,
    /// Bytes of L2.
    pub l2_bytes: u32,
}
