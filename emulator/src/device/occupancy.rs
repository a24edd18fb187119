//! Theoretical occupancy.
//!
//! Warps, blocks and shared memory limit it here. Registers do too on a GPU, but ptxas assigns them
//! and the emulator does not know how many; a kernel with many registers has a lower occupancy than
//! this says.

use super::chip::Chip;
use super::module::Kernel;

/// How many blocks one multiprocessor holds at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks.
    pub blocks: u32,
}

/// Blocks of `threads` threads and `dynamic_shared` bytes that one multiprocessor holds at once.
pub fn occupancy(chip: &Chip, kernel: &Kernel, threads: u32, dynamic_shared: u32) -> Occupancy {
    if threads == 0 || threads > chip.max_threads_per_block {
        return Occupancy { blocks: 0 };
    }
    let by_warps = chip.threads_per_sm / 32 / threads.div_ceil(32);
    let shared = kernel.shared_bytes(dynamic_shared).next_multiple_of(128) + chip.shared_reserved;
    let by_shared = chip.shared_per_sm / shared;
    Occupancy { blocks: by_warps.min(by_shared).min(chip.blocks_per_sm) }
}
