//! Extents of blocks and grids, from whatever integers the user has.

use crate::host::error::{Error, Result};
use crate::host::values::number::{IntoNumber, Number};

/// Extents in x, y and z: CUDA's `dim3`, as wide as the arithmetic that users do with them.
///
/// ```
/// use gpuprof::Extent;
///
/// let block = Extent { x: 32, y: 8, z: 1 };
/// let grid = (1024_u64.div_ceil(block.x), 1024_u64.div_ceil(block.y));
/// assert_eq!(grid, (32, 128));
/// ```
#[doc(alias = "dim3")]
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
    /// An extent of zero or above 32 bits, named with `what`: the launch cannot exist. A value near
    /// 2^64 is reported as the negative number of the expression.
    pub(crate) fn launch(self, what: &str) -> Result<[u32; 3]> {
        let mut out = [0; 3];
        for ((slot, value), name) in
            out.iter_mut().zip([self.x, self.y, self.z]).zip(["x", "y", "z"])
        {
            *slot = u32::try_from(value).ok().filter(|&v| v > 0).ok_or_else(|| {
                let below = value.cast_signed();
                let value = match below {
                    0.. => value.to_string(),
                    _ => format!("{below}: its expression falls below 0"),
                };
                Error::invalid(format!("the {what} has the {name} extent {value}"))
            })?;
        }
        Ok(out)
    }
}

/// Integers, and pairs and triples of them, as extents.
///
/// ```
/// use gpuprof::{Result, Run};
///
/// /// One block a tile: a pair is an extent in x and y.
/// fn set_grid(run: &mut Run<'_>, columns: u64, rows: u64) -> Result<()> {
///     run.grid((columns.div_ceil(32), rows.div_ceil(8)))
/// }
/// ```
pub trait IntoExtent {
    /// The extents; `what` names them in the error.
    ///
    /// # Errors
    /// A number that is negative or not whole.
    ///
    /// ```
    /// use gpuprof::{Extent, IntoExtent, Result};
    ///
    /// /// An image, covered by blocks of 16 by 16.
    /// struct Image {
    ///     width: u32,
    ///     height: u32,
    /// }
    ///
    /// impl IntoExtent for Image {
    ///     fn into_extent(self, what: &str) -> Result<Extent> {
    ///         (self.width.div_ceil(16), self.height.div_ceil(16)).into_extent(what)
    ///     }
    /// }
    ///
    /// let grid = Image { width: 640, height: 480 }.into_extent("grid")?;
    /// assert_eq!(grid, Extent { x: 40, y: 30, z: 1 });
    /// assert_eq!((-1).into_extent("grid").unwrap_err().to_string(), "the grid has the extent -1");
    /// # Ok::<(), gpuprof::Error>(())
    /// ```
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_below_zero_is_reported_with_its_value() {
        let told = |x: u64| Extent { x, y: 1, z: 1 }.launch("grid").unwrap_err().to_string();
        let below = 0_u64.wrapping_sub(5376);
        assert_eq!(told(below), "the grid has the x extent -5376: its expression falls below 0");
        assert_eq!(told(0), "the grid has the x extent 0");
        assert_eq!(told(1 << 32), "the grid has the x extent 4294967296");
    }
}
