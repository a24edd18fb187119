//! The arithmetic that kernels spend their time in, inlined into the execution loop and vectorised
//! there.
//!
//! Anything rare goes on to `rare`.

use super::lanes::Lanes;
use super::rare;
use crate::lower::inst::{
    Binary, Cmp, Conversion, CvtRounding, Float2, FloatMode, Op, Rounding, Scalar, Shift, Ternary,
    Unary,
};

/// What the hardware writes for any 32-bit NaN.
pub const NAN32: u32 = 0x7fff_ffff;
/// What is written for any 64-bit NaN.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;

/// The bits of a 32-bit result, NaNs made canonical.
#[inline(always)]
pub fn bits32(value: f32) -> u32 {
    if value.is_nan() { NAN32 } else { value.to_bits() }
}

/// The bits of a 64-bit result, NaNs made canonical.
#[inline(always)]
pub fn bits64(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

#[inline(always)]
fn f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Subnormals become zero of their sign.
#[inline(always)]
pub fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Executes an operation that touches registers only.
#[inline(always)]
pub fn execute(lanes: &mut Lanes<'_>, op: &Op, m: u32) {
    match *op {
        Op::Mov32 { d, a } => lanes.map1_32(d, (a,), m, |a| a),
        Op::Mov64 { d, a } => lanes.map1_64(d, (a,), m, |a| a),
        Op::MovPred { d, a } => lanes.set_pred(d, lanes.pred(a), m),
        Op::Unary32 { op: Unary::Neg, d, a } => lanes.map1_32(d, (a,), m, u32::wrapping_neg),
        Op::Unary32 { op: Unary::Not, d, a } => lanes.map1_32(d, (a,), m, |a| !a),
        Op::Unary32 { op: Unary::FloatNeg, d, a } => lanes.map1_32(d, (a,), m, |a| a ^ 0x8000_0000),
        Op::Unary32 { op: Unary::FloatAbs, d, a } => lanes.map1_32(d, (a,), m, |a| a & 0x7fff_ffff),
        Op::Binary32 { op, d, a, b } => match op {
            Binary::Add => lanes.map2_32(d, (a, b), m, u32::wrapping_add),
            Binary::Sub => lanes.map2_32(d, (a, b), m, u32::wrapping_sub),
            Binary::MulLo => lanes.map2_32(d, (a, b), m, u32::wrapping_mul),
            Binary::And => lanes.map2_32(d, (a, b), m, |a, b| a & b),
            Binary::Or => lanes.map2_32(d, (a, b), m, |a, b| a | b),
            Binary::Xor => lanes.map2_32(d, (a, b), m, |a, b| a ^ b),
            Binary::MinU => lanes.map2_32(d, (a, b), m, u32::min),
            Binary::MaxU => lanes.map2_32(d, (a, b), m, u32::max),
            Binary::MinS => lanes.map2_32(d, (a, b), m, |a, b| (a as i32).min(b as i32) as u32),
            Binary::MaxS => lanes.map2_32(d, (a, b), m, |a, b| (a as i32).max(b as i32) as u32),
            _ => rare::binary32(lanes, op, d, a, b, m),
        },
        Op::Binary64 { op, d, a, b } => match op {
            Binary::Add => lanes.map2_64(d, (a, b), m, u64::wrapping_add),
            Binary::Sub => lanes.map2_64(d, (a, b), m, u64::wrapping_sub),
            Binary::MulLo => lanes.map2_64(d, (a, b), m, u64::wrapping_mul),
            Binary::And => lanes.map2_64(d, (a, b), m, |a, b| a & b),
            Binary::Or => lanes.map2_64(d, (a, b), m, |a, b| a | b),
            Binary::Xor => lanes.map2_64(d, (a, b), m, |a, b| a ^ b),
            _ => rare::binary64(lanes, op, d, a, b, m),
        },
        Op::Shift32 { op, d, a, b } => match op {
            Shift::Left => lanes.map2_32(d, (a, b), m, shift_left32),
            Shift::RightU => lanes.map2_32(d, (a, b), m, shift_right32),
            Shift::RightS => lanes.map2_32(d, (a, b), m, |a, b| ((a as i32) >> b.min(31)) as u32),
        },
        Op::Ternary32 { op: Ternary::MadLo, d, a, b, c } => {
            lanes.map3_32(d, (a, b, c), m, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
        }
        Op::MulWide { signed: false, d, a, b } => {
            lanes.widen2(d, (a, b), m, |a, b| u64::from(a) * u64::from(b))
        }
        Op::MulWide { signed: true, d, a, b } => {
            lanes.widen2(d, (a, b), m, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64);
        }
        Op::Select32 { d, a, b, p } => {
            let (chosen, other) = (*lanes.get32(a), *lanes.get32(b));
            let p = lanes.pred(p);
            let mut result = other;
            for lane in 0..32 {
                result[lane] = if p & (1 << lane) != 0 { chosen[lane] } else { other[lane] };
            }
            lanes.set32(d, &result, m);
        }
        Op::F32Add { d, a, b } => lanes.map2_32(d, (a, b), m, |a, b| bits32(f32(a) + f32(b))),
        Op::F32Sub { d, a, b } => lanes.map2_32(d, (a, b), m, |a, b| bits32(f32(a) - f32(b))),
        Op::F32Mul { d, a, b } => lanes.map2_32(d, (a, b), m, |a, b| bits32(f32(a) * f32(b))),
        Op::F32Fma { d, a, b, c } => {
            lanes.map3_32(d, (a, b, c), m, |a, b, c| bits32(f32(a).mul_add(f32(b), f32(c))))
        }
        Op::F64Add { d, a, b } => lanes.map2_64(d, (a, b), m, |a, b| bits64(f64(a) + f64(b))),
        Op::F64Sub { d, a, b } => lanes.map2_64(d, (a, b), m, |a, b| bits64(f64(a) - f64(b))),
        Op::F64Mul { d, a, b } => lanes.map2_64(d, (a, b), m, |a, b| bits64(f64(a) * f64(b))),
        Op::F64Fma { d, a, b, c } => {
            lanes.map3_64(d, (a, b, c), m, |a, b, c| bits64(f64(a).mul_add(f64(b), f64(c))))
        }
        Op::Float2_32 { op, mode: FloatMode::FLUSH, d, a, b } => match op {
            Float2::Add => {
                lanes.map2_32(d, (a, b), m, |a, b| flush(bits32(f32(flush(a)) + f32(flush(b)))))
            }
            Float2::Sub => {
                lanes.map2_32(d, (a, b), m, |a, b| flush(bits32(f32(flush(a)) - f32(flush(b)))))
            }
            Float2::Mul => {
                lanes.map2_32(d, (a, b), m, |a, b| flush(bits32(f32(flush(a)) * f32(flush(b)))))
            }
            _ => rare::float2_32(lanes, op, FloatMode::FLUSH, d, a, b, m),
        },
        Op::Fma32 { mode: FloatMode::FLUSH, d, a, b, c } => {
            lanes.map3_32(d, (a, b, c), m, |a, b, c| {
                flush(bits32(f32(flush(a)).mul_add(f32(flush(b)), f32(flush(c)))))
            })
        }
        Op::SetpS32 { cmp, d, a, b } => {
            let bits = match cmp {
                Cmp::Eq => lanes.test32(a, b, |a, b| a == b),
                Cmp::Ne => lanes.test32(a, b, |a, b| a != b),
                Cmp::Lt => lanes.test32(a, b, |a, b| (a as i32) < b as i32),
                Cmp::Le => lanes.test32(a, b, |a, b| a as i32 <= b as i32),
                Cmp::Gt => lanes.test32(a, b, |a, b| a as i32 > b as i32),
                _ => lanes.test32(a, b, |a, b| a as i32 >= b as i32),
            };
            lanes.set_pred(d, bits, m);
        }
        Op::SetpU32 { cmp, d, a, b } => {
            let bits = match cmp {
                Cmp::Eq => lanes.test32(a, b, |a, b| a == b),
                Cmp::Ne => lanes.test32(a, b, |a, b| a != b),
                Cmp::Lt => lanes.test32(a, b, |a, b| a < b),
                Cmp::Le => lanes.test32(a, b, |a, b| a <= b),
                Cmp::Gt => lanes.test32(a, b, |a, b| a > b),
                _ => lanes.test32(a, b, |a, b| a >= b),
            };
            lanes.set_pred(d, bits, m);
        }
        Op::SetpF32 { cmp, d, a, b } => {
            let bits = match cmp {
                Cmp::Eq => lanes.test32(a, b, |a, b| f32(a) == f32(b)),
                Cmp::Lt => lanes.test32(a, b, |a, b| f32(a) < f32(b)),
                Cmp::Le => lanes.test32(a, b, |a, b| f32(a) <= f32(b)),
                Cmp::Gt => lanes.test32(a, b, |a, b| f32(a) > f32(b)),
                Cmp::Ge => lanes.test32(a, b, |a, b| f32(a) >= f32(b)),
                _ => lanes.test32(a, b, |a, b| {
                    rare::compare_floats(cmp, f64::from(f32(a)), f64::from(f32(b)))
                }),
            };
            lanes.set_pred(d, bits, m);
        }
        Op::PredLogic { op, d, a, b } => {
            lanes.set_pred(d, rare::combine(op, lanes.pred(a), lanes.pred(b)), m);
        }
        Op::PredNot { d, a } => lanes.set_pred(d, !lanes.pred(a), m),
        Op::Convert { how, d, a } => convert(lanes, how, d, a, m),
        Op::Window { d, a, window, .. } => {
            lanes.map1_64(d, (a,), m, |a| a.wrapping_add_signed(window))
        }
        ref op => rare::execute(lanes, op, m),
    }
}

/// The conversions that index arithmetic is made of.
#[inline(always)]
fn convert(
    lanes: &mut Lanes<'_>,
    how: Conversion,
    d: crate::lower::inst::Slot,
    a: crate::lower::inst::Slot,
    m: u32,
) {
    use Scalar::{F32, F64, S32, S64, U32, U64};
    let Conversion { from, to, rounding, ftz, sat, wide_source, wide_destination } = how;
    match (from, to, wide_source, wide_destination) {
        (U32, U64 | S64, false, true) if !sat => lanes.widen(d, (a,), m, u64::from),
        (S32, U64 | S64, false, true) if !sat => {
            lanes.widen(d, (a,), m, |a| i64::from(a as i32) as u64)
        }
        (U64 | S64, U32 | S32, true, false) if !sat => lanes.narrow(d, (a,), m, |a| a as u32),
        (S32, F32, false, false) if rounding == CvtRounding::Float(Rounding::Nearest) && !sat => {
            lanes.map1_32(d, (a,), m, |a| (a as i32 as f32).to_bits());
        }
        (F32, F64, false, true) if !sat && !ftz => {
            lanes.widen(d, (a,), m, |a| bits64(f64::from(f32(a))))
        }
        (F64, F32, true, false)
            if rounding == CvtRounding::Float(Rounding::Nearest) && !sat && !ftz =>
        {
            lanes.narrow(d, (a,), m, |a| bits32(f64(a) as f32));
        }
        _ => rare::convert(lanes, how, d, a, m),
    }
}

/// Shifts clamp their amount at the width.
#[inline(always)]
pub fn shift_left32(a: u32, b: u32) -> u32 {
    if b > 31 { 0 } else { a << (b & 31) }
}

/// Shifts clamp their amount at the width.
#[inline(always)]
pub fn shift_right32(a: u32, b: u32) -> u32 {
    if b > 31 { 0 } else { a >> (b & 31) }
}
