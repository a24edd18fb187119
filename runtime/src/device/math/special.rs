//! Functions that `std` has not stabilised, so not under its names as methods.

use super::FloatMath;

/// The error function.
///
/// ```
/// use gpuprof::math;
///
/// /// The normal distribution's cumulative probability.
/// fn below(x: f32) -> f32 {
///     0.5 * (1.0 + math::erf(x * core::f32::consts::FRAC_1_SQRT_2))
/// }
/// assert_eq!(below(0.0), 0.5);
/// ```
#[doc(alias = "erff")]
#[inline]
pub fn erf<T: FloatMath>(x: T) -> T {
    x.__erf()
}

/// 1 less the [error function](erf), exact where that is near 1.
///
/// ```
/// use gpuprof::math;
///
/// assert!(math::erfc(5.0_f32) > 0.0);
/// ```
#[doc(alias = "erfcf")]
#[inline]
pub fn erfc<T: FloatMath>(x: T) -> T {
    x.__erfc()
}

/// The gamma function.
///
/// ```
/// use gpuprof::math;
///
/// assert_eq!(math::gamma(5.0_f32), 24.0);
/// ```
#[doc(alias = "tgammaf")]
#[inline]
pub fn gamma<T: FloatMath>(x: T) -> T {
    x.__gamma()
}

/// The natural logarithm of the size of the [gamma function](gamma).
///
/// ```
/// use gpuprof::math;
///
/// assert!((math::ln_gamma(5.0_f32) - 24.0_f32.ln()).abs() < 1e-6);
/// ```
#[doc(alias = "lgammaf")]
#[inline]
pub fn ln_gamma<T: FloatMath>(x: T) -> T {
    x.__ln_gamma()
}
