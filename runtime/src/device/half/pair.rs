//! Two halves in one 32-bit register.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::{bf16, f16};

/// One instruction on pairs.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($text:literal, $($name:ident = $value:expr),*) => {{
        let d: u32;
        // SAFETY: the instruction computes on registers.
        unsafe {
            core::arch::asm!(
                $text,
                $($name = in(reg32) $value,)*
                d = out(reg32) d,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self(d)
    }};
}

macro_rules! pair {
    (
        $(#[$docs:meta])*
        $name:ident of $half:ident;
        add = |$add_a:ident, $add_b:ident| $add:expr;
        sub = |$sub_a:ident, $sub_b:ident| $sub:expr;
        mul = |$mul_a:ident, $mul_b:ident| $mul:expr;
        mul_add = $mul_add:literal, min = $min:literal, max = $max:literal;
        from_f32 = $from_f32:literal;
    ) => {
        $(#[$docs])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// A pair of `low`, which comes first in memory, and `high`.
            #[doc(alias = "__halves2half2")]
            #[inline(always)]
            pub const fn new(low: $half, high: $half) -> Self {
                Self((high.to_bits() as u32) << 16 | low.to_bits() as u32)
            }

            /// A pair of twice the same.
            #[doc(alias = "__half2half2")]
            #[inline(always)]
            pub const fn splat(both: $half) -> Self {
                Self::new(both, both)
            }

            /// The pair of these bits, the first half's lowest.
            #[inline(always)]
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// The pair's bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u32 {
                self.0
            }

            /// The half that comes first in memory.
            #[doc(alias = "__low2half")]
            #[inline(always)]
            pub const fn low(self) -> $half {
                $half::from_bits(self.0 as u16)
            }

            /// The half that comes second.
            #[doc(alias = "__high2half")]
            #[inline(always)]
            pub const fn high(self) -> $half {
                $half::from_bits((self.0 >> 16) as u16)
            }

            /// The nearest pair: one instruction.
            #[doc(alias("__floats2half2_rn", "cvt_f32x2_f16x2", "cvt_f32x2_bf16x2", "__floats2bfloat162_rn"))]
            #[inline(always)]
            pub fn from_f32s(low: f32, high: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let d: u32;
                    // SAFETY: the instruction computes on registers.
                    unsafe {
                        core::arch::asm!(
                            $from_f32,
                            low = in(reg32) low,
                            high = in(reg32) high,
                            d = out(reg32) d,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    Self(d)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::new($half::from_f32(low), $half::from_f32(high))
            }

            /// Both as `f32`, the first one first.
            #[doc(alias("__half22float2", "cvt_f32_f16x2_lo", "cvt_f32_f16x2_hi"))]
            #[inline(always)]
            pub fn to_f32s(self) -> [f32; 2] {
                [self.low().to_f32(), self.high().to_f32()]
            }

            /// `self × a + b` in both, each rounded once: one instruction.
            #[doc(alias("__hfma2", "HFMA2", "fma_f16x2", "fma_bf16x2"))]
            #[must_use]
            #[inline(always)]
            pub fn mul_add(self, a: Self, b: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($mul_add, a = self.0, b = a.0, c = b.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::new(
                    self.low().mul_add(a.low(), b.low()),
                    self.high().mul_add(a.high(), b.high()),
                )
            }

            /// The smaller of each.
            #[doc(alias("__hmin2", "min_f16x2"))]
            #[must_use]
            #[inline(always)]
            pub fn min(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($min, a = self.0, b = other.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::new(self.low().min(other.low()), self.high().min(other.high()))
            }

            /// The larger of each.
            #[doc(alias("__hmax2", "max_f16x2"))]
            #[must_use]
            #[inline(always)]
            pub fn max(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($max, a = self.0, b = other.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::new(self.low().max(other.low()), self.high().max(other.high()))
            }

            /// Both without their signs.
            #[doc(alias("__habs2", "abs_f16x2"))]
            #[must_use]
            #[inline(always)]
            pub const fn abs(self) -> Self {
                Self(self.0 & 0x7fff_7fff)
            }
        }

        pair!(@operator $name Add add AddAssign add_assign |$add_a, $add_b| $add);
        pair!(@operator $name Sub sub SubAssign sub_assign |$sub_a, $sub_b| $sub);
        pair!(@operator $name Mul mul MulAssign mul_assign |$mul_a, $mul_b| $mul);

        impl Neg for $name {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000_8000)
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.low() == other.low() && self.high() == other.high()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.low()).field(&self.high()).finish()
            }
        }
    };
    (@operator $name:ident $trait:ident $method:ident $assign:ident $assigned:ident
        |$a:ident, $b:ident| $on_device:expr) => {
        impl $trait for $name {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let ($a, $b) = (self.0, other.0);
                    $on_device
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::new(self.low().$method(other.low()), self.high().$method(other.high()))
            }
        }

        impl $assign for $name {
            #[inline(always)]
            fn $assigned(&mut self, other: Self) {
                *self = self.$method(other);
            }
        }
    };
}

pair! {
    /// Two [`f16`](struct@f16), on which an operation is one instruction.
    ///
    /// ```
    /// use gpuprof::f16x2;
    ///
    /// let (a, b) = (f16x2::from_f32s(1.0, 2.0), f16x2::from_f32s(0.5, 4.0));
    /// assert_eq!((a * b).to_f32s(), [0.5, 8.0]);
    /// assert_eq!(a.mul_add(b, a).to_f32s(), [1.5, 10.0]);
    /// ```
    #[doc(alias("half2", "__half2"))]
    f16x2 of f16;
    add = |a, b| instruction!("add.rn.f16x2 {d}, {a}, {b};", a = a, b = b);
    sub = |a, b| instruction!("sub.rn.f16x2 {d}, {a}, {b};", a = a, b = b);
    mul = |a, b| instruction!("mul.rn.f16x2 {d}, {a}, {b};", a = a, b = b);
    mul_add = "fma.rn.f16x2 {d}, {a}, {b}, {c};",
    min = "min.f16x2 {d}, {a}, {b};",
    max = "max.f16x2 {d}, {a}, {b};";
    from_f32 = "cvt.rn.f16x2.f32 {d}, {high}, {low};";
}

pair! {
    /// Two [`bf16`], on which an operation is one instruction.
    ///
    /// ```
    /// use gpuprof::{bf16, bf16x2};
    ///
    /// let a = bf16x2::new(bf16::ONE, bf16::from_f32(-3.0));
    /// assert_eq!((a + a).to_f32s(), [2.0, -6.0]);
    /// assert_eq!(a.abs().high().to_f32(), 3.0);
    /// ```
    #[doc(alias("__nv_bfloat162", "bfloat162"))]
    bf16x2 of bf16;
    add = |a, b| instruction!("fma.rn.bf16x2 {d}, {a}, {c}, {b};", a = a, b = b, c = 0x3f80_3f80);
    sub = |a, b| instruction!("fma.rn.bf16x2 {d}, {b}, {c}, {a};", a = a, b = b, c = 0xbf80_bf80_u32);
    mul = |a, b| instruction!("fma.rn.bf16x2 {d}, {a}, {b}, {c};", a = a, b = b, c = 0x8000_8000_u32);
    mul_add = "fma.rn.bf16x2 {d}, {a}, {b}, {c};",
    min = "min.bf16x2 {d}, {a}, {b};",
    max = "max.bf16x2 {d}, {a}, {b};";
    from_f32 = "cvt.rn.bf16x2.f32 {d}, {high}, {low};";
}
