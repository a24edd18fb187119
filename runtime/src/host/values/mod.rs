//! Values of annotations: numbers, extents, axis values, and the parameters of kernels.

pub(crate) mod axis_type;
pub mod checked_arithmetic;
pub(crate) mod extent;
pub(crate) mod number;
pub(crate) mod parameter;
