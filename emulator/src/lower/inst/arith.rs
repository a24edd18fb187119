//! The arithmetic that kernels spend their time in.

use super::float::{Float2, FloatCount};
use super::integer::{Binary, Shift, Ternary, Unary};
use super::operations::operations;
use super::slot::File::{self, Pred, R32, R64};
use super::slot::Slot;
use super::types::{Cmp, Combine, Conversion, FloatMode};

operations! {
    /// Arithmetic that the machine inlines into its loop and vectorises.
    pub enum ArithOp {
        Mov32 {} (a: R32) -> (d: R32);
        Mov64 {} (a: R64) -> (d: R64);
        MovPred {} (a: Pred) -> (d: Pred);
        PredNot {} (a: Pred) -> (d: Pred);
        /// Of `a` and `b`, each negated if `not` says so.
        PredLogic { op: Combine, not: [bool; 2] } (a: Pred, b: Pred) -> (d: Pred);
        Select32 {} (a: R32, b: R32, p: Pred) -> (d: R32);
        Convert { how: Conversion }
            (a: File::by_width(how.wide_source)) -> (d: File::by_width(how.wide_destination));
        /// Shared, local or parameter address to generic and back: adds `window` (or its negative).
        Window { window: i64 } (a: R64) -> (d: R64);
        Unary32 { op: Unary } (a: R32) -> (d: R32);
        Binary32 { op: Binary } (a: R32, b: R32) -> (d: R32);
        Binary64 { op: Binary } (a: R64, b: R64) -> (d: R64);
        Shift32 { op: Shift } (a: R32, b: R32) -> (d: R32);
        Ternary32 { op: Ternary } (a: R32, b: R32, c: R32) -> (d: R32);
        MulWide { signed: bool } (a: R32, b: R32) -> (d: R64);
        F32Add {} (a: R32, b: R32) -> (d: R32);
        F32Sub {} (a: R32, b: R32) -> (d: R32);
        F32Mul {} (a: R32, b: R32) -> (d: R32);
        F32Fma {} (a: R32, b: R32, c: R32) -> (d: R32);
        F64Add {} (a: R64, b: R64) -> (d: R64);
        F64Sub {} (a: R64, b: R64) -> (d: R64);
        F64Mul {} (a: R64, b: R64) -> (d: R64);
        F64Fma {} (a: R64, b: R64, c: R64) -> (d: R64);
        /// Any mode other than round-to-nearest, or an operation that is not hot.
        Float2_32 { op: Float2, mode: FloatMode } (a: R32, b: R32) -> (d: R32);
        Fma32 { mode: FloatMode } (a: R32, b: R32, c: R32) -> (d: R32);
        SetpS32 { cmp: Cmp } (a: R32, b: R32) -> (d: Pred);
        SetpU32 { cmp: Cmp } (a: R32, b: R32) -> (d: Pred);
        SetpF32 { cmp: Cmp } (a: R32, b: R32) -> (d: Pred);
    }
}

impl ArithOp {
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
            // No counter counts the others.
            _ => None,
        }
    }
}
