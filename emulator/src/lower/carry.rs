//! Arithmetic with the carry: `add.cc`, `addc`, `mad.lo.cc`, `madc.hi` and their like.
//!
//! A kernel has one carry flag, stored in a predicate.

use super::builder::{Builder, Lowered, file_of};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::Instruction;

impl<'a> Builder<'_, 'a> {
    fn carry_slot(&mut self, line: u32) -> Lowered<Slot> {
        let carry = match self.carry {
            Some(slot) => slot,
            None => Slot::private(self.registers(File::Pred, 1, line)?),
        };
        self.carry = Some(carry);
        Ok(carry)
    }

    /// `add.cc addc addc.cc sub.cc subc subc.cc`
    pub(super) fn sum_with_carry(
        &mut self,
        i: &Instruction<'a>,
        mut words: Modifiers<'a>,
        write: bool,
    ) -> Lowered<Op> {
        let ty = words.one_type(i)?;
        words.done(i)?;
        let file = file_of(ty);
        if !matches!(i.opcode, "add" | "addc" | "sub" | "subc") || ty.bytes() < 4 {
            return Err(unsupported(i));
        }
        let carry = self.carry_slot(i.line)?;
        let [d, a, b] = operands(i)?;
        let d = self.destination(d, file, i.line)?;
        let (a, b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        Ok(IntegerOp::Carry(Carry {
            wide: file == File::R64,
            subtract: i.opcode.starts_with("sub"),
            read: i.opcode.ends_with('c'),
            write,
            carry,
            d,
            a,
            b,
        })
        .into())
    }

    /// `mad.lo.cc mad.hi.cc madc.lo madc.hi madc.lo.cc madc.hi.cc`
    pub(super) fn product_with_carry(
        &mut self,
        i: &Instruction<'a>,
        mut words: Modifiers<'a>,
        write: bool,
    ) -> Lowered<Op> {
        let part = words.take_one(&["lo", "hi"]);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let (Some(part), 4..) = (part, ty.bytes()) else { return Err(unsupported(i)) };
        let carry = self.carry_slot(i.line)?;
        let [d, a, b, c] = operands(i)?;
        let file = file_of(ty);
        let d = self.destination(d, file, i.line)?;
        let (a, b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        let c = self.source(c, ty, i.line)?;
        Ok(IntegerOp::MadCarry(MadCarry {
            wide: file == File::R64,
            signed: ty.is_signed(),
            high: part == "hi",
            read: i.opcode == "madc",
            write,
            carry,
            d,
            a,
            b,
            c,
        })
        .into())
    }
}
