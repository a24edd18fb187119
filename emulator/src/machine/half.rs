//! Arithmetic of f16 and bf16, one at a time or two in a register.
//!
//! Every operation is rounded once, to nearest and ties to even, and yields PTX's canonical NaN,
//! `0x7fff`. `ex2.approx` and `tanh.approx` are computed in double precision and rounded once,
//! which is within PTX's error bound but not bit for bit a GPU's result.

use super::comparison::compare_floats;
use super::softfloat::{BF16, F16, F32, F64, Finite, Format, Value};
use crate::lower::inst::{Clamp, Cmp, ComparePairs, HalfFinish, HalfFormat, HalfOp, Rounding};

const SIGN: u64 = 0x8000;

/// How the bits of a format are laid out.
pub fn layout(format: HalfFormat) -> Format {
    match format {
        HalfFormat::F16 => F16,
        HalfFormat::BF16 => BF16,
    }
}

/// `op` on the lower halves of its operands, or on both.
pub fn operate(
    op: HalfOp,
    (format, packed): (HalfFormat, bool),
    how: HalfFinish,
    [a, b, c]: [u32; 3],
) -> u32 {
    let format = layout(format);
    let one = |shift: u32| {
        let operands = [a, b, c].map(|bits| u64::from(bits >> shift & 0xffff));
        let operands = if how.flush { operands.map(|bits| flush(format, bits)) } else { operands };
        finish(format, how, scalar(op, format, operands)) as u32
    };
    if packed { one(16) << 16 | one(0) } else { one(0) }
}

/// The sum of two halves, or of two pairs.
pub fn sum(format: HalfFormat, packed: bool, a: u32, b: u32) -> u32 {
    operate(HalfOp::Add, (format, packed), HalfFinish::default(), [a, b, 0])
}

fn scalar(op: HalfOp, format: Format, [a, b, c]: [u64; 3]) -> u64 {
    let one = format.round(Finite::ONE, Rounding::Nearest);
    let fma = |a, b, c| format.fma(a, b, c, Rounding::Nearest);
    let through = |f: fn(f64) -> f64| {
        let wide = f(f64::from_bits(F64.encode(format.decode(a), Rounding::Nearest)));
        format.encode(F64.decode(wide.to_bits()), Rounding::Nearest)
    };
    match op {
        HalfOp::Add => fma(a, one, b),
        HalfOp::Sub => fma(a, one, b ^ SIGN),
        // Adding a zero of the product's own sign keeps the sign of a zero product.
        HalfOp::Mul => fma(a, b, (a ^ b) & SIGN),
        HalfOp::Fma => fma(a, b, c),
        HalfOp::Neg | HalfOp::Abs if format.decode(a) == Value::Nan => format.nan(),
        HalfOp::Neg => a ^ SIGN,
        HalfOp::Abs => a & !SIGN,
        HalfOp::Min { nan, xorsign } => extreme(format, (a, b), (true, nan), xorsign),
        HalfOp::Max { nan, xorsign } => extreme(format, (a, b), (false, nan), xorsign),
        HalfOp::Ex2 => through(f64::exp2),
        HalfOp::Tanh => through(f64::tanh),
    }
}

/// A subnormal is 0 of its sign.
fn flush(format: Format, bits: u64) -> u64 {
    if format.is_subnormal(bits) { bits & SIGN } else { bits }
}

fn finish(format: Format, how: HalfFinish, bits: u64) -> u64 {
    let bits = if how.flush { flush(format, bits) } else { bits };
    format.clamp(bits, Clamp { sat: how.saturate, relu: how.relu, finite: false })
}

/// The comparison of the halves above `shift` bits.
pub fn compare(how: &ComparePairs, shift: u32, a: u32, b: u32) -> bool {
    let format = layout(how.format);
    let number = |bits: u32| number(format, how.flush, u64::from(bits >> shift & 0xffff));
    compare_floats(how.cmp, number(a), number(b))
}

/// The comparison of two halves.
pub fn compare_one(format: HalfFormat, ftz: bool, cmp: Cmp, a: u32, b: u32) -> bool {
    let number = |bits: u32| number(layout(format), ftz, u64::from(bits & 0xffff));
    compare_floats(cmp, number(a), number(b))
}

fn number(format: Format, ftz: bool, bits: u64) -> f64 {
    let bits = if ftz { flush(format, bits) } else { bits };
    f64::from_bits(F64.encode(format.decode(bits), Rounding::Nearest))
}

/// The smaller or larger one, where −0 is below 0. A NaN gives way to a number, unless it is asked
/// for.
fn extreme(format: Format, (a, b): (u64, u64), (least, nan): (bool, bool), xorsign: bool) -> u64 {
    let sign = if xorsign { (a ^ b) & SIGN } else { 0 };
    let (a, b) = if xorsign { (a & !SIGN, b & !SIGN) } else { (a, b) };
    let is_nan = |bits| format.decode(bits) == Value::Nan;
    match (is_nan(a), is_nan(b)) {
        (true, true) => format.nan(),
        (true, false) | (false, true) if nan => format.nan(),
        (true, false) => b | sign,
        (false, true) => a | sign,
        (false, false) => {
            // Without the sign, the bits have the order of the sizes.
            let order = |bits: u64| {
                let size = (bits & 0x7fff).cast_signed();
                if bits >> 15 == 1 { -1 - size } else { size }
            };
            (if (order(a) <= order(b)) == least { a } else { b }) | sign
        }
    }
}

/// Two single-precision numbers in a register, the first in its upper half.
pub fn pack(format: HalfFormat, rounding: Rounding, clamp: Clamp, high: u32, low: u32) -> u32 {
    let format = layout(format);
    let half = |bits: u32| {
        let rounded = format.encode(F32.decode(u64::from(bits)), rounding);
        format.clamp(rounded, clamp) as u32
    };
    half(high) << 16 | half(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: HalfFinish = HalfFinish { flush: false, saturate: false, relu: false };

    fn f16(op: HalfOp, a: u32, b: u32, c: u32) -> u32 {
        operate(op, (HalfFormat::F16, false), PLAIN, [a, b, c])
    }

    #[test]
    fn sums_and_products_of_half_precision_are_rounded_once() {
        // 1 + 2^-11 is a tie, which goes to the even 1; 1 + 3 × 2^-11 goes up.
        assert_eq!(f16(HalfOp::Add, 0x3c00, 0x1000, 0), 0x3c00);
        assert_eq!(f16(HalfOp::Add, 0x3c01, 0x1000, 0), 0x3c02);
        assert_eq!(f16(HalfOp::Sub, 0x3c00, 0x3c00, 0), 0);
        assert_eq!(f16(HalfOp::Mul, 0x8000, 0x3c00, 0), 0x8000);
        assert_eq!(f16(HalfOp::Add, 0x7bff, 0x7bff, 0), 0x7c00);
        assert_eq!(f16(HalfOp::Sub, 0x7c00, 0x7c00, 0), 0x7fff);
        // The product is a tie that the smallest addend decides: twice rounded it would be even.
        let (a, b) = (0x3c01, 0x3e00);
        assert_eq!(f16(HalfOp::Fma, a, b, 0), 0x3e02);
        assert_eq!(f16(HalfOp::Fma, a, b, 0x8001), 0x3e01);
    }

    #[test]
    fn half_extremes_prefer_numbers_and_order_zeros_by_sign() {
        let (min, max) = (
            HalfOp::Min { nan: false, xorsign: false },
            HalfOp::Max { nan: false, xorsign: false },
        );
        assert_eq!(f16(min, 0, 0x8000, 0), 0x8000);
        assert_eq!(f16(max, 0x8000, 0, 0), 0);
        assert_eq!(f16(min, 0xbc00, 0xc000, 0), 0xc000);
        assert_eq!(f16(max, 0x7e00, 0x3c00, 0), 0x3c00);
        assert_eq!(f16(HalfOp::Max { nan: true, xorsign: false }, 0x7e00, 0x3c00, 0), 0x7fff);
    }

    #[test]
    fn operations_on_half_pairs_act_on_both_halves() {
        let sum = sum(HalfFormat::BF16, true, 0x3f80_4000, 0x3f80_3f80);
        assert_eq!(sum, 0x4000_4040);
        let low = f16(HalfOp::Neg, 0xffff_0001, 0, 0);
        assert_eq!(low, 0x8001);
        let packed = pack(
            HalfFormat::F16,
            Rounding::Nearest,
            Clamp::NONE,
            1f32.to_bits(),
            (-2f32).to_bits(),
        );
        assert_eq!(packed, 0x3c00_c000);
    }
}
