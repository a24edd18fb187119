//! An operation to measure.

use std::sync::Arc;

use cudarc::driver::CudaStream;

/// Why an operation could not be made or called.
pub type Failure = Box<dyn std::error::Error>;

/// An operation that can be called again and again.
pub struct Operation {
    pub call: Box<dyn FnMut() -> Result<(), Failure>>,
    /// The streams that it launches on, next to the given one.
    pub streams: Vec<Arc<CudaStream>>,
}
