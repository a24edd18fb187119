//! Moves, packing, selection, address conversions.

use super::address::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, function_address};
use super::builder::{Binding, Builder, Lowered, file_of};
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use super::program::{Const64, Special};
use crate::ptx::PtxError;
use crate::ptx::ast::{Instruction, Operand, Type};

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn move_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "mov" => self.mov(i),
            "selp" => self.select(i),
            "cvta" => self.cvta(i),
            "isspacep" => self.isspacep(i),
            _ => return None,
        })
    }

    /// `mov`
    fn mov(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        let is_vector = words.take("v4");
        words.done(i)?;
        let [d, a] = operands(i)?;
        if is_vector {
            return self.mov_index(i, ty, d, a);
        }
        if ty.bytes() == 16 {
            return self.mov128(i, d, a);
        }
        match (d, a) {
            (d, Operand::Vector(parts)) => return self.pack(i, ty, d, parts),
            (Operand::Vector(parts), a) => return self.unpack(i, ty, parts, a),
            (d, Operand::Name(name))
                if name.starts_with("%clock") || name.starts_with("%globaltimer") =>
            {
                let (what, file) = match *name {
                    "%clock" | "%clock_lo" | "%globaltimer_lo" => (Clock::Low, File::R32),
                    "%clock_hi" | "%globaltimer_hi" => (Clock::High, File::R32),
                    "%clock64" | "%globaltimer" => (Clock::Full, File::R64),
                    _ => return Err(unsupported(i)),
                };
                return Ok(ControlOp::Clock { what, d: self.destination(d, file, i.line)? }.into());
            }
            _ => {}
        }
        let file = file_of(ty);
        let d = self.destination(d, file, i.line)?;
        match file {
            File::Pred => match self.predicate(a, i.line)? {
                (a, false) => Ok(ArithOp::MovPred { d, a }.into()),
                (a, true) => Ok(ArithOp::PredNot { d, a }.into()),
            },
            File::R32 => Ok(ArithOp::Mov32 { d, a: self.address_or(a, ty, i)? }.into()),
            File::R64 => Ok(ArithOp::Mov64 { d, a: self.address_or(a, ty, i)? }.into()),
        }
    }

    /// A source, or the address of a kernel parameter or of the grid's identity as 64 bits.
    fn address_or(&mut self, a: &Operand<'a>, ty: Type, i: &Instruction<'a>) -> Lowered<Slot> {
        if let Operand::Name(name) | Operand::Offset(name, _) = a {
            let offset = if let Operand::Offset(_, offset) = a { *offset } else { 0 };
            match self.find(name) {
                Some(Binding::LaunchParam(at, _)) if ty.bytes() == 8 => {
                    return Ok(
                        self.constant64(Const64::Bits(u64::from(at).wrapping_add_signed(offset)))
                    );
                }
                Some(Binding::Words(..)) => {
                    return Err(PtxError::unsupported(
                        i.line,
                        format!("unsupported address of parameter '{name}' of a device function"),
                    ));
                }
                None if *name == "%gridid" && ty.bytes() == 8 => {
                    return Ok(self.constant64(Const64::Special(Special::GridId)));
                }
                None if let Some(index) = self.module.function_index(name) => {
                    return Ok(self.constant64(Const64::Bits(function_address(index))));
                }
                _ => {}
            }
        }
        self.source(a, ty, i.line)
    }

    /// `mov.v4` of an index or an extent, of which the last component is zero.
    fn mov_index(
        &mut self,
        i: &Instruction<'a>,
        ty: Type,
        d: &Operand<'a>,
        a: &Operand<'a>,
    ) -> Lowered<Op> {
        let (Operand::Vector(parts), Operand::Name(name)) = (d, a) else {
            return Err(unsupported(i));
        };
        let [x, y, z, w] = parts.as_slice() else { return Err(unsupported(i)) };
        if ty.bytes() != 4 || ty.is_float() {
            return Err(unsupported(i));
        }
        let (mut to, mut from) = ([self.sink(); 4], [self.bits32(0); 4]);
        for (to, part) in to.iter_mut().zip([x, y, z, w]) {
            *to = self.destination(part, File::R32, i.line)?;
        }
        for (from, component) in from.iter_mut().zip(["x", "y", "z"]) {
            *from = self.source32(&Operand::Component(name, component), ty, i.line)?;
        }
        Ok(MoveOp::Gather { wide: false, count: 4, d: to, a: from }.into())
    }

    /// `mov.b128` between registers of 128 bits and pairs of 64.
    fn mov128(&mut self, i: &Instruction<'a>, d: &Operand<'a>, a: &Operand<'a>) -> Lowered<Op> {
        let pair = |this: &mut Self, operand: &Operand<'a>, writes: bool| match operand {
            Operand::Vector(parts) => {
                let [low, high] = parts.as_slice() else { return Err(unsupported(i)) };
                let mut half = |part| match writes {
                    true => this.destination(part, File::R64, i.line),
                    false => this.source64(part, Type::Bits(8), i.line),
                };
                Ok([half(low)?, half(high)?])
            }
            whole => this.register128(whole, i.line),
        };
        let ([d0, d1], [a0, a1]) = (pair(self, d, true)?, pair(self, a, false)?);
        let none = self.sink();
        let (d, a) = ([d0, d1, none, none], [a0, a1, none, none]);
        Ok(MoveOp::Gather { wide: true, count: 2, d, a }.into())
    }

    fn pack(
        &mut self,
        i: &Instruction<'a>,
        ty: Type,
        d: &Operand<'a>,
        parts: &[Operand<'a>],
    ) -> Lowered<Op> {
        let d = self.destination(d, file_of(ty), i.line)?;
        let part = Type::Unsigned((ty.bytes() as usize / parts.len().max(1)) as u8);
        let sources = parts.iter().map(|operand| self.source32(operand, part, i.line));
        let (wide, count, a) = parts_of(i, ty, &sources.collect::<Lowered<Vec<_>>>()?)?;
        Ok(MoveOp::Pack { wide, count, d, a }.into())
    }

    fn unpack(
        &mut self,
        i: &Instruction<'a>,
        ty: Type,
        parts: &[Operand<'a>],
        a: &Operand<'a>,
    ) -> Lowered<Op> {
        let a = self.source(a, ty, i.line)?;
        let results = parts.iter().map(|part| self.destination(part, File::R32, i.line));
        let (wide, count, d) = parts_of(i, ty, &results.collect::<Lowered<Vec<_>>>()?)?;
        Ok(MoveOp::Unpack { wide, count, d, a }.into())
    }

    /// `selp`
    fn select(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let ty = words.one_type(i)?;
        words.done(i)?;
        let [d, a, b, p] = operands(i)?;
        let file = file_of(ty);
        let d = self.destination(d, file, i.line)?;
        let (mut a, mut b) = (self.source(a, ty, i.line)?, self.source(b, ty, i.line)?);
        let (p, negated) = self.predicate(p, i.line)?;
        if negated {
            std::mem::swap(&mut a, &mut b);
        }
        match file {
            File::R32 => Ok(ArithOp::Select32 { d, a, b, p }.into()),
            File::R64 => Ok(IntegerOp::Select64 { d, a, b, p }.into()),
            File::Pred => Err(unsupported(i)),
        }
    }

    /// `cvta` and `cvta.to`
    fn cvta(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let to = words.take("to");
        let space = words.take_first();
        let ty = words.one_type(i)?;
        words.done(i)?;
        let window = match space {
            Some("global" | "const") => 0,
            // A block without a cluster is its own cluster.
            Some("shared" | "shared::cta" | "shared::cluster") => SHARED_WINDOW,
            Some("local") => LOCAL_WINDOW,
            Some("param" | "param::entry") => PARAM_WINDOW,
            _ => return Err(unsupported(i)),
        } as i64;
        if ty.bytes() != 8 {
            return Err(unsupported(i));
        }
        let [d, a] = operands(i)?;
        let d = self.destination(d, File::R64, i.line)?;
        let a = self.address_or(a, ty, i)?;
        if window == 0 {
            return Ok(ArithOp::Mov64 { d, a }.into());
        }
        Ok(ArithOp::Window { d, a, window: if to { window.wrapping_neg() } else { window } }.into())
    }

    /// `isspacep`
    fn isspacep(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let space = match i.modifiers[..] {
            ["global"] => Space::Global,
            // A block without a cluster is its own cluster.
            ["shared" | "shared::cta" | "shared::cluster"] => Space::Shared,
            ["local"] => Space::Local,
            ["param" | "param::entry"] => Space::Param,
            ["const"] => Space::Const,
            _ => return Err(unsupported(i)),
        };
        let (d, [a]) = self.registers_of(i, File::Pred, [Type::Unsigned(8)])?;
        Ok(MoveOp::IsSpace { space, d, a }.into())
    }
}

/// Whether a register of `ty` is wide, how many parts it has, and their registers.
fn parts_of(i: &Instruction<'_>, ty: Type, parts: &[Slot]) -> Lowered<(bool, u8, [Slot; 4])> {
    let mut slots = [Slot::private(0); 4];
    match (ty.bytes(), parts.len()) {
        (bytes @ (4 | 8), count @ (2 | 4)) => {
            slots[..count].copy_from_slice(parts);
            Ok((bytes == 8, count as u8, slots))
        }
        _ => Err(unsupported(i)),
    }
}
