//! Numbers from annotation expressions, converted to parameter types without losing anything.

use std::fmt;

use crate::host::error::{Error, Result};
use crate::{bf16, f16};

/// The value of an annotation expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// From an integer expression.
    Int(i128),
    /// From a floating-point expression.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// Numbers in the types of users: every integer of up to 64 bits, `f32` and `f64`.
///
/// ```
/// use gpuprof::{IntoNumber, Result, Run};
///
/// /// `bytes` may be the result of arithmetic on lengths or on axes: a `usize` or a `u64`.
/// fn declare(run: &mut Run<'_>, bytes: impl IntoNumber) -> Result<()> {
///     run.bytes(bytes)
/// }
/// ```
pub trait IntoNumber {
    /// The value.
    #[doc(hidden)]
    fn into_number(self) -> Number;
}

/// Types that kernel parameters may have.
pub trait Scalar: Copy + 'static {
    /// The type's name.
    const NAME: &'static str;

    /// The value as this type, if it can hold it.
    fn from_number(number: Number) -> Option<Self>;

    /// The bytes the launch passes.
    fn bytes(self) -> Vec<u8>;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl IntoNumber for $t {
            fn into_number(self) -> Number { Number::Int(self as i128) }
        }
        impl Scalar for $t {
            const NAME: &'static str = stringify!($t);
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Int(value) => value.try_into().ok(),
                    Number::Float(_) => None,
                }
            }
            fn bytes(self) -> Vec<u8> { self.to_ne_bytes().to_vec() }
        }
    )*};
}
integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl IntoNumber for $t {
            fn into_number(self) -> Number { Number::Float(self.into()) }
        }
        impl Scalar for $t {
            const NAME: &'static str = stringify!($t);
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Int(value) => Some(value as $t),
                    Number::Float(value) => Some(value as $t),
                }
            }
            fn bytes(self) -> Vec<u8> { self.to_ne_bytes().to_vec() }
        }
    )*};
}
floats!(f32 f64);

macro_rules! halves {
    ($($t:ident)*) => {$(
        impl IntoNumber for $t {
            fn into_number(self) -> Number { Number::Float(self.to_f64()) }
        }
        impl Scalar for $t {
            const NAME: &'static str = stringify!($t);
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Int(value) => Some(Self::from_f64(value as f64)),
                    Number::Float(value) => Some(Self::from_f64(value)),
                }
            }
            fn bytes(self) -> Vec<u8> { self.to_bits().to_ne_bytes().to_vec() }
        }
        // SAFETY: a half is its 16 bits, on the device as here.
        unsafe impl cudarc::driver::DeviceRepr for $t {}
        // SAFETY: the bits 0 are the number 0.
        unsafe impl cudarc::driver::ValidAsZeroBits for $t {}
    )*};
}
halves!(f16 bf16);

/// The value of `expression` as a `T`.
///
/// # Errors
/// A value that `T` cannot hold; `name` is the subject of the message.
pub(crate) fn convert<T: Scalar>(name: &str, expression: impl IntoNumber) -> Result<T> {
    let number = expression.into_number();
    T::from_number(number).ok_or_else(|| {
        Error::invalid(format!("`{name}` is {number}, which does not fit in {}", T::NAME))
    })
}

/// The value of `expression` as an amount.
///
/// # Errors
/// As [`convert`]; and a difference of unsigned axes that fell below 0, which release builds let
/// wrap around.
pub(crate) fn amount(name: &str, expression: impl IntoNumber) -> Result<u64> {
    let amount: u64 = convert(name, expression)?;
    match amount.cast_signed() {
        0.. => Ok(amount),
        below => Err(Error::invalid(format!("`{name}` is {below}: its expression falls below 0"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_amount_is_refused() {
        assert_eq!(amount("bytes", 7_u64).unwrap(), 7);
        let error = amount("bytes", 256_u64.wrapping_sub(1000)).unwrap_err();
        assert_eq!(error.to_string(), "`bytes` is -744: its expression falls below 0");
        assert!(error.is_refusal());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert_eq!(convert::<u32>("n", 7_u64).unwrap(), 7);
        assert_eq!(convert::<f32>("a", 2.0).unwrap(), 2.0);
        assert_eq!(convert::<f32>("a", 3_u64).unwrap(), 3.0);
        let error = convert::<u32>("n", 1_u64 << 33).unwrap_err();
        assert_eq!(error.to_string(), "`n` is 8589934592, which does not fit in u32");
        assert!(error.is_refusal());
        assert!(convert::<u8>("n", -1).is_err());
        assert!(convert::<u32>("n", 1.5).is_err());
    }
}
