//! Floating-point operations in any mode, and comparisons of any type.

use super::operations::operations;
use super::slot::File::{self, Pred, R32, R64};
use super::slot::{Slot, Visitor, show};
use super::types::{Cmp, Combine, FloatMode, Rounding, Scalar};

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
    /// `div.approx.f32`: the reciprocal of a large divisor is 0.
    DivApprox,
    Min,
    Max,
    MinNan,
    MaxNan,
    /// `.xorsign.abs`: of the sizes, negative if one of the two is; `nan`: with `.NaN`.
    MinSize {
        nan: bool,
    },
    MaxSize {
        nan: bool,
    },
    CopySign,
}

/// How a half is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum HalfFormat {
    F16,
    BF16,
}

/// How a float of a byte is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum ByteFormat {
    E4M3,
    E5M2,
}

/// Operations on halves. `nan`: a NaN wins over a number. `xorsign`: of the sizes, and negative if
/// one of the two is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum HalfOp {
    Add,
    Sub,
    Mul,
    Fma,
    Neg,
    Abs,
    Min { nan: bool, xorsign: bool },
    Max { nan: bool, xorsign: bool },
    Ex2,
    Tanh,
}

/// The final steps on a result of halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HalfFinish {
    /// `.ftz`: subnormal operands and results are 0.
    pub flush: bool,
    /// `.sat`: it is clamped to [0, 1], NaN to 0.
    pub saturate: bool,
    /// `.relu`: negative ones are 0.
    pub relu: bool,
}

/// A comparison of two pairs of halves, each combined with `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct ComparePairs {
    pub format: HalfFormat,
    pub cmp: Cmp,
    pub flush: bool,
    pub result: PairResult,
    pub a: Slot,
    pub b: Slot,
    pub combine: Combine,
    pub c: Slot,
    pub negate: bool,
}

/// The destinations of the results of comparing two pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairResult {
    /// `setp`: of the lower halves, and of the upper ones.
    Predicates {
        /// Of the lower halves.
        d: Slot,
        /// Of the upper halves.
        q: Slot,
    },
    /// `set`: each half of `d` is 1.0, or all ones.
    Halves {
        /// The register.
        d: Slot,
        /// Whether it is 1.0.
        ones: bool,
    },
}

/// A comparison in general with a result in a register: `yes`, or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub struct SetTo {
    pub ty: Scalar,
    pub cmp: Cmp,
    pub ftz: bool,
    pub yes: u32,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
    pub combine: Combine,
    pub c: Slot,
    pub negate: bool,
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

/// The class under which a floating-point instruction is counted.
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
            _ => None,
        }
    }
}

operations! {
    /// Floating-point operations and comparisons that are not worth vectorising.
    pub enum FloatOp {
        Float1 { wide: bool, op: Float1, mode: FloatMode }
            (a: File::by_width(wide)) -> (d: File::by_width(wide));
        Float2_64 { op: Float2, mode: FloatMode } (a: R64, b: R64) -> (d: R64);
        Fma64 { mode: FloatMode } (a: R64, b: R64, c: R64) -> (d: R64);
        TestFloat { wide: bool, kind: FloatClass } (a: File::by_width(wide)) -> (d: Pred);
        /// On one half, or on two in a register.
        Half { op: HalfOp, format: HalfFormat, packed: bool, finish: HalfFinish }
            (a: R32, b: R32, c: R32) -> (d: R32);
        /// `cvt` of two single-precision numbers to two halves, the first one's upper.
        PackHalves { format: HalfFormat, rounding: Rounding, relu: bool, finite: bool }
            (a: R32, b: R32) -> (d: R32);
        /// The same to two bytes.
        BytesOfFloats { format: ByteFormat, relu: bool } (a: R32, b: R32) -> (d: R32);
        BytesOfHalves { format: ByteFormat, relu: bool } (a: R32) -> (d: R32);
        HalvesOfBytes { format: ByteFormat, relu: bool } (a: R32) -> (d: R32);
    }
    | Setp
    | SetTo
    | ComparePairs
}

impl Setp {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { ty, d, q, a, b, c, .. } = *self;
        let file = File::by_width(ty.is_wide());
        show(see, [(file, a), (file, b), (Pred, c)], [(Pred, d), (Pred, q)]);
    }
}

impl SetTo {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { ty, d, a, b, c, .. } = *self;
        let file = File::by_width(ty.is_wide());
        show(see, [(Pred, c), (file, a), (file, b)], [(R32, d)]);
    }
}

impl ComparePairs {
    fn slots(&self, see: &mut Visitor<'_>) {
        let Self { result, a, b, c, .. } = *self;
        show(see, [(R32, a), (R32, b), (Pred, c)], []);
        match result {
            PairResult::Predicates { d, q } => show(see, [], [(Pred, d), (Pred, q)]),
            PairResult::Halves { d, .. } => show(see, [], [(R32, d)]),
        }
    }
}

impl FloatOp {
    /// Whether it is a division or a root of doubles, which no counter counts.
    pub fn divides_doubles(&self) -> bool {
        match self {
            Self::Float1 { wide: true, op, .. } => {
                matches!(op, Float1::Sqrt | Float1::Rcp | Float1::Rsqrt)
            }
            Self::Float2_64 { op, .. } => *op == Float2::Div,
            _ => false,
        }
    }

    /// The counter that the operation adds to.
    pub fn count(&self) -> Option<FloatCount> {
        match self {
            Self::Float2_64 { op, .. } => op.count(true),
            Self::Fma64 { .. } => Some(FloatCount::Dfma),
            // No counter counts the others.
            _ => None,
        }
    }
}
