//! The pipes of a quarter of a multiprocessor, and which of them takes an instruction of some cost.

use super::ticks::{TICK, Ticks};

/// Clocks of an instruction on `Alu`, `Heavy` and `Lite`, of 16 lanes each.
const HALF_WARP: u32 = 2;

/// Ticks of a clock.
const CLOCK: u32 = TICK as u32;

/// The units of a quarter of a multiprocessor that instructions occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// Integers, logic, comparisons.
    Alu,
    /// Half of the floats, and integers with multiplication.
    Heavy,
    /// The other half of the floats.
    Lite,
    /// Double precision.
    Double,
    /// Special functions and conversions.
    Special,
    /// Accesses of memory and exchanges between lanes.
    Memory,
    /// Matrix products.
    Tensor,
}

impl Pipe {
    /// Their number.
    pub const COUNT: usize = 7;
}

/// The cost of an instruction of a warp, in ticks. Of an instruction that is executed in part only,
/// such as the test of a loop that is unrolled, it is a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// For issue slots.
    pub issues: u32,
    /// For which each pipe of a quarter takes no other instruction.
    pub busy: [u32; Pipe::COUNT],
    /// The same for additions, for which ptxas chooses `Alu` or `Heavy`.
    pub adds: u32,
    /// The same for operations on floats, which `Heavy` or `Lite` takes.
    pub floats: u32,
    /// From its issue to that of an instruction that needs its result; for memory, the part beyond
    /// the latency of the memory.
    pub latency: u32,
}

impl Cost {
    /// With clocks of a pipe.
    pub const fn with(mut self, pipe: Pipe, clocks: u32) -> Self {
        self.busy[pipe as usize] += CLOCK * clocks;
        self
    }

    /// With instructions on `Alu`.
    pub const fn alu(self, instructions: u32) -> Self {
        self.with(Pipe::Alu, HALF_WARP * instructions)
    }

    /// With clocks on `Heavy`.
    pub const fn heavy(self, clocks: u32) -> Self {
        self.with(Pipe::Heavy, clocks)
    }

    /// With instructions on `Special`.
    pub const fn special(self, instructions: u32) -> Self {
        self.with(Pipe::Special, 8 * instructions)
    }

    /// With instructions on `Double`.
    pub const fn double(self, instructions: u32) -> Self {
        self.with(Pipe::Double, 2 * instructions)
    }

    /// With clocks on `Memory`.
    pub const fn memory(self, clocks: u32) -> Self {
        self.with(Pipe::Memory, clocks)
    }

    /// With additions.
    pub const fn adds(mut self, instructions: u32) -> Self {
        self.adds += CLOCK * HALF_WARP * instructions;
        self
    }

    /// With operations on floats.
    pub const fn floats(mut self, instructions: u32) -> Self {
        self.floats += CLOCK * HALF_WARP * instructions;
        self
    }

    /// Its issue slots, if it is a whole instruction.
    pub const fn slots(&self) -> u32 {
        self.issues / CLOCK
    }
}

/// The cost of so many issue slots, with a latency in clocks.
pub const fn cost(issues: u32, latency: u32) -> Cost {
    let (issues, latency) = (CLOCK * issues, CLOCK * latency);
    Cost { issues, busy: [0; Pipe::COUNT], adds: 0, floats: 0, latency }
}

/// The pipes of a quarter: when each is free.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pipes([Ticks; Pipe::COUNT]);

impl Pipes {
    /// They take an instruction that has its slot at a time; when they do.
    pub fn take(&mut self, slot: Ticks, cost: &Cost) -> Ticks {
        let mut start = slot;
        for (free, busy) in self.0.iter_mut().zip(cost.busy).filter(|(_, busy)| *busy > 0) {
            start = start.max(*free);
            *free = start + u64::from(busy);
        }
        for (mut left, other) in [(cost.adds, Pipe::Alu), (cost.floats, Pipe::Lite)] {
            while left > 0 {
                let part = left.min(CLOCK * HALF_WARP);
                let is_heavy = self.0[Pipe::Heavy as usize] < self.0[other as usize];
                let free = &mut self.0[if is_heavy { Pipe::Heavy } else { other } as usize];
                start = start.max(*free);
                *free = slot.max(*free) + u64::from(part);
                left -= part;
            }
        }
        start
    }
}

/// Ticks of instructions on the units of a quarter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    issues: f64,
    busy: [f64; Pipe::COUNT],
    adds: f64,
    floats: f64,
}

impl Demand {
    /// Adds an instruction that `warps` warps execute.
    pub fn add(&mut self, cost: &Cost, warps: f64) {
        self.issues += warps * f64::from(cost.issues);
        self.busy.iter_mut().zip(cost.busy).for_each(|(all, busy)| *all += warps * f64::from(busy));
        self.adds += warps * f64::from(cost.adds);
        self.floats += warps * f64::from(cost.floats);
    }

    /// Clocks for which slots issue.
    pub fn issue_clocks(&self) -> f64 {
        self.issues / f64::from(CLOCK)
    }

    /// Clocks that the busiest pipe needs, if pipes with a choice share the common instructions.
    pub fn clocks(&self) -> f64 {
        let [alu, heavy, ..] = self.busy;
        let integers = alu + self.adds + heavy;
        let shared = [integers / 2.0, (heavy + self.floats) / 2.0, (integers + self.floats) / 3.0];
        self.busy.into_iter().chain(shared).fold(0.0, f64::max) / f64::from(CLOCK)
    }

    /// The cost of each of `executions`. `Tensor` is that of `whole`, and so is the latency.
    pub fn cost(&self, executions: f64, whole: &Cost) -> Cost {
        let part = |ticks: f64| (ticks / executions).round() as u32;
        let mut busy = self.busy.map(part);
        busy[Pipe::Tensor as usize] = whole.busy[Pipe::Tensor as usize];
        Cost {
            issues: part(self.issues),
            busy,
            adds: part(self.adds),
            floats: part(self.floats),
            latency: whole.latency,
        }
    }
}
