//! The arithmetic that kernels spend their time in.

use super::float::{Float2, FloatCount};
use super::integer::{Binary, Shift, Ternary, Unary};
use super::slot::{File, Slot, Visitor, show};
use super::types::{Cmp, Combine, Conversion, FloatMode};

/// Arithmetic that the machine inlines into its loop and vectorises. Fields: `d` destination, `a`,
/// `b`, `c` sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum ArithOp {
    Mov32 {
        d: Slot,
        a: Slot,
    },
    Mov64 {
        d: Slot,
        a: Slot,
    },
    MovPred {
        d: Slot,
        a: Slot,
    },
    PredNot {
        d: Slot,
        a: Slot,
    },
    /// Of `a` and `b`, each negated if `not` says so.
    PredLogic {
        op: Combine,
        not: [bool; 2],
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Select32 {
        d: Slot,
        a: Slot,
        b: Slot,
        p: Slot,
    },
    Convert {
        how: Conversion,
        d: Slot,
        a: Slot,
    },
    /// Shared, local or parameter address to generic and back: adds `window` (or its negative).
    Window {
        d: Slot,
        a: Slot,
        window: i64,
    },
    Unary32 {
        op: Unary,
        d: Slot,
        a: Slot,
    },
    Binary32 {
        op: Binary,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Binary64 {
        op: Binary,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shift32 {
        op: Shift,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Ternary32 {
        op: Ternary,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    MulWide {
        signed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F32Fma {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    F64Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    F64Fma {
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// Any mode other than round-to-nearest, or an operation that is not hot.
    Float2_32 {
        op: Float2,
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Fma32 {
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    SetpS32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SetpU32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    SetpF32 {
        cmp: Cmp,
        d: Slot,
        a: Slot,
        b: Slot,
    },
}

impl ArithOp {
    /// Shows every slot.
    pub fn slots(&mut self, see: &mut Visitor<'_>) {
        use File::{Pred, R32, R64};
        match self {
            Self::Mov32 { d, a } | Self::Unary32 { d, a, .. } => show(see, [(R32, a)], [(R32, d)]),
            Self::Mov64 { d, a } | Self::Window { d, a, .. } => show(see, [(R64, a)], [(R64, d)]),
            Self::MovPred { d, a } | Self::PredNot { d, a } => show(see, [(Pred, a)], [(Pred, d)]),
            Self::PredLogic { d, a, b, .. } => show(see, [(Pred, a), (Pred, b)], [(Pred, d)]),
            Self::Select32 { d, a, b, p } => {
                show(see, [(R32, a), (R32, b), (Pred, p)], [(R32, d)]);
            }
            Self::Convert { how, d, a } => {
                let (from, to) = (how.wide_source, how.wide_destination);
                show(see, [(File::by_width(from), a)], [(File::by_width(to), d)]);
            }
            Self::Binary32 { d, a, b, .. }
            | Self::Shift32 { d, a, b, .. }
            | Self::F32Add { d, a, b }
            | Self::F32Sub { d, a, b }
            | Self::F32Mul { d, a, b }
            | Self::Float2_32 { d, a, b, .. } => show(see, [(R32, a), (R32, b)], [(R32, d)]),
            Self::Binary64 { d, a, b, .. }
            | Self::F64Add { d, a, b }
            | Self::F64Sub { d, a, b }
            | Self::F64Mul { d, a, b } => show(see, [(R64, a), (R64, b)], [(R64, d)]),
            Self::Ternary32 { d, a, b, c, .. }
            | Self::F32Fma { d, a, b, c }
            | Self::Fma32 { d, a, b, c, .. } => {
                show(see, [(R32, a), (R32, b), (R32, c)], [(R32, d)]);
            }
            Self::F64Fma { d, a, b, c } => show(see, [(R64, a), (R64, b), (R64, c)], [(R64, d)]),
            Self::MulWide { d, a, b, .. } => show(see, [(R32, a), (R32, b)], [(R64, d)]),
            Self::SetpS32 { d, a, b, .. }
            | Self::SetpU32 { d, a, b, .. }
            | Self::SetpF32 { d, a, b, .. } => show(see, [(R32, a), (R32, b)], [(Pred, d)]),
        }
    }

    /// The counter of floating-point work that the operation adds to.
    pub fn count(&self) -> Option<FloatCount> {
        match self {
            Self::F32Add { .. } | Self::F32Sub { .. } => Some(FloatCount::Fadd),
            Self::F32Mul { .. } => Some(FloatCount::Fmul),
            Self::F32Fma { .. } | Self::Fma32 { .. } => Some(FloatCount::Ffma),
            Self::F64Add { .. } | Self::F64Sub { .. } => Some(FloatCount::Dadd),
            Self::F64Mul { .. } => Some(FloatCount::Dmul),
            Self::F64Fma { .. } => Some(FloatCount::Dfma),
            Self::Float2_32 { op, .. } => op.count(false),
            Self::Mov32 { .. }
            | Self::Mov64 { .. }
            | Self::MovPred { .. }
            | Self::PredNot { .. }
            | Self::PredLogic { .. }
            | Self::Select32 { .. }
            | Self::Convert { .. }
            | Self::Window { .. }
            | Self::Unary32 { .. }
            | Self::Binary32 { .. }
            | Self::Binary64 { .. }
            | Self::Shift32 { .. }
            | Self::Ternary32 { .. }
            | Self::MulWide { .. }
            | Self::SetpS32 { .. }
            | Self::SetpU32 { .. }
            | Self::SetpF32 { .. } => None,
        }
    }
}
