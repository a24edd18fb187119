//! The elements of buffers: how each type is made of random bits, of numbers and of a file's bytes,
//! and how far two of them are apart.

use std::cmp::Ordering;

use crate::host::values::number::Scalar;
use crate::{bf16, f16};

/// Types that buffers may hold.
pub trait Element: Scalar + cudarc::driver::DeviceRepr + PartialEq + std::fmt::Debug {
    /// A value from 64 random bits: any integer, or a float in 0..1.
    fn from_bits(bits: u64) -> Self;

    /// The `index`-th whole number, wrapping.
    fn from_index(index: u64) -> Self;

    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;

    /// The value with the little-endian `bytes`; as many as the type has.
    fn from_le(bytes: &[u8]) -> Self;

    /// The order in which values are sorted: that of all floats, NaN included.
    fn order(&self, other: &Self) -> Ordering;

    /// How far `self` is from `expected`: 0 if they are the same, infinite where no tolerance
    /// helps, as between integers, and between a number and none.
    fn distance(self, expected: Self) -> f64;

    /// Its size, which a relative tolerance is a part of; 0 for integers.
    fn magnitude(self) -> f64;

    /// The tolerance where the annotation gives none, absolute and relative.
    const TOLERANCE: f64;

    /// The lowest value, and the exclusive upper bound of all values.
    const RANGE: (f64, f64);

    /// Whether it is a whole number.
    const WHOLE: bool;
}

/// `bytes` as an array, as long as the caller's type is.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

macro_rules! integer_elements {
    ($($t:ident)*) => {$(
        impl Element for $t {
            fn from_bits(bits: u64) -> Self { (bits >> (64 - Self::BITS)) as Self }
            fn from_index(index: u64) -> Self { index as Self }
            fn from_f64(value: f64) -> Self { value as Self }
            fn distance(self, expected: Self) -> f64 {
                if self == expected { 0.0 } else { f64::INFINITY }
            }
            fn magnitude(self) -> f64 { 0.0 }
            fn from_le(bytes: &[u8]) -> Self { Self::from_le_bytes(array(bytes)) }
            fn order(&self, other: &Self) -> Ordering { self.cmp(other) }
            const TOLERANCE: f64 = 0.0;
            const WHOLE: bool = true;
            const RANGE: (f64, f64) = (Self::MIN as f64, Self::MAX as f64 + 1.0);
        }
    )*};
}
integer_elements!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! float_elements {
    ($($t:ident $mantissa:literal $tolerance:literal)*) => {$(
        impl Element for $t {
            fn from_bits(bits: u64) -> Self {
                (bits >> (64 - $mantissa)) as Self / (1_u64 << $mantissa) as Self
            }
            fn from_index(index: u64) -> Self { index as Self }
            fn from_f64(value: f64) -> Self { value as Self }
            fn distance(self, expected: Self) -> f64 {
                if self == expected || (self.is_nan() && expected.is_nan()) {
                    return 0.0;
                }
                let distance = (f64::from(self) - f64::from(expected)).abs();
                if distance.is_nan() { f64::INFINITY } else { distance }
            }
            fn magnitude(self) -> f64 { f64::from(self).abs() }
            fn from_le(bytes: &[u8]) -> Self { Self::from_le_bytes(array(bytes)) }
            fn order(&self, other: &Self) -> Ordering { self.total_cmp(other) }
            const WHOLE: bool = false;
            const TOLERANCE: f64 = $tolerance;
            const RANGE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    )*};
}
float_elements!(f32 24 1e-5 f64 53 1e-12);

macro_rules! half_elements {
    ($($t:ident $mantissa:literal $tolerance:literal)*) => {$(
        impl Element for $t {
            fn from_bits(bits: u64) -> Self {
                let whole = (bits >> (64 - $mantissa)) as f64;
                Self::from_f64(whole / f64::from(1 << $mantissa))
            }
            fn from_index(index: u64) -> Self { Self::from_f64(index as f64) }
            fn from_f64(value: f64) -> Self { Self::from_f64(value) }
            fn distance(self, expected: Self) -> f64 {
                self.to_f64().distance(expected.to_f64())
            }
            fn magnitude(self) -> f64 { self.to_f64().abs() }
            fn from_le(bytes: &[u8]) -> Self {
                Self::from_bits(u16::from_le_bytes(array(bytes)))
            }
            fn order(&self, other: &Self) -> Ordering {
                self.to_f64().total_cmp(&other.to_f64())
            }
            const WHOLE: bool = false;
            const TOLERANCE: f64 = $tolerance;
            const RANGE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    )*};
}
// Two units in the last place of 1.
half_elements!(f16 11 2e-3 bf16 8 1.6e-2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_infinity_and_other_integers_are_beyond_every_tolerance() {
        assert_eq!(1.5_f32.distance(1.0), 0.5);
        assert_eq!(f32::NAN.distance(f32::NAN), 0.0);
        assert_eq!(f64::INFINITY.distance(f64::INFINITY), 0.0);
        assert_eq!((-0.0_f64).distance(0.0), 0.0);
        for (device, host) in [(f64::NAN, 1.0), (1.0, f64::NAN), (1.0, f64::INFINITY)] {
            assert_eq!(device.distance(host), f64::INFINITY, "{device} {host}");
        }
        assert_eq!((3_u32.distance(3), 3_u32.distance(4)), (0.0, f64::INFINITY));
    }
}
