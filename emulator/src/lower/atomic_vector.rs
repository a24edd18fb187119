//! Atomics on vectors of floats, and on 128 bits.

use super::builder::{Builder, Lowered};
use super::half;
use super::inst::*;
use super::memory::{atomic_operands, atomic_order};
use super::modifiers::{Modifiers, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

impl<'a> Builder<'_, 'a> {
    /// `atom.global.v2.f32.add d, [a], b`, `atom.cas.b128 d, [a], b, c`
    pub(super) fn atomic_vector(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let (order, orders, space) = atomic_order(&mut words);
        let given = words.without_policy(i);
        let (op, ty, count) = if words.take("b128") {
            (wide_op(&mut words), Scalar::U64, 2)
        } else {
            let count = if words.take("v2") { 2 } else { 1 + u8::from(words.take("v4")) * 3 };
            let (op, ty) = element(&mut words).ok_or_else(|| unsupported(i))?;
            (Some(op), ty, count)
        };
        words.done(i)?;
        let op = op.ok_or_else(|| unsupported(i))?;
        let parts = usize::from(count);
        if parts < 2
            || (i.opcode == "red" && ty == Scalar::U64)
            || space == Space::Shared && op != AtomicOp::CompareSwap && ty != Scalar::U64
        {
            return Err(unsupported(i));
        }
        let [mut d, mut b, mut c] = [[self.sink(); 4]; 3];
        let (result, [address, given_b], given_c) = atomic_operands(i, given, op)?;
        if let Some(result) = result {
            self.vector(i, result, ty, &mut d[..parts])?;
        }
        self.vector(i, given_b, ty, &mut b[..parts])?;
        if let Some(given_c) = given_c {
            self.vector(i, given_c, ty, &mut c[..parts])?;
        }
        let address = self.access_place(i, address, space)?;
        let result_used = result.is_some_and(|result| *result != Operand::Sink);
        let informs = false;
        let op =
            AtomicVector { address, op, ty, count, result_used, informs, orders, order, d, b, c };
        Ok(Op::AtomicVector(op))
    }

    /// The registers of a vector, or of 128 bits.
    fn vector(
        &mut self,
        i: &Instruction<'a>,
        operand: &Operand<'a>,
        ty: Scalar,
        slots: &mut [Slot],
    ) -> Lowered<()> {
        match operand {
            Operand::Sink => {}
            Operand::Vector(parts) if ty != Scalar::U64 && parts.len() == slots.len() => {
                for (slot, part) in slots.iter_mut().zip(parts) {
                    *slot = match part {
                        Operand::Sink => self.sink(),
                        part => self.source32(part, Type::Bits(4), i.line)?,
                    };
                }
            }
            whole if ty == Scalar::U64 => slots.copy_from_slice(&self.register128(whole, i.line)?),
            _ => return Err(unsupported(i)),
        }
        Ok(())
    }
}

fn wide_op(words: &mut Modifiers<'_>) -> Option<AtomicOp> {
    match words.take_one(&["cas", "exch"])? {
        "cas" => Some(AtomicOp::CompareSwap),
        _ => Some(AtomicOp::Exchange),
    }
}

/// The operation on each element, and the element's type.
fn element(words: &mut Modifiers<'_>) -> Option<(AtomicOp, Scalar)> {
    if !words.take("add") {
        return None;
    }
    if words.take("f32") {
        return Some((AtomicOp::Add, Scalar::F32));
    }
    let word = words.take_one(&["f16x2", "bf16x2"])?;
    let (format, _) = half::format(word)?;
    words.take("noftz").then_some((AtomicOp::AddPair, half::scalar(format)))
}
