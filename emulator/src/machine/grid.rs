//! A whole launch: its blocks, in turns or on several threads.
//!
//! Input: a [`Launch`]. Output: its counts, or its fault. Blocks are divided among several host
//! threads only if none can see another's work; then neither memory nor counts depend on the
//! division. Of several faults the one of the lowest block is kept, which is the first in
//! sequential order.

use super::block::{Progress, Worker};
use super::fault::{Fault, FaultKind, FaultReport};
use super::global_shadow::GlobalShadow;
use super::grid_barrier;
use super::launch::Launch;
use super::positions::{self, Position};
use super::printf_output::Printed;
use super::race_search::{Grid, Races};
use crate::counters::Counts;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Launches with fewer threads than this are not worth a second host thread.
const WORTH_THREADS: u64 = 16 * 1024;

impl Launch<'_> {
    /// Runs it. Output: its counts or the fault that running the blocks in order meets first, and
    /// what was said up to there, in the order of blocks.
    pub fn run(&self, shadow: &mut GlobalShadow) -> (Result<Counts, Box<FaultReport>>, String) {
        let races = Races::new(std::mem::take(shadow), self.checked_grid(), self.memory);
        let (mut ran, text) = self.run_blocks(&races);
        let first_fault = races.first_fault.load(Relaxed);
        let (used, late) = races.into_parts();
        *shadow = used;
        if let Some((block, fault)) = late.filter(|(block, _)| *block <= first_fault) {
            ran = Err(self.report(block, &fault));
        }
        (ran, text)
    }

    fn checked_grid(&self) -> Grid {
        Grid {
            extent: self.grid,
            checks: self.checks,
            interacts: self.blocks_interact(),
            orders: self.blocks_order(),
            grain: self.global_grain(),
        }
    }

    /// The places of running threads, in words.
    pub fn places(&self, positions: impl Iterator<Item = Position>) -> String {
        let found = positions::still_running(self, positions);
        found.map_or_else(String::new, |(block, fault)| self.report(block, &fault).message)
    }

    /// A fault in a block, as a person reads it.
    pub fn report(&self, block: u64, fault: &Fault) -> Box<FaultReport> {
        let index = self.block_index(block);
        let is_barrier = fault.kind == FaultKind::Trap
            && self.grid_workspace == 0
            && fault.pc.is_some_and(|pc| grid_barrier::tests_workspace(self.program, pc));
        let detail = || grid_barrier::NOT_COOPERATIVE.to_owned();
        let explained = is_barrier.then(|| Fault { detail: detail(), ..fault.clone() });
        let fault = explained.as_ref().unwrap_or(fault);
        Box::new(FaultReport::new(fault, self.program, index, self.block, self.memory))
    }

    /// Runs a block. A panic becomes a fault of it, so that other host threads do not wait for it.
    fn catch_panic<T>(
        &self,
        block: u64,
        run: impl FnOnce() -> Result<T, Box<FaultReport>>,
    ) -> Result<T, Box<FaultReport>> {
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|panic| Err(self.report(block, &Fault::from_panic(&*panic))))
    }

    fn run_blocks(&self, races: &Races) -> (Result<Counts, Box<FaultReport>>, String) {
        let blocks = self.blocks();
        let threads = blocks.saturating_mul(u64::from(self.threads_per_block()));
        let workers = if self.blocks_interact() || threads < WORTH_THREADS {
            1
        } else {
            self.host_threads.clamp(1, usize::try_from(blocks).unwrap_or(usize::MAX).max(1))
        };
        if workers == 1 {
            return self.run_in_turns(blocks, races);
        }
        self.run_on_threads((blocks, workers), races)
    }

    /// Runs the blocks on this thread, in order. While a block waits for others, they run, up to as
    /// many as the device holds at once: new ones first, then waiting ones, the oldest first.
    fn run_in_turns(
        &self,
        blocks: u64,
        races: &Races,
    ) -> (Result<Counts, Box<FaultReport>>, String) {
        let mut total = Counts::new(self.program.code.len());
        let (mut next, mut fault) = (0, None);
        let mut printed = Printed::default();
        let (mut waiting, mut idle) = (VecDeque::new(), vec![Worker::new(self, races, false)]);
        while fault.is_none() {
            let is_room = (waiting.len() as u64) < self.resident_blocks.max(1);
            let mut worker = if next < blocks && is_room {
                let mut worker = idle.pop().unwrap_or_else(|| Worker::new(self, races, false));
                worker.begin(next);
                next += 1;
                worker
            } else if let Some(worker) = waiting.pop_front() {
                worker
            } else {
                break;
            };
            let ran = self.catch_panic(worker.linear, || worker.resume());
            printed.append(&mut worker.said);
            match ran {
                Ok(Progress::Waits) => {
                    waiting.push_back(worker);
                    if let Some(watch) = &self.watch {
                        let all = waiting.iter().rev().flat_map(Worker::positions);
                        watch.record_position(|| self.places(all));
                    }
                }
                Ok(Progress::Done) => idle.push(worker),
                Err(report) => {
                    fault = Some(report);
                    idle.push(worker);
                }
            }
        }
        for worker in waiting.into_iter().chain(idle) {
            total += &worker.counts;
        }
        (fault.map_or(Ok(total), Err), printed.in_order(u64::MAX))
    }

    fn run_on_threads(
        &self,
        (blocks, workers): (u64, usize),
        races: &Races,
    ) -> (Result<Counts, Box<FaultReport>>, String) {
        let next = AtomicU64::new(0);
        let fault: Mutex<Option<(u64, Box<FaultReport>)>> = Mutex::new(None);
        let total = Mutex::new(Counts::new(self.program.code.len()));
        let all = Mutex::new(Printed::default());
        let share = (blocks / (workers as u64 * 16)).clamp(1, 256);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let mut worker = Worker::new(self, races, true);
                    'all: loop {
                        let start = next.fetch_add(share, Relaxed);
                        for block in start..blocks.min(start.saturating_add(share)) {
                            if block > races.first_fault.load(Relaxed) {
                                break 'all;
                            }
                            let ran = self.catch_panic(block, || worker.run(block));
                            if let Err(report) = ran {
                                races.note_fault(block);
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
        let text = all.in_order(races.first_fault.load(Relaxed));
        let ran = match fault.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some((_, report)) => Err(report),
            None => Ok(total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())),
        };
        (ran, text)
    }
}
