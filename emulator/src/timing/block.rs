//! The blocks and warps of a replay.

use super::ticks::Ticks;

/// Instructions that ptxas moves at most past each other.
const WINDOW: usize = 48;

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
            window: [0; WINDOW],
        }
    }

    /// Its next instruction does not issue before.
    pub fn earliest(&self) -> Ticks {
        self.floor.max(self.window[self.at % WINDOW])
    }

    /// Its next instruction issues.
    pub fn issued(&mut self, at: Ticks) {
        self.window[self.at % WINDOW] = at;
        self.newest = self.newest.max(at);
        self.at += 1;
    }
}
