//! A launch: a kernel, its shape, its parameters and the device that it runs on.

use super::atomic_half;
use super::bits::extend;
use super::checks::Checks;
use super::context::Runner;
use super::memory::Memory;
use super::watch::Watch;

use crate::lower::inst::{Element, Inst, Op, Space};
use crate::lower::program::{MOST_LOCAL_BYTES, Program};
use std::ops::Range;

/// The most blocks that are recorded step by step.
const SAMPLED_BLOCKS: u64 = 8;

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
    /// The address of the workspace of a cooperative launch; 0 for other launches.
    pub grid_workspace: u64,
    /// Bytes of stack that a thread has.
    pub stack_bytes: u32,
    /// Number of this launch on its device.
    pub grid_id: u64,
    /// Host threads to use at most.
    pub host_threads: usize,
    /// How warps are executed.
    pub runner: Runner,
    /// The blocks and accesses that are checked for races and other hazards.
    pub checks: Checks,
    /// Warp instructions after which a block that still runs is a fault.
    pub instruction_limit: Option<u64>,
    /// Whether to record the data for an estimate of its time.
    pub records_traffic: bool,
    /// The progress file of long launches.
    pub watch: Option<Watch>,
}

impl Launch<'_> {
    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Whether the execution of a block is recorded step by step: that of a few, evenly spread.
    pub fn is_sampled(&self, block: u64) -> bool {
        let every = self.blocks().div_ceil(SAMPLED_BLOCKS);
        // Not always the first block of a row.
        self.records_traffic && block % every == block / every % every
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

    /// The ranges of the arrays in shared memory, the dynamic one last.
    pub fn shared_arrays(&self) -> impl Iterator<Item = Range<u32>> {
        let start = self.program.dynamic_shared_start;
        let dynamic = (self.dynamic_shared > 0).then(|| start..start + self.dynamic_shared);
        self.program.shared_arrays.iter().cloned().chain(dynamic)
    }

    /// Whether blocks can see each other's work before the launch ends.
    pub fn blocks_interact(&self) -> bool {
        self.program.blocks_interact || self.grid_workspace != 0
    }

    /// Whether blocks may order each other: one of them publishes its earlier accesses.
    pub fn blocks_order(&self) -> bool {
        let publishes = |inst: &Inst| match inst.op {
            Op::Fence { beyond_block } => beyond_block,
            // A barrier before it orders reads.
            Op::Store { element, ref address, .. } => {
                element.is_strong() && address.space != Space::Shared
            }
            Op::Atomic(ref atomic) => atomic.order.releases,
            Op::AtomicVector(ref atomic) => atomic.order.releases,
            _ => false,
        };
        self.blocks_interact() && self.program.code.iter().any(publishes)
    }

    /// The narrowest access that may reach shared memory, as a power of two of bytes.
    pub fn shared_grain(&self) -> u32 {
        self.grain(Space::Shared)
    }

    /// The narrowest access that may reach global memory, as a power of two of bytes.
    pub fn global_grain(&self) -> u32 {
        let is_half =
            |inst: &Inst| matches!(inst.op, Op::Atomic(ref atomic) if atomic_half::is_of(atomic));
        self.grain(Space::Global).min(if self.program.code.iter().any(is_half) { 1 } else { 2 })
    }

    fn grain(&self, wanted: Space) -> u32 {
        let narrowest = self.program.code.iter().filter_map(|inst| match inst.op {
            Op::Load { element, address, .. } | Op::Store { element, address, .. } => {
                let may_reach = address.space == wanted || address.space == Space::Generic;
                may_reach.then_some(element)
            }
            _ => None,
        });
        narrowest.map(|Element { bytes, .. }| u32::from(bytes).min(4).ilog2()).min().unwrap_or(2)
    }

    /// Words of local memory of a warp.
    pub fn local_words(&self) -> usize {
        self.program.local_bytes.div_ceil(4) as usize * 32
    }

    /// The largest extent of a thread's stack. Every function has room for one frame beyond the
    /// requested size, as frames differ from those of the machine code.
    pub fn stack_limit(&self) -> u32 {
        let frames = self.program.callees.iter().map(|callee| callee.stack_bytes);
        let frames = frames.fold(0, u32::saturating_add);
        let end = self.program.stack_start().saturating_add(frames);
        end.saturating_add(self.stack_bytes).min(MOST_LOCAL_BYTES)
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
