//! The blocks and warps of a replay.

use super::memory::GATHERED;
use super::ticks::Ticks;

/// Instructions that ptxas moves at most past each other.
const WINDOW: usize = 48;

/// The same for arithmetic, which it keeps near the registers that it needs.
const ARITHMETIC_WINDOW: usize = 12;

/// A block.
#[derive(Debug)]
pub struct Block {
    /// The number of its trace.
    pub trace: usize,
    /// Warps that have not ended.
    pub live: u32,
    /// Warps that wait at the barrier.
    pub arrived: Vec<u32>,
    /// The latest arrival.
    pub last_arrival: Ticks,
    /// When its last warp so far ended.
    pub end: Ticks,
}

impl Block {
    /// It follows a trace, with so many warps.
    pub fn new(trace: usize, warps: u32) -> Self {
        Self { trace, live: warps, arrived: Vec::new(), last_arrival: 0, end: 0 }
    }
}

/// A warp.
#[derive(Debug)]
pub struct Warp {
    /// Its block.
    pub block: usize,
    /// Its number there.
    pub of_block: usize,
    /// Its next step.
    pub at: usize,
    /// The next instruction does not issue before.
    pub floor: Ticks,
    /// The latest issue.
    pub newest: Ticks,
    /// Iterations of the loop that it is in.
    pub iterations: u32,
    /// When its copies to shared memory have arrived.
    pub copied: Ticks,
    /// When its registers have their values.
    pub ready: Vec<Ticks>,
    /// When it began.
    pub began: Ticks,
    /// The lines that it stored last.
    pub gathered: [u64; GATHERED],
    /// The address of its last store and when that issued, and when the last other one did.
    stores: (Option<u16>, Ticks, Ticks),
    /// The issues of the last instructions.
    window: [Ticks; WINDOW],
}

impl Warp {
    /// It begins at a time.
    pub fn new(block: usize, of_block: usize, at: Ticks, registers: usize) -> Self {
        Self {
            block,
            of_block,
            at: 0,
            floor: at,
            newest: at,
            iterations: 0,
            copied: 0,
            ready: vec![at; registers],
            began: at,
            gathered: [u64::MAX; GATHERED],
            stores: (None, 0, 0),
            window: [0; WINDOW],
        }
    }

    /// Its next instruction does not issue before.
    pub fn earliest(&self) -> Ticks {
        self.floor.max(self.window[self.at % WINDOW])
    }

    /// Arithmetic that comes next does not issue before.
    pub fn before_arithmetic(&self) -> Ticks {
        self.window[(self.at + WINDOW - ARITHMETIC_WINDOW) % WINDOW]
    }

    /// A store by an address issues.
    pub fn stored(&mut self, base: u16, at: Ticks) {
        let (last, when, other) = self.stores;
        self.stores = match last == Some(base) {
            true => (last, when.max(at), other),
            false => (Some(base), at, other.max(when)),
        };
    }

    /// When the last store issued that may change what a load by an address finds.
    pub fn conflict(&self, base: u16) -> Ticks {
        let (last, when, other) = self.stores;
        if last == Some(base) { other } else { when.max(other) }
    }

    /// Its next instruction issues.
    pub fn issued(&mut self, at: Ticks) {
        self.window[self.at % WINDOW] = at;
        self.newest = self.newest.max(at);
        self.at += 1;
    }
}
