//! The sources of each bit of a result.
//!
//! Input: an instruction. Output: for each register that it writes, a [`Form`]. ptxas follows bits
//! through moves, shifts, logic, sums and products; of any other result, every bit depends on every
//! bit of the sources.

use super::values::{Values, narrow, predicate, wide};
use super::wires::{
    Compare, Form, Wire, bit_field, field, inserted, joined, moves, ones, permuted, shifted, whole,
    width,
};
use crate::lower::inst::{
    ArithOp, Binary, Cmp, Combine, Conversion, ExchangeOp, File, FloatOp, Inst, IntegerOp, MoveOp,
    Op, Permute, Register, Role, Scalar, Setp, Shift, Slot, Ternary, Unary, Vote,
};

/// The lookup tables of `lop3` for operations on its first two operands.
const AND: u8 = 0xc0;
const OR: u8 = 0xfc;
const XOR: u8 = 0x3c;
const NOT: u8 = 0x0f;

fn logic(table: u8, a: Register, b: Register) -> Form {
    Form::Logic { table, sources: [a, b, b] }
}

/// A table of two sources after the negation of some.
fn negated(table: u8, [a, b]: [bool; 2]) -> u8 {
    let table = if a { table.rotate_left(4) } else { table };
    if b { (table & 0x33) << 2 | (table & 0xcc) >> 2 } else { table }
}

/// The parts of a register, each with the same number of bits.
fn split(results: &[Slot], from: Register, count: u32) -> Vec<(Register, Form)> {
    let part = |at: u32| field(from, at * count, count, false, 0);
    (0..).zip(results).map(|(at, &d)| (narrow(d), part(at))).collect()
}

/// The results of an instruction.
pub fn results(inst: &Inst, values: &Values<'_>) -> Vec<(Register, Form)> {
    let known = match inst.op {
        Op::Arith(op) => arith(op, values).map(|result| vec![result]),
        Op::Integer(op) => integer(op, values).map(|result| vec![result]),
        Op::Float(op) => float(op),
        Op::Move(op) => moved(op),
        Op::Exchange(ExchangeOp::Shuffle { d, p, a, b, c, members, .. }) => {
            let opaque = |reads: &[Slot]| Form::Opaque {
                reads: reads.iter().map(|&slot| narrow(slot)).collect(),
                zeros: 0,
            };
            Some(vec![
                (narrow(d), opaque(&[a, b, c, members])),
                (predicate(p), opaque(&[b, c, members])),
            ])
        }
        Op::Exchange(ExchangeOp::Vote { mode: Vote::Ballot, d, a, members, .. }) => {
            let reads = vec![predicate(a), narrow(members)];
            Some(vec![(narrow(d), Form::Opaque { reads, zeros: 0 })])
        }
        _ => None,
    };
    known.unwrap_or_else(|| opaque(inst))
}

fn opaque(inst: &Inst) -> Vec<(Register, Form)> {
    let (reads, writes) = (inst.op.registers(Role::Read), inst.op.registers(Role::Write));
    let zeros = match inst.op {
        Op::Load { element, .. } if !element.signed => !ones(8 * u32::from(element.bytes)),
        _ => 0,
    };
    writes.into_iter().map(|d| (d, Form::Opaque { reads: reads.clone(), zeros })).collect()
}

fn arith(op: ArithOp, values: &Values<'_>) -> Option<(Register, Form)> {
    Some(match op {
        ArithOp::Mov32 { d, a } => (narrow(d), whole(narrow(a))),
        ArithOp::Mov64 { d, a } => (wide(d), whole(wide(a))),
        ArithOp::MovPred { d, a } => (predicate(d), whole(predicate(a))),
        ArithOp::PredNot { d, a } => (predicate(d), logic(NOT, predicate(a), predicate(a))),
        ArithOp::PredLogic { op, not, d, a, b } => {
            let table = match op {
                Combine::And => AND,
                Combine::Or => OR,
                Combine::Xor => XOR,
            };
            (predicate(d), logic(negated(table, not), predicate(a), predicate(b)))
        }
        ArithOp::Select32 { d, a, b, p } => {
            (narrow(d), Form::Select { p: predicate(p), a: narrow(a), b: narrow(b) })
        }
        ArithOp::Convert { how, d, a } => {
            ((File::by_width(how.wide_destination), d), converted(how, a)?)
        }
        ArithOp::Unary32 { op, d, a } => (narrow(d), unary(op, narrow(a))?),
        ArithOp::Binary32 { op, d, a, b } => (narrow(d), binary(op, narrow(a), narrow(b))?),
        ArithOp::Binary64 { op, d, a, b } => (wide(d), binary(op, wide(a), wide(b))?),
        ArithOp::Shift32 { op, d, a, b } => {
            (narrow(d), shifted(op, narrow(a), values.bits(narrow(b))?, 32))
        }
        ArithOp::Ternary32 { op, d, a, b, c } => (narrow(d), ternary(op, [a, b, c], values)?),
        ArithOp::MulWide { d, a, b, .. } => (wide(d), product(false, narrow(a), narrow(b), None)),
        ArithOp::SetpS32 { cmp, d, a, b } => compared(Scalar::S32, cmp, d, a, b),
        ArithOp::SetpU32 { cmp, d, a, b } => compared(Scalar::U32, cmp, d, a, b),
        ArithOp::SetpF32 { cmp, d, a, b } => compared(Scalar::F32, cmp, d, a, b),
        _ => return None,
    })
}

fn compared(ty: Scalar, cmp: Cmp, d: Slot, a: Slot, b: Slot) -> (Register, Form) {
    let (a, b) = (narrow(a), narrow(b));
    let compare = Compare { ty, cmp, a, b, inverted: false, with: None, yes: 1 };
    (predicate(d), Form::Compare(compare))
}

fn float(op: FloatOp) -> Option<Vec<(Register, Form)>> {
    let form = |ty: Scalar, cmp, a, b, with, inverted, yes| {
        let file = File::by_width(ty.is_wide());
        let (a, b) = ((file, a), (file, b));
        Form::Compare(Compare { ty, cmp, a, b, inverted, with: Some(with), yes })
    };
    match op {
        FloatOp::Setp(Setp { ty, cmp, d, q, a, b, combine, c, negate, .. }) => {
            let with = (combine, predicate(c), negate);
            let result = |inverted| form(ty, cmp, a, b, with, inverted, 1);
            Some(vec![(predicate(d), result(false)), (predicate(q), result(true))])
        }
        FloatOp::SetTo(set) => {
            let with = (set.combine, predicate(set.c), set.negate);
            let result = form(set.ty, set.cmp, set.a, set.b, with, false, u64::from(set.yes));
            Some(vec![(narrow(set.d), result)])
        }
        _ => None,
    }
}

/// The bits of an integer type; none of a float.
pub fn integer_bits(ty: Scalar) -> Option<(u32, bool)> {
    match ty {
        Scalar::U8 => Some((8, false)),
        Scalar::S8 => Some((8, true)),
        Scalar::U16 => Some((16, false)),
        Scalar::S16 => Some((16, true)),
        Scalar::U32 => Some((32, false)),
        Scalar::S32 => Some((32, true)),
        Scalar::U64 => Some((64, false)),
        Scalar::S64 => Some((64, true)),
        Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => None,
    }
}

fn converted(how: Conversion, a: Slot) -> Option<Form> {
    let ((from, signed), (to, _)) = (integer_bits(how.from)?, integer_bits(how.to)?);
    let end = width(File::by_width(how.wide_destination));
    let source = (File::by_width(how.wide_source), a);
    let saturates = how.clamp.sat;
    (!saturates).then(|| field(source, 0, from.min(to), signed && from <= to, end))
}

fn unary(op: Unary, a: Register) -> Option<Form> {
    let end = width(a.0);
    let extended = |bits, signed| Some(field(a, 0, bits, signed, end));
    match op {
        Unary::Not => Some(logic(NOT, a, a)),
        Unary::Neg => Some(Form::Sum([a, a])),
        Unary::Sext8 => extended(8, true),
        Unary::Sext16 => extended(16, true),
        Unary::Sext32 => extended(32, true),
        Unary::Zext8 => extended(8, false),
        Unary::Zext16 => extended(16, false),
        Unary::Zext32 => extended(32, false),
        Unary::FloatAbs => extended(end - 1, false),
        Unary::Brev | Unary::FloatNeg | Unary::Abs | Unary::Abs16 | Unary::Cnot => None,
    }
}

fn product(low: bool, a: Register, b: Register, added: Option<Register>) -> Form {
    Form::Product { factors: [a, b], low, added }
}

fn binary(op: Binary, a: Register, b: Register) -> Option<Form> {
    match op {
        Binary::Add | Binary::Sub => Some(Form::Sum([a, b])),
        Binary::MulLo => Some(product(true, a, b, None)),
        Binary::MulHiU | Binary::MulHiS => Some(product(false, a, b, None)),
        Binary::And => Some(logic(AND, a, b)),
        Binary::Or => Some(logic(OR, a, b)),
        Binary::Xor => Some(logic(XOR, a, b)),
        _ => None,
    }
}

fn ternary(op: Ternary, [a, b, c]: [Slot; 3], values: &Values<'_>) -> Option<Form> {
    let constant = |slot| values.bits(narrow(slot)).map(|bits| bits as u32);
    let (first, second, third) = (narrow(a), narrow(b), narrow(c));
    // The bits of `b:a` that begin at `low`.
    let funnel = |low: u32| {
        let low_part = 32u32.saturating_sub(low);
        moves(vec![
            Wire { from: first, low: low.min(32), count: low_part, to: 0 },
            Wire { from: second, low: low.saturating_sub(32), count: 32 - low_part, to: low_part },
        ])
    };
    Some(match op {
        Ternary::MadLo => product(true, first, second, Some(third)),
        Ternary::MadHiU
        | Ternary::MadHiS
        | Ternary::Dp4aUU
        | Ternary::Dp4aSS
        | Ternary::Dp4aUS
        | Ternary::Dp4aSU
        | Ternary::Dp2a { .. } => product(false, first, second, Some(third)),
        Ternary::SadU | Ternary::SadS => return None,
        Ternary::BfeU => bit_field(first, constant(b)?, constant(c)?, false),
        Ternary::BfeS => bit_field(first, constant(b)?, constant(c)?, true),
        Ternary::Prmt(Permute::Selected) => permuted(first, second, constant(c)?),
        Ternary::Prmt(_) => return None,
        Ternary::ShfLeftWrap => funnel(32 - (constant(c)? & 31)),
        Ternary::ShfLeftClamp => funnel(32 - constant(c)?.min(32)),
        Ternary::ShfRightWrap => funnel(constant(c)? & 31),
        Ternary::ShfRightClamp => funnel(constant(c)?.min(32)),
        Ternary::Lop3(table) => Form::Logic { table, sources: [first, second, third] },
    })
}

fn integer(op: IntegerOp, values: &Values<'_>) -> Option<(Register, Form)> {
    let constant = |slot| values.bits(narrow(slot));
    Some(match op {
        IntegerOp::Unary64 { op, d, a } => (wide(d), unary(op, wide(a))?),
        IntegerOp::Shift64 { op, d, a, b } => (wide(d), shifted(op, wide(a), constant(b)?, 64)),
        IntegerOp::Shift16 { op: Shift::Left, d, a, b } => {
            (narrow(d), shifted(Shift::Left, narrow(a), constant(b)?, 16))
        }
        IntegerOp::Shift16 { op: Shift::RightU, d, a, b } => {
            (narrow(d), shifted(Shift::RightU, narrow(a), constant(b)?, 16))
        }
        IntegerOp::Binary16 {
            op: op @ (Binary::And | Binary::Or | Binary::Xor), d, a, b, ..
        } => (narrow(d), binary(op, narrow(a), narrow(b))?),
        IntegerOp::MadLo64 { d, a, b, c } => {
            (wide(d), product(true, wide(a), wide(b), Some(wide(c))))
        }
        IntegerOp::MadHi64 { d, a, b, c, .. } => {
            (wide(d), product(false, wide(a), wide(b), Some(wide(c))))
        }
        IntegerOp::MadWide { d, a, b, c, .. } => {
            (wide(d), product(false, narrow(a), narrow(b), Some(wide(c))))
        }
        IntegerOp::MulWide16 { d, a, b, .. } => {
            (narrow(d), product(false, narrow(a), narrow(b), None))
        }
        IntegerOp::Bfe64 { signed, d, a, b, c } => {
            (wide(d), bit_field(wide(a), constant(b)? as u32, constant(c)? as u32, signed))
        }
        IntegerOp::Bfi { wide, d, a, b, c, e } => {
            let file = File::by_width(wide);
            ((file, d), inserted((file, a), (file, b), constant(c)?, constant(e)?))
        }
        IntegerOp::Select64 { d, a, b, p } => {
            (wide(d), Form::Select { p: predicate(p), a: wide(a), b: wide(b) })
        }
        _ => return None,
    })
}

fn moved(op: MoveOp) -> Option<Vec<(Register, Form)>> {
    Some(match op {
        MoveOp::Pack { wide, count, d, a } => {
            let (file, parts) = (File::by_width(wide), &a[..usize::from(count)]);
            let form = joined(parts.iter().copied().map(narrow), width(file) / u32::from(count));
            vec![((file, d), form)]
        }
        MoveOp::Unpack { wide, count, d, a } => {
            let file = File::by_width(wide);
            split(&d[..usize::from(count)], (file, a), width(file) / u32::from(count))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lop3_tables_absorb_negated_sources() {
        assert_eq!(negated(AND, [true, true]), !OR);
        assert_eq!(negated(OR, [true, false]), 0xcf);
        assert_eq!(negated(AND, [false, true]), 0x30);
        assert_eq!(negated(XOR, [true, true]), XOR);
    }
}
