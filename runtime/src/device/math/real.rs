//! The common operations of all floats, for kernels that are generic over their type.

use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::FloatMath;
use crate::{bf16, f16};

/// A float: `f16`, `bf16`, `f32` or `f64`, with its arithmetic, its mathematics and conversions.
///
/// It is the bound of a kernel with an axis of types.
///
/// ```
/// use gpuprof::prelude::*;
///
/// /// y ← a·x + y, for every float
/// #[gpuprof::kernel(
///     series(block = 64..=256, n = [1M], T = [f16, bf16, f32, f64]),
///     grid = n.div_ceil(block),
///     args(0.75, random(n), random(n)),
///     bytes = 3 * n * size_of::<T>() as u64,
///     verify = saxpy_on_host,
/// )]
/// pub fn saxpy<T: Real>(a: T, x: &[T], mut y: DisjointSlice<T>) {
///     let i = thread::index_1d();
///     if let Some(y) = y.get_mut(i) {
///         *y = a.mul_add(x[i.get()], *y);
///     }
/// }
///
/// fn saxpy_on_host<T: Real>(a: T, x: &[T], y: &mut [T]) {
///     y.iter_mut().zip(x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
/// }
/// ```
pub trait Real:
    FloatMath
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// 0.
    const ZERO: Self;

    /// 1.
    const ONE: Self;

    /// Positive infinity.
    const INFINITY: Self;

    /// Negative infinity.
    const NEG_INFINITY: Self;

    /// The distance from 1 to the next larger number.
    const EPSILON: Self;

    /// The nearest number to `value`, ties to even.
    ///
    /// ```
    /// use gpuprof::{Real, f16};
    ///
    /// fn third<T: Real>() -> T {
    ///     T::from_f32(1.0) / T::from_f32(3.0)
    /// }
    /// assert_eq!(third::<f16>().to_f32(), 0.333_251_95);
    /// ```
    fn from_f32(value: f32) -> Self;

    /// The nearest number to `value`, ties to even.
    ///
    /// ```
    /// use gpuprof::{Real, f16};
    ///
    /// assert_eq!(<f16 as Real>::from_f64(0.1).to_bits(), 0x2e66);
    /// ```
    fn from_f64(value: f64) -> Self;

    /// The nearest `f32`: the same number but for `f64`.
    ///
    /// ```
    /// use gpuprof::{Real, bf16};
    ///
    /// fn sum<T: Real>(values: &[T]) -> f32 {
    ///     values.iter().map(|value| value.to_f32()).sum()
    /// }
    /// assert_eq!(sum(&[bf16::ONE; 512]), 512.0);
    /// ```
    fn to_f32(self) -> f32;

    /// The same number as `f64`.
    ///
    /// ```
    /// use gpuprof::Real;
    ///
    /// assert_eq!(0.5_f32.to_f64(), 0.5);
    /// ```
    fn to_f64(self) -> f64;

    /// The smaller of the two; the number where the other is not a number.
    ///
    /// ```
    /// use gpuprof::Real;
    ///
    /// fn least<T: Real>(values: &[T]) -> T {
    ///     values.iter().fold(T::INFINITY, |least, value| least.min(*value))
    /// }
    /// assert_eq!(least(&[2.0, 1.0, 3.0]), 1.0);
    /// ```
    #[doc(alias("fminf", "__hmin"))]
    fn min(self, other: Self) -> Self;

    /// The larger of the two; the number where the other is not a number.
    ///
    /// ```
    /// use gpuprof::Real;
    ///
    /// fn largest<T: Real>(values: &[T]) -> T {
    ///     values.iter().fold(T::NEG_INFINITY, |largest, value| largest.max(*value))
    /// }
    /// assert_eq!(largest(&[2.0, 1.0, 3.0]), 3.0);
    /// ```
    #[doc(alias("fmaxf", "__hmax"))]
    fn max(self, other: Self) -> Self;

    /// The number without its sign.
    ///
    /// ```
    /// use gpuprof::{Real, f16};
    ///
    /// fn off<T: Real>(a: T, b: T) -> T {
    ///     (a - b).abs()
    /// }
    /// assert_eq!(off(f16::ONE, f16::from_f32(2.0)), f16::ONE);
    /// ```
    #[doc(alias("fabsf", "__habs"))]
    fn abs(self) -> Self;

    /// Whether it is not a number.
    ///
    /// ```
    /// use gpuprof::Real;
    ///
    /// fn sound<T: Real>(x: T) -> bool {
    ///     !x.is_nan()
    /// }
    /// assert!(sound(1.0_f64) && !sound(f32::NAN));
    /// ```
    #[doc(alias = "isnan")]
    fn is_nan(self) -> bool;
}

// Written with the inherent methods' paths: a method call here would be the trait's own.
macro_rules! real {
    ($($t:ident: $from_f32:expr, $from_f64:expr, $to_f32:expr, $to_f64:expr, $zero:expr, $one:expr;)*) => {$(
        impl Real for $t {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const INFINITY: Self = $t::INFINITY;
            const NEG_INFINITY: Self = $t::NEG_INFINITY;
            const EPSILON: Self = $t::EPSILON;

            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                $from_f32(value)
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                $to_f32(self)
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $t::min(self, other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
        }
    )*};
}
real! {
    f16: f16::from_f32, f16::from_f64, f16::to_f32, f16::to_f64, f16::ZERO, f16::ONE;
    bf16: bf16::from_f32, bf16::from_f64, bf16::to_f32, bf16::to_f64, bf16::ZERO, bf16::ONE;
    f32: (|value| value), (|value| value as f32), (|value| value), f64::from, 0.0, 1.0;
    f64: f64::from, (|value| value), (|value| value as f32), (|value| value), 0.0, 1.0;
}
