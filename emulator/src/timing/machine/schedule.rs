//! The order of machine instructions: ptxas encodes how long each delays the next one, and which
//! earlier ones it waits for.

use super::fetch::Fetches;
use super::instruction::{BARRIERS, Control};
use super::paths::{MachineStep, Path, Paths};
use crate::counters::trace::Step;
use crate::timing::memory::GATHERED;
use crate::timing::pipes::Cost;
use crate::timing::recording::Recording;
use crate::timing::replay::{Multiprocessor, Order, QUARTERS, RETRY, Turn, Warp};
use crate::timing::ticks::{TICK, Ticks};

/// Clocks by which a taken branch is longer than one that is not: an iteration of a loop that
/// counts and adds takes 29 on an H100, of which ptxas knows 24 (docs/scripts/estimate).
const TAKEN: u64 = 5;

/// Clocks until an instruction of memory has read its operands.
const READ: u64 = 10;

/// Clocks for which instructions of variable latency wait for their pipe before they hold up the
/// warp.
const QUEUE: u64 = 32;

/// Releases of a barrier that are kept.
const KEPT: usize = 8;

/// The action of a machine instruction in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Its result is there after so many clocks.
    Result { clocks: u64 },
    /// It loads; `cached`: L1 may have the data. Without an access, its condition is false.
    Load { cached: bool },
    /// It loads what is not known, such as a register that was spilled: from L1.
    Hit,
    /// It accesses local memory.
    Local,
    /// It loads from constant memory, and has the result of one word after so many clocks.
    Constant { clocks: u64 },
    /// It stores.
    Store,
    /// It is atomic; `returns`: and returns the old value; `is_retried`: and is a loop.
    Atomic { returns: bool, is_retried: bool },
    /// It copies to shared memory.
    Copy,
    /// Its result is that of the copies so far.
    JoinCopies,
    /// It waits for the block.
    Barrier,
    /// It delays the next instruction for so many ticks.
    Fence { ticks: u64 },
}

/// A machine instruction in a replay.
#[derive(Debug, Clone, Copy)]
pub struct Scheduled {
    /// The units that it occupies.
    pub cost: Cost,
    /// Its order.
    pub control: Control,
    /// The barrier for which it waits until at most so many of those that release it are left.
    pub awaits: Option<(usize, usize)>,
    /// Its action.
    pub action: Action,
    /// The part that it has of each access that it makes.
    pub part: f64,
    /// Whether it may jump.
    pub jumps: bool,
}

impl Scheduled {
    /// Whether the warp goes on while it waits for its pipe.
    fn is_queued(&self) -> bool {
        self.control.result.is_some()
            || self.control.operands.is_some()
            || matches!(self.action, Action::Store | Action::Copy | Action::Atomic { .. })
    }
}

/// The machine code of a launch.
#[derive(Debug)]
pub struct Schedule {
    /// By machine instruction.
    pub instructions: Vec<Scheduled>,
    /// The paths of warps through it.
    pub paths: Paths,
}

impl Schedule {
    /// The paths of the warps of each recorded block.
    pub fn paths(&self, recording: &Recording<'_>) -> Vec<Vec<Path>> {
        let mut number = 0;
        let mut path = |trace, warp| {
            number += 1;
            self.paths.path(recording.trace(trace), recording.steps(trace, warp), number)
        };
        let traces = 0..recording.traces();
        traces
            .map(|trace| (0..recording.warps(trace)).map(|warp| path(trace, warp)).collect())
            .collect()
    }
}

/// The order by machine code.
pub struct BySchedule<'r> {
    schedule: &'r Schedule,
    recording: &'r Recording<'r>,
    paths: &'r [Vec<Path>],
    warps: Vec<Waits>,
    fetches: Option<[Fetches; QUARTERS]>,
}

/// The state of a warp.
#[derive(Debug)]
struct Waits {
    /// The next instruction does not issue before.
    floor: Ticks,
    /// When the last instructions that release each barrier do, the earliest first.
    barriers: [[Ticks; KEPT]; BARRIERS],
    /// When its copies to shared memory have arrived.
    copied: Ticks,
    /// The lines that it stored last.
    gathered: [u64; GATHERED],
}

impl Waits {
    /// When a barrier is released but for so many.
    fn released(&self, barrier: usize, left: usize) -> Ticks {
        self.barriers[barrier].iter().rev().nth(left).copied().unwrap_or(0)
    }

    fn release(&mut self, barrier: Option<usize>, at: Ticks) {
        let Some(barrier) = barrier else { return };
        let releases = &mut self.barriers[barrier];
        releases[0] = at.max(releases[0]);
        releases.sort_unstable();
    }
}

impl<'r> BySchedule<'r> {
    /// The order of instructions along the `paths` of a recording.
    pub fn new(
        schedule: &'r Schedule,
        recording: &'r Recording<'r>,
        paths: &'r [Vec<Path>],
    ) -> Self {
        let fetches = Fetches::new(schedule.instructions.len());
        let fetches = fetches.map(|of| std::array::from_fn(|_| of.clone()));
        Self { schedule, recording, paths, warps: Vec::new(), fetches }
    }

    /// When a warp may issue an instruction.
    fn ready(&self, warp: &Warp, of: &Scheduled) -> Ticks {
        let waits = &self.warps[warp.number];
        let released = of.control.waits().map(|barrier| waits.released(barrier, 0));
        let awaited = of.awaits.map(|(barrier, left)| waits.released(barrier, left));
        released.chain(awaited).fold(waits.floor, Ticks::max)
    }

    fn issue(
        &mut self,
        unit: &mut Multiprocessor<'_>,
        warp: &mut Warp,
        step: MachineStep,
        ready: Ticks,
    ) -> Turn {
        let of = &self.schedule.instructions[step.instruction];
        let quarter = warp.quarter();
        let mut slot = unit.slots[quarter].max(ready);
        if let Some(fetches) = &mut self.fetches {
            slot = fetches[quarter].fetch(step.instruction, slot);
        }
        unit.slots[quarter] = slot + TICK;
        let start = unit.pipes[quarter].take(slot, &of.cost);
        let path = &self.paths[warp.trace][warp.of_block];
        let done = self.execute(unit, warp, of, path.accesses(step), start);
        let waits = &mut self.warps[warp.number];
        waits.release(of.control.result, done);
        waits.release(of.control.operands, start.max(unit.memory.front()) + READ * TICK);
        let issued = match of.is_queued() {
            true => slot.max(start.saturating_sub(QUEUE * TICK)),
            false => start,
        };
        waits.floor = issued + u64::from(of.control.stall.max(1)) * TICK;
        warp.newest = warp.newest.max(start);
        warp.at += 1;
        match of.action {
            Action::Barrier => return Turn::AtBarrier,
            Action::Fence { ticks } => waits.floor = waits.floor.max(start + ticks),
            Action::Atomic { is_retried: true, .. } => {
                waits.floor = waits.floor.max(start + RETRY * TICK);
            }
            _ => {}
        }
        let next = path.step(warp.at).map(|next| next.instruction);
        if of.jumps && next != Some(step.instruction + 1) {
            waits.floor += TAKEN * TICK;
        }
        Turn::Until(waits.floor)
    }

    /// Executes an instruction that starts at a time; when its result is there.
    fn execute(
        &mut self,
        unit: &mut Multiprocessor<'_>,
        warp: &Warp,
        of: &Scheduled,
        steps: &[Step],
        start: Ticks,
    ) -> Ticks {
        let memory = &mut unit.memory;
        let waits = &mut self.warps[warp.number];
        let trace = self.recording.trace(warp.trace);
        let accesses = steps.iter().filter_map(|step| trace.access(*step));
        match of.action {
            Action::Result { clocks } => start + clocks * TICK,
            Action::JoinCopies => waits.copied.max(start),
            Action::Constant { clocks } => {
                let words = accesses.map(|access| access.wavefronts).max().unwrap_or(1);
                memory.load_constants(start, words.max(1)) + clocks * TICK
            }
            Action::Hit => memory.hit(start),
            Action::Load { cached } => {
                let block = warp.block as u64;
                let load = |access| memory.load(start, access, (cached, of.part), block);
                accesses.map(load).fold(start, Ticks::max)
            }
            Action::Local => {
                let hit = memory.hit(start);
                let access = |access| memory.load(start, access, (true, of.part), 0).max(hit);
                accesses.map(access).fold(start, Ticks::max)
            }
            Action::Copy => {
                let load = |access| memory.load(start, access, (false, of.part), warp.block as u64);
                let done = accesses.map(load).fold(start, Ticks::max);
                waits.copied = waits.copied.max(done);
                done
            }
            Action::Store => {
                let gathered = &mut waits.gathered;
                accesses.for_each(|access| memory.store(start, access, of.part, gathered));
                start
            }
            Action::Atomic { returns, .. } => {
                let update = |access| memory.update(start, access, returns);
                accesses.map(update).fold(start, Ticks::max)
            }
            Action::Barrier | Action::Fence { .. } => start,
        }
    }
}

impl Order for BySchedule<'_> {
    fn begin(&mut self, at: Ticks) {
        self.warps.push(Waits {
            floor: at,
            barriers: [[0; KEPT]; BARRIERS],
            copied: 0,
            gathered: [u64::MAX; GATHERED],
        });
    }

    fn turn(&mut self, unit: &mut Multiprocessor<'_>, warp: &mut Warp, now: Ticks) -> Turn {
        let Some(step) = self.paths[warp.trace][warp.of_block].step(warp.at) else {
            return Turn::Ended(now);
        };
        let ready = self.ready(warp, &self.schedule.instructions[step.instruction]);
        match ready > now {
            true => Turn::Until(ready),
            false => self.issue(unit, warp, step, ready),
        }
    }

    fn resume(&mut self, warp: usize, at: Ticks) -> Ticks {
        let floor = &mut self.warps[warp].floor;
        *floor = at.max(*floor);
        *floor
    }
}
