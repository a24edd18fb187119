//! Integer operations on up to three words of 32 bits that few kernels use.

use super::types::{Cmp, Rounding};

/// `d ← op(a, b, c)`; an operation without a third or second operand ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordOp {
    /// `bmsk`: `b` ones from bit `a` on.
    BitMask {
        /// `.clamp`, else `.wrap`.
        clamp: bool,
    },
    /// `szext`: the low `b` bits of `a`, extended.
    Extend {
        /// By their sign, else by zeros.
        signed: bool,
        /// `.clamp`, else `.wrap`.
        clamp: bool,
    },
    /// `fns`: the position in `a` of the `c`th set bit from `b` on.
    FindNthSet,
    /// `slct`: `a` if `c` is not negative, else `b`.
    SelectBySign(SignOf),
    /// `mul24`, `mad24`
    Mad24 {
        /// The factors have a sign.
        signed: bool,
        /// The upper 32 of the product's 48 bits.
        high: bool,
        /// `.sat`
        saturate: bool,
    },
    /// `mad.hi.sat.s32`
    MadHighSaturated,
    /// `mad.hi.u16`, `mad.hi.s16`
    MadHigh16 {
        /// The factors have a sign.
        signed: bool,
    },
    /// `sad.u16`, `sad.s16`
    Sad16 {
        /// The operands have a sign.
        signed: bool,
    },
    /// `cnot.b16`
    ConditionalNot16,
    /// `min.relu.s32`, `max.relu.s32`
    Extreme {
        /// The larger one.
        max: bool,
    },
    /// `add.u16x2`, `min.s16x2` and their like.
    Pair {
        /// What is done with each pair of halves.
        op: PairOp,
        /// The halves have a sign.
        signed: bool,
        /// Negative results are 0.
        relu: bool,
    },
    /// `cvt.pack.sat`: `a` above `b`, each with so many bits, above them `c`.
    Pack {
        /// The bits of one.
        bits: u8,
        /// They have a sign.
        signed: bool,
    },
    /// `cvt.rna.tf32.f32` and its like.
    Tf32 {
        /// `None`: to nearest, ties away from zero.
        rounding: Option<Rounding>,
        /// Negative results are 0.
        relu: bool,
        /// Infinite results are the largest finite ones.
        finite: bool,
    },
    /// A scalar video instruction.
    Video(Video),
    /// A SIMD video instruction.
    SimdVideo(SimdVideo),
}

/// How `slct` reads its third operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum SignOf {
    S32,
    F32 { ftz: bool },
}

/// An operation on pairs of 16-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum PairOp {
    Add,
    Min,
    Max,
}

/// `vadd`, `vsub`, … `vset` of a word, a half or a byte of each operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Video {
    /// What is computed.
    pub op: VideoOp,
    /// The selected part of `a`.
    pub a: Lane,
    /// The selected part of `b`.
    pub b: Lane,
    /// Whether the result, and `c`, have a sign.
    pub signed: bool,
    /// `.sat`
    pub saturate: bool,
    /// The final operation on the result.
    pub finish: VideoFinish,
}

/// The operation of a video instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum VideoOp {
    Add,
    Sub,
    AbsDiff,
    /// `vavrg2`, `vavrg4`
    Average,
    Min,
    Max,
    ShiftLeft {
        clamp: bool,
    },
    ShiftRight {
        clamp: bool,
    },
    Set(Cmp),
    /// `vmad`: with `.po`, with a negated product or `c`, and shifted right at the end.
    Mad {
        plus_one: bool,
        negate_product: bool,
        negate_c: bool,
        shift: u8,
    },
}

/// A part of a word, and whether it has a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Its lowest bit.
    pub shift: u8,
    /// Its width: 8, 16 or 32.
    pub bits: u8,
    /// Whether it has a sign.
    pub signed: bool,
}

/// The final operation on a scalar video result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoFinish {
    /// It is `d`.
    Plain,
    /// It is added to `c`, or the smaller or larger of both.
    With(PairOp),
    /// It takes this place in `c`.
    Merge(Lane),
}

/// `vadd4`, `vabsdiff2` and their like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimdVideo {
    /// What is computed of each pair.
    pub op: VideoOp,
    /// Four bytes, else two halves.
    pub bytes: bool,
    /// Which parts of `a` and `b` are the first operands, four bits each.
    pub a: u16,
    /// Which are the second ones.
    pub b: u16,
    /// The results that are wanted.
    pub mask: u8,
    /// Whether the first operands have a sign.
    pub a_signed: bool,
    /// Whether the second ones have.
    pub b_signed: bool,
    /// Whether the results have.
    pub signed: bool,
    /// `.sat`
    pub saturate: bool,
    /// `.add`: the sum of `c` and the results.
    pub accumulate: bool,
}
