//! `cvt` on one value.
//!
//! Integers pass through 128 bits and floats through their decoded form, so each conversion rounds
//! or clamps once.

use super::bits::{flush, saturate};
use super::softfloat::{BF16, F16, F32, F64, Finite, Format, Value};
use crate::lower::inst::{Conversion, CvtRounding, Rounding, Scalar};

fn format(scalar: Scalar) -> Option<Format> {
    match scalar {
        Scalar::F16 => Some(F16),
        Scalar::BF16 => Some(BF16),
        Scalar::F32 => Some(F32),
        Scalar::F64 => Some(F64),
        _ => None,
    }
}

/// Width in bits and signedness of an integer type.
fn integer(scalar: Scalar) -> (u32, bool) {
    match scalar {
        Scalar::U8 => (8, false),
        Scalar::S8 => (8, true),
        Scalar::U16 | Scalar::F16 | Scalar::BF16 => (16, false),
        Scalar::S16 => (16, true),
        Scalar::U32 | Scalar::F32 => (32, false),
        Scalar::S32 => (32, true),
        Scalar::U64 | Scalar::F64 => (64, false),
        Scalar::S64 => (64, true),
    }
}

fn extend(bits: u64, width: u32, signed: bool) -> i128 {
    let up = 64 - width;
    if signed { i128::from((bits << up) as i64 >> up) } else { i128::from(bits << up >> up) }
}

fn limits(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// Converts the low bits of `bits`. A result narrower than its register is extended by its type.
pub fn convert(how: Conversion, bits: u64) -> u64 {
    let source = match (format(how.from), how.ftz && how.from == Scalar::F32) {
        (Some(_), true) => u64::from(flush(bits as u32)),
        (Some(format), false) => bits & low_bits(format),
        (None, _) => bits,
    };
    match (format(how.from), format(how.to)) {
        (None, None) => integer_to_integer(how, source),
        (None, Some(to)) => {
            let (width, signed) = integer(how.from);
            let value = extend(source, width, signed);
            let (negative, mantissa) = (value < 0, value.unsigned_abs());
            let value = Finite { negative, mantissa, exponent: 0 };
            finish(how, to.round(value, float_direction(how.rounding)))
        }
        (Some(from), None) => float_to_integer(how, from.decode(source)),
        (Some(from), Some(to)) => {
            let mut value = from.decode(source);
            if let CvtRounding::Integer(direction) = how.rounding {
                value = round_to_integral(value, direction);
            }
            finish(how, to.encode(value, float_direction(how.rounding)))
        }
    }
}

fn low_bits(format: Format) -> u64 {
    match format {
        F64 => u64::MAX,
        F32 => 0xffff_ffff,
        _ => 0xffff,
    }
}

fn float_direction(rounding: CvtRounding) -> Rounding {
    match rounding {
        CvtRounding::Float(direction) => direction,
        CvtRounding::None | CvtRounding::Integer(_) => Rounding::Nearest,
    }
}

/// Flushing and saturation of a floating-point result.
fn finish(how: Conversion, bits: u64) -> u64 {
    let bits = if how.ftz && how.to == Scalar::F32 { u64::from(flush(bits as u32)) } else { bits };
    match (how.to, format(how.to)) {
        (Scalar::F32, _) if how.clamp.sat => {
            u64::from(saturate(f32::from_bits(bits as u32)).to_bits())
        }
        (_, Some(format)) => format.clamp(bits, how.clamp),
        (_, None) => bits,
    }
}

fn integer_to_integer(how: Conversion, bits: u64) -> u64 {
    let (width, signed) = integer(how.from);
    let mut value = extend(bits, width, signed);
    let (width, signed) = integer(how.to);
    if how.clamp.sat {
        let (low, high) = limits(width, signed);
        value = value.clamp(low, high);
    }
    extend(value as u64, width, signed) as u64
}

/// Always clamps, as PTX does.
fn float_to_integer(how: Conversion, value: Value) -> u64 {
    let (width, signed) = integer(how.to);
    let (low, high) = limits(width, signed);
    let direction = match how.rounding {
        CvtRounding::Integer(direction) | CvtRounding::Float(direction) => direction,
        CvtRounding::None => Rounding::Zero,
    };
    let clamped = match round_to_integral(value, direction) {
        // PTX: zero, unless a double is involved on either side of 64 bits.
        Value::Nan if how.from == Scalar::F64 || width == 64 => return nan_integer(width),
        Value::Nan => 0,
        Value::Infinite(negative) => {
            if negative {
                low
            } else {
                high
            }
        }
        Value::Finite(Finite { negative, mantissa, exponent }) => {
            let magnitude = match exponent {
                0.. if mantissa != 0 && mantissa.leading_zeros() as i32 - 1 <= exponent => {
                    i128::MAX
                }
                0.. => (mantissa << exponent) as i128,
                _ => mantissa.checked_shr(exponent.unsigned_abs()).unwrap_or(0) as i128,
            };
            if negative { -magnitude } else { magnitude }.clamp(low, high)
        }
    };
    extend(clamped as u64, width, signed) as u64
}

fn nan_integer(width: u32) -> u64 {
    extend(1 << (width - 1), width, true) as u64
}

fn round_to_integral(value: Value, direction: Rounding) -> Value {
    let Value::Finite(Finite { negative, mantissa, exponent: exponent @ ..0 }) = value else {
        return value;
    };
    let shift = exponent.unsigned_abs();
    let (mut kept, rest, half) = match shift {
        1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)),
        _ => (0, u128::from(mantissa != 0), 2),
    };
    let up = match direction {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    kept += u128::from(up);
    Value::Finite(Finite { negative, mantissa: kept, exponent: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::inst::Clamp;
    use proptest::prelude::*;

    fn how(from: Scalar, to: Scalar, rounding: CvtRounding, sat: bool) -> Conversion {
        Conversion {
            from,
            to,
            rounding,
            ftz: false,
            clamp: Clamp { sat, ..Clamp::NONE },
            wide_source: from.is_wide(),
            wide_destination: to.is_wide(),
        }
    }

    const ZERO: CvtRounding = CvtRounding::Integer(Rounding::Zero);
    const EVEN: CvtRounding = CvtRounding::Integer(Rounding::Nearest);
    const RN: CvtRounding = CvtRounding::Float(Rounding::Nearest);

    #[test]
    fn narrow_results_are_extended_by_their_type() {
        assert_eq!(
            convert(how(Scalar::U32, Scalar::S8, CvtRounding::None, false), 0x1ff),
            u64::MAX
        );
        assert_eq!(convert(how(Scalar::U32, Scalar::U8, CvtRounding::None, false), 0x1ff), 0xff);
        assert_eq!(convert(how(Scalar::S32, Scalar::U8, CvtRounding::None, true), 0xffff_ffff), 0);
        assert_eq!(convert(how(Scalar::S32, Scalar::S8, CvtRounding::None, true), 300), 127);
    }

    #[test]
    fn nan_results_follow_ptx() {
        let nan = u64::from(f32::NAN.to_bits());
        assert_eq!(convert(how(Scalar::F32, Scalar::S32, ZERO, false), nan), 0);
        assert_eq!(convert(how(Scalar::F32, Scalar::S64, ZERO, false), nan), 1 << 63);
        let nan = f64::NAN.to_bits();
        assert_eq!(convert(how(Scalar::F64, Scalar::S32, ZERO, false), nan) as u32, 0x8000_0000);
    }

    #[test]
    fn a_half_rounds_to_even() {
        for (value, expected) in [(0.5f32, 0i32), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2)] {
            let bits = u64::from(value.to_bits());
            assert_eq!(
                convert(how(Scalar::F32, Scalar::S32, EVEN, false), bits) as i32,
                expected,
                "{value}"
            );
            let rounded = convert(how(Scalar::F32, Scalar::F32, EVEN, false), bits) as u32;
            assert_eq!(rounded, value.round_ties_even().to_bits(), "{value}");
        }
    }

    proptest! {
        #[test]
        fn floats_to_integers_clamp_like_the_host(bits: u64) {
            let (single, double) = (f32::from_bits(bits as u32), f64::from_bits(bits));
            if !single.is_nan() {
                prop_assert_eq!(convert(how(Scalar::F32, Scalar::S32, ZERO, false), bits) as u32, single as i32 as u32);
                prop_assert_eq!(convert(how(Scalar::F32, Scalar::U64, ZERO, false), bits), single as u64);
            }
            if !double.is_nan() {
                prop_assert_eq!(convert(how(Scalar::F64, Scalar::S64, ZERO, false), bits), double as i64 as u64);
                prop_assert_eq!(convert(how(Scalar::F64, Scalar::U32, ZERO, false), bits) as u32, double as u32);
            }
        }

        #[test]
        fn integers_to_floats_round_like_the_host(bits: u64) {
            prop_assert_eq!(convert(how(Scalar::U64, Scalar::F32, RN, false), bits) as u32, (bits as f32).to_bits());
            prop_assert_eq!(convert(how(Scalar::S64, Scalar::F64, RN, false), bits), (bits as i64 as f64).to_bits());
            prop_assert_eq!(convert(how(Scalar::S32, Scalar::F32, RN, false), bits) as u32, (bits as i32 as f32).to_bits());
        }

        #[test]
        fn halves_survive_conversion_to_single_and_back(bits: u16) {
            let half = u64::from(bits);
            let single = convert(how(Scalar::F16, Scalar::F32, CvtRounding::None, false), half);
            let back = convert(how(Scalar::F32, Scalar::F16, RN, false), single);
            let expected = if f32::from_bits(single as u32).is_nan() { 0x7fff } else { half };
            prop_assert_eq!(back, expected);
        }
    }
}
