//! Arithmetic of halves without hardware for it, rounded once like the hardware.

/// How a half is laid out: its sign, `exponent` bits, then `fraction` bits.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    fraction: u32,
    exponent: u32,
}

/// IEEE's binary16.
pub(super) const F16: Layout = Layout { fraction: 10, exponent: 5 };
/// The upper half of an `f32`.
pub(super) const BF16: Layout = Layout { fraction: 7, exponent: 8 };

/// The result of operations without a number.
const NAN: u16 = 0x7fff;

impl Layout {
    const fn infinity(self) -> u16 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The exponent of the smallest normal number.
    const fn lowest(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The value, which an `f64` holds.
    pub(super) fn value(self, bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let size = bits & 0x7fff;
        let (field, fraction) = (i32::from(size >> self.fraction), size % (1 << self.fraction));
        if size >= self.infinity() {
            return if fraction == 0 { sign * f64::INFINITY } else { f64::NAN };
        }
        let unit = power_of_two(self.lowest() - self.fraction.cast_signed());
        match field {
            0 => sign * f64::from(fraction) * unit,
            _ => {
                let whole = f64::from(fraction | 1 << self.fraction);
                sign * whole * unit * power_of_two(field - 1)
            }
        }
    }

    /// The nearest half, of two equally near ones the even.
    pub(super) fn round(self, value: f64) -> u16 {
        let sign = u16::from(value.is_sign_negative()) << 15;
        let size = value.abs();
        if size.is_nan() {
            return NAN;
        }
        if size.is_infinite() {
            return sign | self.infinity();
        }
        // The exponent of an `f64`; below its normal ones a half is 0 anyway.
        let exponent = (size.to_bits() >> 52) as i32 - 1023;
        let exponent = exponent.max(self.lowest());
        let unit = power_of_two(exponent - self.fraction.cast_signed());
        let units = (size / unit).round_ties_even() as u64;
        let above = u64::from((exponent - self.lowest()).cast_unsigned()) << self.fraction;
        // A carry runs into the exponent.
        let bits = (above + units).min(u64::from(self.infinity()));
        sign | bits as u16
    }

    /// `a × b + c`, rounded once.
    pub(super) fn mul_add(self, a: u16, b: u16, c: u16) -> u16 {
        // The product is exact. The sum is rounded to an odd last bit where it is not: then the
        // second rounding, to far fewer bits, goes where one alone would go.
        let (product, c) = (self.value(a) * self.value(b), self.value(c));
        let sum = product + c;
        if !sum.is_finite() {
            return self.round(sum);
        }
        let part = sum - product;
        let lost = (product - (sum - part)) + (c - part);
        let bits = sum.to_bits();
        let odd = match lost {
            0.0 => bits,
            _ if bits & 1 == 1 => bits,
            _ if (lost > 0.0) == (sum > 0.0) => bits + 1,
            _ => bits - 1,
        };
        self.round(f64::from_bits(odd))
    }
}

/// 2 to the power of a small whole number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}
