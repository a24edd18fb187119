//! Products of small matrices that a warp computes together.

use super::float::HalfFormat;
use super::slot::{File, Role, Slot, Visitor, show_all};

/// `mma.sync…m16n8…row.col`: `d ← a × b + c`, of which every lane holds parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mma {
    /// What `a` and `b` consist of.
    pub input: MmaInput,
    /// What `c` and `d` consist of.
    pub sums: MmaSums,
    /// Columns of `a` and rows of `b`.
    pub k: u8,
    /// The registers of `a`, of which the first [`Mma::inputs`] are used.
    pub a: [Slot; 4],
    /// The registers of `b`, of which the first half as many are used.
    pub b: [Slot; 2],
    /// The registers of `c`, of which the first [`MmaSums::registers`] are used.
    pub c: [Slot; 4],
    /// The registers of `d`, as many.
    pub d: [Slot; 4],
}

/// The numbers that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmaInput {
    /// Two in a register.
    Half(HalfFormat),
    /// `f32` of which the upper 19 bits count.
    Tf32,
    /// Four in a register.
    Byte {
        /// Whether those of `a` have a sign.
        a_signed: bool,
        /// Whether those of `b` have a sign.
        b_signed: bool,
    },
}

/// The numbers that the products are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmaSums {
    /// `f32`
    F32,
    /// Two halves in a register.
    F16,
    /// Integers with a sign.
    S32 {
        /// `.satfinite`
        saturates: bool,
    },
}

impl MmaInput {
    /// Numbers in a register.
    pub fn per_register(self) -> usize {
        match self {
            Self::Half(_) => 2,
            Self::Tf32 => 1,
            Self::Byte { .. } => 4,
        }
    }
}

impl MmaSums {
    /// Registers of a lane.
    pub fn registers(self) -> usize {
        if self == Self::F16 { 2 } else { 4 }
    }
}

impl Mma {
    /// How many registers of `a` a lane has.
    pub fn inputs(&self) -> usize {
        usize::from(self.k) / (2 * self.input.per_register())
    }

    /// Shows every slot.
    pub(super) fn slots(&mut self, see: &mut impl Visitor) {
        let (inputs, sums) = (self.inputs(), self.sums.registers());
        show_all(see, File::R32, Role::Read, &mut self.a[..inputs]);
        show_all(see, File::R32, Role::Read, &mut self.b[..inputs / 2]);
        show_all(see, File::R32, Role::Read, &mut self.c[..sums]);
        show_all(see, File::R32, Role::Write, &mut self.d[..sums]);
    }
}
