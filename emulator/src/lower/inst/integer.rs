//! Integer operations: the kinds that [`arith`](super::arith) names as well, and the group that
//! runs lane by lane.

use super::operations::operations;
use super::rare_integer::{SignOf, WordOp};
use super::slot::File::{self, Pred, R32, R64};
use super::slot::{Role, Slot, Visitor, show};
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

operations! {
    /// Integer operations that are not worth vectorising.
    pub enum IntegerOp {
        Unary64 { op: Unary } (a: R64) -> (d: R64);
        Count { wide: bool, op: Count } (a: File::by_width(wide)) -> (d: R32);
        /// 16-bit operation; the upper halves of its operands are undefined.
        Binary16 { op: Binary, signed: bool } (a: R32, b: R32) -> (d: R32);
        Shift16 { op: Shift } (a: R32, b: R32) -> (d: R32);
        Shift64 { op: Shift } (a: R64, b: R32) -> (d: R64);
        MadLo64 {} (a: R64, b: R64, c: R64) -> (d: R64);
        MadHi64 { signed: bool } (a: R64, b: R64, c: R64) -> (d: R64);
        MadWide { signed: bool } (a: R32, b: R32, c: R64) -> (d: R64);
        MulWide16 { signed: bool } (a: R32, b: R32) -> (d: R32);
        MadWide16 { signed: bool } (a: R32, b: R32, c: R32) -> (d: R32);
        Bfi { wide: bool }
            (a: File::by_width(wide), b: File::by_width(wide), c: R32, e: R32)
            -> (d: File::by_width(wide));
        Bfe64 { signed: bool } (a: R64, b: R32, c: R32) -> (d: R64);
        /// An operation on words that few kernels use.
        Word { op: WordOp } (a: R32, b: R32, c: R32) -> (d: R32);
        /// `sad` of 64 bits.
        Sad64 { signed: bool } (a: R64, b: R64, c: R64) -> (d: R64);
        /// `slct` of 64 bits.
        SelectBySign64 { sign: SignOf } (a: R64, b: R64, c: R32) -> (d: R64);
        Select64 {} (a: R64, b: R64, p: Pred) -> (d: R64);
    }
    | LogicTest
    | Carry
    | MadCarry
}

impl LogicTest {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { d, p, a, b, c, q, .. } = *self;
        show(see, [(R32, a), (R32, b), (R32, c), (Pred, q)], [(R32, d), (Pred, p)]);
    }
}

impl Carry {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { wide, carry, d, a, b, .. } = *self;
        let file = File::by_width(wide);
        show(see, [(file, a), (file, b)], [(file, d)]);
        show_carry(carry, see);
    }
}

impl MadCarry {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { wide, carry, d, a, b, c, .. } = *self;
        let file = File::by_width(wide);
        show(see, [(file, a), (file, b), (file, c)], [(file, d)]);
        show_carry(carry, see);
    }
}

/// Both ends of the chain: it is read, written, or passed on.
fn show_carry(carry: Slot, see: &mut Visitor<'_>) {
    see(Role::Read, (Pred, carry));
    see(Role::Write, (Pred, carry));
}
