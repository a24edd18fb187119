//! Axis values as the types that users want them in.
//!
//! Input: the value of an axis in a configuration. Output: an integer, a text, an extent, or a
//! value of a user's type; a value that the type cannot hold is an error that names the axis.

use gpuprof_model::AxisValue;

use crate::host::error::{Error, Result};
use crate::host::values::extent::Extent;
use crate::host::values::number::convert;

/// Types that axis values convert to: integers, `String` for words, [`Extent`], and your own.
///
/// ```
/// use gpuprof::{AxisType, AxisValue, Error, Result, Run};
///
/// enum Precision {
///     Single,
///     Half,
/// }
///
/// impl AxisType for Precision {
///     fn from_axis(axis: &str, value: &AxisValue) -> Result<Self> {
///         match value.to_string().as_str() {
///             "f32" => Ok(Self::Single),
///             "f16" => Ok(Self::Half),
///             other => Err(Error::failed(format!("axis `{axis}`: unknown precision `{other}`"))),
///         }
///     }
/// }
///
/// fn bytes_of_element(run: &Run<'_>) -> Result<u64> {
///     Ok(match run.value("dtype")? {
///         Precision::Single => 4,
///         Precision::Half => 2,
///     })
/// }
/// ```
pub trait AxisType: Sized {
    /// The value of `axis` as this type.
    ///
    /// # Errors
    /// A value that the type cannot hold.
    ///
    /// ```
    /// use gpuprof::{AxisType, AxisValue};
    ///
    /// assert_eq!(u32::from_axis("n", &AxisValue::Int(64))?, 64);
    /// let error = u32::from_axis("n", &AxisValue::Word("many".into())).unwrap_err();
    /// assert_eq!(error.to_string(), "axis `n` has the value `many`; expected a whole number");
    /// # Ok::<(), gpuprof::Error>(())
    /// ```
    fn from_axis(axis: &str, value: &AxisValue) -> Result<Self>;
}

macro_rules! integer_axis {
    ($($t:ident)*) => {$(
        impl AxisType for $t {
            fn from_axis(axis: &str, value: &AxisValue) -> Result<Self> {
                match value {
                    AxisValue::Int(int) => convert(axis, *int),
                    other => Err(Error::failed(format!(
                        "axis `{axis}` has the value `{other}`; expected a whole number"
                    ))),
                }
            }
        }
    )*};
}
integer_axis!(u8 u16 u32 u64 usize i32 i64);

impl AxisType for String {
    fn from_axis(_axis: &str, value: &AxisValue) -> Result<Self> {
        Ok(value.to_string())
    }
}

impl AxisType for Extent {
    fn from_axis(axis: &str, value: &AxisValue) -> Result<Self> {
        match value {
            AxisValue::Int(x) => Ok(Self { x: *x, y: 1, z: 1 }),
            AxisValue::Dims(dims) => {
                let [x, y, z] = dims.map(u64::from);
                Ok(Self { x, y, z })
            }
            AxisValue::Word(word) => Err(Error::failed(format!(
                "axis `{axis}` has the value `{word}`; expected an extent, such as 16x16"
            ))),
        }
    }
}
