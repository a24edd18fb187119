//! [`FloatMath`] of half precision: through `f32`, rounded once to the half.
//!
//! Both sides compute the same `f32`, so the halves have the same bits. What a half can do itself
//! (`sqrt`, `mul_add`) it does itself.

use super::{FloatMath, sealed};
use crate::{bf16, f16};

macro_rules! half_math {
    ($t:ident: of_one($($one:ident)*) of_two($($two:ident)*)) => {
        impl sealed::Sealed for $t {}
        impl FloatMath for $t {
            $(#[inline]
            fn $one(self) -> Self {
                Self::from_f32(FloatMath::$one(self.to_f32()))
            })*
            $(#[inline]
            fn $two(self, other: Self) -> Self {
                Self::from_f32(FloatMath::$two(self.to_f32(), other.to_f32()))
            })*
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::mul_add(self, a, b)
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                Self::from_f32(FloatMath::powi(self.to_f32(), n))
            }
            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                let (sin, cos) = FloatMath::sin_cos(self.to_f32());
                (Self::from_f32(sin), Self::from_f32(cos))
            }
        }
    };
    ($($t:ident)*) => {$(
        half_math!($t:
            of_one(floor ceil trunc round_ties_even round fract exp exp2 exp_m1 ln log2 log10
                ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cbrt
                __erf __erfc __gamma __ln_gamma)
            of_two(rem_euclid div_euclid powf log atan2 hypot));
    )*};
}
half_math!(f16 bf16);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every half, and what `f64` makes of it: a half is off by at most one step of its own.
    #[test]
    fn every_half_is_rounded_from_the_function_of_its_number() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let wide = x.to_f64();
            for (name, half, exact) in [
                ("exp", FloatMath::exp(x), wide.exp()),
                ("sin", FloatMath::sin(x), wide.sin()),
                ("ln", FloatMath::ln(x), wide.ln()),
                ("floor", FloatMath::floor(x), wide.floor()),
                ("tanh", FloatMath::tanh(x), wide.tanh()),
            ] {
                let rounded = f16::from_f64(exact);
                let (low, high) = (half.to_f64(), rounded.to_f64());
                let near = half.to_bits().abs_diff(rounded.to_bits()) <= 1;
                let same = low == high || low.is_nan() && high.is_nan();
                assert!(near || same, "{name}({wide}) is {low}, and exactly {exact}");
            }
        }
    }
}
