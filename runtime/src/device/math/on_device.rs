//! [`FloatMath`] in a kernel: instructions, our own `f32` functions, and the crate `libm`.

use super::super::intrinsics;
use super::{FloatMath, single};

macro_rules! float_math {
    ($t:ident:
        instructions($($instruction:ident = $intrinsic:ident),*)
        single($($single:ident),*)
        libm($($unary:ident = $libm:ident),*)
        of_two($($binary:ident = $of_two:ident),*)
        $fma:ident $fmod:ident $acosh:ident $sin_cos:path
    ) => {
        impl FloatMath for $t {
            $(#[inline(always)]
            fn $instruction(self) -> Self {
                intrinsics::$intrinsic(self)
            })*
            $(#[inline(always)]
            fn $single(self) -> Self {
                single::$single(self)
            })*
            $(#[inline]
            fn $unary(self) -> Self {
                libm::$libm(self)
            })*
            $(#[inline]
            fn $binary(self, other: Self) -> Self {
                libm::$of_two(self, other)
            })*
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                intrinsics::$fma(self, a, b)
            }
            #[inline(always)]
            fn fract(self) -> Self {
                self - self.trunc()
            }
            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let rest = libm::$fmod(self, rhs);
                if rest < 0.0 { rest + rhs.abs() } else { rest }
            }
            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = (self / rhs).trunc();
                if libm::$fmod(self, rhs) >= 0.0 {
                    quotient
                } else if rhs > 0.0 {
                    quotient - 1.0
                } else {
                    quotient + 1.0
                }
            }
            #[inline]
            fn powi(self, n: i32) -> Self {
                powi!(self, n)
            }
            #[inline]
            fn acosh(self) -> Self {
                // libm's is defined from 1 on only.
                if self >= 1.0 { libm::$acosh(self) } else { Self::NAN }
            }
            #[inline]
            fn log(self, base: Self) -> Self {
                self.ln() / base.ln()
            }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                $sin_cos(self)
            }
        }
    };
}

float_math!(
    f32:
    instructions(sqrt = sqrt_f32, floor = floor_f32, ceil = ceil_f32, trunc = trunc_f32, round =
        round_f32, round_ties_even = round_ties_even_f32)
    single(exp, exp2, ln, log2, log10, sin, cos, tan, tanh)
    libm(exp_m1 = expm1f, ln_1p = log1pf, asin = asinf, acos = acosf, atan = atanf, sinh =
        sinhf, cosh = coshf, asinh = asinhf, atanh = atanhf, cbrt = cbrtf,
        __erf = erff, __erfc = erfcf, __gamma = tgammaf, __ln_gamma = lgammaf)
    of_two(powf = powf, atan2 = atan2f, hypot = hypotf)
    fma_f32 fmodf acoshf single::sin_cos
);
float_math!(
    f64:
    instructions(sqrt = sqrt_f64, floor = floor_f64, ceil = ceil_f64, trunc = trunc_f64, round =
        round_f64, round_ties_even = round_ties_even_f64)
    single()
    libm(exp = exp, exp2 = exp2, exp_m1 = expm1, ln = log, log2 = log2, log10 = log10, ln_1p =
        log1p, sin = sin, cos = cos, tan = tan, asin = asin, acos = acos, atan = atan, sinh =
        sinh, cosh = cosh, tanh = tanh, asinh = asinh, atanh = atanh, cbrt =
        cbrt, __erf = erf, __erfc = erfc, __gamma = tgamma, __ln_gamma = lgamma)
    of_two(powf = pow, atan2 = atan2, hypot = hypot)
    fma_f64 fmod acosh libm::sincos
);
