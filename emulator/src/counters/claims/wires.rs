//! How a result follows from registers, and moves of bits.

use crate::lower::inst::{Cmp, Combine, File, Register, Scalar, Shift};

/// Neighbouring bits of a register that are neighbouring bits of a result.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// The register.
    pub from: Register,
    /// The lowest of the bits.
    pub low: u32,
    /// How many.
    pub count: u32,
    /// The place of the lowest in the result.
    pub to: u32,
}

/// A comparison with a result of `yes` or 0.
#[derive(Debug, Clone, Copy)]
pub struct Compare {
    pub ty: Scalar,
    pub cmp: Cmp,
    pub a: Register,
    pub b: Register,
    /// The negated result is wanted.
    pub inverted: bool,
    /// The predicate that it is combined with, and whether that is negated.
    pub with: Option<(Combine, Register, bool)>,
    pub yes: u64,
}

/// How a result follows from registers.
#[derive(Debug, Clone)]
pub enum Form {
    /// Moved bits. The others are 0.
    Wires(Vec<Wire>),
    /// Each bit by a lookup table of `lop3`.
    Logic { table: u8, sources: [Register; 3] },
    /// One of two registers.
    Select { p: Register, a: Register, b: Register },
    /// A sum or a difference: a bit depends on bits that are not above it.
    Sum([Register; 2]),
    /// A product, its low bits if `low`, and `added`.
    Product { factors: [Register; 2], low: bool, added: Option<Register> },
    /// A comparison.
    Compare(Compare),
    /// Anything else. The bits of `zeros` are 0.
    Opaque { reads: Vec<Register>, zeros: u64 },
}

/// Moves, those of no bits left out.
pub fn moves(mut wires: Vec<Wire>) -> Form {
    wires.retain(|wire| wire.count > 0);
    Form::Wires(wires)
}

/// The lowest `count` bits.
pub fn ones(count: u32) -> u64 {
    1u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1)
}

/// The bits of a register of a file.
pub fn width(file: File) -> u32 {
    match file {
        File::Pred => 1,
        File::R32 => 32,
        File::R64 => 64,
    }
}

/// A copy of a register.
pub fn whole(from: Register) -> Form {
    moves(vec![Wire { from, low: 0, count: width(from.0), to: 0 }])
}

/// The `count` bits of `from` that begin at `low`. A sign fills the bits up to `end`.
pub fn field(from: Register, low: u32, count: u32, signed: bool, end: u32) -> Form {
    let top = width(from.0);
    let there = count.min(top.saturating_sub(low));
    let mut wires = vec![Wire { from, low, count: there, to: 0 }];
    if signed && count > 0 {
        let sign = (low + count - 1).min(top - 1);
        wires.extend((there..end).map(|to| Wire { from, low: sign, count: 1, to }));
    }
    moves(wires)
}

/// Registers one above the other, each with the same number of bits.
pub fn joined(from: impl IntoIterator<Item = Register>, count: u32) -> Form {
    let wires = (0..).zip(from).map(|(at, from)| Wire { from, low: 0, count, to: at * count });
    moves(wires.collect())
}

/// A register of `bits` bits, shifted by a constant.
pub fn shifted(op: Shift, from: Register, by: u64, bits: u32) -> Form {
    let by = by.min(u64::from(bits)) as u32;
    match op {
        Shift::Left => moves(vec![Wire { from, low: 0, count: bits - by, to: by }]),
        Shift::RightU => field(from, by, bits - by, false, 0),
        Shift::RightS if by == bits => field(from, bits - 1, 1, true, bits),
        Shift::RightS => field(from, by, bits - by, true, bits),
    }
}

/// `bfe` with constant operands.
pub fn bit_field(from: Register, low: u32, count: u32, signed: bool) -> Form {
    let end = width(from.0);
    let (low, count) = (low & 0xff, count & 0xff);
    if low >= end && signed && count > 0 {
        return field(from, end - 1, 1, true, end);
    }
    field(from, low.min(end), count.min(end), signed, end)
}

/// `prmt` with a constant selector: eight bits of each nibble's byte, or its sign eight times.
pub fn permuted(a: Register, b: Register, selector: u32) -> Form {
    let mut wires = Vec::new();
    for byte in 0..4 {
        let (chosen, to) = (selector >> (4 * byte), 8 * byte);
        let (from, low) = (if chosen & 4 == 0 { a } else { b }, 8 * (chosen & 3));
        match chosen & 8 == 0 {
            true => wires.push(Wire { from, low, count: 8, to }),
            false => {
                wires.extend((to..to + 8).map(|to| Wire { from, low: low + 7, count: 1, to }));
            }
        }
    }
    moves(wires)
}

/// `bfi` with constant operands: low bits of `a` in `b`.
pub fn inserted(a: Register, b: Register, to: u64, count: u64) -> Form {
    let end = width(a.0);
    let to = (to & 0xff).min(u64::from(end)) as u32;
    let count = ((count & 0xff) as u32).min(end - to);
    let above = to + count;
    moves(vec![
        Wire { from: b, low: 0, count: to, to: 0 },
        Wire { from: a, low: 0, count, to },
        Wire { from: b, low: above, count: end - above, to: above },
    ])
}
