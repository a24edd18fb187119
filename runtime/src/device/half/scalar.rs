//! One half.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

#[cfg(not(target_arch = "nvptx64"))]
use super::on_host;

/// The `f32` towards zero from `value`, with an odd last bit if it is not `value` itself: rounding
/// it to a half gives the same as rounding `value` (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums", 2008).
#[cfg(any(target_arch = "nvptx64", test))]
#[inline]
pub(super) fn odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() {
        return near;
    }
    let bits = near.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(bits | 1)
}

/// One instruction on 16-bit registers: `d` of the named sources.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ($text:literal, $($name:ident = $value:expr),*) => {{
        let d: u16;
        // SAFETY: the instruction computes on registers.
        unsafe {
            core::arch::asm!(
                $text,
                $($name = in(reg16) $value,)*
                d = out(reg16) d,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self(d)
    }};
}

macro_rules! half {
    (
        $(#[$docs:meta])*
        $name:ident, $layout:ident;
        one = $one:literal, max = $max:literal, min_positive = $min_positive:literal,
        epsilon = $epsilon:literal, infinity = $infinity:literal;
        add = |$add_a:ident, $add_b:ident| $add:expr;
        sub = |$sub_a:ident, $sub_b:ident| $sub:expr;
        mul = |$mul_a:ident, $mul_b:ident| $mul:expr;
        mul_add = $mul_add:literal, min = $min:literal, max_of = $max_of:literal;
        from_f32 = $from_f32:literal, to_f32 = |$wide:ident| $to_f32:expr;
    ) => {
        $(#[$docs])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u16);

        impl $name {
            /// 0.
            pub const ZERO: Self = Self(0);
            /// 1.
            pub const ONE: Self = Self($one);
            /// The largest finite number.
            pub const MAX: Self = Self($max);
            /// The smallest finite number.
            pub const MIN: Self = Self($max | 0x8000);
            /// The smallest positive normal number.
            pub const MIN_POSITIVE: Self = Self($min_positive);
            /// The difference of 1 and the next larger number.
            pub const EPSILON: Self = Self($epsilon);
            /// ∞.
            pub const INFINITY: Self = Self($infinity);
            /// −∞.
            pub const NEG_INFINITY: Self = Self($infinity | 0x8000);
            /// Not a number, as operations give it.
            pub const NAN: Self = Self(0x7fff);

            /// The number of these bits.
            #[inline(always)]
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }

            /// The number's bits.
            #[inline(always)]
            pub const fn to_bits(self) -> u16 {
                self.0
            }

            /// The nearest number; of two equally near ones, the even.
            #[doc(alias("__float2half", "__float2bfloat16"))]
            #[inline(always)]
            pub fn from_f32(value: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let d: u16;
                    // SAFETY: the instruction computes on registers.
                    unsafe {
                        core::arch::asm!(
                            $from_f32,
                            a = in(reg32) value,
                            d = out(reg16) d,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    Self(d)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self(on_host::$layout.round(f64::from(value)))
            }

            /// The same number as an `f32`.
            #[doc(alias("__half2float", "__bfloat162float"))]
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                #[cfg(target_arch = "nvptx64")]
                {
                    let $wide = self.0;
                    $to_f32
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    on_host::$layout.value(self.0) as f32
                }
            }

            /// The same number as an `f64`.
            #[inline(always)]
            pub fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }

            /// `self × a + b`, rounded once: one instruction.
            #[doc(alias("__hfma", "fma.rn"))]
            #[must_use]
            #[inline(always)]
            pub fn mul_add(self, a: Self, b: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($mul_add, a = self.0, b = a.0, c = b.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self(on_host::$layout.mul_add(self.0, a.0, b.0))
            }

            /// The smaller number; the other one where one is not a number.
            #[doc(alias = "__hmin")]
            #[must_use]
            #[inline(always)]
            pub fn min(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($min, a = self.0, b = other.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.least(other, Ordering::is_le)
            }

            /// The larger number; the other one where one is not a number.
            #[doc(alias = "__hmax")]
            #[must_use]
            #[inline(always)]
            pub fn max(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    instruction!($max_of, a = self.0, b = other.0)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.least(other, Ordering::is_ge)
            }

            /// The value that comes first by `is_first`; −0 is below 0.
            #[cfg(not(target_arch = "nvptx64"))]
            fn least(self, other: Self, is_first: fn(Ordering) -> bool) -> Self {
                match (self.is_nan(), other.is_nan()) {
                    (true, true) => Self::NAN,
                    (true, false) => other,
                    (false, true) => self,
                    (false, false) if is_first(self.to_f32().total_cmp(&other.to_f32())) => self,
                    (false, false) => other,
                }
            }

            /// The square root.
            #[doc(alias = "hsqrt")]
            #[must_use]
            #[inline(always)]
            pub fn sqrt(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                use crate::FloatMath;
                Self::from_f32(self.to_f32().sqrt())
            }

            /// The number without its sign.
            #[doc(alias = "__habs")]
            #[must_use]
            #[inline(always)]
            pub const fn abs(self) -> Self {
                Self(self.0 & 0x7fff)
            }

            /// Whether it is not a number.
            #[doc(alias = "__hisnan")]
            #[inline(always)]
            pub const fn is_nan(self) -> bool {
                self.0 & 0x7fff > $infinity
            }

            /// Whether it is ∞ or −∞.
            #[doc(alias = "__hisinf")]
            #[inline(always)]
            pub const fn is_infinite(self) -> bool {
                self.0 & 0x7fff == $infinity
            }

            /// Whether it is a number and not infinite.
            #[inline(always)]
            pub const fn is_finite(self) -> bool {
                self.0 & 0x7fff < $infinity
            }
        }

        impl $name {
            /// The nearest number, rounded once; of two equally near ones, the even.
            #[doc(alias("__double2half", "__double2bfloat16"))]
            #[inline]
            pub fn from_f64(value: f64) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    Self::from_f32(odd(value))
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self(on_host::$layout.round(value))
            }
        }

        impl Add for $name {
            type Output = Self;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let ($add_a, $add_b) = (self.0, other.0);
                    $add
                }
                // The sum of two halves in an `f32` rounds as one of an `f64` would.
                #[cfg(not(target_arch = "nvptx64"))]
                Self::from_f32(self.to_f32() + other.to_f32())
            }
        }

        impl Sub for $name {
            type Output = Self;

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let ($sub_a, $sub_b) = (self.0, other.0);
                    $sub
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::from_f32(self.to_f32() - other.to_f32())
            }
        }

        impl Mul for $name {
            type Output = Self;

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let ($mul_a, $mul_b) = (self.0, other.0);
                    $mul
                }
                #[cfg(not(target_arch = "nvptx64"))]
                Self::from_f64(self.to_f64() * other.to_f64())
            }
        }

        impl Div for $name {
            type Output = Self;

            /// By way of `f32`, since its quotient rounds to the right half.
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self::from_f32(self.to_f32() / other.to_f32())
            }
        }

        impl Neg for $name {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                Self(self.0 ^ 0x8000)
            }
        }

        half!(@assign $name AddAssign add_assign +, SubAssign sub_assign -,
            MulAssign mul_assign *, DivAssign div_assign /);

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl From<$name> for f32 {
            #[inline(always)]
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        impl From<$name> for f64 {
            #[inline(always)]
            fn from(value: $name) -> Self {
                value.to_f64()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    };
    (@assign $name:ident $($trait:ident $method:ident $operator:tt),*) => {$(
        impl $trait for $name {
            #[inline(always)]
            fn $method(&mut self, other: Self) {
                *self = *self $operator other;
            }
        }
    )*};
}

half! {
    /// A number of half precision, IEEE's binary16: 11 significant bits, up to 65,504.
    ///
    /// ```
    /// use gpuprof::f16;
    ///
    /// let third = f16::ONE / f16::from_f32(3.0);
    /// assert_eq!(third.to_f32(), 0.333_251_95);
    /// assert_eq!(f16::MAX + f16::MAX, f16::INFINITY);
    /// assert_eq!(f16::from_f32(1.5).mul_add(f16::from_f32(2.0), f16::ONE).to_f32(), 4.0);
    /// ```
    #[doc(alias("half", "__half"))]
    f16, F16;
    one = 0x3c00, max = 0x7bff, min_positive = 0x0400, epsilon = 0x1400, infinity = 0x7c00;
    add = |a, b| instruction!("add.rn.f16 {d}, {a}, {b};", a = a, b = b);
    sub = |a, b| instruction!("sub.rn.f16 {d}, {a}, {b};", a = a, b = b);
    mul = |a, b| instruction!("mul.rn.f16 {d}, {a}, {b};", a = a, b = b);
    mul_add = "fma.rn.f16 {d}, {a}, {b}, {c};",
    min = "min.f16 {d}, {a}, {b};",
    max_of = "max.f16 {d}, {a}, {b};";
    from_f32 = "cvt.rn.f16.f32 {d}, {a};",
    to_f32 = |a| {
        let d: f32;
        // SAFETY: the instruction computes on registers.
        unsafe {
            core::arch::asm!(
                "cvt.f32.f16 {d}, {a};",
                a = in(reg16) a,
                d = out(reg32) d,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        d
    };
}

// Before sm_90 there is only the fused instruction.
half! {
    /// A number of 8 significant bits over the range of `f32`: the upper half of one.
    ///
    /// ```
    /// use gpuprof::bf16;
    ///
    /// assert_eq!(bf16::from_f32(1.001).to_f32(), 1.0);
    /// assert_eq!(bf16::from_f32(1e38) * bf16::from_f32(10.0), bf16::INFINITY);
    /// assert_eq!(bf16::ONE + bf16::EPSILON, bf16::from_f32(1.0078125));
    /// ```
    #[doc(alias("__nv_bfloat16", "bfloat16"))]
    bf16, BF16;
    one = 0x3f80, max = 0x7f7f, min_positive = 0x0080, epsilon = 0x3c00, infinity = 0x7f80;
    add = |a, b| instruction!("fma.rn.bf16 {d}, {a}, {c}, {b};", a = a, b = b, c = 0x3f80_u16);
    sub = |a, b| instruction!("fma.rn.bf16 {d}, {b}, {c}, {a};", a = a, b = b, c = 0xbf80_u16);
    mul = |a, b| instruction!("fma.rn.bf16 {d}, {a}, {b}, {c};", a = a, b = b, c = 0x8000_u16);
    mul_add = "fma.rn.bf16 {d}, {a}, {b}, {c};",
    min = "min.bf16 {d}, {a}, {b};",
    max_of = "max.bf16 {d}, {a}, {b};";
    from_f32 = "cvt.rn.bf16.f32 {d}, {a};",
    to_f32 = |a| f32::from_bits(u32::from(a) << 16);
}
