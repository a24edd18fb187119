//! Products of small matrices that a warp computes together, and the moves of their parts.

use super::float::{ByteFormat, HalfFormat};
use super::fragment::{Dealing, Fragment, Matrix, MatrixShape};
use super::memory::Address;
use super::slot::{File, Role, Slot, Visitor, show, show_all};
use super::types::Rounding;

/// `mma` and `wmma.mma`: `d ← a × b + c`, of which every lane holds parts. Of each matrix the first
/// registers are used, as many as its [`Fragment`] has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mma {
    /// The sizes.
    pub shape: MatrixShape,
    /// The elements of `a` and `b`.
    pub input: MmaInput,
    /// The elements of `c`.
    pub given: MmaSums,
    /// The elements of `d`.
    pub sums: MmaSums,
    /// How each step of a product of doubles is rounded.
    pub rounding: Rounding,
    /// How `a` and `b` are dealt out.
    pub dealing: [Dealing; 2],
    /// The registers of `a`.
    pub a: [Slot; 8],
    /// The registers of `b`.
    pub b: [Slot; 8],
    /// The registers of `c`.
    pub c: [Slot; 8],
    /// The registers of `d`.
    pub d: [Slot; 8],
}

/// The numbers that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmaInput {
    /// Half precision.
    Half(HalfFormat),
    /// `f32` of which the upper 19 bits count.
    Tf32,
    /// Double precision.
    Double,
    /// Floats of eight bits.
    Byte {
        /// The format of `a`.
        a: ByteFormat,
        /// The format of `b`.
        b: ByteFormat,
    },
    /// Integers of 8 or 4 bits.
    Integer {
        /// How many.
        bits: u8,
        /// Whether those of `a` have a sign.
        a_signed: bool,
        /// Whether those of `b` have a sign.
        b_signed: bool,
    },
    /// Single bits, of which those are counted that both have.
    And,
    /// Single bits, of which those are counted that differ.
    Xor,
}

/// The numbers that the products are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmaSums {
    /// `f16`
    F16,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// Integers with a sign.
    S32 {
        /// `.satfinite`
        saturates: bool,
    },
}

impl MmaInput {
    /// Bits of a number.
    pub fn bits(self) -> u8 {
        match self {
            Self::Half(_) => 16,
            Self::Tf32 => 32,
            Self::Double => 64,
            Self::Byte { .. } => 8,
            Self::Integer { bits, .. } => bits,
            Self::And | Self::Xor => 1,
        }
    }
}

impl MmaSums {
    /// Bits of a number.
    pub fn bits(self) -> u8 {
        match self {
            Self::F16 => 16,
            Self::F32 | Self::S32 { .. } => 32,
            Self::F64 => 64,
        }
    }
}

impl Mma {
    /// A product without registers, of rounding to nearest.
    pub fn new(shape: MatrixShape, input: MmaInput, given: MmaSums, sums: MmaSums) -> Self {
        let none = [Slot::private(0); 8];
        let (rounding, dealing) = (Rounding::Nearest, [Dealing::Groups; 2]);
        Self { shape, input, given, sums, rounding, dealing, a: none, b: none, c: none, d: none }
    }

    /// How `a`, `b`, `c` and `d` lie in their registers.
    pub fn fragments(&self) -> [Fragment; 4] {
        let [a, b] = self.dealing;
        let fragment =
            |matrix, bits, dealing| Fragment { matrix, shape: self.shape, bits, dealing };
        [
            fragment(Matrix::A, self.input.bits(), a),
            fragment(Matrix::B, self.input.bits(), b),
            fragment(Matrix::Sums, self.given.bits(), a),
            fragment(Matrix::Sums, self.sums.bits(), a),
        ]
    }

    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        let [a, b, c, d] = self.fragments();
        let parts = [(a, self.a), (b, self.b), (c, self.c), (d, self.d)];
        for ((fragment, slots), at) in parts.into_iter().zip(0..) {
            let role = if at == 3 { Role::Write } else { Role::Read };
            let file = File::by_width(fragment.is_wide());
            show_all(see, file, role, &slots[..fragment.registers()]);
        }
    }
}

/// `wmma.load` and `wmma.store`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FragmentMove {
    /// Whether it stores.
    pub stores: bool,
    /// How the matrix lies in the registers.
    pub fragment: Fragment,
    /// Whether columns lie in one piece, and not rows.
    pub by_columns: bool,
    /// The address of the first element.
    pub address: Address,
    /// Elements from a row or column to the next.
    pub stride: Slot,
    /// How many registers there are. Those beyond the fragment's repeat it.
    pub count: u8,
    /// The registers.
    pub registers: [Slot; 8],
}

impl FragmentMove {
    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        self.address.slots(see);
        show(see, [(File::R32, self.stride)], []);
        let role = if self.stores { Role::Read } else { Role::Write };
        let file = File::by_width(self.fragment.is_wide());
        show_all(see, file, role, &self.registers[..usize::from(self.count)]);
    }
}
