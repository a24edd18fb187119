//! The cache of instructions of a quarter: code that does not fit arrives more slowly than it
//! issues.

use crate::timing::ticks::{TICK, Ticks};

/// Bytes that it holds. On an H200, loops of 24 KB run at full speed, and loops of 48 KB do not
/// (docs/scripts/estimate).
const CAPACITY: usize = 32 << 10;

/// Bytes of a line, and its instructions.
const LINE: usize = 128;
const INSTRUCTIONS: usize = 8;

/// Ticks for a line that is not there: in loops of 48 to 112 KB, an instruction takes 2.2 clocks.
const MISS: Ticks = 22 * INSTRUCTIONS as Ticks * TICK / 10;

/// The cache of a quarter.
#[derive(Debug, Clone)]
pub struct Fetches {
    /// By line: how many lines had arrived when it did.
    known: Vec<u64>,
    arrived: u64,
    /// When it is free.
    free: Ticks,
}

impl Fetches {
    /// That for code of so many instructions; none if all of it fits.
    pub fn new(instructions: usize) -> Option<Self> {
        let lines = instructions.div_ceil(INSTRUCTIONS);
        let is_large = lines * LINE > CAPACITY;
        let arrived = (CAPACITY / LINE) as u64;
        is_large.then(|| Self { known: vec![0; lines], arrived, free: 0 })
    }

    /// When an instruction that could issue at a time is there.
    pub fn fetch(&mut self, instruction: usize, at: Ticks) -> Ticks {
        let known = &mut self.known[instruction / INSTRUCTIONS];
        if *known + (CAPACITY / LINE) as u64 > self.arrived {
            return at;
        }
        self.arrived += 1;
        *known = self.arrived;
        let there = at.max(self.free);
        self.free = there + MISS;
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loops_larger_than_the_cache_wait_for_instruction_lines() {
        assert!(Fetches::new(2048).is_none());
        let mut fetches = Fetches::new(3072).expect("48 KB do not fit");
        let mut pass = |from: usize, to: usize| {
            (from..to).step_by(INSTRUCTIONS).fold(0, |at, instruction| {
                let there = fetches.fetch(instruction, at);
                assert_eq!(fetches.fetch(instruction + 1, there), there);
                there
            })
        };
        pass(0, 3072);
        let whole = pass(0, 3072);
        assert!(whole >= 383 * MISS, "{whole}");
        // A loop of 16 KB in it fits.
        pass(0, 1024);
        assert_eq!(pass(0, 1024), 0);
    }
}
