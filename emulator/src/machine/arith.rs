//! The arithmetic that kernels spend their time in.
//!
//! Input: an [`ArithOp`] and the active lanes. Output: their registers. Everything here is inlined
//! into the execution loop and vectorised there; rare operations are in [`scalar`](super::scalar).

use super::bits::{bits32, bits64, flush, shift_left32, shift_right32};
use super::comparison;
use super::float::extreme32;
use super::lanes::Lanes;
use super::scalar;
use crate::lower::inst::{
    ArithOp, Binary, Cmp, Conversion, CvtRounding, Float2, FloatMode, Rounding, Scalar, Shift,
    Slot, Ternary, Unary,
};

#[inline(always)]
fn f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn f64(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Executes hot arithmetic for the lanes of `m`.
#[inline(always)]
pub fn execute(lanes: &mut Lanes<'_>, op: &ArithOp, m: u32) {
    match *op {
        ArithOp::Mov32 { d, a } => lanes.map1_32(d, [a], m, |a| a),
        ArithOp::Mov64 { d, a } => lanes.map1_64(d, [a], m, |a| a),
        ArithOp::MovPred { d, a } => lanes.set_pred(d, lanes.pred(a), m),
        ArithOp::PredNot { d, a } => lanes.set_pred(d, !lanes.pred(a), m),
        ArithOp::PredLogic { op, not, d, a, b } => {
            let sides = [(a, not[0]), (b, not[1])];
            let [a, b] = sides.map(|(slot, not)| lanes.pred_or_not(slot, not));
            lanes.set_pred(d, scalar::combine(op, a, b), m);
        }
        ArithOp::Select32 { d, a, b, p } => select(lanes, d, [a, b], p, m),
        ArithOp::Convert { how, d, a } => convert(lanes, how, d, a, m),
        ArithOp::Window { d, a, window } => {
            lanes.map1_64(d, [a], m, |a| a.wrapping_add_signed(window))
        }
        ArithOp::Unary32 { op, d, a } => unary32(lanes, op, d, a, m),
        ArithOp::Binary32 { op, d, a, b } => binary32(lanes, op, d, [a, b], m),
        ArithOp::Binary64 { op, d, a, b } => binary64(lanes, op, d, [a, b], m),
        ArithOp::Shift32 { op, d, a, b } => match op {
            Shift::Left => lanes.map2_32(d, [a, b], m, shift_left32),
            Shift::RightU => lanes.map2_32(d, [a, b], m, shift_right32),
            Shift::RightS => lanes.map2_32(d, [a, b], m, |a, b| ((a as i32) >> b.min(31)) as u32),
        },
        ArithOp::Ternary32 { op: Ternary::MadLo, d, a, b, c } => {
            lanes.map3_32(d, [a, b, c], m, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
        }
        ArithOp::Ternary32 { op, d, a, b, c } => scalar::ternary32(lanes, op, d, [a, b, c], m),
        ArithOp::MulWide { signed: false, d, a, b } => {
            lanes.widen2(d, [a, b], m, |a, b| u64::from(a) * u64::from(b))
        }
        ArithOp::MulWide { signed: true, d, a, b } => {
            lanes.widen2(d, [a, b], m, |a, b| (i64::from(a as i32) * i64::from(b as i32)) as u64);
        }
        ArithOp::F32Add { d, a, b } => lanes.map2_32(d, [a, b], m, |a, b| bits32(f32(a) + f32(b))),
        ArithOp::F32Sub { d, a, b } => lanes.map2_32(d, [a, b], m, |a, b| bits32(f32(a) - f32(b))),
        ArithOp::F32Mul { d, a, b } => lanes.map2_32(d, [a, b], m, |a, b| bits32(f32(a) * f32(b))),
        ArithOp::F32Fma { d, a, b, c } => {
            lanes.map3_32(d, [a, b, c], m, |a, b, c| bits32(f32(a).mul_add(f32(b), f32(c))))
        }
        ArithOp::F64Add { d, a, b } => lanes.map2_64(d, [a, b], m, |a, b| bits64(f64(a) + f64(b))),
        ArithOp::F64Sub { d, a, b } => lanes.map2_64(d, [a, b], m, |a, b| bits64(f64(a) - f64(b))),
        ArithOp::F64Mul { d, a, b } => lanes.map2_64(d, [a, b], m, |a, b| bits64(f64(a) * f64(b))),
        ArithOp::F64Fma { d, a, b, c } => {
            lanes.map3_64(d, [a, b, c], m, |a, b, c| bits64(f64(a).mul_add(f64(b), f64(c))))
        }
        ArithOp::Float2_32 { op, mode, d, a, b } => float2(lanes, (op, mode), d, [a, b], m),
        ArithOp::Fma32 { mode, d, a, b, c } => fma32(lanes, mode, d, [a, b, c], m),
        ArithOp::SetpS32 { cmp, d, a, b } => compare(lanes, cmp, d, [a, b], m, |a| a as i32),
        ArithOp::SetpU32 { cmp, d, a, b } => compare(lanes, cmp, d, [a, b], m, |a| a),
        ArithOp::SetpF32 { cmp, d, a, b } => compare_floats(lanes, cmp, d, [a, b], m),
    }
}

#[inline(always)]
fn select(lanes: &mut Lanes<'_>, d: Slot, [a, b]: [Slot; 2], p: Slot, m: u32) {
    let (chosen, other) = (*lanes.get32(a), *lanes.get32(b));
    let p = lanes.pred(p);
    let mut result = other;
    for lane in 0..32 {
        result[lane] = if p & (1 << lane) != 0 { chosen[lane] } else { other[lane] };
    }
    lanes.set32(d, &result, m);
}

#[inline(always)]
fn unary32(lanes: &mut Lanes<'_>, op: Unary, d: Slot, a: Slot, m: u32) {
    match op {
        Unary::Neg => lanes.map1_32(d, [a], m, u32::wrapping_neg),
        Unary::Not => lanes.map1_32(d, [a], m, |a| !a),
        Unary::FloatNeg => lanes.map1_32(d, [a], m, |a| a ^ 0x8000_0000),
        Unary::FloatAbs => lanes.map1_32(d, [a], m, |a| a & 0x7fff_ffff),
        rare => scalar::unary32(lanes, rare, d, a, m),
    }
}

#[inline(always)]
fn binary32(lanes: &mut Lanes<'_>, op: Binary, d: Slot, ab: [Slot; 2], m: u32) {
    match op {
        Binary::Add => lanes.map2_32(d, ab, m, u32::wrapping_add),
        Binary::Sub => lanes.map2_32(d, ab, m, u32::wrapping_sub),
        Binary::MulLo => lanes.map2_32(d, ab, m, u32::wrapping_mul),
        Binary::And => lanes.map2_32(d, ab, m, |a, b| a & b),
        Binary::Or => lanes.map2_32(d, ab, m, |a, b| a | b),
        Binary::Xor => lanes.map2_32(d, ab, m, |a, b| a ^ b),
        Binary::MinU => lanes.map2_32(d, ab, m, u32::min),
        Binary::MaxU => lanes.map2_32(d, ab, m, u32::max),
        Binary::MinS => lanes.map2_32(d, ab, m, |a, b| (a as i32).min(b as i32) as u32),
        Binary::MaxS => lanes.map2_32(d, ab, m, |a, b| (a as i32).max(b as i32) as u32),
        rare => scalar::binary32(lanes, rare, d, ab, m),
    }
}

#[inline(always)]
fn binary64(lanes: &mut Lanes<'_>, op: Binary, d: Slot, ab: [Slot; 2], m: u32) {
    match op {
        Binary::Add => lanes.map2_64(d, ab, m, u64::wrapping_add),
        Binary::Sub => lanes.map2_64(d, ab, m, u64::wrapping_sub),
        Binary::MulLo => lanes.map2_64(d, ab, m, u64::wrapping_mul),
        Binary::And => lanes.map2_64(d, ab, m, |a, b| a & b),
        Binary::Or => lanes.map2_64(d, ab, m, |a, b| a | b),
        Binary::Xor => lanes.map2_64(d, ab, m, |a, b| a ^ b),
        rare => scalar::binary64(lanes, rare, d, ab, m),
    }
}

#[inline(always)]
fn float2(lanes: &mut Lanes<'_>, how: (Float2, FloatMode), d: Slot, ab: [Slot; 2], m: u32) {
    match how {
        (Float2::Add, FloatMode::FLUSH) => {
            lanes.map2_32(d, ab, m, |a, b| flush(bits32(f32(flush(a)) + f32(flush(b)))))
        }
        (Float2::Sub, FloatMode::FLUSH) => {
            lanes.map2_32(d, ab, m, |a, b| flush(bits32(f32(flush(a)) - f32(flush(b)))))
        }
        (Float2::Mul, FloatMode::FLUSH) => {
            lanes.map2_32(d, ab, m, |a, b| flush(bits32(f32(flush(a)) * f32(flush(b)))))
        }
        (op @ (Float2::Min | Float2::Max), FloatMode::PLAIN) => {
            lanes.map2_32(d, ab, m, |a, b| extreme32(op, f32(a), f32(b)))
        }
        (op @ (Float2::Min | Float2::Max), FloatMode::FLUSH) => {
            lanes.map2_32(d, ab, m, |a, b| extreme32(op, f32(flush(a)), f32(flush(b))))
        }
        (op, mode) => scalar::float2_32(lanes, (op, mode), d, ab, m),
    }
}

#[inline(always)]
fn fma32(lanes: &mut Lanes<'_>, mode: FloatMode, d: Slot, abc: [Slot; 3], m: u32) {
    if mode == FloatMode::FLUSH {
        lanes.map3_32(d, abc, m, |a, b, c| {
            flush(bits32(f32(flush(a)).mul_add(f32(flush(b)), f32(flush(c)))))
        });
    } else {
        scalar::fma32(lanes, mode, d, abc, m);
    }
}

#[inline(always)]
fn compare<T: Ord>(
    lanes: &mut Lanes<'_>,
    cmp: Cmp,
    d: Slot,
    [a, b]: [Slot; 2],
    m: u32,
    number: impl Fn(u32) -> T,
) {
    let bits = match cmp {
        Cmp::Eq | Cmp::EqU => lanes.test32(a, b, |a, b| a == b),
        Cmp::Ne | Cmp::NeU => lanes.test32(a, b, |a, b| a != b),
        Cmp::Lt | Cmp::LtU => lanes.test32(a, b, |a, b| number(a) < number(b)),
        Cmp::Le | Cmp::LeU => lanes.test32(a, b, |a, b| number(a) <= number(b)),
        Cmp::Gt | Cmp::GtU => lanes.test32(a, b, |a, b| number(a) > number(b)),
        Cmp::Ge | Cmp::GeU => lanes.test32(a, b, |a, b| number(a) >= number(b)),
        Cmp::Num => u32::MAX,
        Cmp::Nan => 0,
    };
    lanes.set_pred(d, bits, m);
}

#[inline(always)]
fn compare_floats(lanes: &mut Lanes<'_>, cmp: Cmp, d: Slot, [a, b]: [Slot; 2], m: u32) {
    let bits = match cmp {
        Cmp::Eq => lanes.test32(a, b, |a, b| f32(a) == f32(b)),
        Cmp::Lt => lanes.test32(a, b, |a, b| f32(a) < f32(b)),
        Cmp::Le => lanes.test32(a, b, |a, b| f32(a) <= f32(b)),
        Cmp::Gt => lanes.test32(a, b, |a, b| f32(a) > f32(b)),
        Cmp::Ge => lanes.test32(a, b, |a, b| f32(a) >= f32(b)),
        rare => lanes.test32(a, b, |a, b| {
            comparison::compare_floats(rare, f64::from(f32(a)), f64::from(f32(b)))
        }),
    };
    lanes.set_pred(d, bits, m);
}

/// The conversions that index arithmetic is made of.
#[inline(always)]
fn convert(lanes: &mut Lanes<'_>, how: Conversion, d: Slot, a: Slot, m: u32) {
    use Scalar::{F32, F64, S32, S64, U32, U64};
    let Conversion { from, to, rounding, ftz, clamp, wide_source, wide_destination } = how;
    let sat = clamp.sat;
    match (from, to, wide_source, wide_destination) {
        (U32, U64 | S64, false, true) if !sat => lanes.widen(d, [a], m, u64::from),
        (S32, U64 | S64, false, true) if !sat => {
            lanes.widen(d, [a], m, |a| i64::from(a as i32) as u64)
        }
        (U64 | S64, U32 | S32, true, false) if !sat => lanes.narrow(d, [a], m, |a| a as u32),
        (S32, F32, false, false) if rounding == CvtRounding::Float(Rounding::Nearest) && !sat => {
            lanes.map1_32(d, [a], m, |a| (a as i32 as f32).to_bits());
        }
        (F32, F64, false, true) if !sat && !ftz => {
            lanes.widen(d, [a], m, |a| bits64(f64::from(f32(a))))
        }
        (F64, F32, true, false)
            if rounding == CvtRounding::Float(Rounding::Nearest) && !sat && !ftz =>
        {
            lanes.narrow(d, [a], m, |a| bits32(f64(a) as f32));
        }
        _ => scalar::convert(lanes, how, d, a, m),
    }
}
