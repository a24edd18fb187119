//! IEEE arithmetic in integers, for the rounding directions and formats that the host's own
//! arithmetic lacks.
//!
//! A finite value is `mantissa × 2^exponent`; an operation keeps enough bits (and one sticky bit
//! for all the rest) that one rounding at the end is the correct one.

use crate::lower::inst::{Clamp, Rounding};

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the significand, the implicit one included.
    precision: u32,
    /// Largest exponent; also the bias.
    max_exponent: i32,
}

/// Half precision.
pub const F16: Format = Format { precision: 11, max_exponent: 15 };
/// bfloat16.
pub const BF16: Format = Format { precision: 8, max_exponent: 127 };
/// Single precision.
pub const F32: Format = Format { precision: 24, max_exponent: 127 };
/// Double precision.
pub const F64: Format = Format { precision: 53, max_exponent: 1023 };

/// A decoded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Not a number.
    Nan,
    /// Infinity, negative if true.
    Infinite(bool),
    /// Finite.
    Finite(Finite),
}

/// `mantissa × 2^exponent`, or its opposite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finite {
    /// Whether the sign is minus.
    pub negative: bool,
    /// The digits; those of an unrounded value may end in a sticky bit.
    pub mantissa: u128,
    /// The power of two.
    pub exponent: i32,
}

impl Finite {
    /// One.
    pub const ONE: Self = Self { negative: false, mantissa: 1, exponent: 0 };

    /// The same value with its highest bit at 2^120: room above for a carry and below for a sticky
    /// bit.
    fn at_top(self) -> Self {
        if self.mantissa == 0 {
            return self;
        }
        let up = self.mantissa.leading_zeros() - 7;
        Self { mantissa: self.mantissa << up, exponent: self.exponent - up as i32, ..self }
    }
}

impl Format {
    fn sign_shift(self) -> u32 {
        // The exponent field has as many bits as max_exponent, plus one.
        self.precision + self.max_exponent.count_ones()
    }

    /// The canonical NaN that the hardware writes.
    pub fn nan(self) -> u64 {
        if self == F64 { super::bits::NAN64 } else { (1 << self.sign_shift()) - 1 }
    }

    fn infinity(self, negative: bool) -> u64 {
        let exponent = (2 * self.max_exponent + 1) as u64;
        u64::from(negative) << self.sign_shift() | exponent << (self.precision - 1)
    }

    /// Whether the bits are of a number below the normal ones, and not 0.
    pub fn is_subnormal(self, bits: u64) -> bool {
        let fraction = (1 << (self.precision - 1)) - 1;
        let exponent = ((1 << self.sign_shift()) - 1) & !fraction;
        bits & exponent == 0 && bits & fraction != 0
    }

    /// A result held within a range.
    pub fn clamp(self, bits: u64, how: Clamp) -> u64 {
        let negative = bits >> self.sign_shift() & 1 == 1;
        match self.decode(bits) {
            Value::Nan => {
                if how.sat {
                    0
                } else {
                    bits
                }
            }
            _ if negative && (how.sat || how.relu) => 0,
            _ if how.sat => bits.min(self.round(Finite::ONE, Rounding::Nearest)),
            Value::Infinite(negative) if how.finite => self.infinity(negative) - 1,
            _ => bits,
        }
    }

    /// Decodes bits.
    pub fn decode(self, bits: u64) -> Value {
        let negative = bits >> self.sign_shift() & 1 == 1;
        let fraction = bits & ((1 << (self.precision - 1)) - 1);
        let biased = (bits >> (self.precision - 1)) as i32 & (2 * self.max_exponent + 1);
        let lowest = 2 - self.max_exponent - self.precision as i32;
        match biased {
            0 => {
                Value::Finite(Finite { negative, mantissa: u128::from(fraction), exponent: lowest })
            }
            biased if biased == 2 * self.max_exponent + 1 => {
                if fraction == 0 {
                    Value::Infinite(negative)
                } else {
                    Value::Nan
                }
            }
            biased => Value::Finite(Finite {
                negative,
                mantissa: u128::from(fraction | 1 << (self.precision - 1)),
                exponent: lowest + biased - 1,
            }),
        }
    }

    /// Rounds a finite value once. The lowest bit of its mantissa may be sticky.
    pub fn round(self, value: Finite, mode: Rounding) -> u64 {
        let Finite { negative, mantissa, exponent } = value;
        let sign = u64::from(negative) << self.sign_shift();
        if mantissa == 0 {
            return sign;
        }
        let precision = self.precision as i32;
        let magnitude = exponent + 127 - mantissa.leading_zeros() as i32;
        let mut lowest = magnitude.max(1 - self.max_exponent) - (precision - 1);
        let shift = lowest - exponent;
        let (mut kept, rest, half) = match shift {
            ..=0 => (mantissa << -shift, 0, 1),
            1..=127 => (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1)),
            _ => (0, 1, 2),
        };
        let up = match mode {
            Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        };
        kept += u128::from(up);
        if kept >> precision != 0 {
            kept >>= 1;
            lowest += 1;
        }
        if kept >> (precision - 1) == 0 {
            return sign | kept as u64;
        }
        let biased = lowest + precision - 1 + self.max_exponent;
        if biased > 2 * self.max_exponent {
            let to_infinity = match mode {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Down => negative,
                Rounding::Up => !negative,
            };
            return if to_infinity { self.infinity(negative) } else { self.infinity(negative) - 1 };
        }
        sign | (biased as u64) << (precision - 1) | (kept as u64 & ((1 << (precision - 1)) - 1))
    }

    /// Encodes a decoded value of any format.
    pub fn encode(self, value: Value, mode: Rounding) -> u64 {
        match value {
            Value::Nan => self.nan(),
            Value::Infinite(negative) => self.infinity(negative),
            Value::Finite(value) => self.round(value, mode),
        }
    }

    /// `a × b + c`, rounded once.
    pub fn fma(self, a: u64, b: u64, c: u64, mode: Rounding) -> u64 {
        match (product(self.decode(a), self.decode(b)), self.decode(c)) {
            (Value::Nan, _) | (_, Value::Nan) => self.nan(),
            (Value::Infinite(x), Value::Infinite(y)) if x != y => self.nan(),
            (Value::Infinite(x), _) | (_, Value::Infinite(x)) => self.infinity(x),
            (Value::Finite(product), Value::Finite(c)) => self.add(product, c, mode),
        }
    }

    fn add(self, a: Finite, b: Finite, mode: Rounding) -> u64 {
        let (a, b) = (a.at_top(), b.at_top());
        // Zeros take no part in the alignment.
        let (high, low) = match (a.mantissa, b.mantissa) {
            (0, _) => (b, a),
            (_, 0) => (a, b),
            _ if a.exponent >= b.exponent => (a, b),
            _ => (b, a),
        };
        let low_mantissa = match low.mantissa {
            0 => 0,
            mantissa => shift_sticky(mantissa, (high.exponent - low.exponent) as u32),
        };
        let (negative, mantissa) = if high.negative == low.negative {
            (high.negative, high.mantissa + low_mantissa)
        } else if high.mantissa >= low_mantissa {
            (high.negative, high.mantissa - low_mantissa)
        } else {
            (low.negative, low_mantissa - high.mantissa)
        };
        if mantissa == 0 {
            let negative =
                if a.negative == b.negative { a.negative } else { mode == Rounding::Down };
            return self.round(Finite { negative, mantissa: 0, exponent: 0 }, mode);
        }
        self.round(Finite { negative, mantissa, exponent: high.exponent }, mode)
    }

    /// `a ÷ b`; `None` if an operand is zero, infinite or NaN, so nothing is rounded.
    pub fn divide(self, a: u64, b: u64, mode: Rounding) -> Option<u64> {
        let (Value::Finite(a), Value::Finite(b)) = (self.decode(a), self.decode(b)) else {
            return None;
        };
        if a.mantissa == 0 || b.mantissa == 0 {
            return None;
        }
        let a = a.at_top();
        let is_inexact = a.mantissa % b.mantissa != 0;
        let quotient = Finite {
            negative: a.negative != b.negative,
            mantissa: ((a.mantissa / b.mantissa) << 1) | u128::from(is_inexact),
            exponent: a.exponent - b.exponent - 1,
        };
        Some(self.round(quotient, mode))
    }

    /// `√a`; `None` if the operand is zero, negative, infinite or NaN.
    pub fn sqrt(self, a: u64, mode: Rounding) -> Option<u64> {
        let Value::Finite(value @ Finite { negative: false, .. }) = self.decode(a) else {
            return None;
        };
        if value.mantissa == 0 {
            return None;
        }
        let Finite { mut mantissa, mut exponent, .. } = value.at_top();
        if exponent & 1 != 0 {
            mantissa <<= 1;
            exponent -= 1;
        }
        let root = mantissa.isqrt();
        let is_inexact = root * root != mantissa;
        let root = Finite {
            negative: false,
            mantissa: (root << 1) | u128::from(is_inexact),
            exponent: exponent / 2 - 1,
        };
        Some(self.round(root, mode))
    }
}

/// `a × b`, not rounded.
fn product(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Finite(zero), Value::Infinite(_)) | (Value::Infinite(_), Value::Finite(zero))
            if zero.mantissa == 0 =>
        {
            Value::Nan
        }
        (Value::Infinite(x), Value::Infinite(y)) => Value::Infinite(x != y),
        (Value::Infinite(x), Value::Finite(Finite { negative: y, .. }))
        | (Value::Finite(Finite { negative: y, .. }), Value::Infinite(x)) => {
            Value::Infinite(x != y)
        }
        (Value::Finite(a), Value::Finite(b)) => Value::Finite(Finite {
            negative: a.negative != b.negative,
            mantissa: a.mantissa * b.mantissa,
            exponent: a.exponent + b.exponent,
        }),
    }
}

fn shift_sticky(mantissa: u128, by: u32) -> u128 {
    match by {
        0 => mantissa,
        1..=127 => mantissa >> by | u128::from(mantissa & ((1 << by) - 1) != 0),
        _ => u128::from(mantissa != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::bits::{bits32, bits64};
    use proptest::prelude::*;

    const NEAREST: Rounding = Rounding::Nearest;

    /// Bit patterns with exponents that are often near enough to cancel and to align.
    fn near() -> impl Strategy<Value = u64> {
        (any::<bool>(), 1000u64..1060, any::<u64>()).prop_map(|(sign, exponent, fraction)| {
            u64::from(sign) << 63 | exponent << 52 | fraction >> 12
        })
    }

    fn doubles() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), near(), Just(0), Just(1), Just(1 << 63), Just(f64::MAX.to_bits())]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn nearest_agrees_with_the_host(a in doubles(), b in doubles(), c in doubles()) {
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            prop_assert_eq!(F64.fma(a, b, c, NEAREST), bits64(x.mul_add(y, z)));
            if let Some(quotient) = F64.divide(a, b, NEAREST) {
                prop_assert_eq!(quotient, bits64(x / y));
            }
            if let Some(root) = F64.sqrt(a, NEAREST) {
                prop_assert_eq!(root, bits64(x.sqrt()));
            }
        }

        #[test]
        fn nearest_agrees_with_the_host_in_single_precision(a: u32, b: u32, c: u32) {
            let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
            let [a, b, c] = [a, b, c].map(u64::from);
            prop_assert_eq!(F32.fma(a, b, c, NEAREST) as u32, bits32(x.mul_add(y, z)));
            prop_assert_eq!(F32.encode(F64.decode(f64::from(x).to_bits()), NEAREST) as u32, bits32(x));
        }

        #[test]
        fn directed_rounding_brackets_the_exact_result(a in near(), b in near(), c in near()) {
            let at = |mode| f64::from_bits(F64.fma(a, b, c, mode));
            let (down, up, zero, nearest) = (at(Rounding::Down), at(Rounding::Up), at(Rounding::Zero), at(NEAREST));
            prop_assert!(down <= nearest && nearest <= up);
            prop_assert!(down == up || down.next_up() == up);
            prop_assert_eq!(zero.abs().to_bits(), down.abs().min(up.abs()).to_bits());
        }
    }

    #[test]
    fn overflow_saturates_toward_zero_only() {
        let max = u64::from(f32::MAX.to_bits());
        let two = u64::from(2f32.to_bits());
        assert_eq!(F32.fma(max, two, 0, Rounding::Zero), max);
        assert_eq!(F32.fma(max, two, 0, Rounding::Up), u64::from(f32::INFINITY.to_bits()));
    }

    #[test]
    fn halves_are_encoded_with_rounding_and_overflow() {
        let half = |value: f32| F16.encode(F32.decode(u64::from(value.to_bits())), NEAREST);
        assert_eq!(
            (half(1.0), half(65504.0), half(65520.0), half(-2.0)),
            (0x3c00, 0x7bff, 0x7c00, 0xc000)
        );
        assert_eq!((half(5.960_464_5e-8), half(f32::NAN)), (0x0001, 0x7fff));
    }
}
