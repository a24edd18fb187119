//! Argument generators: what buffers hold before a launch, the same in every process.

use std::ops::Range;

use super::error::{Error, Result};
use super::number::{IntoNumber, Number, Scalar};
use crate::{bf16, f16};

/// What a buffer holds before a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generator {
    pub(crate) length: Number,
    pub(crate) fill: Fill,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fill {
    Random { low: f64, high: f64, whole: bool },
    RandomBits,
    Zeros,
    Iota,
}

/// The functions that `args(…)` may call for pointers.
pub mod generators {
    use super::{Fill, Generator, IntoNumber, Number, Range};

    /// `length` random elements: integers over their whole range, floats in 0..1.
    pub fn random(length: impl IntoNumber) -> Generator {
        Generator { length: length.into_number(), fill: Fill::RandomBits }
    }

    /// `length` random elements in `range`, its end excluded.
    pub fn random_in<N: IntoNumber>(length: impl IntoNumber, range: Range<N>) -> Generator {
        let (low, high) = (range.start.into_number(), range.end.into_number());
        let whole = matches!((low, high), (Number::Int(_), Number::Int(_)));
        let float = |number| match number {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        };
        Generator {
            length: length.into_number(),
            fill: Fill::Random { low: float(low), high: float(high), whole },
        }
    }

    /// `length` zeros.
    pub fn zeros(length: impl IntoNumber) -> Generator {
        Generator { length: length.into_number(), fill: Fill::Zeros }
    }

    /// 0, 1, 2, … up to `length`, wrapping where the element type does.
    pub fn iota(length: impl IntoNumber) -> Generator {
        Generator { length: length.into_number(), fill: Fill::Iota }
    }
}

/// Types that buffers may hold.
pub trait Element: Scalar + cudarc::driver::DeviceRepr + PartialEq + std::fmt::Debug {
    /// A value from 64 random bits: any integer, or a float in 0..1.
    fn from_bits(bits: u64) -> Self;

    /// The `index`-th whole number, wrapping.
    fn from_index(index: u64) -> Self;

    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;

    /// How far `self` is from `expected`: 0 where they are the same, infinite where no tolerance
    /// helps, as between integers, and between a number and none.
    fn distance(self, expected: Self) -> f64;

    /// Its size, which a relative tolerance is a part of; 0 for integers.
    fn magnitude(self) -> f64;

    /// The tolerance where the annotation gives none, absolute and relative.
    const TOLERANCE: f64;

    /// The lowest value, and what all values are below.
    const RANGE: (f64, f64);
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
            const TOLERANCE: f64 = 0.0;
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
            const TOLERANCE: f64 = $tolerance;
            const RANGE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    )*};
}
// Two units in the last place of 1.
half_elements!(f16 11 2e-3 bf16 8 1.6e-2);

impl Generator {
    /// Refuses a range that holds nothing, or what a buffer of `T` called `name` cannot hold.
    ///
    /// # Errors
    /// The buffer, the range and the type.
    pub(crate) fn check<T: Element>(&self, name: &str) -> Result<()> {
        let Fill::Random { low, high, .. } = self.fill else { return Ok(()) };
        let (lowest, above) = T::RANGE;
        let wrong = match low < high {
            false => "is empty: write the lower bound first".to_owned(),
            true if low < lowest || high > above => format!("goes beyond {}", T::NAME),
            true => return Ok(()),
        };
        Err(Error::invalid(format!("`{name}` is random in {low}..{high}, which {wrong}")))
    }

    /// The elements, from a seed of their own so that no two buffers are alike.
    pub(crate) fn elements<T: Element>(&self, length: usize, seed: u64) -> Vec<T> {
        let mut state = seed;
        let mut unit = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            split_mix(state)
        };
        match self.fill {
            Fill::Zeros => vec![T::from_index(0); length],
            Fill::Iota => (0..length as u64).map(T::from_index).collect(),
            Fill::RandomBits => (0..length).map(|_| T::from_bits(unit())).collect(),
            Fill::Random { low, high, whole } => (0..length)
                .map(|_| {
                    let value = low + (high - low) * f64::from_bits_unit(unit());
                    T::from_f64(if whole { value.floor() } else { value })
                })
                .collect(),
        }
    }
}

/// The mixing function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn split_mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

trait UnitInterval {
    fn from_bits_unit(bits: u64) -> Self;
}

impl UnitInterval for f64 {
    fn from_bits_unit(bits: u64) -> Self {
        <Self as Element>::from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::generators::*;
    use super::*;

    #[test]
    fn buffers_are_the_same_in_every_process_and_differ_by_seed() {
        let a: Vec<u32> = random(4_u64).elements(4, 1);
        assert_eq!(a, random(4_u64).elements::<u32>(4, 1));
        assert_ne!(a, random(4_u64).elements::<u32>(4, 2));
        assert_eq!(iota(3).elements::<f32>(3, 0), [0.0, 1.0, 2.0]);
        assert_eq!(iota(300).elements::<u8>(300, 0)[256], 0);
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_reach_across_it() {
        let floats: Vec<f32> = random(1000).elements(1000, 7);
        assert!(floats.iter().all(|v| (0.0..1.0).contains(v)));
        let bins: Vec<u32> = random_in(1000, 0..10).elements(1000, 7);
        assert!((0..10).all(|bin| bins.contains(&bin)) && bins.iter().all(|&b| b < 10));
    }

    #[test]
    fn a_range_that_holds_nothing_or_too_much_is_refused() {
        let told = |generator: Generator| generator.check::<u8>("text").unwrap_err().to_string();
        assert!(random_in(4, 0..256).check::<u8>("text").is_ok());
        assert!(random_in(4, -1.0..1.0).check::<f32>("x").is_ok());
        assert_eq!(
            told(random_in(4, 300..301)),
            "`text` is random in 300..301, which goes beyond u8"
        );
        assert_eq!(told(random_in(4, -1..1)), "`text` is random in -1..1, which goes beyond u8");
        let empty = "`text` is random in 26..0, which is empty: write the lower bound first";
        assert_eq!(told(random_in(4, 26.0..0.0)), empty);
        assert!(random_in(4, f64::NAN..1.0).check::<f32>("x").is_err());
    }

    #[test]
    fn no_tolerance_reaches_from_a_number_to_none_or_to_another_integer() {
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
