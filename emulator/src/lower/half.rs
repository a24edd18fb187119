//! Arithmetic of f16 and bf16, and of pairs of them.

use super::builder::{Builder, Lowered};
use super::inst::*;
use super::modifiers::{Modifiers, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

/// The format of halves that a dot-word names, and whether it is of a pair.
pub(super) fn format(word: &str) -> Option<(HalfFormat, bool)> {
    Some(match word {
        "f16" => (HalfFormat::F16, false),
        "bf16" => (HalfFormat::BF16, false),
        "f16x2" => (HalfFormat::F16, true),
        "bf16x2" => (HalfFormat::BF16, true),
        _ => return None,
    })
}

/// One number of the format.
pub(super) fn scalar(format: HalfFormat) -> Scalar {
    match format {
        HalfFormat::F16 => Scalar::F16,
        HalfFormat::BF16 => Scalar::BF16,
    }
}

impl<'a> Builder<'_, 'a> {
    /// Lowers arithmetic on halves, and the conversion to pairs; `None` for anything else.
    pub(super) fn half_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        let formats: Vec<_> = i.modifiers.iter().filter_map(|word| format(word)).collect();
        match (i.opcode, formats.as_slice()) {
            (
                "add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max",
                &[(format, packed)],
            ) => Some(self.half(i, format, packed)),
            ("cvt", &[(format, true)]) => Some(self.pack_halves(i, format)),
            _ => None,
        }
    }

    fn half(&mut self, i: &Instruction<'a>, format: HalfFormat, packed: bool) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        words.types();
        let nan = words.take("NaN");
        // Flushing, saturation and `.relu` are not.
        let rounded = words.take("rn");
        words.done(i)?;
        let op = match (i.opcode, nan, rounded) {
            ("add", false, _) => HalfOp::Add,
            ("sub", false, _) => HalfOp::Sub,
            ("mul", false, _) => HalfOp::Mul,
            ("fma", false, true) => HalfOp::Fma,
            ("neg", false, false) => HalfOp::Neg,
            ("abs", false, false) => HalfOp::Abs,
            ("min", nan, false) => HalfOp::Min { nan },
            ("max", nan, false) => HalfOp::Max { nan },
            _ => return Err(unsupported(i)),
        };
        let sources = match op {
            HalfOp::Fma => 3,
            HalfOp::Neg | HalfOp::Abs => 1,
            HalfOp::Add | HalfOp::Sub | HalfOp::Mul | HalfOp::Min { .. } | HalfOp::Max { .. } => 2,
        };
        let [d, rest @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        if rest.len() != sources {
            return Err(unsupported(i));
        }
        let slots =
            rest.iter().map(|a| self.source_half(a, packed, i)).collect::<Lowered<Vec<_>>>()?;
        let at = |n: usize| slots.get(n).copied().unwrap_or(slots[0]);
        let d = self.destination(d, File::R32, i.line)?;
        Ok(FloatOp::Half { op, format, packed, d, a: at(0), b: at(1), c: at(2) }.into())
    }

    fn source_half(&mut self, a: &Operand<'a>, packed: bool, i: &Instruction<'a>) -> Lowered<Slot> {
        self.source32(a, if packed { WORD } else { Type::Unsigned(2) }, i.line)
    }

    /// `cvt.rn.f16x2.f32`, `cvt.rn.bf16x2.f32`
    fn pack_halves(&mut self, i: &Instruction<'a>, format: HalfFormat) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let types = words.types();
        let rounded = words.take("rn");
        words.done(i)?;
        let ([d, a, b], [Type::Packed, Type::Float(4)], true) =
            (i.operands.as_slice(), types.as_slice(), rounded)
        else {
            return Err(unsupported(i));
        };
        let a = self.source(a, Type::Float(4), i.line)?;
        let b = self.source(b, Type::Float(4), i.line)?;
        let d = self.destination(d, File::R32, i.line)?;
        Ok(FloatOp::PackHalves { format, d, a, b }.into())
    }
}
