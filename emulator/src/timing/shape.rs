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
    /// Bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// Bytes of L1 and shared memory of a multiprocessor together.
    pub l1_bytes: u32,
    /// Bytes of L2.
    pub l2_bytes: u32,
    /// Whether `resident` counts the kernel's registers.
    pub registers_known: bool,
}

impl Shape {
    /// Blocks of the multiprocessor that has most.
    pub fn blocks_of_sm(&self) -> u64 {
        self.blocks.div_ceil(u64::from(self.sms))
    }

    /// How many times the multiprocessor that has most is filled.
    pub fn waves(&self) -> f64 {
        self.blocks_of_sm().div_ceil(u64::from(self.resident.max(1))) as f64
    }

    /// The share of the device's time in which the last blocks leave multiprocessors empty; 0 if
    /// each has one block at most.
    pub fn empty_share(&self) -> f64 {
        if self.blocks <= u64::from(self.sms) {
            return 0.0;
        }
        1.0 - self.blocks as f64 / (self.blocks_of_sm() * u64::from(self.sms)) as f64
    }
}
