//! Theoretical occupancy.
//!
//! Warps, blocks and shared memory limit it, and registers if the program says how many ptxas
//! assigned. Without that, a kernel with many registers has a lower occupancy than this says.

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
    let by_registers =
        kernel.registers().map_or(u32::MAX, |each| blocks_by_registers(chip, threads, each));
    Occupancy { blocks: by_warps.min(by_shared).min(by_registers).min(chip.blocks_per_sm) }
}

/// Registers of a warp: they are assigned in units of 256.
pub(super) fn registers_of_warp(registers: u32) -> u32 {
    (32 * registers).next_multiple_of(256)
}

/// Each of the four partitions of a multiprocessor has registers for its own warps.
fn blocks_by_registers(chip: &Chip, threads: u32, registers: u32) -> u32 {
    let warps_of_partition = chip.registers_per_sm / 4 / registers_of_warp(registers);
    4 * warps_of_partition / threads.div_ceil(32)
}
