//! Floating-point functions that are hardware instructions.
//!
//! `core` has no `sqrt`, so on the device a trait supplies it under the name that `std` has; on the
//! host the inherent method wins, and the same source compiles on both sides. What has no correctly
//! rounded instruction is not here under `std`'s name; [`FastMath`] has the approximations under
//! their own.

#[cfg(target_arch = "nvptx64")]
use super::intrinsics;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Correctly rounded functions of `f32` and `f64`, named as in `std`.
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
    #[doc(alias("sqrtf", "__fsqrt_rn"))]
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
    #[doc(alias("fmaf", "fma", "__fmaf_rn"))]
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
}

macro_rules! float_math {
    ($t:ident: $sqrt:ident $fma:ident $floor:ident $ceil:ident $trunc:ident $round:ident) => {
        #[cfg(target_arch = "nvptx64")]
        impl FloatMath for $t {
            #[inline(always)]
            fn sqrt(self) -> Self {
                intrinsics::$sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                intrinsics::$fma(self, a, b)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                intrinsics::$floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                intrinsics::$ceil(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                intrinsics::$trunc(self)
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                intrinsics::$round(self)
            }
        }

        // Written with the inherent methods' paths: a method call here would be the trait's own.
        #[cfg(not(target_arch = "nvptx64"))]
        impl FloatMath for $t {
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::mul_add(self, a, b)
            }
            fn floor(self) -> Self {
                $t::floor(self)
            }
            fn ceil(self) -> Self {
                $t::ceil(self)
            }
            fn trunc(self) -> Self {
                $t::trunc(self)
            }
            fn round_ties_even(self) -> Self {
                $t::round_ties_even(self)
            }
        }
    };
}

float_math!(f32: sqrt_f32 fma_f32 floor_f32 ceil_f32 trunc_f32 round_ties_even_f32);
float_math!(f64: sqrt_f64 fma_f64 floor_f64 ceil_f64 trunc_f64 round_ties_even_f64);

/// Approximations of `f32` in one or two instructions of the special function unit.
///
/// Their errors are those of the PTX instructions, which are named; on the host they are computed
/// by `std`, so results differ in the last digits.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// The logistic function, at the speed of the special function unit.
/// fn sigmoid(x: f32) -> f32 {
///     (1.0 + (-x).fast_exp()).fast_recip()
/// }
/// assert!((sigmoid(0.0) - 0.5).abs() < 1e-6);
/// ```
pub trait FastMath: Copy + sealed::Sealed {
    /// e to the power of `self` (`ex2.approx` of a product).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((1.0_f32.fast_exp() - 2.718_282).abs() < 1e-5);
    /// ```
    #[doc(alias = "__expf")]
    fn fast_exp(self) -> Self;

    /// 2 to the power of `self` (`ex2.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((3.0_f32.fast_exp2() - 8.0).abs() < 1e-5);
    /// ```
    #[doc(alias("exp2f", "ex2.approx"))]
    fn fast_exp2(self) -> Self;

    /// The natural logarithm (`lg2.approx`, multiplied).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(1.0_f32.fast_ln().abs() < 1e-6);
    /// ```
    #[doc(alias = "__logf")]
    fn fast_ln(self) -> Self;

    /// The logarithm to base 2 (`lg2.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((8.0_f32.fast_log2() - 3.0).abs() < 1e-6);
    /// ```
    #[doc(alias("__log2f", "lg2.approx"))]
    fn fast_log2(self) -> Self;

    /// The sine (`sin.approx`); good near 0, poor beyond a few turns.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(0.0_f32.fast_sin().abs() < 1e-6);
    /// ```
    #[doc(alias = "__sinf")]
    fn fast_sin(self) -> Self;

    /// The cosine (`cos.approx`); good near 0, poor beyond a few turns.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((0.0_f32.fast_cos() - 1.0).abs() < 1e-6);
    /// ```
    #[doc(alias = "__cosf")]
    fn fast_cos(self) -> Self;

    /// The hyperbolic tangent (`tanh.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(0.0_f32.fast_tanh().abs() < 1e-6);
    /// ```
    #[doc(alias("__tanhf", "tanh.approx"))]
    fn fast_tanh(self) -> Self;

    /// The reciprocal (`rcp.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((4.0_f32.fast_recip() - 0.25).abs() < 1e-6);
    /// ```
    #[doc(alias("__frcp_rn", "rcp.approx"))]
    fn fast_recip(self) -> Self;

    /// The reciprocal of the square root (`rsqrt.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((4.0_f32.rsqrt() - 0.5).abs() < 1e-6);
    /// ```
    #[doc(alias("rsqrtf", "__frsqrt_rn"))]
    fn rsqrt(self) -> Self;
}

/// One unary `f32` instruction.
#[cfg(target_arch = "nvptx64")]
macro_rules! approximate {
    ($instruction:literal, $x:expr) => {{
        let out: f32;
        // SAFETY: the instruction computes on registers and touches no memory.
        unsafe {
            core::arch::asm!(
                concat!($instruction, " {0}, {1};"),
                out(reg32) out,
                in(reg32) $x,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        out
    }};
}

#[cfg(target_arch = "nvptx64")]
impl FastMath for f32 {
    #[inline(always)]
    fn fast_exp(self) -> Self {
        approximate!("ex2.approx.f32", self * core::f32::consts::LOG2_E)
    }
    #[inline(always)]
    fn fast_exp2(self) -> Self {
        approximate!("ex2.approx.f32", self)
    }
    #[inline(always)]
    fn fast_ln(self) -> Self {
        approximate!("lg2.approx.f32", self) * core::f32::consts::LN_2
    }
    #[inline(always)]
    fn fast_log2(self) -> Self {
        approximate!("lg2.approx.f32", self)
    }
    #[inline(always)]
    fn fast_sin(self) -> Self {
        approximate!("sin.approx.f32", self)
    }
    #[inline(always)]
    fn fast_cos(self) -> Self {
        approximate!("cos.approx.f32", self)
    }
    #[inline(always)]
    fn fast_tanh(self) -> Self {
        approximate!("tanh.approx.f32", self)
    }
    #[inline(always)]
    fn fast_recip(self) -> Self {
        approximate!("rcp.approx.f32", self)
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        approximate!("rsqrt.approx.f32", self)
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl FastMath for f32 {
    fn fast_exp(self) -> Self {
        self.exp()
    }
    fn fast_exp2(self) -> Self {
        self.exp2()
    }
    fn fast_ln(self) -> Self {
        self.ln()
    }
    fn fast_log2(self) -> Self {
        self.log2()
    }
    fn fast_sin(self) -> Self {
        self.sin()
    }
    fn fast_cos(self) -> Self {
        self.cos()
    }
    fn fast_tanh(self) -> Self {
        self.tanh()
    }
    fn fast_recip(self) -> Self {
        self.recip()
    }
    fn rsqrt(self) -> Self {
        f32::sqrt(self).recip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both<T: FloatMath>(x: T) -> [T; 2] {
        [x.floor(), x.round_ties_even()]
    }

    #[test]
    fn the_host_computes_as_std_does() {
        assert_eq!(both(2.5_f32), [2.0, 2.0]);
        assert_eq!(both(-0.75_f64), [-1.0, -1.0]);
        assert_eq!(FloatMath::mul_add(2.0_f32, 3.0, 1.0), 7.0);
        assert_eq!(4.0_f32.rsqrt(), 0.5);
    }
}
