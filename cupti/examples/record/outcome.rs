//! How every step of the recording ends.

use std::error::Error;

/// A value, or whatever stopped the recording, in words.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;
