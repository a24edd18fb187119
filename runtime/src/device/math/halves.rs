//! [`FloatMath`] of half precision: through `f32`, rounded once to the half.
//!
//! The host computes that `f32` like a kernel, not by `std`'s functions, so the halves have the
//! same bits on both sides. Operations that a half has itself (`sqrt`, `mul_add`) do not use `f32`.

use super::{FloatMath, sealed, single};
use crate::{bf16, f16};

macro_rules! half_math {
    ($t:ident:
        exact($($exact:ident)*) exact_of_two($($exact_of_two:ident)*)
        one($($one:ident = $of_one:expr),*) two($($two:ident = $of_two:expr),*)
    ) => {
        impl sealed::Sealed for $t {}
        impl FloatMath for $t {
            $(#[inline]
            fn $exact(self) -> Self {
                Self::from_f32(FloatMath::$exact(self.to_f32()))
            })*
            $(#[inline]
            fn $exact_of_two(self, other: Self) -> Self {
                Self::from_f32(FloatMath::$exact_of_two(self.to_f32(), other.to_f32()))
            })*
            $(#[inline]
            fn $one(self) -> Self {
                Self::from_f32($of_one(self.to_f32()))
            })*
            $(#[inline]
            fn $two(self, other: Self) -> Self {
                Self::from_f32($of_two(self.to_f32(), other.to_f32()))
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
                Self::from_f32(powi(self.to_f32(), n))
            }
            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                let (sin, cos) = single::sin_cos(self.to_f32());
                (Self::from_f32(sin), Self::from_f32(cos))
            }
        }
    };
    ($($t:ident)*) => {$(
        half_math!($t:
            exact(floor ceil trunc round_ties_even round fract)
            exact_of_two(rem_euclid div_euclid)
            one(exp = single::exp, exp2 = single::exp2, exp_m1 = libm::expm1f, ln = single::ln,
                log2 = single::log2, log10 = single::log10, ln_1p = libm::log1pf,
                sin = single::sin, cos = single::cos, tan = single::tan, asin = libm::asinf,
                acos = libm::acosf, atan = libm::atanf, sinh = libm::sinhf, cosh = libm::coshf,
                tanh = single::tanh, asinh = libm::asinhf, acosh = acosh, atanh = libm::atanhf,
                cbrt = libm::cbrtf, __erf = libm::erff, __erfc = libm::erfcf,
                __gamma = libm::tgammaf, __ln_gamma = libm::lgammaf)
            two(powf = libm::powf, log = log, atan2 = libm::atan2f, hypot = libm::hypotf));
    )*};
}
half_math!(f16 bf16);

fn powi(x: f32, n: i32) -> f32 {
    powi!(x, n)
}

/// libm's is defined from 1 on only.
fn acosh(x: f32) -> f32 {
    if x >= 1.0 { libm::acoshf(x) } else { f32::NAN }
}

fn log(x: f32, base: f32) -> f32 {
    single::ln(x) / single::ln(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every half, compared with the result of `f64`: a half is off by at most one step.
    #[test]
    fn functions_of_halves_are_rounded_from_single_precision() {
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
