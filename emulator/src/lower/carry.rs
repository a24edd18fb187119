//! Arithmetic with the carry: `add.cc`, `addc`, `mad.lo.cc`, `madc.hi` and their like.
//!
//! A kernel has one carry flag, stored in a predicate.

use super::builder::{Builder, Lowered, file_of};
use super::inst::*;
use super::modifiers::{Modifiers, unsupported};
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
        let (d, [a, b]) = self.registers_of(i, file, [ty; 2])?;
        let (subtract, read) = (i.opcode.starts_with("sub"), i.opcode.ends_with('c'));
        let wide = file == File::R64;
        Ok(IntegerOp::Carry(Carry { wide, subtract, read, write, carry, d, a, b }).into())
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
        let file = file_of(ty);
        let (d, [a, b, c]) = self.registers_of(i, file, [ty; 3])?;
        let (wide, signed, high) = (file == File::R64, ty.is_signed(), part == "hi");
        let read = i.opcode == "madc";
        let mad = MadCarry { wide, signed, high, read, write, carry, d, a, b, c };
        Ok(IntegerOp::MadCarry(mad).into())
    }
}
