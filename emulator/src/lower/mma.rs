//! `mma.sync`: which types have which shapes.

use super::builder::{Builder, Lowered};
use super::half::format;
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

/// The shape that a dot-word names.
pub(super) fn shape(word: &str) -> Option<MatrixShape> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(MatrixShape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
}

/// The elements of `a` and `b`, by their types.
pub(super) fn input(a: &str, b: &str) -> Option<MmaInput> {
    let integer = |word| match word {
        "s8" => Some((8, true)),
        "u8" => Some((8, false)),
        "s4" => Some((4, true)),
        "u4" => Some((4, false)),
        _ => None,
    };
    let byte = |word| match word {
        "e4m3" => Some(ByteFormat::E4M3),
        "e5m2" => Some(ByteFormat::E5M2),
        _ => None,
    };
    if let (Some((bits, a_signed)), Some((b_bits, b_signed))) = (integer(a), integer(b)) {
        return (bits == b_bits).then_some(MmaInput::Integer { bits, a_signed, b_signed });
    }
    if let (Some(a), Some(b)) = (byte(a), byte(b)) {
        return Some(MmaInput::Byte { a, b });
    }
    match (a, format(a)) {
        _ if a != b => None,
        (_, Some((format, false))) => Some(MmaInput::Half(format)),
        ("tf32", _) => Some(MmaInput::Tf32),
        ("f64", _) => Some(MmaInput::Double),
        // Which of the two is another dot-word.
        ("b1", _) => Some(MmaInput::Xor),
        _ => None,
    }
}

/// The elements of `c` and `d`, by their type.
pub(super) fn sums(word: &str) -> Option<MmaSums> {
    Some(match word {
        "f16" => MmaSums::F16,
        "f32" => MmaSums::F32,
        "f64" => MmaSums::F64,
        "s32" => MmaSums::S32 { saturates: false },
        _ => return None,
    })
}

/// Whether such inputs are added to such sums, and the result may have the type of `d`.
pub(super) fn fits(input: MmaInput, given: MmaSums, d: MmaSums) -> bool {
    let single = (given, d) == (MmaSums::F32, MmaSums::F32);
    let floats = [given, d].iter().all(|sums| matches!(sums, MmaSums::F16 | MmaSums::F32));
    match input {
        MmaInput::Half(HalfFormat::F16) => floats,
        MmaInput::Half(HalfFormat::BF16) | MmaInput::Tf32 => single,
        MmaInput::Byte { .. } => floats && given == d,
        MmaInput::Double => (given, d) == (MmaSums::F64, MmaSums::F64),
        MmaInput::Integer { .. } | MmaInput::And | MmaInput::Xor => {
            [given, d].iter().all(|sums| matches!(sums, MmaSums::S32 { .. }))
        }
    }
}

/// Whether `mma` has the shape for such inputs.
fn has_shape(input: MmaInput, MatrixShape { m, n, k }: MatrixShape) -> bool {
    let (small, large): (&[u16], &[u16]) = match input {
        MmaInput::Half(HalfFormat::F16) => (&[4], &[8, 16]),
        MmaInput::Half(HalfFormat::BF16) => (&[], &[8, 16]),
        MmaInput::Tf32 => (&[], &[4, 8]),
        MmaInput::Double => (&[4], &[4, 8, 16]),
        MmaInput::Byte { .. } => (&[], &[16, 32]),
        MmaInput::Integer { bits: 8, .. } => (&[16], &[16, 32]),
        MmaInput::Integer { .. } => (&[32], &[32, 64]),
        MmaInput::And | MmaInput::Xor => (&[128], &[128, 256]),
    };
    n == 8 && (m == 8 && small.contains(&k) || m == 16 && large.contains(&k))
}

/// Takes `.satfinite`, of integers, and `.and.popc` or `.xor.popc`, of bits. None if the words do
/// not fit the types.
pub(super) fn finish(
    words: &mut Modifiers<'_>,
    input: MmaInput,
    sums: MmaSums,
) -> Option<(MmaInput, MmaSums)> {
    if input == MmaInput::Xor {
        let input = match words.take_one(&["and", "xor"])? {
            "and" => MmaInput::And,
            _ => MmaInput::Xor,
        };
        return words.take("popc").then_some((input, sums));
    }
    let saturates = words.take("satfinite");
    match input {
        MmaInput::Integer { .. } => Some((input, MmaSums::S32 { saturates })),
        _ => (!saturates).then_some((input, sums)),
    }
}

impl<'a> Builder<'_, 'a> {
    /// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}`
    pub(super) fn mma(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let refused = || unsupported(i);
        let mut words = Modifiers::new(i);
        let known = words.take("sync") && words.take("aligned");
        let shape = words.take_first().filter(|_| known).and_then(shape).ok_or_else(refused)?;
        let mut by_columns = [false; 2];
        for by_columns in &mut by_columns {
            *by_columns = words.take_first_of(&["row", "col"]).ok_or_else(refused)? == "col";
        }
        let rounding = words.rounding();
        let is_type = |word: &&str| sums(word).is_some() || input(word, word).is_some();
        let mut types = [""; 4];
        for ty in &mut types {
            *ty = words.take_where(is_type).ok_or_else(refused)?;
        }
        let [d, a, b, c] = types;
        let (Some(input), Some(d), Some(given)) = (input(a, b), sums(d), sums(c)) else {
            return Err(refused());
        };
        let (input, sums) = finish(&mut words, input, d).ok_or_else(refused)?;
        words.done(i)?;
        let is_quad = input == MmaInput::Half(HalfFormat::F16) && shape.m == 8;
        // Only the quads take other layouts, and sums of another type.
        let is_plain = by_columns == [false, true] && given == d;
        let is_mixed = is_quad && (given == d || d == MmaSums::F32);
        let fits = fits(input, given, d) && has_shape(input, shape) && (is_plain || is_mixed);
        if !fits || rounding.is_some() && input != MmaInput::Double {
            return Err(refused());
        }
        let dealing = by_columns.map(|by_columns| match is_quad {
            true => Dealing::Quads { by_columns },
            false => Dealing::Groups,
        });
        let rounding = rounding.unwrap_or(Rounding::Nearest);
        let op = Mma { rounding, dealing, ..Mma::new(shape, input, given, sums) };
        self.product(i, op, Fragment::registers)
    }

    /// The product with the registers of its operands, of each factor as many as `count` says.
    pub(super) fn product(
        &mut self,
        i: &Instruction<'a>,
        mut op: Mma,
        count: impl Fn(Fragment) -> usize,
    ) -> Lowered<Op> {
        let [d, a, b, c] = operands(i)?;
        let [of_a, of_b, of_c, of_d] = op.fragments();
        let file = |fragment: Fragment| File::by_width(fragment.is_wide());
        let (read, write) = (Role::Read, Role::Write);
        self.registers_in(i, a, read, file(of_a), &mut op.a[..count(of_a)])?;
        self.registers_in(i, b, read, file(of_b), &mut op.b[..count(of_b)])?;
        self.registers_in(i, c, read, file(of_c), &mut op.c[..of_c.registers()])?;
        self.registers_in(i, d, write, file(of_d), &mut op.d[..of_d.registers()])?;
        Ok(Op::Mma(op))
    }

    /// The registers of one matrix, as many as `slots` has.
    pub(super) fn registers_in(
        &mut self,
        i: &Instruction<'a>,
        operand: &Operand<'a>,
        role: Role,
        file: File,
        slots: &mut [Slot],
    ) -> Lowered<()> {
        let ty = Type::Bits(if file == File::R64 { 8 } else { 4 });
        let parts = parts(i, operand, slots.len())?;
        for (slot, operand) in slots.iter_mut().zip(parts) {
            *slot = match role {
                Role::Read => self.source(operand, ty, i.line)?,
                Role::Write => self.destination(operand, file, i.line)?,
            };
        }
        Ok(())
    }
}

/// The parts of a vector, or the operand itself, if it has so many.
fn parts<'o, 'a>(
    i: &Instruction<'a>,
    operand: &'o Operand<'a>,
    count: usize,
) -> Lowered<&'o [Operand<'a>]> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    if parts.len() == count { Ok(parts) } else { Err(unsupported(i)) }
}
