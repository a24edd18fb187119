//! Approximations that the special function unit computes.

use super::sealed;

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
    #[doc(alias("ex2.approx", "ex2_approx_f32"))]
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
    #[doc(alias("__log2f", "lg2.approx", "lg2_approx_f32"))]
    fn fast_log2(self) -> Self;

    /// The logarithm to base 10 (`lg2.approx`, multiplied).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((100.0_f32.fast_log10() - 2.0).abs() < 1e-6);
    /// ```
    #[doc(alias = "__log10f")]
    fn fast_log10(self) -> Self;

    /// `self`, which is not negative, to the power of `n` (`ex2.approx` of `lg2.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((9.0_f32.fast_powf(0.5) - 3.0).abs() < 1e-5);
    /// ```
    #[doc(alias = "__powf")]
    fn fast_powf(self, n: Self) -> Self;

    /// The quotient (`div.approx`); 0 where `by` is beyond 2^126.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((1.0_f32.fast_div(4.0) - 0.25).abs() < 1e-6);
    /// ```
    #[doc(alias("__fdividef", "div.approx"))]
    fn fast_div(self, by: Self) -> Self;

    /// The sine (`sin.approx`); good near 0, poor beyond a few turns.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(0.0_f32.fast_sin().abs() < 1e-6);
    /// ```
    #[doc(alias("__sinf", "sin_approx_f32"))]
    fn fast_sin(self) -> Self;

    /// The cosine (`cos.approx`); good near 0, poor beyond a few turns.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((0.0_f32.fast_cos() - 1.0).abs() < 1e-6);
    /// ```
    #[doc(alias("__cosf", "cos_approx_f32"))]
    fn fast_cos(self) -> Self;

    /// The tangent (`sin.approx` by `cos.approx`); good near 0, poor beyond a few turns.
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(0.0_f32.fast_tan().abs() < 1e-6);
    /// ```
    #[doc(alias = "__tanf")]
    fn fast_tan(self) -> Self;

    /// The hyperbolic tangent (`tanh.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!(0.0_f32.fast_tanh().abs() < 1e-6);
    /// ```
    #[doc(alias("__tanhf", "tanh.approx", "tanh_approx_f32"))]
    fn fast_tanh(self) -> Self;

    /// The reciprocal (`rcp.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((4.0_f32.fast_recip() - 0.25).abs() < 1e-6);
    /// ```
    #[doc(alias("__frcp_rn", "rcp.approx", "rcp_approx_ftz_f32"))]
    fn fast_recip(self) -> Self;

    /// The reciprocal of the square root (`rsqrt.approx`).
    ///
    /// ```
    /// use gpuprof::FastMath;
    ///
    /// assert!((4.0_f32.rsqrt() - 0.5).abs() < 1e-6);
    /// ```
    #[doc(alias("rsqrtf", "__frsqrt_rn", "rsqrt_approx_f32"))]
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
    fn fast_log10(self) -> Self {
        approximate!("lg2.approx.f32", self) * core::f32::consts::LOG10_2
    }
    #[inline(always)]
    fn fast_powf(self, n: Self) -> Self {
        (self.fast_log2() * n).fast_exp2()
    }
    #[inline(always)]
    fn fast_div(self, by: Self) -> Self {
        let out: f32;
        // SAFETY: the instruction computes on registers and touches no memory.
        unsafe {
            core::arch::asm!(
                "div.approx.f32 {0}, {1}, {2};",
                out(reg32) out,
                in(reg32) self,
                in(reg32) by,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        out
    }
    #[inline(always)]
    fn fast_tan(self) -> Self {
        self.fast_sin().fast_div(self.fast_cos())
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
    fn fast_log10(self) -> Self {
        self.log10()
    }
    fn fast_powf(self, n: Self) -> Self {
        self.powf(n)
    }
    fn fast_div(self, by: Self) -> Self {
        self / by
    }
    fn fast_tan(self) -> Self {
        self.tan()
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
