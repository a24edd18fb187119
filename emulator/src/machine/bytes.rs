//! Floats of a byte: e4m3, which has no infinity, and e5m2.
//!
//! Conversions to them round to nearest, ties to the even one, and what is too large becomes the
//! largest finite one. Their one NaN is `0x7f`.

use super::half;
use super::softfloat::{F16, F32, F64, Format};
use crate::lower::inst::{ByteFormat, Clamp, HalfFormat, Rounding};

const NAN: u32 = 0x7f;
const SIGN: u32 = 0x80;

/// The largest finite one.
fn largest(format: ByteFormat) -> u32 {
    match format {
        ByteFormat::E4M3 => 0x7e,
        ByteFormat::E5M2 => 0x7b,
    }
}

/// The magnitude that the bits represent.
fn size(format: ByteFormat, bits: u32) -> f64 {
    let (fraction_bits, bias) = match format {
        ByteFormat::E4M3 => (3, 7),
        ByteFormat::E5M2 => (2, 15),
    };
    let (exponent, fraction) = (bits >> fraction_bits, bits & ((1 << fraction_bits) - 1));
    match (format, bits) {
        (_, bits) if bits <= largest(format) => {
            let whole = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
            f64::from(whole) * 2f64.powi(exponent.max(1) as i32 - bias - fraction_bits)
        }
        (ByteFormat::E5M2, 0x7c) => f64::INFINITY,
        _ => f64::NAN,
    }
}

/// The value of the bits.
pub fn value(format: ByteFormat, bits: u32) -> f64 {
    let value = size(format, bits & !SIGN);
    if bits & SIGN == 0 { value } else { -value }
}

/// The nearest one.
fn nearest(format: ByteFormat, relu: bool, value: f64) -> u32 {
    if value.is_nan() {
        return NAN;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    let sign = if value.is_sign_negative() { SIGN } else { 0 };
    let value = value.abs();
    let above = (0..largest(format)).find(|&bits| size(format, bits + 1) > value);
    let Some(below) = above else { return sign | largest(format) };
    // Both differences are exact: these are doubles of few bits.
    let (down, up) = (value - size(format, below), size(format, below + 1) - value);
    let up = up < down || (up == down && below & 1 == 1);
    sign | (below + u32::from(up))
}

fn wide(format: Format, bits: u32) -> f64 {
    f64::from_bits(F64.encode(format.decode(u64::from(bits)), Rounding::Nearest))
}

/// Two single-precision numbers, the first in the upper byte.
pub fn of_floats(format: ByteFormat, relu: bool, high: u32, low: u32) -> u32 {
    let byte = |bits| nearest(format, relu, wide(F32, bits));
    byte(high) << 8 | byte(low)
}

/// Two numbers of half precision.
pub fn of_halves(format: ByteFormat, relu: bool, pair: u32) -> u32 {
    let byte = |bits| nearest(format, relu, wide(F16, bits));
    byte(pair >> 16) << 8 | byte(pair & 0xffff)
}

/// Two bytes as numbers of half precision, which hold all of them.
pub fn to_halves(format: ByteFormat, relu: bool, pair: u32) -> u32 {
    let clamp = Clamp { relu, ..Clamp::NONE };
    let float = |bits: u32| (value(format, bits) as f32).to_bits();
    let (high, low) = (float(pair >> 8 & 0xff), float(pair & 0xff));
    half::pack(HalfFormat::F16, Rounding::Nearest, clamp, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(format: ByteFormat, value: f32) -> u32 {
        of_floats(format, false, 0, value.to_bits())
    }

    /// The values of the OCP's paper on eight-bit formats.
    #[test]
    fn eight_bit_formats_follow_the_ocp_specification() {
        let (e4m3, e5m2) = (ByteFormat::E4M3, ByteFormat::E5M2);
        for (format, value, bits) in [
            (e4m3, 448.0, 0x7e),
            (e4m3, 0.015625, 0x08),
            (e4m3, 0.001953125, 0x01),
            (e4m3, -1.0, 0xb8),
            (e5m2, 57344.0, 0x7b),
            (e5m2, 2f32.powi(-14), 0x04),
            (e5m2, 2f32.powi(-16), 0x01),
            (e5m2, 1.0, 0x3c),
        ] {
            assert_eq!(byte(format, value), bits, "{format:?} {value}");
        }
    }

    #[test]
    fn eight_bit_floats_round_ties_to_even_and_saturate() {
        let (e4m3, e5m2) = (ByteFormat::E4M3, ByteFormat::E5M2);
        // 1.0625 lies between 1.0 (0x38) and 1.125; 1.1875 between 1.125 and 1.25 (0x3a).
        assert_eq!([1.0625, 1.1875, 1.0626].map(|value| byte(e4m3, value)), [0x38, 0x3a, 0x39]);
        // Half of the smallest, and just above it.
        assert_eq!([0.0009765625, 0.0009766].map(|value| byte(e4m3, value)), [0, 1]);
        assert_eq!(
            [464.0, 1e30, f32::NEG_INFINITY].map(|value| byte(e4m3, value)),
            [0x7e, 0x7e, 0xfe]
        );
        assert_eq!([65504.0, f32::INFINITY].map(|value| byte(e5m2, value)), [0x7b, 0x7b]);
        assert_eq!([e4m3, e5m2].map(|format| byte(format, -f32::NAN)), [0x7f, 0x7f]);
        assert_eq!(byte(e5m2, -0.0), 0x80);
        assert_eq!(of_floats(e4m3, true, (-2f32).to_bits(), f32::NAN.to_bits()), 0x007f);
    }

    #[test]
    fn every_byte_survives_conversion_to_half_and_back() {
        for format in [ByteFormat::E4M3, ByteFormat::E5M2] {
            for bits in 0..=0xffu32 {
                let halves = to_halves(format, false, bits << 8 | bits);
                assert_eq!(halves >> 16, halves & 0xffff);
                let back = of_halves(format, false, halves) & 0xff;
                let (infinite, nan) = ((bits & 0x7f) == 0x7c, (bits & 0x7f) > largest(format));
                let expected = match format {
                    // Infinity is read, and never written.
                    ByteFormat::E5M2 if infinite => bits - 1,
                    _ if nan => NAN,
                    _ => bits,
                };
                assert_eq!(back, expected, "{format:?} {bits:#x}");
            }
        }
        assert_eq!(to_halves(ByteFormat::E5M2, false, 0x7cfc), 0x7c00_fc00);
        assert_eq!(to_halves(ByteFormat::E4M3, true, 0x80fe), 0);
        assert_eq!(to_halves(ByteFormat::E4M3, false, 0x7fff), 0x7fff_7fff);
    }
}
