//! [`FloatMath`] on the host: `std`'s functions.

use super::FloatMath;

// Written with the inherent methods' paths: a method call here would be the trait's own.
macro_rules! float_math {
    ($t:ident:
        std($($name:ident($($argument:ident: $of:ty),*)),* $(,)?)
        libm($($hidden:ident = $libm:ident),*)
    ) => {
        impl FloatMath for $t {
            $(fn $name(self, $($argument: $of),*) -> Self {
                $t::$name(self, $($argument),*)
            })*
            $(fn $hidden(self) -> Self {
                libm::$libm(self)
            })*
            fn sin_cos(self) -> (Self, Self) {
                $t::sin_cos(self)
            }
        }
    };
}

float_math!(
    f32:
    std(sqrt(), mul_add(a: f32, b: f32), floor(), ceil(), trunc(), round_ties_even(), round(),
        fract(), rem_euclid(rhs: f32), div_euclid(rhs: f32), powi(n: i32), powf(n: f32),
        exp(), exp2(), exp_m1(), ln(), log(base: f32), log2(), log10(), ln_1p(), sin(), cos(),
        tan(), asin(), acos(), atan(), atan2(other: f32), sinh(), cosh(), tanh(), asinh(),
        acosh(), atanh(), cbrt(), hypot(other: f32))
    libm(__erf = erff, __erfc = erfcf, __gamma = tgammaf, __ln_gamma = lgammaf)
);
float_math!(
    f64:
    std(sqrt(), mul_add(a: f64, b: f64), floor(), ceil(), trunc(), round_ties_even(), round(),
        fract(), rem_euclid(rhs: f64), div_euclid(rhs: f64), powi(n: i32), powf(n: f64),
        exp(), exp2(), exp_m1(), ln(), log(base: f64), log2(), log10(), ln_1p(), sin(), cos(),
        tan(), asin(), acos(), atan(), atan2(other: f64), sinh(), cosh(), tanh(), asinh(),
        acosh(), atanh(), cbrt(), hypot(other: f64))
    libm(__erf = erf, __erfc = erfc, __gamma = tgamma, __ln_gamma = lgamma)
);
