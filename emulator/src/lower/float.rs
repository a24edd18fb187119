//! Floating-point arithmetic, comparisons and conversions.

use super::builder::{Builder, File, Lowered, file_of};
use super::inst::*;
use super::integer::scalar;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

impl<'a> Builder<'_, 'a> {
    /// Opcodes whose type is `.f32` or `.f64`.
    pub(super) fn float(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let approximate = words.take_one(&["approx", "full"]).is_some();
        let nan = words.take("NaN");
        let mode = words.float_mode();
        let ty = words.one_type(i)?;
        words.done(i)?;
        let wide = ty == Type::Float(8);
        if !matches!(ty, Type::Float(4 | 8)) || (wide && (mode.ftz && !approximate || mode.sat)) {
            return Err(unsupported(i));
        }
        let file = file_of(ty);
        let d = self.destination(i.operands.first().unwrap_or(&Operand::Sink), file, i.line)?;
        let one = match i.opcode {
            "neg" => Some(Float1::Neg),
            "abs" => Some(Float1::Abs),
            "sqrt" => Some(Float1::Sqrt),
            "rcp" => Some(Float1::Rcp),
            "rsqrt" => Some(Float1::Rsqrt),
            "ex2" => Some(Float1::Ex2),
            "lg2" => Some(Float1::Lg2),
            "sin" => Some(Float1::Sin),
            "cos" => Some(Float1::Cos),
            "tanh" => Some(Float1::Tanh),
            _ => None,
        };
        if let Some(op) = one {
            let [_, a] = operands(i)?;
            let a = self.source(a, ty, i.line)?;
            if wide
                && matches!(
                    op,
                    Float1::Ex2 | Float1::Lg2 | Float1::Sin | Float1::Cos | Float1::Tanh
                )
            {
                return Err(unsupported(i));
            }
            // The approximations of doubles look at the upper halves only: seeds for Newton's
            // iteration.
            let op = match (op, wide && approximate) {
                (Float1::Rcp, true) => Float1::RcpSeed,
                (Float1::Rsqrt, true) => Float1::RsqrtSeed,
                (_, true) => return Err(unsupported(i)),
                (op, false) => op,
            };
            return Ok(if wide {
                Op::Float1_64 { op, mode, d, a }
            } else {
                Op::Float1_32 { op, mode, d, a }
            });
        }
        if matches!(i.opcode, "fma" | "mad") {
            let [_, a, b, c] = operands(i)?;
            let (a, b, c) = (
                self.source(a, ty, i.line)?,
                self.source(b, ty, i.line)?,
                self.source(c, ty, i.line)?,
            );
            return Ok(match (wide, mode == FloatMode::PLAIN) {
                (false, true) => Op::F32Fma { d, a, b, c },
                (true, true) => Op::F64Fma { d, a, b, c },
                (false, false) => Op::Fma32 { mode, d, a, b, c },
                (true, false) => Op::Fma64 { mode, d, a, b, c },
            });
        }
        let op = match (i.opcode, nan) {
            ("add", false) => Float2::Add,
            ("sub", false) => Float2::Sub,
            ("mul", false) => Float2::Mul,
            ("div", false) => Float2::Div,
            ("min", false) => Float2::Min,
            ("max", false) => Float2::Max,
            ("min", true) => Float2::MinNan,
            ("max", true) => Float2::MaxNan,
            ("copysign", false) => Float2::CopySign,
            _ => return Err(unsupported(i)),
        };
        let [_, a, b] = operands(i)?;
        let (a, b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        Ok(match (op, wide, mode == FloatMode::PLAIN) {
            (Float2::Add, false, true) => Op::F32Add { d, a, b },
            (Float2::Sub, false, true) => Op::F32Sub { d, a, b },
            (Float2::Mul, false, true) => Op::F32Mul { d, a, b },
            (Float2::Add, true, true) => Op::F64Add { d, a, b },
            (Float2::Sub, true, true) => Op::F64Sub { d, a, b },
            (Float2::Mul, true, true) => Op::F64Mul { d, a, b },
            (op, false, _) => Op::Float2_32 { op, mode, d, a, b },
            (op, true, _) => Op::Float2_64 { op, mode, d, a, b },
        })
    }

    /// `testp.class`
    pub(super) fn testp(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
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
        let [d, a] = operands(i)?;
        let d = self.destination(d, File::Pred, i.line)?;
        Ok(Op::TestFloat {
            wide: file_of(ty) == File::R64,
            kind,
            d,
            a: self.source(a, ty, i.line)?,
        })
    }

    /// `setp` and `set`.
    pub(super) fn compare(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let Some((cmp, unsigned)) = words.take_first().and_then(comparison) else {
            return Err(unsupported(i));
        };
        let combine = match words.take_one(&["and", "or", "xor"]) {
            Some("and") => Some(Combine::And),
            Some("or") => Some(Combine::Or),
            Some(_) => Some(Combine::Xor),
            None => None,
        };
        let ftz = words.take("ftz");
        let types = words.types();
        words.done(i)?;
        let Some((&ty, result)) = types.split_last() else { return Err(unsupported(i)) };
        let Some(mut kind) = scalar(ty) else { return Err(unsupported(i)) };
        if unsigned {
            kind = match kind {
                Scalar::U16 | Scalar::S16 => Scalar::U16,
                Scalar::U32 | Scalar::S32 => Scalar::U32,
                Scalar::U64 | Scalar::S64 => Scalar::U64,
                _ => return Err(unsupported(i)),
            };
        }
        if matches!(kind, Scalar::U8 | Scalar::S8 | Scalar::F16 | Scalar::BF16) {
            return Err(unsupported(i));
        }
        let [d, a, b, rest @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        let (a, b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        if i.opcode == "set" {
            let float = match result {
                [Type::Float(4)] => true,
                [Type::Unsigned(4) | Type::Signed(4) | Type::Bits(4)] => false,
                _ => return Err(unsupported(i)),
            };
            if combine.is_some() || !rest.is_empty() {
                return Err(unsupported(i));
            }
            return Ok(Op::Set {
                ty: kind,
                cmp,
                ftz,
                float,
                d: self.destination(d, File::R32, i.line)?,
                a,
                b,
            });
        }
        let (d, q) = match d {
            Operand::Pair(d, q) => {
                (self.destination(d, File::Pred, i.line)?, self.destination(q, File::Pred, i.line)?)
            }
            d => (self.destination(d, File::Pred, i.line)?, self.sink()),
        };
        let plain = combine.is_none() && q == self.sink() && !ftz;
        match (kind, combine, rest) {
            (Scalar::S32, None, []) if plain => Ok(Op::SetpS32 { cmp, d, a, b }),
            (Scalar::U32, None, []) if plain => Ok(Op::SetpU32 { cmp, d, a, b }),
            (Scalar::F32, None, []) if plain => Ok(Op::SetpF32 { cmp, d, a, b }),
            // Without a combination: `or` with a predicate that is never set.
            (_, None, []) => Ok(Op::Setp(Setp {
                ty: kind,
                cmp,
                ftz,
                d,
                q,
                a,
                b,
                combine: Combine::Or,
                c: self.never(),
                negate: false,
            })),
            (_, Some(combine), [c]) => {
                let (c, negate) = self.predicate(c, i.line)?;
                Ok(Op::Setp(Setp { ty: kind, cmp, ftz, d, q, a, b, combine, c, negate }))
            }
            _ => Err(unsupported(i)),
        }
    }

    /// `cvt`
    pub(super) fn convert(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        let rounding = words.cvt_rounding();
        let (ftz, sat) = (words.take("ftz"), words.take("sat"));
        let types = words.types();
        words.done(i)?;
        let [to_ty, from_ty] = types[..] else { return Err(unsupported(i)) };
        let (Some(to), Some(from)) = (scalar(to_ty), scalar(from_ty)) else {
            return Err(unsupported(i));
        };
        let [d, a] = operands(i)?;
        let (d, file) = self.destination_any(d, file_of(to_ty), i.line)?;
        let (a, wide_source) = self.source_any(a, from_ty, i.line)?;
        let wide_destination = file == File::R64;
        let how = Conversion { from, to, rounding, ftz, sat, wide_source, wide_destination };
        Ok(Op::Convert { how, d, a })
    }
}

/// A comparison and whether its name forces unsigned operands.
fn comparison(word: &str) -> Option<(Cmp, bool)> {
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
