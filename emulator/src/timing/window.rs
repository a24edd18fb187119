//! The order of instructions by the PTX, for kernels without known machine code.
//!
//! An instruction waits for its operands, a slot of its quarter's scheduler and its pipe. ptxas
//! moves loads away from their uses inside a basic block; so here an instruction waits for earlier
//! ones of its warp only at branches, barriers and fences, and for those far before it.

use super::code::{Code, Instruction, Kind};
use super::memory::GATHERED;
use super::recording::Recording;
use super::replay::{Multiprocessor, Order, RETRY, Turn, Warp};
use super::ticks::{TICK, Ticks};
use crate::counters::trace::Step;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Instructions that ptxas moves at most past each other.
const WINDOW: usize = 48;

/// Instructions that ptxas moves arithmetic past at most: it keeps arithmetic near its registers.
const ARITHMETIC_WINDOW: usize = 12;

/// Clocks from a taken branch to the next instruction: an iteration of a loop that only counts and
/// adds takes 29 on an H100 (docs/scripts/estimate), of which 8 are the count and its comparison.
const BRANCH: u64 = 21;

/// The order by the PTX.
pub struct ByWindow<'r> {
    code: &'r Code,
    recording: &'r Recording<'r>,
    warps: Vec<Waits>,
    /// Stores that wait for their data, by the time when they have it. Later instructions of their
    /// warps do not wait.
    stores: BinaryHeap<Reverse<(Ticks, usize, usize, Step)>>,
}

/// The state of a warp.
#[derive(Debug)]
struct Waits {
    /// The next instruction does not issue before.
    floor: Ticks,
    /// Iterations of the loop that it is in.
    iterations: u32,
    /// When its copies to shared memory have arrived.
    copied: Ticks,
    /// When its registers have their values.
    ready: Vec<Ticks>,
    /// The address of its last store and when that issued, and when the last other one did.
    stores: (Option<u16>, Ticks, Ticks),
    /// The lines that it stored last.
    gathered: [u64; GATHERED],
    /// The issues of the last instructions.
    window: [Ticks; WINDOW],
}

impl Waits {
    /// The instruction at a step does not issue before.
    fn earliest(&self, at: usize) -> Ticks {
        self.floor.max(self.window[at % WINDOW])
    }

    /// Arithmetic at a step does not issue before.
    fn before_arithmetic(&self, at: usize) -> Ticks {
        self.window[(at + WINDOW - ARITHMETIC_WINDOW) % WINDOW]
    }

    /// A store by an address issues.
    fn store(&mut self, base: u16, at: Ticks) {
        let (last, when, other) = self.stores;
        self.stores = match last == Some(base) {
            true => (last, when.max(at), other),
            false => (Some(base), at, other.max(when)),
        };
    }

    /// When the last store issued that may change the data of a load by an address.
    fn conflict(&self, base: u16) -> Ticks {
        let (last, when, other) = self.stores;
        if last == Some(base) { other } else { when.max(other) }
    }
}

impl<'r> ByWindow<'r> {
    /// The order of the instructions of a recording.
    pub fn new(code: &'r Code, recording: &'r Recording<'r>) -> Self {
        Self { code, recording, warps: Vec::new(), stores: BinaryHeap::new() }
    }

    /// Stores that have their data at a time reach the memory.
    fn store(&mut self, unit: &mut Multiprocessor<'_>, now: Ticks) {
        while self.stores.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((at, warp, trace, step))) = self.stores.pop() else { return };
            if let Some(access) = self.recording.trace(trace).access(step) {
                unit.memory.store(at, access, 1.0, &mut self.warps[warp].gathered);
            }
        }
    }

    /// When the operands of a warp's next instruction are there.
    fn ready(&self, warp: &Warp, instruction: &Instruction) -> Ticks {
        let waits = &self.warps[warp.number];
        let sources = self.code.sources(instruction).iter();
        let ready = sources.map(|&register| waits.ready[register as usize]).max().unwrap_or(0);
        let moved = match instruction.kind {
            Kind::Arithmetic | Kind::Branch { .. } => waits.before_arithmetic(warp.at),
            Kind::Load { .. } => instruction.base.map_or(0, |base| waits.conflict(base)),
            _ => 0,
        };
        ready.max(waits.earliest(warp.at)).max(moved)
    }

    /// Issues an instruction. `false`: the warp waits at a barrier.
    fn issue(
        &mut self,
        unit: &mut Multiprocessor<'_>,
        warp: &mut Warp,
        step: Step,
        ready: Ticks,
    ) -> bool {
        let code = self.code;
        let instruction = &code.instructions[step.pc as usize];
        let start = self.start(unit, warp, instruction, ready);
        let access = self.recording.trace(warp.trace).access(step);
        let done = match (instruction.kind, access) {
            (Kind::Load { .. } | Kind::Copy, Some(access)) => {
                let cached = instruction.kind == Kind::Load { cached: true };
                unit.memory.load(start, access, (cached, 1.0), warp.block as u64)
            }
            (Kind::Constant, Some(access)) => {
                unit.memory.load_constants(start, access.wavefronts.max(1))
            }
            (Kind::Store, Some(_)) => {
                self.stores.push(Reverse((start, warp.number, warp.trace, step)));
                start
            }
            (Kind::Atomic { returns }, Some(access)) => unit.memory.update(start, access, returns),
            (Kind::Retry, Some(access)) => unit.memory.update(start, access, false),
            _ => start,
        };
        let done = done + u64::from(instruction.cost.latency);
        let waits = &mut self.warps[warp.number];
        waits.window[warp.at % WINDOW] = start;
        warp.newest = warp.newest.max(start);
        warp.at += 1;
        if let (Kind::Store | Kind::Atomic { .. }, Some(base)) =
            (instruction.kind, instruction.base)
        {
            waits.store(base, start);
        }
        match instruction.kind {
            Kind::Copy => waits.copied = waits.copied.max(done),
            Kind::WaitForCopies => waits.floor = warp.newest.max(waits.copied),
            Kind::Fence => waits.floor = warp.newest.max(done),
            Kind::Retry => waits.floor = warp.newest + RETRY * TICK,
            Kind::Branch { unrolled } => self.branch(warp, step.pc, unrolled),
            Kind::Barrier { continues: false } => return false,
            Kind::Arithmetic
            | Kind::Load { .. }
            | Kind::Constant
            | Kind::Store
            | Kind::Atomic { .. }
            | Kind::Barrier { continues: true } => {
                for &register in code.results(instruction) {
                    waits.ready[register as usize] = done;
                }
            }
        }
        true
    }

    /// When an instruction has a slot and its pipe. Its operands are there at `ready`.
    fn start(
        &self,
        unit: &mut Multiprocessor<'_>,
        warp: &Warp,
        instruction: &Instruction,
        ready: Ticks,
    ) -> Ticks {
        let cost = instruction.cost;
        if cost.issues == 0 {
            return ready;
        }
        // Slots that an instruction leaves free while it waits are for others.
        let earliest = self.warps[warp.number].earliest(warp.at);
        let quarter = warp.quarter();
        let slot = unit.slots[quarter].max(earliest);
        unit.slots[quarter] = slot + u64::from(cost.issues);
        unit.pipes[quarter].take(slot, &cost).max(ready)
    }

    /// A branch: nothing moves across it, but for iterations of loops that ptxas unrolls. One that
    /// is not taken may be instructions with conditions in machine code.
    fn branch(&mut self, warp: &Warp, pc: u32, unrolled: u32) {
        let next = self.recording.steps(warp.trace, warp.of_block).get(warp.at);
        let waits = &mut self.warps[warp.number];
        let is_taken = next.map(|step| step.pc) != Some(pc + 1);
        if is_taken && unrolled > 1 {
            waits.iterations += 1;
            if !waits.iterations.is_multiple_of(unrolled) {
                return;
            }
        } else {
            waits.iterations = 0;
        }
        waits.floor = warp.newest + if is_taken { BRANCH * TICK } else { 0 };
    }
}

impl Order for ByWindow<'_> {
    fn begin(&mut self, at: Ticks) {
        self.warps.push(Waits {
            floor: at,
            iterations: 0,
            copied: 0,
            ready: vec![at; self.code.registers],
            stores: (None, 0, 0),
            gathered: [u64::MAX; GATHERED],
            window: [0; WINDOW],
        });
    }

    fn turn(&mut self, unit: &mut Multiprocessor<'_>, warp: &mut Warp, now: Ticks) -> Turn {
        self.store(unit, now);
        let Some(&step) = self.recording.steps(warp.trace, warp.of_block).get(warp.at) else {
            if warp.newest > now {
                // Its stores are still to come.
                return Turn::Until(warp.newest);
            }
            self.warps[warp.number].ready = Vec::new();
            return Turn::Ended(warp.newest);
        };
        let instruction = &self.code.instructions[step.pc as usize];
        let ready = self.ready(warp, instruction);
        // Units of the memory serve requests in the order of time.
        let wait = match instruction.kind {
            Kind::Arithmetic | Kind::Branch { .. } | Kind::Store => {
                self.warps[warp.number].earliest(warp.at)
            }
            _ => ready,
        };
        if wait > now {
            return Turn::Until(wait);
        }
        match self.issue(unit, warp, step, ready) {
            true => Turn::Until(self.warps[warp.number].floor.max(now)),
            false => Turn::AtBarrier,
        }
    }

    fn resume(&mut self, warp: usize, at: Ticks) -> Ticks {
        self.warps[warp].floor = at;
        at
    }
}
