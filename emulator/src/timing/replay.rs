//! Replays the recorded blocks on one multiprocessor: when each instruction of each warp issues.
//!
//! An instruction waits for its operands, a slot of its quarter's scheduler and its pipe. ptxas
//! moves loads away from their uses inside a basic block; so here an instruction waits for earlier
//! ones of its warp only at branches, barriers and fences, and for those far before it.
//! The multiprocessor has an equal share of the bandwidths of L2 and device memory.

use super::block::{Block, Warp};
use super::code::{Code, Instruction, Kind};
use super::memory::{Averages, Memory};
use super::pipes::Pipes;
use super::rates::Rates;
use super::shape::Shape;
use super::sharing::Shared;
use super::ticks::{TICK, Ticks, ticks};
use crate::counters::trace::{Step, Trace};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Quarters of a multiprocessor.
const QUARTERS: usize = 4;

/// Steps of all warps that are replayed at most, roughly.
const MOST_STEPS: u64 = 400_000;

/// Clocks from a taken branch to the next instruction: an iteration of a loop that only counts and
/// adds takes 29 on an H100 (docs/scripts/estimate), of which 8 are the count and its comparison.
const BRANCH: u64 = 21;

/// Clocks from the end of a block to the start of the one in its place: 258 to 308 on an H200, of
/// blocks that spin 4,000 clocks. It varies: `cargo gpuprof characterize` has found 157 and 424.
const TURNAROUND: u64 = 270;

/// Clocks of an atomic of shared memory that is a loop of compare-and-swap: 98 to 116 on an H200,
/// without a conflict.
const RETRY: u64 = 116;

/// Clocks between arrivals at barriers, and from the last one to the release: a barrier takes 12.6,
/// and 2 for each warp, on an H100 (docs/scripts/estimate).
const BARRIER: (u64, u64) = (2, 13);

/// One multiprocessor.
pub struct Replay<'r> {
    code: &'r Code,
    traces: &'r [&'r Trace],
    blocks: Vec<Block>,
    warps: Vec<Warp>,
    queue: BinaryHeap<Reverse<(Ticks, u32)>>,
    slots: [Ticks; QUARTERS],
    pipes: [Pipes; QUARTERS],
    barriers: Ticks,
    memory: Memory<'r>,
    /// Ticks between the starts of blocks.
    dispatch: Ticks,
    last_start: Ticks,
    /// The trace of its first block.
    first: usize,
    /// Blocks that are still to start.
    waiting: u64,
    /// When blocks ended.
    ends: Vec<Ticks>,
    /// Stores that wait for their data, by the time when they have it: what comes after them in
    /// their warps does not wait.
    stores: BinaryHeap<Reverse<(Ticks, u32, Step)>>,
    /// The most steps of a warp, and their time.
    longest: (usize, Ticks),
}

/// The times of a launch by its replay, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Replayed {
    /// That of the busiest multiprocessor.
    pub ns: f64,
    /// That for which L2 is busy.
    pub l2_ns: f64,
}

/// Replays a launch, of whose warps one executes `longest_warp` instructions.
pub fn replay(
    code: &Code,
    traces: &[&Trace],
    shape: Shape,
    rates: &Rates,
    averages: Averages,
    longest_warp: u64,
) -> Replayed {
    let of_sm = shape.blocks_of_sm();
    let resident = u64::from(shape.resident.max(1)).min(of_sm);
    let kept = traces.iter().map(|trace| trace.kept()).sum::<u64>();
    let per_block = (kept / traces.len().max(1) as u64).max(1);
    let replayed = (MOST_STEPS / per_block).max(3 * resident).min(of_sm);
    // The launch ends with its slowest multiprocessor. With few blocks for each, they differ.
    let are_alike = traces.windows(2).all(|two| two[0].executed == two[1].executed);
    let sms = if are_alike || of_sm >= traces.len() as u64 { 1 } else { traces.len() };
    let (of_blocks, scale) = (Shared::new(traces, shape), scale(traces));
    let (mut ticks, mut l2_ticks) = (0.0f64, 0.0);
    for first in 0..sms {
        let mut replay = Replay::new(code, traces, shape, rates, averages, &of_blocks);
        (replay.first, replay.waiting) = (first, replayed);
        (0..resident).for_each(|_| replay.start(0));
        replay.run();
        l2_ticks += replay.memory.busy as f64 / replay.ends.len().max(1) as f64;
        let end = extrapolated(&mut replay.ends, resident, of_sm);
        ticks = ticks.max(end).max(replay.memory.drained() as f64);
        // The longest warp of all need not be in a block that was recorded.
        let (steps, time) = replay.longest;
        ticks = ticks.max(longest_warp as f64 / scale * time as f64 / steps.max(1) as f64);
    }
    let ns = |ticks: f64| scale * ticks / TICK as f64 / rates.clock_ghz;
    Replayed { ns: ns(ticks), l2_ns: ns(l2_ticks * of_sm as f64 / sms as f64) }
}

/// How much longer the longest recorded warp is than what was kept of it.
fn scale(traces: &[&Trace]) -> f64 {
    let executed = traces.iter().flat_map(|trace| trace.executed.iter().copied()).max();
    let kept = traces.iter().flat_map(|trace| trace.warps.iter().map(Vec::len)).max();
    executed.unwrap_or(0) as f64 / kept.unwrap_or(0).max(1) as f64
}

/// The end of `all` blocks, of which some ended at `ends`.
fn extrapolated(ends: &mut [Ticks], resident: u64, all: u64) -> f64 {
    ends.sort_unstable();
    let last = ends.last().copied().unwrap_or(0) as f64;
    let missing = all.saturating_sub(ends.len() as u64) as f64;
    let first = (resident as usize).min(ends.len()).saturating_sub(1);
    let steady = ends.len() - 1 - first;
    if missing == 0.0 || steady == 0 {
        return last;
    }
    last + missing * (last - ends[first] as f64) / steady as f64
}

impl<'r> Replay<'r> {
    fn new(
        code: &'r Code,
        traces: &'r [&'r Trace],
        shape: Shape,
        rates: &Rates,
        averages: Averages,
        of_blocks: &'r Shared,
    ) -> Self {
        let active = shape.blocks.min(u64::from(shape.sms)) as f64;
        Self {
            code,
            traces,
            blocks: Vec::new(),
            warps: Vec::new(),
            queue: BinaryHeap::new(),
            slots: [0; QUARTERS],
            pipes: [Pipes::default(); QUARTERS],
            barriers: 0,
            memory: Memory::new(shape, rates, active, averages, of_blocks),
            dispatch: ticks(active * rates.start_ns(shape.warps) * rates.clock_ghz),
            last_start: 0,
            first: 0,
            waiting: 0,
            ends: Vec::new(),
            stores: BinaryHeap::new(),
            longest: (0, 0),
        }
    }

    /// The next block starts, if one is left.
    fn start(&mut self, at: Ticks) {
        if self.waiting == 0 {
            return;
        }
        self.waiting -= 1;
        let number = self.blocks.len();
        let at = if number == 0 { at } else { at.max(self.last_start + self.dispatch) };
        self.last_start = at;
        let trace = (self.first + number) % self.traces.len();
        self.blocks.push(Block::new(trace, self.traces[trace].warps.len() as u32));
        for of_block in 0..self.traces[trace].warps.len() {
            let index = self.warps.len() as u32;
            self.warps.push(Warp::new(number, of_block, at, self.code.registers));
            self.queue.push(Reverse((at, index)));
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((now, index))) = self.queue.pop() {
            while self.stores.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
                self.store();
            }
            let Some(next) = self.step(index) else {
                let newest = self.warps[index as usize].newest;
                if newest > now {
                    // Its stores are still to come.
                    self.queue.push(Reverse((newest, index)));
                    continue;
                }
                self.finish(index);
                continue;
            };
            let instruction = &self.code.instructions[next.pc as usize];
            let ready = self.ready(index, instruction);
            // Units of the memory serve requests in the order of time.
            let wait = match instruction.kind {
                Kind::Arithmetic | Kind::Branch { .. } | Kind::Store => {
                    self.warps[index as usize].earliest()
                }
                _ => ready,
            };
            if wait > now {
                self.queue.push(Reverse((wait, index)));
                continue;
            }
            if self.issue(index, next, ready) {
                let floor = self.warps[index as usize].floor;
                self.queue.push(Reverse((floor.max(now), index)));
            }
        }
    }

    /// The next store has its data.
    fn store(&mut self) {
        let Some(Reverse((at, index, step))) = self.stores.pop() else { return };
        let warp = &mut self.warps[index as usize];
        if let Some(access) = self.traces[self.blocks[warp.block].trace].access(step) {
            let part = self.code.instructions[step.pc as usize].accesses;
            self.memory.store(at, access, part, &mut warp.gathered);
        }
    }

    /// The next step of a warp.
    fn step(&self, index: u32) -> Option<Step> {
        let warp = &self.warps[index as usize];
        self.traces[self.blocks[warp.block].trace].warps[warp.of_block].get(warp.at).copied()
    }

    /// When the operands of a warp's next instruction are there.
    fn ready(&self, index: u32, instruction: &Instruction) -> Ticks {
        let warp = &self.warps[index as usize];
        let sources = self.code.sources(instruction).iter();
        let ready = sources.map(|&register| warp.ready[register as usize]).max().unwrap_or(0);
        let moved = match instruction.kind {
            Kind::Arithmetic | Kind::Branch { .. } => warp.before_arithmetic(),
            Kind::Load { .. } => instruction.base.map_or(0, |base| warp.conflict(base)),
            _ => 0,
        };
        ready.max(warp.earliest()).max(moved)
    }

    /// Issues an instruction. `false`: the warp waits at a barrier.
    fn issue(&mut self, index: u32, step: Step, ready: Ticks) -> bool {
        let code = self.code;
        let instruction = &code.instructions[step.pc as usize];
        let cost = instruction.cost;
        let quarter = index as usize % QUARTERS;
        let mut start = ready;
        if cost.issues > 0 {
            // Slots that an instruction leaves free while it waits are for others.
            let earliest = self.warps[index as usize].earliest();
            let slot = self.slots[quarter].max(earliest);
            self.slots[quarter] = slot + u64::from(cost.issues);
            start = self.pipes[quarter].take(slot, &cost).max(ready);
        }
        let warp = &self.warps[index as usize];
        let block = &self.blocks[warp.block];
        let access = self.traces[block.trace].access(step);
        let done = match (instruction.kind, access) {
            (Kind::Load { .. } | Kind::Copy, Some(access)) => {
                let cached = instruction.kind == Kind::Load { cached: true };
                let how = (cached, instruction.accesses);
                self.memory.load(start, access, how, warp.block as u64)
            }
            (Kind::Store, Some(_)) => {
                self.stores.push(Reverse((start, index, step)));
                start
            }
            (Kind::Atomic { returns }, Some(access)) => self.memory.update(start, access, returns),
            (Kind::Retry, Some(access)) => self.memory.update(start, access, false),
            _ => start,
        };
        let done = done + u64::from(cost.latency);
        let warp = &mut self.warps[index as usize];
        warp.issued(start);
        if let (Kind::Store | Kind::Atomic { .. }, Some(base)) =
            (instruction.kind, instruction.base)
        {
            warp.stored(base, start);
        }
        match instruction.kind {
            Kind::Copy => warp.copied = warp.copied.max(done),
            Kind::WaitForCopies => warp.floor = warp.newest.max(warp.copied),
            Kind::Fence => warp.floor = warp.newest.max(done),
            Kind::Retry => warp.floor = warp.newest + RETRY * TICK,
            Kind::Branch { unrolled } => self.branch(index, step.pc, unrolled),
            Kind::Barrier { continues: false } => {
                self.arrive(index);
                return false;
            }
            Kind::Arithmetic
            | Kind::Load { .. }
            | Kind::Store
            | Kind::Atomic { .. }
            | Kind::Barrier { continues: true } => {
                for &register in code.results(instruction) {
                    warp.ready[register as usize] = done;
                }
            }
        }
        true
    }

    /// A branch: nothing moves across it, but for iterations of loops that ptxas unrolls.
    fn branch(&mut self, index: u32, pc: u32, unrolled: u32) {
        let next = self.step(index).map(|step| step.pc);
        let warp = &mut self.warps[index as usize];
        let is_taken = next != Some(pc + 1);
        if is_taken && unrolled > 1 {
            warp.iterations += 1;
            if !warp.iterations.is_multiple_of(unrolled) {
                return;
            }
        } else {
            warp.iterations = 0;
        }
        let costs = is_taken || self.code.is_machine;
        warp.floor = warp.newest + if costs { BRANCH * TICK } else { 0 };
    }

    /// A warp arrives at a barrier, and waits.
    fn arrive(&mut self, index: u32) {
        let warp = &self.warps[index as usize];
        self.barriers = self.barriers.max(warp.newest) + BARRIER.0 * TICK;
        let block = &mut self.blocks[warp.block];
        block.arrived.push(index);
        block.last_arrival = block.last_arrival.max(self.barriers);
        self.release(self.warps[index as usize].block);
    }

    /// The warps of a block continue if all that have not ended have arrived.
    fn release(&mut self, block: usize) {
        let of = &mut self.blocks[block];
        if of.arrived.is_empty() || (of.arrived.len() as u32) < of.live {
            return;
        }
        let at = of.last_arrival + BARRIER.1 * TICK;
        for index in std::mem::take(&mut of.arrived) {
            let warp = &mut self.warps[index as usize];
            warp.floor = at;
            self.queue.push(Reverse((at, index)));
        }
    }

    /// A warp has ended.
    fn finish(&mut self, index: u32) {
        let warp = &mut self.warps[index as usize];
        let (block, end) = (warp.block, warp.newest);
        self.longest = self.longest.max((warp.at, end - warp.began));
        warp.ready = Vec::new();
        let of = &mut self.blocks[block];
        of.live -= 1;
        of.end = of.end.max(end);
        if of.live > 0 {
            return self.release(block);
        }
        let end = of.end;
        self.ends.push(end);
        self.start(end + TURNAROUND * TICK);
    }
}
