//! Arithmetic, comparisons and conversions of f16 and bf16, and of pairs of them.

use super::builder::{Builder, Lowered};
use super::float::comparison;
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
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

fn byte_format(word: &str) -> Option<ByteFormat> {
    Some(match word {
        "e4m3x2" => ByteFormat::E4M3,
        "e5m2x2" => ByteFormat::E5M2,
        _ => return None,
    })
}

impl<'a> Builder<'_, 'a> {
    /// Lowers arithmetic on halves and conversions of pairs; `None` for anything else.
    pub(super) fn half_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        let formats: Vec<_> = i.modifiers.iter().filter_map(|word| format(word)).collect();
        let bytes = i.modifiers.iter().find_map(|word| byte_format(word));
        match (i.opcode, formats.as_slice(), bytes) {
            (
                "add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max" | "ex2" | "tanh",
                &[(format, packed)],
                None,
            ) => Some(self.half(i, format, packed)),
            ("set" | "setp", &[.., (format, true)], None) => Some(self.compare_pairs(i, format)),
            ("cvt", &[], Some(format)) => Some(self.bytes_of_floats(i, format)),
            ("cvt", &[(HalfFormat::F16, true)], Some(format)) => Some(self.byte_pairs(i, format)),
            ("cvt", &[(format, true)], None) => Some(self.pack_halves(i, format)),
            _ => None,
        }
    }

    fn half(&mut self, i: &Instruction<'a>, format: HalfFormat, packed: bool) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.types();
        let (nan, approximate) = (words.take("NaN"), words.take("approx"));
        let xorsign = words.take("xorsign");
        // `.xorsign` and `.abs` go together.
        if xorsign != (i.opcode != "abs" && words.take("abs")) {
            return Err(unsupported(i));
        }
        let rounded = words.take("rn");
        let finish = HalfFinish {
            flush: words.take("ftz"),
            saturate: words.take("sat"),
            relu: words.take("relu"),
        };
        words.done(i)?;
        let op = match (i.opcode, nan, xorsign, approximate) {
            ("add", false, false, false) => HalfOp::Add,
            ("sub", false, false, false) => HalfOp::Sub,
            ("mul", false, false, false) => HalfOp::Mul,
            ("fma", false, false, false) if rounded => HalfOp::Fma,
            ("neg", false, false, false) => HalfOp::Neg,
            ("abs", false, false, false) => HalfOp::Abs,
            ("min", nan, xorsign, false) => HalfOp::Min { nan, xorsign },
            ("max", nan, xorsign, false) => HalfOp::Max { nan, xorsign },
            ("ex2", false, false, true) => HalfOp::Ex2,
            ("tanh", false, false, true) => HalfOp::Tanh,
            _ => return Err(unsupported(i)),
        };
        check_words(i, op, format, rounded, finish)?;
        let sources = match op {
            HalfOp::Fma => 3,
            HalfOp::Neg | HalfOp::Abs | HalfOp::Ex2 | HalfOp::Tanh => 1,
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
        Ok(FloatOp::Half { op, format, packed, finish, d, a: at(0), b: at(1), c: at(2) }.into())
    }

    fn source_half(&mut self, a: &Operand<'a>, packed: bool, i: &Instruction<'a>) -> Lowered<Slot> {
        self.source32(a, if packed { WORD } else { Type::Unsigned(2) }, i.line)
    }

    /// `set` and `setp` of two pairs.
    fn compare_pairs(&mut self, i: &Instruction<'a>, format: HalfFormat) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let Some((cmp, false)) = words.take_first().and_then(comparison) else {
            return Err(unsupported(i));
        };
        let combine = words.combination();
        let flush = words.take("ftz");
        let types = words.types();
        words.done(i)?;
        let [d, a, b, rest @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        let (a, b) = (self.source32(a, WORD, i.line)?, self.source32(b, WORD, i.line)?);
        let (combine, c, negate) = self.combined(i, combine, rest)?;
        if flush && format == HalfFormat::BF16 {
            return Err(unsupported(i));
        }
        let result = match (i.opcode, types.as_slice(), d) {
            ("setp", [Type::Packed], Operand::Pair(d, q)) => PairResult::Predicates {
                d: self.destination(d, File::Pred, i.line)?,
                q: self.destination(q, File::Pred, i.line)?,
            },
            (
                "set",
                [ty @ (Type::Packed | Type::Unsigned(4) | Type::Signed(4)), Type::Packed],
                d,
            ) => {
                let d = self.destination(d, File::R32, i.line)?;
                PairResult::Halves { d, ones: *ty == Type::Packed }
            }
            _ => return Err(unsupported(i)),
        };
        let how = ComparePairs { format, cmp, flush, result, a, b, combine, c, negate };
        Ok(FloatOp::ComparePairs(how).into())
    }

    /// `cvt` of two single-precision numbers to two halves.
    fn pack_halves(&mut self, i: &Instruction<'a>, format: HalfFormat) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let types = words.types();
        let rounding = words.rounding();
        let (relu, finite) = (words.take("relu"), words.take("satfinite"));
        words.done(i)?;
        let (
            [d, a, b],
            [Type::Packed, Type::Float(4)],
            Some(rounding @ (Rounding::Nearest | Rounding::Zero)),
        ) = (i.operands.as_slice(), types.as_slice(), rounding)
        else {
            return Err(unsupported(i));
        };
        let [a, b] = self.sources([a, b], Type::Float(4), i.line)?;
        let d = self.destination(d, File::R32, i.line)?;
        Ok(FloatOp::PackHalves { format, rounding, relu, finite, d, a, b }.into())
    }

    /// `cvt.rn.satfinite` of two single-precision numbers to two bytes.
    fn bytes_of_floats(&mut self, i: &Instruction<'a>, format: ByteFormat) -> Lowered<Op> {
        let relu = rounds_finitely(i)?;
        let ("f32", [d, a, b]) = (i.modifiers[i.modifiers.len() - 1], operands(i)?) else {
            return Err(unsupported(i));
        };
        let [a, b] = self.sources([a, b], Type::Float(4), i.line)?;
        let d = self.destination(d, File::R32, i.line)?;
        Ok(FloatOp::BytesOfFloats { format, relu, d, a, b }.into())
    }

    /// `cvt` of two halves to two bytes, or back.
    fn byte_pairs(&mut self, i: &Instruction<'a>, format: ByteFormat) -> Lowered<Op> {
        let [d, a] = operands(i)?;
        if i.modifiers.last().is_some_and(|word| byte_format(word).is_none()) {
            let relu = rounds_finitely(i)?;
            let a = self.source32(a, WORD, i.line)?;
            let d = self.destination(d, File::R32, i.line)?;
            return Ok(FloatOp::BytesOfHalves { format, relu, d, a }.into());
        }
        let mut words = Modifiers::new(i);
        let (rounded, relu) = (words.take("rn"), words.take("relu"));
        words.types();
        words.ignore(|word| byte_format(word).is_some());
        words.done(i)?;
        if !rounded {
            return Err(unsupported(i));
        }
        let a = self.source32(a, Type::Unsigned(2), i.line)?;
        let d = self.destination(d, File::R32, i.line)?;
        Ok(FloatOp::HalvesOfBytes { format, relu, d, a }.into())
    }
}

/// Whether `.relu` is there, of a conversion to bytes. All of these round to nearest, and to what
/// is finite.
fn rounds_finitely(i: &Instruction<'_>) -> Lowered<bool> {
    let mut words = Modifiers::new(i);
    let rounded = words.take("rn") && words.take("satfinite");
    let relu = words.take("relu");
    words.types();
    words.ignore(|word| byte_format(word).is_some());
    words.done(i)?;
    if rounded { Ok(relu) } else { Err(unsupported(i)) }
}

/// Refuses dot-words that PTX does not give an operation.
fn check_words(
    i: &Instruction<'_>,
    op: HalfOp,
    format: HalfFormat,
    rounded: bool,
    finish: HalfFinish,
) -> Lowered<()> {
    let is_f16 = format == HalfFormat::F16;
    // `.rn`, `.ftz`, `.sat` and `.relu`.
    let allowed = match op {
        HalfOp::Add | HalfOp::Sub | HalfOp::Mul => [true, is_f16, is_f16, false],
        HalfOp::Fma => [true, is_f16, is_f16 && !finish.relu, true],
        HalfOp::Neg | HalfOp::Abs | HalfOp::Min { .. } | HalfOp::Max { .. } => {
            [false, is_f16, false, false]
        }
        // Those of bf16 flush, and those of f16 do not.
        HalfOp::Ex2 if finish.flush == is_f16 => return Err(unsupported(i)),
        HalfOp::Ex2 => [false, true, false, false],
        HalfOp::Tanh => [false; 4],
    };
    let given = [rounded, finish.flush, finish.saturate, finish.relu];
    if given.into_iter().zip(allowed).any(|(given, allowed)| given && !allowed) {
        return Err(unsupported(i));
    }
    Ok(())
}
