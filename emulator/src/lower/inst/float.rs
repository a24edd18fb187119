//! Floating-point operations in any mode, and comparisons of any type.

use super::slot::{File, Slot, Visitor, show};
use super::types::{Cmp, Combine, FloatMode, Scalar};

/// One-operand floating-point operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Float1 {
    Neg,
    Abs,
    Sqrt,
    Rcp,
    Rsqrt,
    RcpSeed,
    RsqrtSeed,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Two-operand floating-point operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Float2 {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    MinNan,
    MaxNan,
    CopySign,
}

/// How a half is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum HalfFormat {
    F16,
    BF16,
}

/// Operations on halves. `nan`: a NaN wins over a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum HalfOp {
    Add,
    Sub,
    Mul,
    Fma,
    Neg,
    Abs,
    Min { nan: bool },
    Max { nan: bool },
}

/// `testp` classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// A comparison in general: `d|q = (a cmp b) combine c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct Setp {
    pub ty: Scalar,
    pub cmp: Cmp,
    pub ftz: bool,
    pub d: Slot,
    pub q: Slot,
    pub a: Slot,
    pub b: Slot,
    pub combine: Combine,
    pub c: Slot,
    pub negate: bool,
}

/// What a floating-point instruction counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the counters")]
pub enum FloatCount {
    Fadd,
    Fmul,
    Ffma,
    Dadd,
    Dmul,
    Dfma,
}

impl Float2 {
    /// The counter of this operation, on doubles if `wide`.
    pub fn count(self, wide: bool) -> Option<FloatCount> {
        match self {
            Self::Add | Self::Sub => Some(if wide { FloatCount::Dadd } else { FloatCount::Fadd }),
            Self::Mul => Some(if wide { FloatCount::Dmul } else { FloatCount::Fmul }),
            Self::Div | Self::Min | Self::Max | Self::MinNan | Self::MaxNan | Self::CopySign => {
                None
            }
        }
    }
}

/// Floating-point operations and comparisons that are not worth vectorising. Fields: `d` (and `q`)
/// destinations, `a`, `b`, `c` sources in PTX order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum FloatOp {
    Float1_32 {
        op: Float1,
        mode: FloatMode,
        d: Slot,
        a: Slot,
    },
    Float1_64 {
        op: Float1,
        mode: FloatMode,
        d: Slot,
        a: Slot,
    },
    Float2_64 {
        op: Float2,
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Fma64 {
        mode: FloatMode,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    TestFloat {
        wide: bool,
        kind: FloatClass,
        d: Slot,
        a: Slot,
    },
    Setp(Setp),
    /// `set`: an all-ones or 1.0 result in a 32-bit register.
    Set {
        ty: Scalar,
        cmp: Cmp,
        ftz: bool,
        float: bool,
        d: Slot,
        a: Slot,
        b: Slot,
    },
    /// On one half, or on two in a register.
    Half {
        op: HalfOp,
        format: HalfFormat,
        packed: bool,
        d: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    /// `cvt` of two single-precision numbers to two halves, the first one's upper.
    PackHalves {
        format: HalfFormat,
        d: Slot,
        a: Slot,
        b: Slot,
    },
}

impl FloatOp {
    /// Shows every slot.
    pub fn slots(&mut self, see: &mut impl Visitor) {
        use File::{Pred, R32, R64};
        match self {
            Self::Float1_32 { d, a, .. } => show(see, [(R32, a)], [(R32, d)]),
            Self::Float1_64 { d, a, .. } => show(see, [(R64, a)], [(R64, d)]),
            Self::Float2_64 { d, a, b, .. } => show(see, [(R64, a), (R64, b)], [(R64, d)]),
            Self::Fma64 { d, a, b, c, .. } => {
                show(see, [(R64, a), (R64, b), (R64, c)], [(R64, d)]);
            }
            Self::TestFloat { wide, d, a, .. } => {
                show(see, [(File::by_width(*wide), a)], [(Pred, d)]);
            }
            Self::Setp(Setp { ty, d, q, a, b, c, .. }) => {
                let file = File::by_width(ty.is_wide());
                show(see, [(file, a), (file, b), (Pred, c)], [(Pred, d), (Pred, q)]);
            }
            Self::Set { ty, d, a, b, .. } => {
                let file = File::by_width(ty.is_wide());
                show(see, [(file, a), (file, b)], [(R32, d)]);
            }
            Self::Half { d, a, b, c, .. } => {
                show(see, [(R32, a), (R32, b), (R32, c)], [(R32, d)]);
            }
            Self::PackHalves { d, a, b, .. } => show(see, [(R32, a), (R32, b)], [(R32, d)]),
        }
    }

    /// The counter that the operation adds to.
    pub fn count(&self) -> Option<FloatCount> {
        match self {
            Self::Float2_64 { op, .. } => op.count(true),
            Self::Fma64 { .. } => Some(FloatCount::Dfma),
            Self::Float1_32 { .. }
            | Self::Float1_64 { .. }
            | Self::TestFloat { .. }
            | Self::Setp(_)
            | Self::Set { .. }
            | Self::Half { .. }
            | Self::PackHalves { .. } => None,
        }
    }
}
