//! Floating-point arithmetic, comparisons and conversions.

use super::builder::{Builder, Lowered, file_of};
use super::inst::*;
use super::integer::scalar;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

/// Whether the last type among the dot-words is a floating-point one.
fn is_float(i: &Instruction<'_>) -> bool {
    i.modifiers.iter().rev().find_map(|word| Type::from_word(word)).is_some_and(Type::is_float)
}

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn float_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        if let Some(lowered) = self.half_group(i) {
            return Some(lowered);
        }
        Some(match i.opcode {
            "neg" | "abs" if is_float(i) => self.sign(i),
            "add" | "sub" | "mul" | "div" | "min" | "max" | "fma" | "mad" | "sqrt" | "rcp"
            | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign"
                if is_float(i) =>
            {
                self.float(i)
            }
            "setp" | "set" => self.compare(i),
            "testp" => self.testp(i),
            "cvt" => self.convert(i),
            _ => return None,
        })
    }

    /// `neg` and `abs` of floats change one bit, unless subnormals are flushed.
    fn sign(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        if i.modifiers.contains(&"ftz") {
            return self.float(i);
        }
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let op = if i.opcode == "neg" { Unary::FloatNeg } else { Unary::FloatAbs };
        let (d, [a]) = self.registers_of(i, file_of(ty), [ty])?;
        match ty {
            Type::Float(4) => Ok(ArithOp::Unary32 { op, d, a }.into()),
            Type::Float(8) => Ok(IntegerOp::Unary64 { op, d, a }.into()),
            _ => Err(unsupported(i)),
        }
    }

    /// Opcodes of type `.f32` or `.f64`.
    fn float(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let approximation = words.take_one(&["approx", "full"]);
        let approximate = approximation.is_some();
        let nan = words.take("NaN");
        let xorsign = words.take("xorsign") && words.take("abs");
        let mode = words.float_mode();
        let ty = words.one_type(i)?;
        words.done(i)?;
        let wide = ty == Type::Float(8);
        if !matches!(ty, Type::Float(4 | 8)) || (wide && (mode.ftz && !approximate || mode.sat)) {
            return Err(unsupported(i));
        }
        match i.operands.len() {
            2 => self.float1(i, ty, mode, approximate),
            3 if i.opcode == "div" && approximation == Some("approx") => {
                self.float2(i, ty, mode, Some(Float2::DivApprox))
            }
            3 if xorsign && !wide => self.float2(i, ty, mode, extreme_of_sizes(i.opcode, nan)),
            _ if xorsign => Err(unsupported(i)),
            3 => self.float2(i, ty, mode, binary(i.opcode, nan)),
            _ => self.fma(i, ty, mode),
        }
    }

    fn float1(
        &mut self,
        i: &Instruction<'a>,
        ty: Type,
        mode: FloatMode,
        approximate: bool,
    ) -> Lowered<Op> {
        let wide = ty == Type::Float(8);
        let op = match (i.opcode, wide, approximate) {
            ("neg", _, false) => Float1::Neg,
            ("abs", _, false) => Float1::Abs,
            ("sqrt", false, _) | ("sqrt", true, false) => Float1::Sqrt,
            ("rcp", false, _) | ("rcp", true, false) => Float1::Rcp,
            // The approximations of doubles look at the upper halves only: seeds for Newton's
            // iteration.
            ("rcp", true, true) => Float1::RcpSeed,
            ("rsqrt", false, _) | ("rsqrt", true, false) => Float1::Rsqrt,
            ("rsqrt", true, true) => Float1::RsqrtSeed,
            ("ex2", false, _) => Float1::Ex2,
            ("lg2", false, _) => Float1::Lg2,
            ("sin", false, _) => Float1::Sin,
            ("cos", false, _) => Float1::Cos,
            ("tanh", false, _) => Float1::Tanh,
            _ => return Err(unsupported(i)),
        };
        let (d, [a]) = self.registers_of(i, file_of(ty), [ty])?;
        Ok(FloatOp::Float1 { wide, op, mode, d, a }.into())
    }

    fn float2(
        &mut self,
        i: &Instruction<'a>,
        ty: Type,
        mode: FloatMode,
        op: Option<Float2>,
    ) -> Lowered<Op> {
        let op = op.ok_or_else(|| unsupported(i))?;
        let (d, [a, b]) = self.registers_of(i, file_of(ty), [ty; 2])?;
        Ok(match (op, ty == Type::Float(8), mode == FloatMode::PLAIN) {
            (Float2::Add, false, true) => ArithOp::F32Add { d, a, b }.into(),
            (Float2::Sub, false, true) => ArithOp::F32Sub { d, a, b }.into(),
            (Float2::Mul, false, true) => ArithOp::F32Mul { d, a, b }.into(),
            (Float2::Add, true, true) => ArithOp::F64Add { d, a, b }.into(),
            (Float2::Sub, true, true) => ArithOp::F64Sub { d, a, b }.into(),
            (Float2::Mul, true, true) => ArithOp::F64Mul { d, a, b }.into(),
            (op, false, _) => ArithOp::Float2_32 { op, mode, d, a, b }.into(),
            (op, true, _) => FloatOp::Float2_64 { op, mode, d, a, b }.into(),
        })
    }

    /// `fma`, and `mad` of floats.
    fn fma(&mut self, i: &Instruction<'a>, ty: Type, mode: FloatMode) -> Lowered<Op> {
        if !matches!(i.opcode, "fma" | "mad") {
            return Err(unsupported(i));
        }
        let (d, [a, b, c]) = self.registers_of(i, file_of(ty), [ty; 3])?;
        Ok(match (ty == Type::Float(8), mode == FloatMode::PLAIN) {
            (false, true) => ArithOp::F32Fma { d, a, b, c }.into(),
            (true, true) => ArithOp::F64Fma { d, a, b, c }.into(),
            (false, false) => ArithOp::Fma32 { mode, d, a, b, c }.into(),
            (true, false) => FloatOp::Fma64 { mode, d, a, b, c }.into(),
        })
    }

    /// `testp.class`
    fn testp(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let kind = match words.take_first() {
            Some("finite") => FloatClass::Finite,
            Some("infinite") => FloatClass::Infinite,
            Some("number") => FloatClass::Number,
            Some("notanumber") => FloatClass::NotANumber,
            Some("normal") => FloatClass::Normal,
            Some("subnormal") => FloatClass::Subnormal,
            _ => return Err(unsupported(i)),
        };
        let ty = words.one_type(i)?;
        words.done(i)?;
        let (d, [a]) = self.registers_of(i, File::Pred, [ty])?;
        Ok(FloatOp::TestFloat { wide: file_of(ty) == File::R64, kind, d, a }.into())
    }

    /// `setp` and `set`.
    fn compare(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let Some((cmp, unsigned)) = words.take_first().and_then(comparison) else {
            return Err(unsupported(i));
        };
        let combine = words.combination();
        let ftz = words.take("ftz");
        let types = words.types();
        words.done(i)?;
        let Some((&ty, result)) = types.split_last() else { return Err(unsupported(i)) };
        let kind = compared(ty, unsigned).ok_or_else(|| unsupported(i))?;
        if ftz && !matches!(kind, Scalar::F16 | Scalar::F32) {
            return Err(unsupported(i));
        }
        let [d, a, b, rest @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        let (a, b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        if i.opcode == "set" {
            let [result] = *result else { return Err(unsupported(i)) };
            let yes = true_value(result, kind).ok_or_else(|| unsupported(i))?;
            let (combine, c, negate) = self.combined(i, combine, rest)?;
            let d = self.destination(d, File::R32, i.line)?;
            let how = SetTo { ty: kind, cmp, ftz, yes, d, a, b, combine, c, negate };
            return Ok(FloatOp::SetTo(how).into());
        }
        let (d, q) = match d {
            Operand::Pair(d, q) => {
                (self.destination(d, File::Pred, i.line)?, self.destination(q, File::Pred, i.line)?)
            }
            d => (self.destination(d, File::Pred, i.line)?, self.sink()),
        };
        let plain = combine.is_none() && q == self.sink() && !ftz;
        match (kind, rest) {
            (Scalar::S32, []) if plain => return Ok(ArithOp::SetpS32 { cmp, d, a, b }.into()),
            (Scalar::U32, []) if plain => return Ok(ArithOp::SetpU32 { cmp, d, a, b }.into()),
            (Scalar::F32, []) if plain => return Ok(ArithOp::SetpF32 { cmp, d, a, b }.into()),
            _ => {}
        }
        let (combine, c, negate) = self.combined(i, combine, rest)?;
        Ok(FloatOp::Setp(Setp { ty: kind, cmp, ftz, d, q, a, b, combine, c, negate }).into())
    }

    /// The operand with which a comparison's result is combined; by default `or` with a predicate
    /// that is never set.
    pub(super) fn combined(
        &mut self,
        i: &Instruction<'a>,
        combine: Option<Combine>,
        rest: &[Operand<'a>],
    ) -> Lowered<(Combine, Slot, bool)> {
        match (combine, rest) {
            (None, []) => Ok((Combine::Or, self.never(), false)),
            (Some(combine), [c]) => {
                let (c, negate) = self.predicate(c, i.line)?;
                Ok((combine, c, negate))
            }
            _ => Err(unsupported(i)),
        }
    }

    /// `cvt`
    fn convert(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let rounding = words.cvt_rounding();
        let (ftz, sat) = (words.take("ftz"), words.take("sat"));
        let (relu, finite) = (words.take("relu"), words.take("satfinite"));
        let types = words.types();
        words.done(i)?;
        let [to_ty, from_ty] = types[..] else { return Err(unsupported(i)) };
        let (Some(to), Some(from)) = (scalar(to_ty), scalar(from_ty)) else {
            return Err(unsupported(i));
        };
        let to_half = from == Scalar::F32 && matches!(to, Scalar::F16 | Scalar::BF16);
        if (relu || finite) && !to_half {
            return Err(unsupported(i));
        }
        let [d, a] = operands(i)?;
        let (d, file) = self.destination_any(d, file_of(to_ty), i.line)?;
        let (a, wide_source) = self.source_any(a, from_ty, i.line)?;
        let wide_destination = file == File::R64;
        let clamp = Clamp { sat, relu, finite };
        let how = Conversion { from, to, rounding, ftz, clamp, wide_source, wide_destination };
        Ok(ArithOp::Convert { how, d, a }.into())
    }
}

/// The two-operand operation of an opcode; `nan`: with `.NaN`.
fn binary(opcode: &str, nan: bool) -> Option<Float2> {
    Some(match (opcode, nan) {
        ("add", false) => Float2::Add,
        ("sub", false) => Float2::Sub,
        ("mul", false) => Float2::Mul,
        ("div", false) => Float2::Div,
        ("min", false) => Float2::Min,
        ("max", false) => Float2::Max,
        ("min", true) => Float2::MinNan,
        ("max", true) => Float2::MaxNan,
        ("copysign", false) => Float2::CopySign,
        _ => return None,
    })
}

/// `min.xorsign.abs` and `max.xorsign.abs`.
fn extreme_of_sizes(opcode: &str, nan: bool) -> Option<Float2> {
    match opcode {
        "min" => Some(Float2::MinSize { nan }),
        "max" => Some(Float2::MaxSize { nan }),
        _ => None,
    }
}

/// The type as which values of `ty` are compared; `None` if they cannot be.
fn compared(ty: Type, unsigned: bool) -> Option<Scalar> {
    let kind = scalar(ty)?;
    if unsigned {
        return match kind {
            Scalar::U16 | Scalar::S16 => Some(Scalar::U16),
            Scalar::U32 | Scalar::S32 => Some(Scalar::U32),
            Scalar::U64 | Scalar::S64 => Some(Scalar::U64),
            _ => None,
        };
    }
    (!matches!(kind, Scalar::U8 | Scalar::S8)).then_some(kind)
}

/// The value that `set` writes if a comparison of `compared` values holds.
fn true_value(result: Type, compared: Scalar) -> Option<u32> {
    Some(match (result, compared) {
        (Type::Float(4), _) => 1f32.to_bits(),
        (Type::Unsigned(4) | Type::Signed(4) | Type::Bits(4), _) => u32::MAX,
        (Type::Float(2), _) => 0x3c00,
        (Type::BFloat16, _) => 0x3f80,
        (Type::Unsigned(2) | Type::Signed(2), Scalar::F16 | Scalar::BF16) => 0xffff,
        _ => return None,
    })
}

/// A comparison and whether its name forces unsigned operands.
pub(super) fn comparison(word: &str) -> Option<(Cmp, bool)> {
    Some(match word {
        "eq" => (Cmp::Eq, false),
        "ne" => (Cmp::Ne, false),
        "lt" => (Cmp::Lt, false),
        "le" => (Cmp::Le, false),
        "gt" => (Cmp::Gt, false),
        "ge" => (Cmp::Ge, false),
        "lo" => (Cmp::Lt, true),
        "ls" => (Cmp::Le, true),
        "hi" => (Cmp::Gt, true),
        "hs" => (Cmp::Ge, true),
        "equ" => (Cmp::EqU, false),
        "neu" => (Cmp::NeU, false),
        "ltu" => (Cmp::LtU, false),
        "leu" => (Cmp::LeU, false),
        "gtu" => (Cmp::GtU, false),
        "geu" => (Cmp::GeU, false),
        "num" => (Cmp::Num, false),
        "nan" => (Cmp::Nan, false),
        _ => return None,
    })
}
