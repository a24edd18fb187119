//! Replays the recorded blocks on one multiprocessor: when each instruction of each warp issues.
//!
//! An instruction waits for its operands, a slot of its quarter's scheduler and its pipe. ptxas
//! moves loads away from their uses inside a basic block; so here an instruction waits for earlier
//! ones of its warp only at branches, barriers and fences, and for those far before it.
//! The multiprocessor has an equal share of the bandwidths of L2 and device memory.

use super::block::{Block, Warp};
use super::code::{Code, Instruction, Kind};
use super::cost::Pipe;
use super::memory::{Averages, Memory};
use super::rates::Rates;
use super::shape::Shape;
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

/// ptxas unrolls loops so often, where it does.
const UNROLLED: u32 = 4;

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
    pipes: [[Ticks; Pipe::COUNT]; QUARTERS],
    barriers: Ticks,
    memory: Memory,
    /// Ticks between the starts of blocks.
    dispatch: Ticks,
    last_start: Ticks,
    /// The trace of its first block.
    first: usize,
    /// Blocks that are still to start.
    waiting: u64,
    /// When blocks ended.
    ends: Vec<Ticks>,
}

/// Clocks that the busiest multiprocessor needs for its blocks.
pub fn clocks(
    code: &Code,
    traces: &[&Trace],
    shape: Shape,
    rates: &Rates,
    averages: Averages,
) -> f64 {
    let of_sm = shape.blocks_of_sm();
    let resident = u64::from(shape.resident.max(1)).min(of_sm);
    let kept = traces.iter().map(|trace| trace.kept()).sum::<u64>();
    let per_block = (kept / traces.len().max(1) as u64).max(1);
    let replayed = (MOST_STEPS / per_block).max(3 * resident).min(of_sm);
    // The launch ends with its slowest multiprocessor. With few blocks for each, they differ.
    let are_alike = traces.windows(2).all(|two| two[0].executed == two[1].executed);
    let sms = if are_alike || of_sm >= traces.len() as u64 { 1 } else { traces.len() };
    let end = |first: usize| {
        let mut replay = Replay::new(code, traces, shape, rates, averages);
        (replay.first, replay.waiting) = (first, replayed);
        (0..resident).for_each(|_| replay.start(0));
        replay.run();
        extrapolated(&mut replay.ends, resident, of_sm).max(replay.memory.drained() as f64)
    };
    let executed = traces.iter().map(|trace| trace.executed).sum::<u64>();
    let scale = executed as f64 / kept.max(1) as f64;
    scale * (0..sms).map(end).fold(0.0, f64::max) / TICK as f64
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
    ) -> Self {
        let active = shape.blocks.min(u64::from(shape.sms)) as f64;
        Self {
            code,
            traces,
            blocks: Vec::new(),
            warps: Vec::new(),
            queue: BinaryHeap::new(),
            slots: [0; QUARTERS],
            pipes: [[0; Pipe::COUNT]; QUARTERS],
            barriers: 0,
            memory: Memory::new(shape, rates, active, averages),
            dispatch: ticks(active * rates.start_ns(shape.warps) * rates.clock_ghz),
            last_start: 0,
            first: 0,
            waiting: 0,
            ends: Vec::new(),
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
            let Some(next) = self.step(index) else {
                self.finish(index);
                continue;
            };
            let instruction = &self.code.instructions[next.pc as usize];
            let ready = self.ready(index, instruction);
            // Units of the memory serve requests in the order of time.
            let wait = match instruction.kind {
                Kind::Arithmetic | Kind::Branch { .. } => self.warps[index as usize].earliest(),
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

    /// The next step of a warp.
    fn step(&self, index: u32) -> Option<Step> {
        let warp = &self.warps[index as usize];
        self.traces[self.blocks[warp.block].trace].warps[warp.of_block].get(warp.at).copied()
    }

    /// When the operands of a warp's next instruction are there.
    fn ready(&self, index: u32, instruction: &Instruction) -> Ticks {
        let warp = &self.warps[index as usize];
        let sources = self.code.sources(instruction).iter();
        sources.map(|&register| warp.ready[register as usize]).fold(warp.earliest(), Ticks::max)
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
            self.slots[quarter] = slot + u64::from(cost.issues) * TICK;
            let pipe = &mut self.pipes[quarter][cost.pipe as usize];
            let free = slot.max(*pipe);
            *pipe = free + u64::from(cost.busy) * TICK;
            start = free.max(ready);
        }
        let warp = &self.warps[index as usize];
        let block = &self.blocks[warp.block];
        let access = self.traces[block.trace].access(step);
        let done = match (instruction.kind, access) {
            (Kind::Load { cached }, Some(access)) => {
                self.memory.load(start, access, cached, warp.block as u64)
            }
            (Kind::Copy, Some(access)) => self.memory.load(start, access, false, warp.block as u64),
            (Kind::Store, Some(access)) => self.memory.store(start, access),
            (Kind::Atomic { returns }, Some(access)) => self.memory.update(start, access, returns),
            _ => start,
        };
        let done = done + u64::from(cost.latency) * TICK;
        let warp = &mut self.warps[index as usize];
        warp.issued(start);
        match instruction.kind {
            Kind::Copy => warp.copied = warp.copied.max(done),
            Kind::WaitForCopies => warp.floor = warp.newest.max(warp.copied),
            Kind::Fence => warp.floor = warp.newest.max(done),
            Kind::Branch { unrolls } => self.branch(index, step.pc, unrolls),
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
    fn branch(&mut self, index: u32, pc: u32, unrolls: bool) {
        let next = self.step(index).map(|step| step.pc);
        let warp = &mut self.warps[index as usize];
        let is_taken = next != Some(pc + 1);
        if is_taken && unrolls {
            warp.iterations += 1;
            if !warp.iterations.is_multiple_of(UNROLLED) {
                return;
            }
        } else {
            warp.iterations = 0;
        }
        warp.floor = warp.newest + if is_taken { BRANCH * TICK } else { 0 };
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
        warp.ready = Vec::new();
        let of = &mut self.blocks[block];
        of.live -= 1;
        of.end = of.end.max(end);
        if of.live > 0 {
            return self.release(block);
        }
        let end = of.end;
        self.ends.push(end);
        self.start(end);
    }
}
