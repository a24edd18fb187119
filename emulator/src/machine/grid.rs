//! A whole launch: its blocks, in turns or on several threads.
//!
//! Input: a [`Launch`]. Output: its counts, or its fault. Blocks go to several threads only if none
//! can see another's work; then neither memory nor counts show who ran what. Of several faults the
//! one of the lowest block is kept, which is the one that running in order would have met first.

use super::block::{Progress, Worker};
use super::fault::FaultReport;
use super::launch::Launch;
use super::said;
use crate::counters::Counts;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Launches with fewer threads than this are not worth a second host thread.
const WORTH_THREADS: u64 = 16 * 1024;

impl Launch<'_> {
    /// Runs it. Output: its counts or the fault that running the blocks in order meets first, and
    /// what was said up to there, in the order of blocks.
    pub fn run(&self) -> (Result<Counts, Box<FaultReport>>, String) {
        let blocks = self.blocks();
        let threads = blocks.saturating_mul(u64::from(self.threads_per_block()));
        let interact = self.program.blocks_interact || self.grid_workspace != 0;
        let workers = if interact || threads < WORTH_THREADS {
            1
        } else {
            self.host_threads.clamp(1, usize::try_from(blocks).unwrap_or(usize::MAX).max(1))
        };
        if workers == 1 {
            return self.run_in_turns(blocks);
        }
        self.run_on_threads(blocks, workers)
    }

    /// Runs the blocks on this thread, in order. One that waits for others lets them run, up to as
    /// many as the device holds at once: new ones first, then those that wait, the oldest first.
    fn run_in_turns(&self, blocks: u64) -> (Result<Counts, Box<FaultReport>>, String) {
        let mut total = Counts::new(self.program.code.len());
        let (mut next, mut fault) = (0, None);
        let (mut waiting, mut idle) = (VecDeque::new(), vec![Worker::new(self)]);
        while fault.is_none() {
            let is_room = (waiting.len() as u64) < self.resident_blocks.max(1);
            let mut worker = if next < blocks && is_room {
                let mut worker = idle.pop().unwrap_or_else(|| Worker::new(self));
                worker.begin(next);
                next += 1;
                worker
            } else if let Some(worker) = waiting.pop_front() {
                worker
            } else {
                break;
            };
            match worker.resume() {
                Ok(Progress::Waits) => waiting.push_back(worker),
                Ok(Progress::Done) => idle.push(worker),
                Err(report) => {
                    fault = Some(report);
                    idle.push(worker);
                }
            }
        }
        let mut all = Vec::new();
        for worker in waiting.into_iter().chain(idle) {
            total += &worker.counts;
            all.extend(worker.said);
        }
        (fault.map_or(Ok(total), Err), said::in_order(all, u64::MAX))
    }

    fn run_on_threads(
        &self,
        blocks: u64,
        workers: usize,
    ) -> (Result<Counts, Box<FaultReport>>, String) {
        let next = AtomicU64::new(0);
        let first_fault = AtomicU64::new(u64::MAX);
        let fault: Mutex<Option<(u64, Box<FaultReport>)>> = Mutex::new(None);
        let total = Mutex::new(Counts::new(self.program.code.len()));
        let all = Mutex::new(Vec::new());
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
                    all.lock()
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                        .append(&mut worker.said);
                });
            }
        });
        let all = all.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let text = said::in_order(all, first_fault.into_inner());
        let ran = match fault.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some((_, report)) => Err(report),
            None => Ok(total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())),
        };
        (ran, text)
    }
}
