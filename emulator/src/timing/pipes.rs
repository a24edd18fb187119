//! The pipes of a quarter of a multiprocessor, and which of them takes an instruction of some cost.

use super::ticks::{TICK, Ticks};

/// Clocks of an instruction on `Alu`, `Heavy` and `Lite`, of 16 lanes each.
pub const HALF_WARP: u16 = 2;

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

/// The cost of an instruction of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Issue slots.
    pub issues: u16,
    /// Clocks for which each pipe of a quarter takes no other instruction.
    pub busy: [u16; Pipe::COUNT],
    /// Additions, for which ptxas chooses `Alu` or `Heavy`.
    pub adds: u16,
    /// Operations on floats, which `Heavy` or `Lite` takes.
    pub floats: u16,
    /// Clocks from its issue to that of an instruction that needs its result; for memory, those
    /// beyond the latency of the memory.
    pub latency: u16,
}

impl Cost {
    /// With clocks of a pipe.
    pub const fn with(mut self, pipe: Pipe, clocks: u16) -> Self {
        self.busy[pipe as usize] += clocks;
        self
    }

    /// With instructions on `Alu`.
    pub const fn alu(self, instructions: u16) -> Self {
        self.with(Pipe::Alu, HALF_WARP * instructions)
    }

    /// With clocks on `Heavy`.
    pub const fn heavy(self, clocks: u16) -> Self {
        self.with(Pipe::Heavy, clocks)
    }

    /// With instructions on `Special`.
    pub const fn special(self, instructions: u16) -> Self {
        self.with(Pipe::Special, 8 * instructions)
    }

    /// With instructions on `Double`.
    pub const fn double(self, instructions: u16) -> Self {
        self.with(Pipe::Double, 2 * instructions)
    }

    /// With clocks on `Memory`.
    pub const fn memory(self, clocks: u16) -> Self {
        self.with(Pipe::Memory, clocks)
    }

    /// With additions.
    pub const fn adds(mut self, instructions: u16) -> Self {
        self.adds += instructions;
        self
    }

    /// With operations on floats.
    pub const fn floats(mut self, instructions: u16) -> Self {
        self.floats += instructions;
        self
    }
}

/// The cost of so many issue slots, with this latency.
pub const fn cost(issues: u16, latency: u16) -> Cost {
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
            *free = start + u64::from(busy) * TICK;
        }
        for (count, other) in [(cost.adds, Pipe::Alu), (cost.floats, Pipe::Lite)] {
            for _ in 0..count {
                let is_heavy = self.0[Pipe::Heavy as usize] < self.0[other as usize];
                let free = &mut self.0[if is_heavy { Pipe::Heavy } else { other } as usize];
                start = start.max(*free);
                *free = slot.max(*free) + u64::from(HALF_WARP) * TICK;
            }
        }
        start
    }
}

/// Clocks of instructions on the pipes of a quarter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demand {
    busy: [f64; Pipe::COUNT],
    adds: f64,
    floats: f64,
}

impl Demand {
    /// Adds an instruction that `warps` warps execute.
    pub fn add(&mut self, cost: &Cost, warps: f64) {
        self.busy.iter_mut().zip(cost.busy).for_each(|(all, busy)| *all += warps * f64::from(busy));
        self.adds += warps * f64::from(HALF_WARP * cost.adds);
        self.floats += warps * f64::from(HALF_WARP * cost.floats);
    }

    /// Clocks that the busiest pipe needs, if those with a choice share what either may take.
    pub fn clocks(&self) -> f64 {
        let [alu, heavy, ..] = self.busy;
        let integers = alu + self.adds + heavy;
        let shared = [integers / 2.0, (heavy + self.floats) / 2.0, (integers + self.floats) / 3.0];
        self.busy.into_iter().chain(shared).fold(0.0, f64::max)
    }
}
