//! Arithmetic of an annotation's expressions, which must not wrap: a harness is built without
//! overflow checks, and a grid of `(n - 64).div_ceil(block)` blocks would be some other number.
//!
//! Input: both operands, the key and the part of its expression as it is written. Output: the
//! result, or why there is none: the configuration is then invalid.

use std::fmt::{Arguments, Display};

use crate::host::error::{Error, Result};
use crate::host::values::number::{IntoNumber, Number};

/// Numbers with arithmetic that detects results that do not fit.
#[diagnostic::on_unimplemented(
    message = "an annotation calculates with Rust's numbers only, and `{Self}` is none",
    note = "compute it in a function, and call that"
)]
pub trait CheckedNumber: Copy + Display {
    /// The type's name.
    const NAME: &'static str;
    /// Whether the type has numbers below 0.
    const SIGNED: bool;

    /// The sum, if the type can hold it.
    fn sum(self, other: Self) -> Option<Self>;
    /// The difference, if the type can hold it.
    fn difference(self, other: Self) -> Option<Self>;
    /// The product, if the type can hold it.
    fn product(self, other: Self) -> Option<Self>;
    /// The quotient, unless it is by 0.
    fn quotient(self, other: Self) -> Option<Self>;
    /// The remainder of a division, unless it is by 0.
    fn rest(self, other: Self) -> Option<Self>;
}

/// Whole numbers, with bits that can be shifted.
#[diagnostic::on_unimplemented(
    message = "an annotation shifts Rust's whole numbers only, and `{Self}` is none",
    note = "compute it in a function, and call that"
)]
pub trait CheckedInteger: CheckedNumber {
    /// Times a power of two, if the type can hold it.
    fn left(self, by: u32) -> Option<Self>;
    /// Divided by a power of two, if the type has that many bits.
    fn right(self, by: u32) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl CheckedNumber for $t {
            const NAME: &'static str = stringify!($t);
            const SIGNED: bool = $t::MIN != 0;
            fn sum(self, other: Self) -> Option<Self> { self.checked_add(other) }
            fn difference(self, other: Self) -> Option<Self> { self.checked_sub(other) }
            fn product(self, other: Self) -> Option<Self> { self.checked_mul(other) }
            fn quotient(self, other: Self) -> Option<Self> { self.checked_div(other) }
            fn rest(self, other: Self) -> Option<Self> { self.checked_rem(other) }
        }
        impl CheckedInteger for $t {
            fn left(self, by: u32) -> Option<Self> {
                self.checked_shl(by).filter(|shifted| shifted >> by == self)
            }
            fn right(self, by: u32) -> Option<Self> { self.checked_shr(by) }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl CheckedNumber for $t {
            const NAME: &'static str = stringify!($t);
            const SIGNED: bool = true;
            fn sum(self, other: Self) -> Option<Self> { Some(self + other) }
            fn difference(self, other: Self) -> Option<Self> { Some(self - other) }
            fn product(self, other: Self) -> Option<Self> { Some(self * other) }
            fn quotient(self, other: Self) -> Option<Self> { Some(self / other) }
            fn rest(self, other: Self) -> Option<Self> { Some(self % other) }
        }
    )*};
}
floats!(f32 f64);

/// A part of an expression: its key, and its text.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionPart {
    /// The key or the parameter.
    pub key: &'static str,
    /// The part as it is written.
    pub text: &'static str,
}

impl ExpressionPart {
    fn refused(self, why: &str, calculation: Arguments<'_>) -> Error {
        let Self { key, text } = self;
        Error::invalid(format!(
            "`{key}`: `{text}` {why}: {calculation}; a `where` in the series leaves such configurations out"
        ))
    }

    fn too_large<T: CheckedNumber>(self, calculation: Arguments<'_>) -> Error {
        let Self { key, text } = self;
        Error::invalid(format!(
            "`{key}`: `{text}` is more than {} can hold: {calculation}; check the axes, or write smaller \
             types `as u64`",
            T::NAME
        ))
    }
}

/// `a + b`.
///
/// # Errors
/// A sum that the type cannot hold.
pub fn add<T: CheckedNumber>(part: ExpressionPart, a: T, b: T) -> Result<T> {
    a.sum(b).ok_or_else(|| part.too_large::<T>(format_args!("{a} + {b}")))
}

/// `a - b`.
///
/// # Errors
/// A difference that the type cannot hold.
pub fn subtract<T: CheckedNumber>(part: ExpressionPart, a: T, b: T) -> Result<T> {
    a.difference(b).ok_or_else(|| {
        if T::SIGNED {
            part.too_large::<T>(format_args!("{a} - {b}"))
        } else {
            part.refused("falls below 0", format_args!("{a} - {b}"))
        }
    })
}

/// `a * b`.
///
/// # Errors
/// A product that the type cannot hold.
pub fn multiply<T: CheckedNumber>(part: ExpressionPart, a: T, b: T) -> Result<T> {
    a.product(b).ok_or_else(|| part.too_large::<T>(format_args!("{a} * {b}")))
}

/// `a / b`.
///
/// # Errors
/// A division of whole numbers by 0.
pub fn divide<T: CheckedNumber>(part: ExpressionPart, a: T, b: T) -> Result<T> {
    a.quotient(b).ok_or_else(|| part.refused("divides by 0", format_args!("{a} / {b}")))
}

/// `a % b`.
///
/// # Errors
/// A division of whole numbers by 0.
pub fn remainder<T: CheckedNumber>(part: ExpressionPart, a: T, b: T) -> Result<T> {
    a.rest(b).ok_or_else(|| part.refused("divides by 0", format_args!("{a} % {b}")))
}

/// `a << b`.
///
/// # Errors
/// A result that the type cannot hold.
pub fn shift_left<T: CheckedInteger>(part: ExpressionPart, a: T, b: impl IntoNumber) -> Result<T> {
    let by = b.into_number();
    bits(by)
        .and_then(|by| a.left(by))
        .ok_or_else(|| part.too_large::<T>(format_args!("{a} << {by}")))
}

/// `a >> b`.
///
/// # Errors
/// More bits than the type has.
pub fn shift_right<T: CheckedInteger>(part: ExpressionPart, a: T, b: impl IntoNumber) -> Result<T> {
    let by = b.into_number();
    bits(by).and_then(|by| a.right(by)).ok_or_else(|| {
        part.refused("shifts by more bits than there are", format_args!("{a} >> {by}"))
    })
}

fn bits(by: Number) -> Option<u32> {
    match by {
        Number::Int(by) => by.try_into().ok(),
        Number::Float(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: ExpressionPart = ExpressionPart { key: "grid", text: "n OP m" };

    #[test]
    fn values_that_fit_are_converted_as_by_rust() {
        assert_eq!(multiply(PART, 3, add(PART, 1_u64, 2).unwrap()).unwrap(), 9);
        assert_eq!(multiply(PART, 1e300, 10.0).unwrap(), 1e301);
        assert_eq!(subtract(PART, 3, 5).unwrap(), -2);
        assert_eq!(divide(PART, 1.0, 0.0).unwrap(), f64::INFINITY);
        assert_eq!(remainder(PART, 7_u8, 4).unwrap(), 3);
        assert_eq!(shift_left(PART, -3_i8, 5).unwrap(), -96);
        assert_eq!(shift_right(PART, 96_u64, 5_u8).unwrap(), 3);
    }

    #[test]
    fn values_that_do_not_fit_make_the_configuration_invalid() {
        fn refused<T: CheckedNumber>(result: Result<T>) -> String {
            let error = result.err().unwrap();
            assert!(error.is_refusal());
            error.to_string()
        }
        assert_eq!(
            refused(subtract(PART, 32_u64, 64)),
            "`grid`: `n OP m` falls below 0: 32 - 64; a `where` in the series leaves such \
             configurations out"
        );
        assert_eq!(
            refused(shift_left(PART, 1, 40_u64)),
            "`grid`: `n OP m` is more than i32 can hold: 1 << 40; check the axes, or write smaller \
             types `as u64`"
        );
        for (refused, values) in [
            (refused(add(PART, u32::MAX, 1)), "4294967295 + 1;"),
            (refused(subtract(PART, i8::MIN, 1)), "more than i8 can hold: -128 - 1;"),
            (refused(multiply(PART, 1_u64 << 61, 12)), "2305843009213693952 * 12;"),
            (refused(divide(PART, 4_u64, 0)), "divides by 0: 4 / 0;"),
            (refused(remainder(PART, 4_u64, 0)), "divides by 0: 4 % 0;"),
            (refused(shift_left(PART, 3_u8, 7)), "more than u8 can hold: 3 << 7;"),
            (refused(shift_left(PART, 1_u64, -1)), "1 << -1;"),
            (refused(shift_right(PART, 1_u8, 8)), "more bits than there are: 1 >> 8;"),
        ] {
            assert!(refused.contains(values), "{refused}");
        }
    }
}
