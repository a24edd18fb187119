//! Extents of blocks and grids, from whatever integers the user has.

use super::error::{Error, Result};
use super::number::{IntoNumber, Number};

/// Extents in x, y and z, as wide as the arithmetic users do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The extent in x.
    pub x: u64,
    /// The extent in y.
    pub y: u64,
    /// The extent in z.
    pub z: u64,
}

impl Extent {
    /// The extents as launch parameters.
    ///
    /// # Errors
    /// An extent of zero or above 32 bits, named with `what`: the launch cannot exist.
    pub(crate) fn launch(self, what: &str) -> Result<[u32; 3]> {
        let mut out = [0; 3];
        for ((slot, value), name) in
            out.iter_mut().zip([self.x, self.y, self.z]).zip(["x", "y", "z"])
        {
            *slot = u32::try_from(value).ok().filter(|&v| v > 0).ok_or_else(|| {
                Error::invalid(format!("the {what} has the {name} extent {value}"))
            })?;
        }
        Ok(out)
    }
}

/// Integers, and pairs and triples of them, as extents.
pub trait IntoExtent {
    /// The extents; `what` names them in the error.
    ///
    /// # Errors
    /// A number that is negative or not whole.
    fn into_extent(self, what: &str) -> Result<Extent>;
}

fn whole(number: impl IntoNumber, what: &str) -> Result<u64> {
    match number.into_number() {
        Number::Int(value) => u64::try_from(value)
            .map_err(|_| Error::invalid(format!("the {what} has the extent {value}"))),
        Number::Float(value) => {
            Err(Error::failed(format!("the {what} must be whole numbers, and one is {value}")))
        }
    }
}

impl IntoExtent for Extent {
    fn into_extent(self, _what: &str) -> Result<Extent> {
        Ok(self)
    }
}

macro_rules! plain_extents {
    ($($int:ty)*) => {$(
        impl IntoExtent for $int {
            fn into_extent(self, what: &str) -> Result<Extent> {
                Ok(Extent { x: whole(self, what)?, y: 1, z: 1 })
            }
        }
    )*};
}
plain_extents!(u8 u16 u32 u64 usize i32 i64);

impl<X: IntoNumber, Y: IntoNumber> IntoExtent for (X, Y) {
    fn into_extent(self, what: &str) -> Result<Extent> {
        Ok(Extent { x: whole(self.0, what)?, y: whole(self.1, what)?, z: 1 })
    }
}

impl<X: IntoNumber, Y: IntoNumber, Z: IntoNumber> IntoExtent for (X, Y, Z) {
    fn into_extent(self, what: &str) -> Result<Extent> {
        Ok(Extent { x: whole(self.0, what)?, y: whole(self.1, what)?, z: whole(self.2, what)? })
    }
}
