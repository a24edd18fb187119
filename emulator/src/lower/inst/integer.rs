//! Integer operations: the kinds that [`arith`](super::arith) names as well, and the group that
//! runs lane by lane.

use super::rare_integer::{SignOf, WordOp};
use super::slot::{File, Slot, Visitor, show};
use super::types::Combine;

/// One-operand integer operations of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Unary {
    Not,
    Neg,
    Abs,
    Abs16,
    Cnot,
    Brev,
    /// Sign- or zero-extensions from a narrower field of the same slot.
    Sext8,
    Sext16,
    Sext32,
    Zext8,
    Zext16,
    Zext32,
    /// Float sign operations, which are bit operations.
    FloatNeg,
    FloatAbs,
}

/// One-operand operations with a result of 32 bits for either width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Count {
    Popc,
    Clz,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
}

/// Two-operand integer operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Binary {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    AddSat,
    SubSat,
}

/// Shifts. The amount is always 32 bits and clamps at the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Shift {
    Left,
    RightU,
    RightS,
}

/// Three-operand 32-bit operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Ternary {
    MadLo,
    MadHiU,
    MadHiS,
    SadU,
    SadS,
    BfeU,
    BfeS,
    Prmt(Permute),
    ShfLeftWrap,
    ShfLeftClamp,
    ShfRightWrap,
    ShfRightClamp,
    /// The lookup table of `lop3`.
    Lop3(u8),
    Dp4aUU,
    Dp4aSS,
    Dp4aUS,
    Dp4aSU,
    /// Halves of `a` by the lower or the upper two bytes of `b`.
    Dp2a {
        high: bool,
        a_signed: bool,
        b_signed: bool,
    },
}

/// How `prmt` chooses bytes of its two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permute {
    /// Each by four bits.
    Selected,
    /// `f4e`: four from the chosen one on.
    Forward,
    /// `b4e`: four from the chosen one back.
    Backward,
    /// `rc8`: one, four times.
    Byte,
    /// `ecl`: not below the chosen one.
    ClampLeft,
    /// `ecr`: not above the chosen one.
    ClampRight,
    /// `rc16`: two, twice.
    Half,
}

/// `add.cc`, `addc`, `addc.cc` and their `sub` twins; `carry` is the condition-code predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Carry {
    pub wide: bool,
    pub subtract: bool,
    pub read: bool,
    pub write: bool,
    pub carry: Slot,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
}

/// `mad.lo.cc`, `madc.hi` and their like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct MadCarry {
    pub wide: bool,
    pub signed: bool,
    pub high: bool,
    pub read: bool,
    pub write: bool,
    pub carry: Slot,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
}

/// `lop3.or`, `lop3.and`: `p` is whether the result is not zero, combined with `q`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct LogicTest {
    pub table: u8,
    pub combine: Combine,
    pub d: Slot,
    pub p: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
    pub q: Slot,
    pub negate: bool,
}

/// Integer operations that are not worth vectorising. Fields: `d` destination, `a`, `b`, `c`, `e`
/// sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum IntegerOp {
    Unary64 {
        op: Unary,
        d: Slot,
        a: Slot,
    },
    Count32 {
        op: Count,
        d: Slot,
        a: Slot,
    },
    Count64 {
        op: Count,
        d: Slot,
        a: Slot,
    },
    /// 16-bit operation; the upper halves of its operands are undefined.
    Binary16 {
        op: Binary,
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift16 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift64 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    MadLo64 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MadHi64 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MadWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MulWide16 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    MadWide16 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Bfi32 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        e: Slot,
    },
    Bfi64 {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        e: Slot,
    },
    Bfe64 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// An operation on words that few kernels use.
    Word {
        op: WordOp,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// `sad` of 64 bits.
    Sad64 {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// `slct` of 64 bits.
    SelectBySign64 {
        sign: SignOf,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    LogicTest(LogicTest),
    Carry(Carry),
    MadCarry(MadCarry),
    Select64 {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
}

impl IntegerOp {
    /// Shows every slot.
    pub fn slots(&mut self, see: &mut Visitor<'_>) {
        use File::{Pred, R32, R64};
        match self {
            Self::Unary64 { d, a, .. } => show(see, [(R64, a)], [(R64, d)]),
            Self::Count32 { d, a, .. } => show(see, [(R32, a)], [(R32, d)]),
            Self::Count64 { d, a, .. } => show(see, [(R64, a)], [(R32, d)]),
            Self::Binary16 { d, a, b, .. }
            | Self::Shift16 { d, a, b, .. }
            | Self::MulWide16 { d, a, b, .. } => show(see, [(R32, a), (R32, b)], [(R32, d)]),
            Self::Shift64 { d, a, b, .. } => show(see, [(R64, a), (R32, b)], [(R64, d)]),
            Self::MadLo64 { d, a, b, c }
            | Self::MadHi64 { d, a, b, c, .. }
            | Self::Sad64 { d, a, b, c, .. } => {
                show(see, [(R64, a), (R64, b), (R64, c)], [(R64, d)]);
            }
            Self::MadWide { d, a, b, c, .. } => {
                show(see, [(R32, a), (R32, b), (R64, c)], [(R64, d)]);
            }
            Self::MadWide16 { d, a, b, c, .. } | Self::Word { d, a, b, c, .. } => {
                show(see, [(R32, a), (R32, b), (R32, c)], [(R32, d)]);
            }
            Self::Bfi32 { d, a, b, c, e } => {
                show(see, [(R32, a), (R32, b), (R32, c), (R32, e)], [(R32, d)]);
            }
            Self::Bfi64 { d, a, b, c, e } => {
                show(see, [(R64, a), (R64, b), (R32, c), (R32, e)], [(R64, d)]);
            }
            Self::SelectBySign64 { d, a, b, c, .. } => {
                show(see, [(R64, a), (R64, b), (R32, c)], [(R64, d)]);
            }
            Self::Bfe64 { d, a, b, c, .. } => {
                show(see, [(R64, a), (R32, b), (R32, c)], [(R64, d)]);
            }
            Self::LogicTest(LogicTest { d, p, a, b, c, q, .. }) => {
                let results = [(R32, d), (Pred, p)];
                show(see, [(R32, a), (R32, b), (R32, c), (Pred, q)], results);
            }
            Self::Carry(Carry { wide, carry, d, a, b, .. }) => {
                let file = File::by_width(*wide);
                show(see, [(file, a), (file, b)], [(file, d)]);
                // Both ends of the chain: it is read, written, or passed on.
                show(see, [(Pred, carry)], []);
                show(see, [], [(Pred, carry)]);
            }
            Self::MadCarry(MadCarry { wide, carry, d, a, b, c, .. }) => {
                let file = File::by_width(*wide);
                show(see, [(file, a), (file, b), (file, c)], [(file, d)]);
                show(see, [(Pred, carry)], []);
                show(see, [], [(Pred, carry)]);
            }
            Self::Select64 { d, a, b, p } => {
                show(see, [(R64, a), (R64, b), (Pred, p)], [(R64, d)]);
            }
        }
    }
}
