//! Integer instructions on words that few kernels use: bit masks, 24-bit products, pairs of 16-bit
//! integers, packing conversions, selection by sign.

use super::builder::{Builder, Lowered, file_of, wrong_count};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes and forms of this file; `None` for any other.
    pub(super) fn rare_integer_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        let has = |words: &[&str]| i.modifiers.iter().any(|word| words.contains(word));
        Some(match i.opcode {
            "bmsk" | "szext" | "fns" => self.bit_range(i),
            "slct" => self.select_by_sign(i),
            "mul24" | "mad24" => self.product24(i),
            "add" | "min" | "max" if has(&["u16x2", "s16x2"]) => self.halfword_pair(i),
            "min" | "max" if has(&["relu"]) && has(&["s32"]) => self.extreme(i),
            "mad" if has(&["hi"]) && has(&["sat", "u16", "s16"]) => self.mad_high(i),
            "sad" if has(&["u16", "s16", "u64", "s64"]) => self.sad(i),
            "cnot" if has(&["b16"]) => self.cnot16(i),
            "cvt" if has(&["pack"]) => self.pack_integers(i),
            "cvt" if has(&["tf32"]) => self.tf32(i),
            _ => return None,
        })
    }

    /// An operation on words, the `N` sources of an instruction.
    fn word_operation<const N: usize>(&mut self, i: &Instruction<'a>, op: WordOp) -> Lowered<Op> {
        match i.operands.split_first() {
            Some((d, sources)) if sources.len() == N => {
                self.word(i, op, d, &sources.iter().collect::<Vec<_>>())
            }
            _ => Err(wrong_count(i, N + 1)),
        }
    }

    /// An operation on words; sources that are missing read as 0.
    pub(super) fn word(
        &mut self,
        i: &Instruction<'a>,
        op: WordOp,
        d: &Operand<'a>,
        sources: &[&Operand<'a>],
    ) -> Lowered<Op> {
        let d = self.destination(d, File::R32, i.line)?;
        let mut slots = [self.bits32(0); 3];
        for (slot, source) in slots.iter_mut().zip(sources) {
            *slot = self.source32(source, WORD, i.line)?;
        }
        let [a, b, c] = slots;
        Ok(IntegerOp::Word { op, d, a, b, c }.into())
    }

    /// `bmsk szext fns`
    fn bit_range(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let mode = words.take_one(&["clamp", "wrap"]);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let clamp = mode == Some("clamp");
        match (i.opcode, mode, ty) {
            ("bmsk", Some(_), Type::Bits(4)) => {
                self.word_operation::<2>(i, WordOp::BitMask { clamp })
            }
            ("szext", Some(_), Type::Unsigned(4) | Type::Signed(4)) => {
                let signed = ty.is_signed();
                self.word_operation::<2>(i, WordOp::Extend { signed, clamp })
            }
            ("fns", None, Type::Bits(4)) => self.word_operation::<3>(i, WordOp::FindNthSet),
            _ => Err(unsupported(i)),
        }
    }

    /// `slct`
    fn select_by_sign(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ftz = words.take("ftz");
        let types = words.types();
        words.done(i)?;
        let (ty, sign, sign_ty) = match types[..] {
            [ty, sign_ty @ Type::Signed(4)] if !ftz => (ty, SignOf::S32, sign_ty),
            [ty, sign_ty @ Type::Float(4)] => (ty, SignOf::F32 { ftz }, sign_ty),
            _ => return Err(unsupported(i)),
        };
        if !matches!(ty.bytes(), 2 | 4 | 8) || ty == Type::Float(2) {
            return Err(unsupported(i));
        }
        let (d, [a, b, c]) = self.registers_of(i, file_of(ty), [ty, ty, sign_ty])?;
        Ok(if ty.bytes() == 8 {
            IntegerOp::SelectBySign64 { sign, d, a, b, c }.into()
        } else {
            IntegerOp::Word { op: WordOp::SelectBySign(sign), d, a, b, c }.into()
        })
    }

    /// `mul24 mad24`
    fn product24(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let part = words.take_one(&["lo", "hi"]);
        let saturate = words.take("sat");
        let ty = words.one_type(i)?;
        words.done(i)?;
        let (signed, high) = (ty.is_signed(), part == Some("hi"));
        let adds = i.opcode == "mad24";
        if part.is_none()
            || !matches!(ty, Type::Unsigned(4) | Type::Signed(4))
            || (saturate && !(adds && high && signed))
        {
            return Err(unsupported(i));
        }
        let op = WordOp::Mad24 { signed, high, saturate };
        if adds {
            return self.word_operation::<3>(i, op);
        }
        self.word_operation::<2>(i, op)
    }

    /// `add.u16x2 min.s16x2` and their like
    fn halfword_pair(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let signed = words.take("s16x2");
        let known = words.take("u16x2") != signed;
        let relu = words.take("relu");
        words.done(i)?;
        let op = match i.opcode {
            "add" if !relu => PairOp::Add,
            "min" if signed || !relu => PairOp::Min,
            "max" if signed || !relu => PairOp::Max,
            _ => return Err(unsupported(i)),
        };
        if !known {
            return Err(unsupported(i));
        }
        self.word_operation::<2>(i, WordOp::Pair { op, signed, relu })
    }

    /// `min.relu.s32 max.relu.s32`
    fn extreme(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.take("relu");
        words.take("s32");
        words.done(i)?;
        self.word_operation::<2>(i, WordOp::Extreme { max: i.opcode == "max" })
    }

    /// `mad.hi.u16 mad.hi.s16 mad.hi.sat.s32`
    fn mad_high(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        words.take("hi");
        let saturate = words.take("sat");
        let ty = words.one_type(i)?;
        words.done(i)?;
        let op = match (saturate, ty) {
            (true, Type::Signed(4)) => WordOp::MadHighSaturated,
            (false, Type::Unsigned(2)) => WordOp::MadHigh16 { signed: false },
            (false, Type::Signed(2)) => WordOp::MadHigh16 { signed: true },
            _ => return Err(unsupported(i)),
        };
        self.word_operation::<3>(i, op)
    }

    /// `sad` of 16 and 64 bits
    fn sad(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let signed = ty.is_signed();
        if ty.bytes() == 2 {
            return self.word_operation::<3>(i, WordOp::Sad16 { signed });
        }
        let (d, [a, b, c]) = self.registers_of(i, File::R64, [ty; 3])?;
        Ok(IntegerOp::Sad64 { signed, d, a, b, c }.into())
    }

    fn cnot16(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let [d, a] = operands(i)?;
        if i.modifiers.len() != 1 {
            return Err(unsupported(i));
        }
        self.word(i, WordOp::ConditionalNot16, d, &[a])
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`
    fn pack_integers(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let (form, above) = match i.modifiers[..] {
            ["pack", "sat", form, "s32"] => (form, false),
            ["pack", "sat", form, "s32", "b32"] => (form, true),
            _ => return Err(unsupported(i)),
        };
        let (bits, signed) = match (form, above) {
            ("u16", false) => (16, false),
            ("s16", false) => (16, true),
            ("u8", true) => (8, false),
            ("s8", true) => (8, true),
            ("u4", true) => (4, false),
            ("s4", true) => (4, true),
            ("u2", true) => (2, false),
            ("s2", true) => (2, true),
            _ => return Err(unsupported(i)),
        };
        let op = WordOp::Pack { bits, signed };
        if above {
            return self.word_operation::<3>(i, op);
        }
        self.word_operation::<2>(i, op)
    }

    /// `cvt.rna.tf32.f32`
    fn tf32(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let away = words.take("rna");
        let rounding = words.take_one(&["rn", "rz"]);
        let (relu, finite) = (words.take("relu"), words.take("satfinite"));
        let known = words.take("tf32") && words.take("f32");
        words.done(i)?;
        let rounding = match (away, rounding) {
            (true, None) if !relu => None,
            (false, Some("rn")) => Some(Rounding::Nearest),
            (false, Some(_)) => Some(Rounding::Zero),
            _ => return Err(unsupported(i)),
        };
        if !known {
            return Err(unsupported(i));
        }
        let [d, a] = operands(i)?;
        let d = self.destination(d, File::R32, i.line)?;
        let a = self.source32(a, Type::Float(4), i.line)?;
        let none = self.bits32(0);
        let op = WordOp::Tf32 { rounding, relu, finite };
        Ok(IntegerOp::Word { op, d, a, b: none, c: none }.into())
    }
}
