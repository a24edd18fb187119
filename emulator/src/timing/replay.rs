//! Replays the recorded blocks on one multiprocessor: when each instruction of each warp issues.
//!
//! An [`Order`] decides how long the instructions of a warp wait. Here are the blocks: when they
//! start and end, and when their warps meet at barriers. The multiprocessor has an equal share of
//! the bandwidths of L2 and device memory.

use super::memory::{Averages, Memory};
use super::pipes::Pipes;
use super::rates::Rates;
use super::recording::Recording;
use super::shape::Shape;
use super::sharing::Shared;
use super::ticks::{TICK, Ticks, ticks};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Quarters of a multiprocessor.
pub const QUARTERS: usize = 4;

/// Steps of all warps that are replayed at most, roughly.
const MOST_STEPS: u64 = 400_000;

/// A warp with fewer steps mostly waits for its start, so that it does not say how long a step
/// takes. Then one takes as many clocks as a sum that waits for another one, roughly.
const FEW: f64 = 256.0;
const STEP: u64 = 5;

/// Clocks from the end of a block to the start of the one in its place: 258 to 308 on an H200, of
/// blocks that spin 4,000 clocks. It varies: `cargo gpuprof characterize` has found 157 and 424.
const TURNAROUND: u64 = 270;

/// Clocks between arrivals at barriers, and from the last one to the release: a barrier takes 12.6,
/// and 2 for each warp, on an H100 (docs/scripts/estimate).
const BARRIER: (u64, u64) = (2, 13);

/// Clocks of an atomic of shared memory that is a loop of compare-and-swap: 98 to 116 on an H200,
/// without a conflict.
pub const RETRY: u64 = 116;

/// The order in which the instructions of warps issue.
pub trait Order {
    /// The warp with the next number begins.
    fn begin(&mut self, at: Ticks);

    /// The warp with this number may issue an instruction now.
    fn turn(&mut self, unit: &mut Multiprocessor<'_>, warp: &mut Warp, now: Ticks) -> Turn;

    /// A barrier releases the warp with this number.
    fn resume(&mut self, warp: usize, at: Ticks) -> Ticks;
}

/// The next action of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It waits until then. It may have issued an instruction before.
    Until(Ticks),
    /// It waits at the barrier of its block.
    AtBarrier,
    /// It ended then.
    Ended(Ticks),
}

/// A warp.
#[derive(Debug)]
pub struct Warp {
    /// Its number.
    pub number: usize,
    /// Its block.
    pub block: usize,
    /// The trace of its block, and its number there.
    pub trace: usize,
    /// Its number in its block.
    pub of_block: usize,
    /// Its next step.
    pub at: usize,
    /// Its latest issue.
    pub newest: Ticks,
    began: Ticks,
}

impl Warp {
    /// Its quarter of the multiprocessor.
    pub fn quarter(&self) -> usize {
        self.number % QUARTERS
    }
}

/// The units that all warps share.
#[derive(Debug)]
pub struct Multiprocessor<'r> {
    /// When the scheduler of each quarter is free.
    pub slots: [Ticks; QUARTERS],
    /// The pipes of each quarter.
    pub pipes: [Pipes; QUARTERS],
    /// Its memory.
    pub memory: Memory<'r>,
}

/// A block.
#[derive(Debug)]
struct Block {
    /// Warps that have not ended.
    live: usize,
    /// Warps that wait at the barrier.
    arrived: Vec<usize>,
    last_arrival: Ticks,
    /// When its last warp so far ended.
    end: Ticks,
}

struct Replay<'r, O> {
    order: O,
    unit: Multiprocessor<'r>,
    recording: &'r Recording<'r>,
    blocks: Vec<Block>,
    warps: Vec<Warp>,
    queue: BinaryHeap<Reverse<(Ticks, usize)>>,
    barriers: Ticks,
    /// Ticks between the starts of blocks.
    dispatch: Ticks,
    last_start: Ticks,
    /// The trace of its first block.
    first: usize,
    /// Blocks that are still to start.
    waiting: u64,
    /// When blocks ended.
    ends: Vec<Ticks>,
    /// The most steps of a warp, and their time.
    longest: (usize, Ticks),
}

/// The times of a launch by its replay, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Replayed {
    /// The time of the busiest multiprocessor, in nanoseconds.
    pub ns: f64,
    /// The time for which L2 is busy, in nanoseconds.
    pub l2_ns: f64,
}

/// Replays a launch in the order that `order` makes for each multiprocessor.
pub fn replay<O: Order>(
    order: impl Fn() -> O,
    recording: &Recording<'_>,
    shape: Shape,
    rates: &Rates,
    averages: Averages,
    of_blocks: &Shared,
) -> Replayed {
    let of_sm = shape.blocks_of_sm();
    let resident = u64::from(shape.resident.max(1)).min(of_sm);
    let traces = recording.traces();
    let replayed = (MOST_STEPS / recording.steps_of_block()).max(3 * resident).min(of_sm);
    // The launch ends with its slowest multiprocessor. With few blocks for each, they differ.
    let sms = if recording.is_alike() || of_sm >= traces as u64 { 1 } else { traces };
    let active = shape.blocks.min(u64::from(shape.sms)) as f64;
    let (mut all, mut l2_ticks, mut longest) = (0.0f64, 0.0, (0, 0));
    for first in 0..sms {
        let memory = Memory::new(shape, rates, active, averages, of_blocks);
        let mut replay = Replay {
            order: order(),
            unit: Multiprocessor {
                slots: [0; QUARTERS],
                pipes: [Pipes::default(); QUARTERS],
                memory,
            },
            recording,
            blocks: Vec::new(),
            warps: Vec::new(),
            queue: BinaryHeap::new(),
            barriers: 0,
            dispatch: ticks(active * rates.start_ns(shape.warps) * rates.clock_ghz),
            last_start: 0,
            first,
            waiting: replayed,
            ends: Vec::new(),
            longest: (0, 0),
        };
        (0..resident).for_each(|_| replay.start(0));
        replay.run();
        l2_ticks += replay.unit.memory.busy as f64 / replay.ends.len().max(1) as f64;
        all = all.max(replay.end(resident, of_sm));
        longest = longest.max(replay.longest);
    }
    // The longest warp of all need not be in a block that was recorded.
    let (steps, time) = (longest.0 as f64, longest.1 as f64);
    let step = if steps < FEW { (STEP * TICK) as f64 } else { time / steps };
    all = all.max(time + (recording.longest() - steps).max(0.0) * step);
    let ns = |ticks: f64| recording.scale() * ticks / TICK as f64 / rates.clock_ghz;
    Replayed { ns: ns(all), l2_ns: ns(l2_ticks * of_sm as f64 / sms as f64) }
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

impl<O: Order> Replay<'_, O> {
    /// The next block starts, if one is left.
    fn start(&mut self, at: Ticks) {
        if self.waiting == 0 {
            return;
        }
        self.waiting -= 1;
        let block = self.blocks.len();
        let at = if block == 0 { at } else { at.max(self.last_start + self.dispatch) };
        self.last_start = at;
        let trace = (self.first + block) % self.recording.traces();
        let warps = self.recording.warps(trace);
        self.blocks.push(Block { live: warps, arrived: Vec::new(), last_arrival: 0, end: 0 });
        for of_block in 0..warps {
            let number = self.warps.len();
            self.order.begin(at);
            self.warps.push(Warp { number, block, trace, of_block, at: 0, newest: at, began: at });
            self.queue.push(Reverse((at, number)));
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((now, number))) = self.queue.pop() {
            match self.order.turn(&mut self.unit, &mut self.warps[number], now) {
                Turn::Until(at) => self.queue.push(Reverse((at, number))),
                Turn::AtBarrier => self.arrive(number),
                Turn::Ended(at) => self.finish(number, at),
            }
        }
    }

    /// A warp arrives at a barrier, and waits.
    fn arrive(&mut self, number: usize) {
        let Warp { block, newest, .. } = self.warps[number];
        self.barriers = self.barriers.max(newest) + BARRIER.0 * TICK;
        let of = &mut self.blocks[block];
        of.arrived.push(number);
        of.last_arrival = of.last_arrival.max(self.barriers);
        self.release(block);
    }

    /// The warps of a block continue if all that have not ended have arrived.
    fn release(&mut self, block: usize) {
        let of = &mut self.blocks[block];
        if of.arrived.is_empty() || of.arrived.len() < of.live {
            return;
        }
        let at = of.last_arrival + BARRIER.1 * TICK;
        for number in std::mem::take(&mut of.arrived) {
            let at = self.order.resume(number, at);
            self.queue.push(Reverse((at, number)));
        }
    }

    /// A warp ended.
    fn finish(&mut self, number: usize, at: Ticks) {
        let Warp { block, trace, of_block, began, .. } = self.warps[number];
        let steps = self.recording.steps(trace, of_block).len();
        self.longest = self.longest.max((steps, at - began));
        let of = &mut self.blocks[block];
        of.live -= 1;
        of.end = of.end.max(at);
        if of.live > 0 {
            return self.release(block);
        }
        let end = of.end;
        self.ends.push(end);
        self.start(end + TURNAROUND * TICK);
    }

    /// When the multiprocessor has finished all of its blocks, in ticks of what was recorded.
    fn end(&mut self, resident: u64, of_sm: u64) -> f64 {
        let end = extrapolated(&mut self.ends, resident, of_sm);
        end.max(self.unit.memory.drained() as f64)
    }
}
