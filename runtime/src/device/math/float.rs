//! The functions of floats that kernels call by `std`'s names.

use super::sealed;

/// The functions of floats that `core` lacks, named as in `std`.
///
/// On the host these are `std`'s own; in a kernel `sqrt` to `round_ties_even` are one instruction
/// that rounds correctly. The others are within a few units in the last place of `std`'s: the
/// book's page on mathematics has the largest error and the cost of each. Those of [`f16`] and
/// [`bf16`] are computed in `f32` and rounded.
///
/// [`f16`]: crate::f16
/// [`bf16`]: crate::bf16
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The distance of a point from the origin, on both sides the same.
/// fn distance(x: f32, y: f32) -> f32 {
///     x.mul_add(x, y * y).sqrt()
/// }
/// assert_eq!(distance(3.0, 4.0), 5.0);
/// ```
pub trait FloatMath: Copy + sealed::Sealed {
    /// The square root (`sqrt.rn`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn length<T: FloatMath>(square: T) -> T {
    ///     square.sqrt()
    /// }
    /// assert_eq!(length(9.0_f32), 3.0);
    /// ```
    #[doc(alias("sqrtf", "__fsqrt_rn", "sqrt_rn_f32"))]
    fn sqrt(self) -> Self;

    /// `self * a + b` with one rounding (`fma.rn`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn axpy<T: FloatMath>(a: T, x: T, y: T) -> T {
    ///     a.mul_add(x, y)
    /// }
    /// assert_eq!(axpy(2.0_f32, 3.0, 1.0), 7.0);
    /// ```
    #[doc(alias("fmaf", "fma", "__fmaf_rn", "fma_rn_f32"))]
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The largest whole number not above `self` (`cvt.rmi`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn cell<T: FloatMath>(position: T) -> T {
    ///     position.floor()
    /// }
    /// assert_eq!(cell(-0.5_f32), -1.0);
    /// ```
    #[doc(alias = "floorf")]
    fn floor(self) -> Self;

    /// The smallest whole number not below `self` (`cvt.rpi`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn up<T: FloatMath>(x: T) -> T {
    ///     x.ceil()
    /// }
    /// assert_eq!(up(1.25_f64), 2.0);
    /// ```
    #[doc(alias = "ceilf")]
    fn ceil(self) -> Self;

    /// The whole part (`cvt.rzi`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn whole<T: FloatMath>(x: T) -> T {
    ///     x.trunc()
    /// }
    /// assert_eq!(whole(-1.75_f32), -1.0);
    /// ```
    #[doc(alias = "truncf")]
    fn trunc(self) -> Self;

    /// The nearest whole number, halves to even (`cvt.rni`).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// fn nearest<T: FloatMath>(x: T) -> T {
    ///     x.round_ties_even()
    /// }
    /// assert_eq!(nearest(2.5_f32), 2.0);
    /// ```
    #[doc(alias("rintf", "__float2int_rn"))]
    fn round_ties_even(self) -> Self;

    /// The nearest whole number, halves away from zero.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((2.5_f32).round() == 3.0);
    /// ```
    #[doc(alias = "roundf")]
    fn round(self) -> Self;

    /// The fraction: `self` less [`trunc`](Self::trunc).
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((-1.75_f32).fract() == -0.75);
    /// ```
    #[doc(alias = "modff")]
    fn fract(self) -> Self;

    /// The least remainder of `self` by `rhs` that is not negative, exact for any quotient.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((-1.0_f32).rem_euclid(4.0) == 3.0);
    /// ```
    #[doc(alias("fmodf", "remainder"))]
    fn rem_euclid(self, rhs: Self) -> Self;

    /// The whole quotient that [`rem_euclid`](Self::rem_euclid) belongs to.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((-1.0_f32).div_euclid(4.0) == -1.0);
    /// ```
    fn div_euclid(self, rhs: Self) -> Self;

    /// `self` to a whole power, by repeated squaring.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(2.0_f32.powi(10) == 1024.0);
    /// ```
    #[doc(alias = "__powif")]
    fn powi(self, n: i32) -> Self;

    /// `self` to the power of `n`.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(9.0_f32.powf(0.5) == 3.0);
    /// ```
    #[doc(alias("pow", "__powf"))]
    fn powf(self, n: Self) -> Self;

    /// e to the power of `self`.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((1.0_f32.exp() - 2.718_281_7).abs() < 1e-6);
    /// ```
    #[doc(alias = "expf")]
    fn exp(self) -> Self;

    /// 2 to the power of `self`.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(3.0_f32.exp2() == 8.0);
    /// ```
    #[doc(alias = "exp2f")]
    fn exp2(self) -> Self;

    /// e to the power of `self`, less 1, exact near 0.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((1e-6_f32).exp_m1() > 1e-6);
    /// ```
    #[doc(alias = "expm1f")]
    fn exp_m1(self) -> Self;

    /// The natural logarithm.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(1.0_f32.ln() == 0.0);
    /// ```
    #[doc(alias = "logf")]
    fn ln(self) -> Self;

    /// The logarithm to any base: a quotient of two, with their errors.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((8.0_f32.log(2.0) - 3.0).abs() < 1e-6);
    /// ```
    fn log(self, base: Self) -> Self;

    /// The logarithm to base 2.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(8.0_f32.log2() == 3.0);
    /// ```
    #[doc(alias = "log2f")]
    fn log2(self) -> Self;

    /// The logarithm to base 10.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(100.0_f32.log10() == 2.0);
    /// ```
    #[doc(alias = "log10f")]
    fn log10(self) -> Self;

    /// The natural logarithm of 1 + `self`, exact near 0.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!((1e-6_f32).ln_1p() < 1e-6);
    /// ```
    #[doc(alias = "log1pf")]
    fn ln_1p(self) -> Self;

    /// The sine of an angle in radians, of any size.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.sin() == 0.0);
    /// ```
    #[doc(alias = "sinf")]
    fn sin(self) -> Self;

    /// The cosine of an angle in radians, of any size.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.cos() == 1.0);
    /// ```
    #[doc(alias = "cosf")]
    fn cos(self) -> Self;

    /// Sine and cosine at the cost of little more than one of them.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.sin_cos() == (0.0, 1.0));
    /// ```
    #[doc(alias = "sincosf")]
    fn sin_cos(self) -> (Self, Self);

    /// The tangent of an angle in radians, of any size.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.tan() == 0.0);
    /// ```
    #[doc(alias = "tanf")]
    fn tan(self) -> Self;

    /// The arcsine, between -π/2 and π/2; NaN beyond ±1.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.asin() == 0.0);
    /// ```
    #[doc(alias = "asinf")]
    fn asin(self) -> Self;

    /// The arccosine, between 0 and π; NaN beyond ±1.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(1.0_f32.acos() == 0.0);
    /// ```
    #[doc(alias = "acosf")]
    fn acos(self) -> Self;

    /// The arctangent, between -π/2 and π/2.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.atan() == 0.0);
    /// ```
    #[doc(alias = "atanf")]
    fn atan(self) -> Self;

    /// The angle of the point (`other`, `self`), between -π and π.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.atan2(1.0) == 0.0);
    /// ```
    #[doc(alias = "atan2f")]
    fn atan2(self, other: Self) -> Self;

    /// The hyperbolic sine.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.sinh() == 0.0);
    /// ```
    #[doc(alias = "sinhf")]
    fn sinh(self) -> Self;

    /// The hyperbolic cosine.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.cosh() == 1.0);
    /// ```
    #[doc(alias = "coshf")]
    fn cosh(self) -> Self;

    /// The hyperbolic tangent.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.tanh() == 0.0);
    /// ```
    #[doc(alias = "tanhf")]
    fn tanh(self) -> Self;

    /// The inverse hyperbolic sine.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.asinh() == 0.0);
    /// ```
    #[doc(alias = "asinhf")]
    fn asinh(self) -> Self;

    /// The inverse hyperbolic cosine; NaN below 1.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(1.0_f32.acosh() == 0.0);
    /// ```
    #[doc(alias = "acoshf")]
    fn acosh(self) -> Self;

    /// The inverse hyperbolic tangent; NaN beyond ±1.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(0.0_f32.atanh() == 0.0);
    /// ```
    #[doc(alias = "atanhf")]
    fn atanh(self) -> Self;

    /// The cube root, also of negative numbers.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(27.0_f32.cbrt() == 3.0);
    /// ```
    #[doc(alias = "cbrtf")]
    fn cbrt(self) -> Self;

    /// The length of the hypotenuse, without overflow in between.
    ///
    /// ```
    /// use gpuprof::FloatMath;
    ///
    /// assert!(3.0_f32.hypot(4.0) == 5.0);
    /// ```
    #[doc(alias = "hypotf")]
    fn hypot(self, other: Self) -> Self;

    /// [`math::erf`](super::erf).
    #[doc(hidden)]
    fn __erf(self) -> Self;

    /// [`math::erfc`](super::erfc).
    #[doc(hidden)]
    fn __erfc(self) -> Self;

    /// [`math::gamma`](super::gamma).
    #[doc(hidden)]
    fn __gamma(self) -> Self;

    /// [`math::ln_gamma`](super::ln_gamma).
    #[doc(hidden)]
    fn __ln_gamma(self) -> Self;
}
