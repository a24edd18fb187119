//! Integer operations on words that few kernels use, as PTX defines them.

use super::bits::{NAN32, extend, flush, low_bits, range};
use super::video;
use crate::lower::inst::{PairOp, Rounding, SignOf, WordOp};

/// The result of an operation on up to three words.
pub fn operate(op: WordOp, a: u32, b: u32, c: u32) -> u32 {
    match op {
        WordOp::BitMask { clamp } => bit_mask(clamp, a, b),
        WordOp::Extend { signed, clamp } => extend_low(signed, clamp, a, b),
        WordOp::FindNthSet => find_nth_set(a, b, c as i32),
        WordOp::SelectBySign(sign) => {
            if is_negative(sign, c) {
                b
            } else {
                a
            }
        }
        WordOp::Mad24 { signed, high, saturate } => {
            let product = low_bits(a, 24, signed) * low_bits(b, 24, signed);
            let part = if high { product >> 16 } else { product };
            sum(part as u32, c, saturate)
        }
        WordOp::MadHighSaturated => {
            let product = i64::from(a as i32) * i64::from(b as i32);
            sum((product >> 32) as u32, c, true)
        }
        WordOp::MadHigh16 { signed } => {
            let product = low_bits(a, 16, signed) * low_bits(b, 16, signed);
            c.wrapping_add((product >> 16) as u32)
        }
        WordOp::Sad16 { signed } => {
            let difference = low_bits(a, 16, signed) - low_bits(b, 16, signed);
            c.wrapping_add(difference.unsigned_abs() as u32)
        }
        WordOp::ConditionalNot16 => u32::from(a & 0xffff == 0),
        WordOp::Extreme { max } => extreme(max, a as i32, b as i32).max(0) as u32,
        WordOp::Pair { op, signed, relu } => pair(op, signed, relu, a, b),
        WordOp::Pack { bits, signed } => pack(u32::from(bits), signed, [a, b, c]),
        WordOp::Tf32 { rounding, relu, finite } => tf32(rounding, relu, finite, a),
        WordOp::Video(op) => video::scalar(op, a, b, c),
        WordOp::SimdVideo(op) => video::simd(op, a, b, c),
    }
}

fn sum(part: u32, c: u32, saturate: bool) -> u32 {
    if saturate { (part as i32).saturating_add(c as i32) as u32 } else { part.wrapping_add(c) }
}

fn bit_mask(clamp: bool, start: u32, count: u32) -> u32 {
    if clamp && start >= 32 {
        return 0;
    }
    let from = u32::MAX << (start & 31);
    let end = (start & 31) + (count & 31);
    if end >= 32 || (clamp && count >= 32) { from } else { from & !(u32::MAX << end) }
}

fn extend_low(signed: bool, clamp: bool, value: u32, count: u32) -> u32 {
    match count {
        32.. if clamp => value,
        count if count & 31 == 0 => 0,
        count => low_bits(value, count & 31, signed) as u32,
    }
}

fn find_nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let mut set = |bit: &u32| mask >> bit & 1 == 1;
    let base = base.min(32);
    let nth = offset.unsigned_abs() as usize;
    let found = match offset {
        0 => (base..32).take(1).find(set),
        1.. => (base..32).filter(set).nth(nth - 1),
        // A base above the highest bit is never followed down.
        _ if base == 32 => None,
        _ => (0..=base).rev().filter(&mut set).nth(nth - 1),
    };
    found.unwrap_or(u32::MAX)
}

fn is_negative(sign: SignOf, c: u32) -> bool {
    match sign {
        SignOf::S32 => (c as i32) < 0,
        // PTX asks whether it is at least 0, which a NaN is not.
        SignOf::F32 { ftz } => {
            let value = f32::from_bits(if ftz { flush(c) } else { c });
            value.is_nan() || value < 0.0
        }
    }
}

fn extreme<T: Ord>(max: bool, a: T, b: T) -> T {
    if max { a.max(b) } else { a.min(b) }
}

fn pair(op: PairOp, signed: bool, relu: bool, a: u32, b: u32) -> u32 {
    let half = |shift: u32| {
        let (a, b) = (low_bits(a >> shift, 16, signed), low_bits(b >> shift, 16, signed));
        let result = match op {
            PairOp::Add => a + b,
            PairOp::Min => a.min(b),
            PairOp::Max => a.max(b),
        };
        let result = if relu { result.max(0) } else { result };
        (result as u32 & 0xffff) << shift
    };
    half(0) | half(16)
}

fn pack(bits: u32, signed: bool, [a, b, c]: [u32; 3]) -> u32 {
    let (least, most) = range(bits, signed);
    let field = |value: u32| {
        let clamped = i64::from(value as i32).clamp(least, most);
        clamped as u32 & (u32::MAX >> (32 - bits))
    };
    let above = if bits == 16 { 0 } else { c << (2 * bits) };
    above | field(a) << bits | field(b)
}

/// The nearest number with 10 bits of fraction, as the upper 19 bits.
fn tf32(rounding: Option<Rounding>, relu: bool, finite: bool, a: u32) -> u32 {
    const DROPPED: u32 = 0x1fff;
    if f32::from_bits(a).is_nan() {
        return NAN32;
    }
    let added = match rounding {
        Some(Rounding::Nearest) => 0xfff + (a >> 13 & 1),
        Some(_) => 0,
        None => 0x1000,
    };
    let infinite = f32::from_bits(a).is_infinite();
    let bits = if infinite { a } else { (a + added) & !DROPPED };
    let sign = bits & 0x8000_0000;
    if relu && sign != 0 {
        return 0;
    }
    let largest = f32::MAX.to_bits() & !DROPPED;
    if finite && bits & 0x7fff_ffff > largest { sign | largest } else { bits }
}

/// `sad` of 64 bits.
pub fn sad64(signed: bool, a: u64, b: u64, c: u64) -> u64 {
    let number = |value| i128::from(extend(value, 8, signed).cast_signed());
    let difference = if signed { number(a) - number(b) } else { i128::from(a) - i128::from(b) };
    c.wrapping_add(difference.unsigned_abs() as u64)
}

/// `slct` of 64 bits.
pub fn select_by_sign64(sign: SignOf, a: u64, b: u64, c: u32) -> u64 {
    if is_negative(sign, c) { b } else { a }
}
