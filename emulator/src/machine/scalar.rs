//! The arithmetic that is not worth vectorising: one lane after the other, out of the loop's way.

use super::bits::{flush, shift_left32, shift_right32};
use super::bytes;
use super::comparison::{compare_floats, compare_ordered};
use super::convert;
use super::float;
use super::half;
use super::integer;
use super::lanes::Lanes;
use super::rare_integer;
use crate::lower::inst::{
    Binary, Carry, Clamp, Cmp, Combine, ComparePairs, Conversion, Float2, FloatClass, FloatMode,
    FloatOp, HalfFormat, IntegerOp, LogicTest, MadCarry, PairResult, Scalar, SetTo, Setp, Shift,
    SignOf, Slot, Ternary, Unary,
};

/// Executes an integer operation for the lanes of `m`.
#[inline(never)]
pub fn integer(lanes: &mut Lanes<'_>, op: &IntegerOp, m: u32) {
    match *op {
        IntegerOp::Unary64 { op, d, a } => lanes.map1_64(d, [a], m, |a| integer::unary64(op, a)),
        IntegerOp::Count { wide: false, op, d, a } => {
            lanes.map1_32(d, [a], m, |a| integer::count32(op, a))
        }
        IntegerOp::Count { op, d, a, .. } => lanes.narrow(d, [a], m, |a| integer::count64(op, a)),
        IntegerOp::Binary16 { op, signed, d, a, b } => {
            lanes.map2_32(d, [a, b], m, |a, b| integer::binary16(op, signed, a, b));
        }
        IntegerOp::Shift64 { op, d, a, b } => shift64(lanes, op, d, [a, b], m),
        IntegerOp::Shift16 { op, d, a, b } => lanes.map2_32(d, [a, b], m, |a, b| match op {
            Shift::Left => shift_left32(a, b),
            Shift::RightU => shift_right32(a & 0xffff, b),
            Shift::RightS => (i32::from(a as i16) >> b.min(31)) as u32,
        }),
        IntegerOp::MadLo64 { d, a, b, c } => {
            lanes.map3_64(d, [a, b, c], m, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
        }
        IntegerOp::MadHi64 { signed, d, a, b, c } => lanes.map3_64(d, [a, b, c], m, |a, b, c| {
            let op = if signed { Binary::MulHiS } else { Binary::MulHiU };
            integer::binary64(op, a, b).wrapping_add(c)
        }),
        IntegerOp::MadWide { signed, d, a, b, c } => {
            let (a, b, c) = (*lanes.get32(a), *lanes.get32(b), *lanes.get64(c));
            let result = std::array::from_fn(|lane| {
                integer::mul_wide(signed, a[lane], b[lane]).wrapping_add(c[lane])
            });
            lanes.set64(d, &result, m);
        }
        IntegerOp::MulWide16 { signed, d, a, b } => {
            lanes.map2_32(d, [a, b], m, |a, b| integer::mul_wide16(signed, a, b));
        }
        IntegerOp::MadWide16 { signed, d, a, b, c } => lanes
            .map3_32(d, [a, b, c], m, |a, b, c| integer::mul_wide16(signed, a, b).wrapping_add(c)),
        IntegerOp::Bfi { wide: false, d, a, b, c, e } => insert32(lanes, d, [a, b, c, e], m),
        IntegerOp::Bfi { d, a, b, c, e, .. } => insert64(lanes, d, [a, b, c, e], m),
        IntegerOp::Bfe64 { signed, d, a, b, c } => {
            let (a, b, c) = (*lanes.get64(a), *lanes.get32(b), *lanes.get32(c));
            let result =
                std::array::from_fn(|lane| integer::bfe(a[lane], b[lane], c[lane], 64, signed));
            lanes.set64(d, &result, m);
        }
        IntegerOp::Word { op, d, a, b, c } => {
            lanes.map3_32(d, [a, b, c], m, |a, b, c| rare_integer::operate(op, a, b, c));
        }
        IntegerOp::Sad64 { signed, d, a, b, c } => {
            lanes.map3_64(d, [a, b, c], m, |a, b, c| rare_integer::sad64(signed, a, b, c));
        }
        IntegerOp::SelectBySign64 { sign, d, a, b, c } => {
            select_by_sign64(lanes, sign, d, [a, b, c], m);
        }
        IntegerOp::LogicTest(how) => logic_test(lanes, how, m),
        IntegerOp::Carry(how) => carry(lanes, how, m),
        IntegerOp::MadCarry(how) => mad_carry(lanes, how, m),
        IntegerOp::Select64 { d, a, b, p } => select(lanes, d, [a, b], p, m),
    }
}

fn insert32(lanes: &mut Lanes<'_>, d: Slot, sources: [Slot; 4], m: u32) {
    lanes.map4_32(d, sources, m, |a, b, c, e| integer::bfi(a.into(), b.into(), c, e, 32) as u32);
}

fn insert64(lanes: &mut Lanes<'_>, d: Slot, [a, b, c, e]: [Slot; 4], m: u32) {
    let (a, b, c, e) = (*lanes.get64(a), *lanes.get64(b), *lanes.get32(c), *lanes.get32(e));
    let result = std::array::from_fn(|lane| integer::bfi(a[lane], b[lane], c[lane], e[lane], 64));
    lanes.set64(d, &result, m);
}

fn select_by_sign64(lanes: &mut Lanes<'_>, sign: SignOf, d: Slot, [a, b, c]: [Slot; 3], m: u32) {
    let (a, b, c) = (*lanes.get64(a), *lanes.get64(b), *lanes.get32(c));
    let result =
        std::array::from_fn(|lane| rare_integer::select_by_sign64(sign, a[lane], b[lane], c[lane]));
    lanes.set64(d, &result, m);
}

/// Executes a floating-point operation or a comparison for the lanes of `m`.
#[inline(never)]
pub fn float(lanes: &mut Lanes<'_>, op: &FloatOp, m: u32) {
    match *op {
        FloatOp::Float1 { wide: false, op, mode, d, a } => {
            lanes.map1_32(d, [a], m, |a| float::one32(op, mode, a))
        }
        FloatOp::Float1 { op, mode, d, a, .. } => {
            lanes.map1_64(d, [a], m, |a| float::one64(op, mode, a))
        }
        FloatOp::Float2_64 { op, mode, d, a, b } => {
            lanes.map2_64(d, [a, b], m, |a, b| float::two64(op, mode, a, b))
        }
        FloatOp::Fma64 { mode, d, a, b, c } => {
            lanes.map3_64(d, [a, b, c], m, |a, b, c| float::fma64(mode, a, b, c))
        }
        FloatOp::TestFloat { wide, kind, d, a } => {
            let bits = classify(lanes, wide, kind, a);
            lanes.set_pred(d, bits, m);
        }
        FloatOp::Setp(Setp { ty, cmp, ftz, d, q, a, b, combine: with, c, negate }) => {
            let bits = compare(lanes, ty, cmp, ftz, a, b);
            let other = lanes.pred_or_not(c, negate);
            lanes.set_pred(q, combine(with, !bits, other), m);
            lanes.set_pred(d, combine(with, bits, other), m);
        }
        FloatOp::SetTo(ref how) => set(lanes, how, m),
        FloatOp::ComparePairs(ref how) => compare_pairs(lanes, how, m),
        FloatOp::Half { op, format, packed, finish, d, a, b, c } => {
            lanes.map3_32(d, [a, b, c], m, |a, b, c| {
                half::operate(op, (format, packed), finish, [a, b, c])
            });
        }
        FloatOp::PackHalves { format, rounding, relu, finite, d, a, b } => {
            let clamp = Clamp { sat: false, relu, finite };
            lanes.map2_32(d, [a, b], m, |a, b| half::pack(format, rounding, clamp, a, b));
        }
        FloatOp::BytesOfFloats { format, relu, d, a, b } => {
            lanes.map2_32(d, [a, b], m, |a, b| bytes::of_floats(format, relu, a, b));
        }
        FloatOp::BytesOfHalves { format, relu, d, a } => {
            lanes.map1_32(d, [a], m, |a| bytes::of_halves(format, relu, a));
        }
        FloatOp::HalvesOfBytes { format, relu, d, a } => {
            lanes.map1_32(d, [a], m, |a| bytes::to_halves(format, relu, a));
        }
    }
}

fn set(lanes: &mut Lanes<'_>, how: &SetTo, m: u32) {
    let bits = compare(lanes, how.ty, how.cmp, how.ftz, how.a, how.b);
    let other = lanes.pred_or_not(how.c, how.negate);
    let holds = combine(how.combine, bits, other);
    let result = std::array::from_fn(|lane| if holds & (1 << lane) != 0 { how.yes } else { 0 });
    lanes.set32(how.d, &result, m);
}

fn compare_pairs(lanes: &mut Lanes<'_>, how: &ComparePairs, m: u32) {
    let other = lanes.pred_or_not(how.c, how.negate);
    let [low, high] = [0, 16].map(|shift| {
        let bits = lanes.test32(how.a, how.b, |a, b| half::compare(how, shift, a, b));
        combine(how.combine, bits, other)
    });
    match how.result {
        PairResult::Predicates { d, q } => {
            lanes.set_pred(d, low, m);
            lanes.set_pred(q, high, m);
        }
        PairResult::Halves { d, ones } => {
            let yes = match (ones, how.format) {
                (false, _) => 0xffff,
                (true, HalfFormat::F16) => 0x3c00,
                (true, HalfFormat::BF16) => 0x3f80,
            };
            let of = |bits: u32, lane: usize| if bits & (1 << lane) != 0 { yes } else { 0 };
            let result = std::array::from_fn(|lane| of(high, lane) << 16 | of(low, lane));
            lanes.set32(d, &result, m);
        }
    }
}

fn shift64(lanes: &mut Lanes<'_>, op: Shift, d: Slot, [a, b]: [Slot; 2], m: u32) {
    let amounts = *lanes.get32(b);
    let mut result = *lanes.get64(a);
    for (value, amount) in result.iter_mut().zip(amounts) {
        *value = integer::shift64(op, *value, amount);
    }
    lanes.set64(d, &result, m);
}

fn select(lanes: &mut Lanes<'_>, d: Slot, [a, b]: [Slot; 2], p: Slot, m: u32) {
    let (mut result, other, p) = (*lanes.get64(a), *lanes.get64(b), lanes.pred(p));
    for lane in 0..32 {
        if p & (1 << lane) == 0 {
            result[lane] = other[lane];
        }
    }
    lanes.set64(d, &result, m);
}

fn classify(lanes: &Lanes<'_>, wide: bool, kind: FloatClass, a: Slot) -> u32 {
    if wide {
        lanes.test64(a, a, |a, _| float_class(kind, f64::from_bits(a).classify()))
    } else {
        lanes.test32(a, a, |a, _| float_class(kind, f32::from_bits(a).classify()))
    }
}

fn carry(lanes: &mut Lanes<'_>, how: Carry, m: u32) {
    let Carry { wide, subtract, read, write, carry, d, a, b } = how;
    let (a, b) = (lanes.any(a, wide), lanes.any(b, wide));
    let carry_in = if read { lanes.pred(carry) } else { 0 };
    let (mut result, mut carry_out) = ([0; 32], 0);
    for lane in 0..32 {
        let carry = u128::from(carry_in >> lane & 1);
        let (a, b) = (u128::from(a[lane]), u128::from(b[lane]));
        let value = if subtract { a.wrapping_sub(b).wrapping_sub(carry) } else { a + b + carry };
        result[lane] = value as u64;
        carry_out |= ((value >> if wide { 64 } else { 32 }) as u32 & 1) << lane;
    }
    lanes.set_any(d, wide, &result, m);
    if write {
        lanes.set_pred(carry, carry_out, m);
    }
}

fn logic_test(lanes: &mut Lanes<'_>, how: LogicTest, m: u32) {
    let LogicTest { table, combine: op, d, p, a, b, c, q, negate } = how;
    let q = lanes.pred_or_not(q, negate);
    let (a, b, c) = (lanes.any(a, false), lanes.any(b, false), lanes.any(c, false));
    let (mut result, mut set) = ([0; 32], 0);
    for lane in 0..32 {
        let [a, b, c] = [a, b, c].map(|source| source[lane] as u32);
        result[lane] = u64::from(integer::ternary32(Ternary::Lop3(table), a, b, c));
        set |= u32::from(result[lane] != 0) << lane;
    }
    lanes.set_any(d, false, &result, m);
    lanes.set_pred(p, combine(op, set, q), m);
}

fn mad_carry(lanes: &mut Lanes<'_>, how: MadCarry, m: u32) {
    let MadCarry { wide, signed, high, read, write, carry, d, a, b, c } = how;
    let (a, b, c) = (lanes.any(a, wide), lanes.any(b, wide), lanes.any(c, wide));
    let carry_in = if read { lanes.pred(carry) } else { 0 };
    let (mut result, mut carry_out) = ([0; 32], 0);
    for lane in 0..32 {
        let carry = carry_in >> lane & 1 == 1;
        let factors = [a[lane], b[lane], c[lane]];
        let (sum, carries) = integer::mad_carry(wide, (signed, high), factors, carry);
        result[lane] = sum;
        carry_out |= u32::from(carries) << lane;
    }
    lanes.set_any(d, wide, &result, m);
    if write {
        lanes.set_pred(carry, carry_out, m);
    }
}

fn compare(lanes: &Lanes<'_>, ty: Scalar, cmp: Cmp, ftz: bool, a: Slot, b: Slot) -> u32 {
    let float = |bits: u32| f64::from(f32::from_bits(if ftz { flush(bits) } else { bits }));
    match ty {
        Scalar::U16 => lanes.test32(a, b, |a, b| compare_ordered(cmp, a & 0xffff, b & 0xffff)),
        Scalar::S16 => lanes.test32(a, b, |a, b| compare_ordered(cmp, a as i16, b as i16)),
        Scalar::S32 => lanes.test32(a, b, |a, b| compare_ordered(cmp, a as i32, b as i32)),
        Scalar::F32 => lanes.test32(a, b, |a, b| compare_floats(cmp, float(a), float(b))),
        Scalar::U64 => lanes.test64(a, b, |a, b| compare_ordered(cmp, a, b)),
        Scalar::S64 => lanes.test64(a, b, |a, b| compare_ordered(cmp, a as i64, b as i64)),
        Scalar::F64 => {
            lanes.test64(a, b, |a, b| compare_floats(cmp, f64::from_bits(a), f64::from_bits(b)))
        }
        Scalar::F16 | Scalar::BF16 => {
            let format = if ty == Scalar::F16 { HalfFormat::F16 } else { HalfFormat::BF16 };
            lanes.test32(a, b, |a, b| half::compare_one(format, ftz, cmp, a, b))
        }
        Scalar::U8 | Scalar::S8 | Scalar::U32 => {
            lanes.test32(a, b, |a, b| compare_ordered(cmp, a, b))
        }
    }
}

/// Combines predicates bit by bit.
#[inline(always)]
pub fn combine(op: Combine, a: u32, b: u32) -> u32 {
    match op {
        Combine::And => a & b,
        Combine::Or => a | b,
        Combine::Xor => a ^ b,
    }
}

fn float_class(kind: FloatClass, class: std::num::FpCategory) -> bool {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    match kind {
        FloatClass::Finite => matches!(class, Zero | Subnormal | Normal),
        FloatClass::Infinite => class == Infinite,
        FloatClass::Number => class != Nan,
        FloatClass::NotANumber => class == Nan,
        // PTX counts zero as normal.
        FloatClass::Normal => matches!(class, Normal | Zero),
        FloatClass::Subnormal => class == Subnormal,
    }
}

/// One-operand integer operations that are not hot.
#[inline(never)]
pub fn unary32(lanes: &mut Lanes<'_>, op: Unary, d: Slot, a: Slot, m: u32) {
    lanes.map1_32(d, [a], m, |a| integer::unary32(op, a));
}

/// Integer operations on 32 bits that are not hot.
#[inline(never)]
pub fn binary32(lanes: &mut Lanes<'_>, op: Binary, d: Slot, ab: [Slot; 2], m: u32) {
    lanes.map2_32(d, ab, m, |a, b| integer::binary32(op, a, b));
}

/// Integer operations on 64 bits that are not hot.
#[inline(never)]
pub fn binary64(lanes: &mut Lanes<'_>, op: Binary, d: Slot, ab: [Slot; 2], m: u32) {
    lanes.map2_64(d, ab, m, |a, b| integer::binary64(op, a, b));
}

/// Three-operand integer operations that are not hot.
#[inline(never)]
pub fn ternary32(lanes: &mut Lanes<'_>, op: Ternary, d: Slot, abc: [Slot; 3], m: u32) {
    lanes.map3_32(d, abc, m, |a, b, c| integer::ternary32(op, a, b, c));
}

/// Single-precision operations in a mode that is not hot.
#[inline(never)]
pub fn float2_32(
    lanes: &mut Lanes<'_>,
    (op, mode): (Float2, FloatMode),
    d: Slot,
    ab: [Slot; 2],
    m: u32,
) {
    lanes.map2_32(d, ab, m, |a, b| float::two32(op, mode, a, b));
}

/// `fma.f32` in a mode that is not hot.
#[inline(never)]
pub fn fma32(lanes: &mut Lanes<'_>, mode: FloatMode, d: Slot, abc: [Slot; 3], m: u32) {
    lanes.map3_32(d, abc, m, |a, b, c| float::fma32(mode, a, b, c));
}

/// Conversions that are not hot.
#[inline(never)]
pub fn convert(lanes: &mut Lanes<'_>, how: Conversion, d: Slot, a: Slot, m: u32) {
    let mut values = lanes.any(a, how.wide_source);
    for (lane, value) in values.iter_mut().enumerate() {
        if m & (1 << lane) != 0 {
            *value = convert::convert(how, *value);
        }
    }
    lanes.set_any(d, how.wide_destination, &values, m);
}
