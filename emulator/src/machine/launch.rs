//! A whole launch: its blocks, in order or on several threads.
//!
//! Blocks go to several threads only if none can see another's work; then neither memory nor counts
//! show who ran what. Of several faults the one of the lowest block is kept, which is the one that
//! running in order would have met first.

use super::block::Worker;
use super::execute::Runner;
use super::fault::FaultReport;
use super::memory::Memory;
use crate::counters::Counts;
use crate::lower::program::Program;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Launches with fewer threads than this are not worth a second host thread.
const WORTH_THREADS: u64 = 16 * 1024;

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
    /// Number of this launch on its device.
    pub grid_id: u64,
    /// Host threads to use at most.
    pub host_threads: usize,
    /// How warps are executed.
    pub runner: Runner,
}

impl Launch<'_> {
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
        super::moves::extend(value, bytes, signed)
    }

    /// Runs it.
    ///
    /// # Errors
    /// The fault that running the blocks in order meets first.
    pub fn run(&self) -> Result<Counts, Box<FaultReport>> {
        let blocks: u64 = self.grid.iter().map(|&n| u64::from(n)).product();
        let threads = blocks.saturating_mul(u64::from(self.threads_per_block()));
        let workers = if self.program.blocks_interact || threads < WORTH_THREADS {
            1
        } else {
            self.host_threads.clamp(1, usize::try_from(blocks).unwrap_or(usize::MAX).max(1))
        };
        if workers == 1 {
            let mut worker = Worker::new(self);
            (0..blocks).try_for_each(|block| worker.run(block))?;
            return Ok(worker.counts);
        }
        self.run_on_threads(blocks, workers)
    }

    fn run_on_threads(&self, blocks: u64, workers: usize) -> Result<Counts, Box<FaultReport>> {
        let next = AtomicU64::new(0);
        let first_fault = AtomicU64::new(u64::MAX);
        let fault: Mutex<Option<(u64, Box<FaultReport>)>> = Mutex::new(None);
        let total = Mutex::new(Counts::new(self.program.code.len()));
        let share = (blocks / (workers as u64 * 16)).clamp(1, 256);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let mut worker = Worker::new(self);
                    'all: loop {
                        let start = next.fetch_add(share, Relaxed);
                        for block in start..blocks.min(start.saturating_add(share)) {
                            if block > first_fault.load(Relaxed) {
                                break 'all;
                            }
                            if let Err(report) = worker.run(block) {
                                first_fault.fetch_min(block, Relaxed);
                                let mut fault =
                                    fault.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                                if fault.as_ref().is_none_or(|(known, _)| block < *known) {
                                    *fault = Some((block, report));
                                }
                                break 'all;
                            }
                        }
                        if start >= blocks {
                            break;
                        }
                    }
                    *total.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) +=
                        &worker.counts;
                });
            }
        });
        match fault.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some((_, report)) => Err(report),
            None => Ok(total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())),
        }
    }
}
