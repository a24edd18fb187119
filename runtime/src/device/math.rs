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
pub trait FloatMath: Copy + sealed::Sealed {
    /// The square root (`sqrt.rn`).
    fn sqrt(self) -> Self;

    /// `self * a + b` with one rounding (`fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The largest whole number not above `self` (`cvt.rmi`).
    fn floor(self) -> Self;

    /// The smallest whole number not below `self` (`cvt.rpi`).
    fn ceil(self) -> Self;

    /// The whole part (`cvt.rzi`).
    fn trunc(self) -> Self;

    /// The nearest whole number, halves to even (`cvt.rni`).
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
pub trait FastMath: Copy + sealed::Sealed {
    /// e to the power of `self` (`ex2.approx` of a product).
    fn fast_exp(self) -> Self;

    /// 2 to the power of `self` (`ex2.approx`).
    fn fast_exp2(self) -> Self;

    /// The natural logarithm (`lg2.approx`, multiplied).
    fn fast_ln(self) -> Self;

    /// The logarithm to base 2 (`lg2.approx`).
    fn fast_log2(self) -> Self;

    /// The sine (`sin.approx`); good near 0, poor beyond a few turns.
    fn fast_sin(self) -> Self;

    /// The cosine (`cos.approx`); good near 0, poor beyond a few turns.
    fn fast_cos(self) -> Self;

    /// The hyperbolic tangent (`tanh.approx`).
    fn fast_tanh(self) -> Self;

    /// The reciprocal (`rcp.approx`).
    fn fast_recip(self) -> Self;

    /// The reciprocal of the square root (`rsqrt.approx`).
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
