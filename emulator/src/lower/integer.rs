//! Integer arithmetic, bit operations, comparisons and selection.

use super::builder::{Builder, Lowered, file_of};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

/// The scalar that a PTX type is when it is compared or converted.
pub fn scalar(ty: Type) -> Option<Scalar> {
    Some(match ty {
        Type::Bits(1) | Type::Unsigned(1) => Scalar::U8,
        Type::Bits(2) | Type::Unsigned(2) => Scalar::U16,
        Type::Bits(4) | Type::Unsigned(4) => Scalar::U32,
        Type::Bits(8) | Type::Unsigned(8) => Scalar::U64,
        Type::Signed(1) => Scalar::S8,
        Type::Signed(2) => Scalar::S16,
        Type::Signed(4) => Scalar::S32,
        Type::Signed(8) => Scalar::S64,
        Type::Float(2) => Scalar::F16,
        Type::BFloat16 => Scalar::BF16,
        Type::Float(4) => Scalar::F32,
        Type::Float(8) => Scalar::F64,
        _ => return None,
    })
}

const WORD: Type = Type::Unsigned(4);

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn integer_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "add" | "sub" | "addc" | "subc" | "mul" | "div" | "rem" | "min" | "max" | "and"
            | "or" | "xor" => self.integer(i),
            "mad" | "madc" => self.mad(i),
            "neg" | "abs" | "not" | "cnot" | "brev" | "popc" | "clz" | "bfind" => self.unary(i),
            "shl" | "shr" => self.shift(i),
            "bfe" | "bfi" => self.bit_field(i),
            "lop3" => self.lop3(i),
            "shf" | "sad" | "dp4a" | "dp2a" => self.ternary(i),
            "prmt" => self.permute(i),
            _ => return None,
        })
    }

    /// Opcodes with one integer type, a destination and one or two sources.
    fn integer(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let carry_out = words.take("cc");
        if carry_out || matches!(i.opcode, "addc" | "subc") {
            return self.sum_with_carry(i, words, carry_out);
        }
        let high = words.take_one(&["lo", "hi", "wide"]);
        let saturate = words.take("sat");
        let ty = words.one_type(i)?;
        words.done(i)?;
        let signed = ty.is_signed();
        let op = match (i.opcode, high, saturate) {
            ("add", None, false) => Binary::Add,
            ("sub", None, false) => Binary::Sub,
            ("add", None, true) if ty == Type::Signed(4) => Binary::AddSat,
            ("sub", None, true) if ty == Type::Signed(4) => Binary::SubSat,
            ("mul", Some("lo"), false) => Binary::MulLo,
            ("mul", Some("hi"), false) => pick(signed, Binary::MulHiS, Binary::MulHiU),
            ("mul", Some("wide"), false) => return self.mul_wide(i, ty),
            ("div", None, false) => pick(signed, Binary::DivS, Binary::DivU),
            ("rem", None, false) => pick(signed, Binary::RemS, Binary::RemU),
            ("min", None, false) => pick(signed, Binary::MinS, Binary::MinU),
            ("max", None, false) => pick(signed, Binary::MaxS, Binary::MaxU),
            ("and", None, false) => Binary::And,
            ("or", None, false) => Binary::Or,
            ("xor", None, false) => Binary::Xor,
            _ => return Err(unsupported(i)),
        };
        if ty == Type::Pred {
            return self.pred_logic(i, op);
        }
        let file = file_of(ty);
        let (d, [a, b]) = self.registers_of(i, file, [ty; 2])?;
        Ok(match (file, ty.bytes()) {
            (File::R64, _) => ArithOp::Binary64 { op, d, a, b }.into(),
            // Operations on the low halves alone ignore the upper ones.
            (_, 2)
                if !matches!(
                    op,
                    Binary::Add
                        | Binary::Sub
                        | Binary::MulLo
                        | Binary::And
                        | Binary::Or
                        | Binary::Xor
                ) =>
            {
                IntegerOp::Binary16 { op, signed, d, a, b }.into()
            }
            (_, 2 | 4) => ArithOp::Binary32 { op, d, a, b }.into(),
            _ => return Err(unsupported(i)),
        })
    }

    fn pred_logic(&mut self, i: &Instruction<'a>, op: Binary) -> Lowered<Op> {
        let [d, a, b] = operands(i)?;
        let op = match op {
            Binary::And => Combine::And,
            Binary::Or => Combine::Or,
            Binary::Xor => Combine::Xor,
            _ => return Err(unsupported(i)),
        };
        let d = self.destination(d, File::Pred, i.line)?;
        let ((a, not_a), (b, not_b)) = (self.predicate(a, i.line)?, self.predicate(b, i.line)?);
        Ok(ArithOp::PredLogic { op, not: [not_a, not_b], d, a, b }.into())
    }

    fn mul_wide(&mut self, i: &Instruction<'a>, ty: Type) -> Lowered<Op> {
        let [d, a, b] = operands(i)?;
        let signed = ty.is_signed();
        let (a, b) = (self.source32(a, ty, i.line)?, self.source32(b, ty, i.line)?);
        Ok(match ty.bytes() {
            2 => IntegerOp::MulWide16 { signed, d: self.destination(d, File::R32, i.line)?, a, b }
                .into(),
            4 => {
                ArithOp::MulWide { signed, d: self.destination(d, File::R64, i.line)?, a, b }.into()
            }
            _ => return Err(unsupported(i)),
        })
    }

    /// `mad` on integers.
    fn mad(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let carry_out = words.take("cc");
        if carry_out || i.opcode == "madc" {
            return self.product_with_carry(i, words, carry_out);
        }
        let part = words.take_one(&["lo", "hi", "wide"]);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let signed = ty.is_signed();
        let is_wider = part == Some("wide") && ty.bytes() == 4;
        let file = if is_wider { File::R64 } else { file_of(ty) };
        let added = if file == File::R64 { Type::Unsigned(8) } else { WORD };
        let (d, [a, b, c]) = self.registers_of(i, file, [ty, ty, added])?;
        Ok(match (part, ty.bytes()) {
            (Some("lo"), 2 | 4) => ArithOp::Ternary32 { op: Ternary::MadLo, d, a, b, c }.into(),
            (Some("lo"), 8) => IntegerOp::MadLo64 { d, a, b, c }.into(),
            (Some("hi"), 4) => {
                let op = pick(signed, Ternary::MadHiS, Ternary::MadHiU);
                ArithOp::Ternary32 { op, d, a, b, c }.into()
            }
            (Some("hi"), 8) => IntegerOp::MadHi64 { signed, d, a, b, c }.into(),
            (Some("wide"), 2) => IntegerOp::MadWide16 { signed, d, a, b, c }.into(),
            (Some("wide"), 4) => IntegerOp::MadWide { signed, d, a, b, c }.into(),
            _ => return Err(unsupported(i)),
        })
    }

    /// `neg abs not cnot brev popc clz bfind`.
    fn unary(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let shift_amount = words.take("shiftamt");
        let ty = words.one_type(i)?;
        words.done(i)?;
        let [d, a] = operands(i)?;
        if ty == Type::Pred {
            let d = self.destination(d, File::Pred, i.line)?;
            let (a, negated) = self.predicate(a, i.line)?;
            return match (i.opcode, negated) {
                ("not", false) => Ok(ArithOp::PredNot { d, a }.into()),
                ("not", true) => Ok(ArithOp::MovPred { d, a }.into()),
                _ => Err(unsupported(i)),
            };
        }
        let wide = file_of(ty) == File::R64;
        let count = match (i.opcode, ty.is_signed(), shift_amount) {
            ("popc", _, false) => Some(Count::Popc),
            ("clz", _, false) => Some(Count::Clz),
            ("bfind", false, false) => Some(Count::BfindU),
            ("bfind", true, false) => Some(Count::BfindS),
            ("bfind", false, true) => Some(Count::BfindShiftU),
            ("bfind", true, true) => Some(Count::BfindShiftS),
            _ => None,
        };
        let a = self.source(a, ty, i.line)?;
        if let Some(op) = count.filter(|_| ty.bytes() >= 4) {
            let d = self.destination(d, File::R32, i.line)?;
            return Ok(IntegerOp::Count { wide, op, d, a }.into());
        }
        let op = match (i.opcode, ty.bytes()) {
            ("not", _) => Unary::Not,
            ("neg", _) => Unary::Neg,
            ("abs", 2) => Unary::Abs16,
            ("abs", _) => Unary::Abs,
            ("cnot", 4 | 8) => Unary::Cnot,
            ("brev", 4 | 8) => Unary::Brev,
            _ => return Err(unsupported(i)),
        };
        let d = self.destination(d, file_of(ty), i.line)?;
        Ok(if wide {
            IntegerOp::Unary64 { op, d, a }.into()
        } else {
            ArithOp::Unary32 { op, d, a }.into()
        })
    }

    /// `shl shr`.
    fn shift(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let op = match (i.opcode, ty.is_signed()) {
            ("shl", _) => Shift::Left,
            (_, false) => Shift::RightU,
            (_, true) => Shift::RightS,
        };
        let (d, [a, b]) = self.registers_of(i, file_of(ty), [ty, WORD])?;
        Ok(match ty.bytes() {
            2 => IntegerOp::Shift16 { op, d, a, b }.into(),
            4 => ArithOp::Shift32 { op, d, a, b }.into(),
            8 => IntegerOp::Shift64 { op, d, a, b }.into(),
            _ => return Err(unsupported(i)),
        })
    }

    /// `bfe bfi`.
    fn bit_field(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let wide = file_of(ty) == File::R64;
        let [d, a, rest @ ..] = i.operands.as_slice() else { return Err(unsupported(i)) };
        let d = self.destination(d, file_of(ty), i.line)?;
        let a = self.source(a, ty, i.line)?;
        match (i.opcode, rest) {
            ("bfe", [b, c]) => {
                let [b, c] = self.sources([b, c], WORD, i.line)?;
                let signed = ty.is_signed();
                let op = pick(signed, Ternary::BfeS, Ternary::BfeU);
                Ok(if wide {
                    IntegerOp::Bfe64 { signed, d, a, b, c }.into()
                } else {
                    ArithOp::Ternary32 { op, d, a, b, c }.into()
                })
            }
            ("bfi", [b, c, e]) => {
                let b = self.source(b, ty, i.line)?;
                let [c, e] = self.sources([c, e], WORD, i.line)?;
                Ok(IntegerOp::Bfi { wide, d, a, b, c, e }.into())
            }
            _ => Err(unsupported(i)),
        }
    }

    /// `lop3`
    fn lop3(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let combine = words.take_one(&["and", "or"]).map(|word| match word {
            "and" => Combine::And,
            _ => Combine::Or,
        });
        let ty = words.one_type(i)?;
        words.done(i)?;
        if let Some(combine) = combine {
            return self.logic_test(i, combine, ty);
        }
        let [d, a, b, c, Operand::Integer(table)] = operands(i)? else {
            return Err(unsupported(i));
        };
        self.ternary32(i, Ternary::Lop3(*table as u8), ty, [d, a, b, c])
    }

    /// `lop3.and`, `lop3.or`
    fn logic_test(&mut self, i: &Instruction<'a>, combine: Combine, ty: Type) -> Lowered<Op> {
        let [Operand::Pair(d, p), a, b, c, Operand::Integer(table), q] = operands(i)? else {
            return Err(unsupported(i));
        };
        if ty != Type::Bits(4) {
            return Err(unsupported(i));
        }
        let d = self.destination(d, File::R32, i.line)?;
        let p = self.destination(p, File::Pred, i.line)?;
        let mut source = |operand| self.source32(operand, ty, i.line);
        let (a, b, c) = (source(a)?, source(b)?, source(c)?);
        let ((q, negate), table) = (self.predicate(q, i.line)?, *table as u8);
        let test = LogicTest { table, combine, d, p, a, b, c, q, negate };
        Ok(IntegerOp::LogicTest(test).into())
    }

    /// `prmt`
    fn permute(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let mode = match words.take_one(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]) {
            None => Permute::Selected,
            Some("f4e") => Permute::Forward,
            Some("b4e") => Permute::Backward,
            Some("rc8") => Permute::Byte,
            Some("ecl") => Permute::ClampLeft,
            Some("ecr") => Permute::ClampRight,
            Some(_) => Permute::Half,
        };
        let ty = words.one_type(i)?;
        words.done(i)?;
        let [d, a, b, c] = operands(i)?;
        self.ternary32(i, Ternary::Prmt(mode), ty, [d, a, b, c])
    }

    /// `shf sad dp4a dp2a`.
    fn ternary(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let side = words.take_one(&["l", "r"]);
        let part = words.take_one(&["lo", "hi"]);
        let bound = words.take_one(&["wrap", "clamp"]);
        let types = words.types();
        words.done(i)?;
        let Some(&ty) = types.first() else { return Err(unsupported(i)) };
        let has_two = types.len() == 2
            && types.iter().all(|ty| matches!(ty, Type::Unsigned(4) | Type::Signed(4)));
        let op = match (i.opcode, side.or(part), bound) {
            ("shf", Some("l"), Some("wrap")) => Ternary::ShfLeftWrap,
            ("shf", Some("l"), Some("clamp")) => Ternary::ShfLeftClamp,
            ("shf", Some("r"), Some("wrap")) => Ternary::ShfRightWrap,
            ("shf", Some("r"), Some("clamp")) => Ternary::ShfRightClamp,
            ("sad", None, None) if ty.bytes() == 4 => {
                pick(ty.is_signed(), Ternary::SadS, Ternary::SadU)
            }
            ("dp4a", None, None) if has_two => match (types[0].is_signed(), types[1].is_signed()) {
                (false, false) => Ternary::Dp4aUU,
                (true, true) => Ternary::Dp4aSS,
                (false, true) => Ternary::Dp4aUS,
                (true, false) => Ternary::Dp4aSU,
            },
            ("dp2a", Some(part @ ("lo" | "hi")), None) if has_two => Ternary::Dp2a {
                high: part == "hi",
                a_signed: types[0].is_signed(),
                b_signed: types[1].is_signed(),
            },
            _ => return Err(unsupported(i)),
        };
        let [d, a, b, c] = operands(i)?;
        self.ternary32(i, op, ty, [d, a, b, c])
    }

    /// Three 32-bit sources.
    fn ternary32(
        &mut self,
        i: &Instruction<'a>,
        op: Ternary,
        ty: Type,
        [d, a, b, c]: [&Operand<'a>; 4],
    ) -> Lowered<Op> {
        if file_of(ty) == File::R64 {
            return Err(unsupported(i));
        }
        let d = self.destination(d, file_of(ty), i.line)?;
        let [a, b, c] = self.sources([a, b, c], WORD, i.line)?;
        Ok(ArithOp::Ternary32 { op, d, a, b, c }.into())
    }
}

pub(super) fn pick<T>(signed: bool, if_signed: T, if_unsigned: T) -> T {
    if signed { if_signed } else { if_unsigned }
}
