//! What a launch is: a kernel, its shape, its parameters and the device that it runs on.

use super::bits::extend;
use super::checks::Checks;
use super::context::Runner;
use super::memory::Memory;
use super::watch::Watch;

use crate::lower::inst::{Element, Op, Space};
use crate::lower::program::Program;
use std::ops::Range;

/// One launch, already checked against the device's limits.
pub struct Launch<'l> {
    /// The kernel.
    pub program: &'l Program,
    /// Device memory.
    pub memory: &'l Memory,
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Parameters, in words.
    pub params: Vec<u32>,
    /// Streaming multiprocessors of the device.
    pub sm_count: u32,
    /// Blocks of it that the device holds at once.
    pub resident_blocks: u64,
    /// Number of this launch on its device.
    pub grid_id: u64,
    /// Host threads to use at most.
    pub host_threads: usize,
    /// How warps are executed.
    pub runner: Runner,
    /// Which blocks' accesses to shared memory are checked for races and the like.
    pub checks: Checks,
    /// Warp instructions after which a block that still runs is a fault.
    pub instruction_limit: Option<u64>,
    /// Where it tells how far it is, if it takes long.
    pub watch: Option<Watch>,
}

impl Launch<'_> {
    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block.
    pub fn warps_per_block(&self) -> u32 {
        self.threads_per_block().div_ceil(32)
    }

    /// Bytes of shared memory, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        match self.dynamic_shared {
            0 => self.program.shared_bytes,
            dynamic => self.program.dynamic_shared_offset + dynamic,
        }
    }

    /// Bytes of shared memory with the gaps between its arrays.
    pub fn shared_extent(&self) -> u32 {
        match self.dynamic_shared {
            0 => self.program.shared_extent,
            dynamic => self.program.dynamic_shared_start + dynamic,
        }
    }

    /// Where the arrays in shared memory lie, the dynamic one last.
    pub fn shared_arrays(&self) -> impl Iterator<Item = Range<u32>> {
        let start = self.program.dynamic_shared_start;
        let dynamic = (self.dynamic_shared > 0).then(|| start..start + self.dynamic_shared);
        self.program.shared_arrays.iter().cloned().chain(dynamic)
    }

    /// The narrowest access that may reach shared memory, as a power of two of bytes.
    pub fn shared_grain(&self) -> u32 {
        let narrowest = self.program.code.iter().filter_map(|inst| match inst.op {
            Op::Load { element, address, .. } | Op::Store { element, address, .. } => {
                let may_be_shared = matches!(address.space, Space::Shared | Space::Generic);
                may_be_shared.then_some(element)
            }
            _ => None,
        });
        narrowest.map(|Element { bytes, .. }| u32::from(bytes).min(4).ilog2()).min().unwrap_or(2)
    }

    /// Words of local memory of a warp.
    pub fn local_words(&self) -> usize {
        self.program.local_bytes.div_ceil(4) as usize * 32
    }

    /// The index of the `linear`-th block.
    pub fn block_index(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [(linear % x) as u32, (linear / x % y) as u32, (linear / (x * y)) as u32]
    }

    /// A parameter of 1, 2, 4 or 8 bytes.
    pub fn param(&self, offset: u32, bytes: u8, signed: bool) -> u64 {
        let word = |at: u32| u64::from(self.params.get(at as usize).copied().unwrap_or(0));
        let low = word(offset / 4) >> (8 * (offset % 4));
        let value = if bytes == 8 { low | word(offset / 4 + 1) << 32 } else { low };
        extend(value, bytes, signed)
    }
}
