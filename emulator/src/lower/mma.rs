//! `mma.sync` of 16 by 8 results.

use super::builder::{Builder, Lowered};
use super::half::format;
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

const WORD: Type = Type::Unsigned(4);

/// What is multiplied and added, by the types of `d`, `a`, `b` and `c`.
fn kinds([d, a, b, c]: [&str; 4], saturates: bool) -> Option<(MmaInput, MmaSums)> {
    let sign = |word| match word {
        "s8" => Some(true),
        "u8" => Some(false),
        _ => None,
    };
    if let (Some(a_signed), Some(b_signed)) = (sign(a), sign(b)) {
        let is_whole = d == "s32" && c == "s32";
        return is_whole
            .then_some((MmaInput::Byte { a_signed, b_signed }, MmaSums::S32 { saturates }));
    }
    let sums = match (d, c) {
        ("f32", "f32") => MmaSums::F32,
        ("f16", "f16") => MmaSums::F16,
        _ => return None,
    };
    let input = match (format(a), a) {
        (Some((HalfFormat::F16, false)), _) => MmaInput::Half(HalfFormat::F16),
        (Some((format, false)), _) if sums == MmaSums::F32 => MmaInput::Half(format),
        (_, "tf32") if sums == MmaSums::F32 => MmaInput::Tf32,
        _ => return None,
    };
    (a == b && !saturates).then_some((input, sums))
}

/// Columns of `a`, by the shape's word.
fn depth(word: &str, input: MmaInput) -> Option<u8> {
    let k = word.strip_prefix("m16n8k")?.parse().ok()?;
    let allowed = match input {
        MmaInput::Half(_) => [8, 16],
        MmaInput::Tf32 => [4, 8],
        MmaInput::Byte { .. } => [16, 32],
    };
    allowed.contains(&k).then_some(k)
}

impl<'a> Builder<'_, 'a> {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
    pub(super) fn mma(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let refused = || unsupported(i);
        let mut words = Modifiers::of(i);
        let known = ["sync", "aligned", "row", "col"].into_iter().all(|word| words.take(word));
        let saturates = words.take("satfinite");
        let shape = words.take_first().filter(|_| known).ok_or_else(refused)?;
        let mut types = [""; 4];
        for ty in &mut types {
            *ty = words.take_first().ok_or_else(refused)?;
        }
        words.done(i)?;
        let (input, sums) = kinds(types, saturates).ok_or_else(refused)?;
        let k = depth(shape, input).ok_or_else(refused)?;
        let (none, [d, a, b, c]) = (self.sink(), operands(i)?);

        let mut op = Mma { input, sums, k, a: [none; 4], b: [none; 2], c: [none; 4], d: [none; 4] };
        let (inputs, results) = (op.inputs(), sums.registers());
        self.registers_of(i, a, &mut op.a[..inputs])?;
        self.registers_of(i, b, &mut op.b[..inputs / 2])?;
        self.registers_of(i, c, &mut op.c[..results])?;
        let Operand::Vector(d) = d else { return Err(refused()) };
        if d.len() != results {
            return Err(refused());
        }
        for (slot, result) in op.d.iter_mut().zip(d) {
            *slot = self.destination(result, File::R32, i.line)?;
        }
        Ok(Op::Mma(op))
    }

    /// The registers of one matrix, as many as `slots` has.
    fn registers_of(
        &mut self,
        i: &Instruction<'a>,
        operand: &Operand<'a>,
        slots: &mut [Slot],
    ) -> Lowered<()> {
        let operands = match operand {
            Operand::Vector(operands) => operands.as_slice(),
            one => std::slice::from_ref(one),
        };
        if operands.len() != slots.len() {
            return Err(unsupported(i));
        }
        for (slot, operand) in slots.iter_mut().zip(operands) {
            *slot = self.source32(operand, WORD, i.line)?;
        }
        Ok(())
    }
}
