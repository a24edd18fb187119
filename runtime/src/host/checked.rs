//! Arithmetic of `bytes` and `flops` that does not wrap.

use super::error::Error;

/// Numbers that can be added and multiplied, or cannot where the result does not fit.
pub trait Checked: Sized {
    /// The sum, where the type can hold it.
    fn add(self, other: Self) -> Option<Self>;

    /// The product, where the type can hold it.
    fn multiply(self, other: Self) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Checked for $t {
            fn add(self, other: Self) -> Option<Self> { self.checked_add(other) }
            fn multiply(self, other: Self) -> Option<Self> { self.checked_mul(other) }
        }
    )*};
}
integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Checked for $t {
            fn add(self, other: Self) -> Option<Self> { Some(self + other) }
            fn multiply(self, other: Self) -> Option<Self> { Some(self * other) }
        }
    )*};
}
floats!(f32 f64);

/// `a + b`.
pub fn add<T: Checked>(a: T, b: T) -> Option<T> {
    a.add(b)
}

/// `a * b`.
pub fn multiply<T: Checked>(a: T, b: T) -> Option<T> {
    a.multiply(b)
}

/// The amount `key`, of which the part `expression` does not fit.
pub fn overflow(key: &str, expression: &str) -> Error {
    Error::invalid(format!(
        "`{key}`: `{expression}` is more than its type can hold; check the axes, and write smaller \
         types `as u64`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_none() {
        assert_eq!(multiply(1_u64 << 61, 12), None);
        assert_eq!(add(u32::MAX, 1), None);
        assert_eq!(multiply(3, add(1_u64, 2).unwrap()), Some(9));
        assert_eq!(multiply(1e300, 10.0), Some(1e301));
    }
}
