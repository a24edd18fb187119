//! Errors of a pass, told apart by what they mean for the configuration.

use std::error::Error as StdError;
use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Why a pass did not finish.
///
/// Any error converts into it with `?`. A refused launch makes the configuration *invalid*; every
/// other error makes it *failed*.
pub struct Error {
    reason: String,
    refused: bool,
}

/// The result of a series function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The launch cannot exist on this device.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), refused: true }
    }

    /// The pass went wrong.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), refused: false }
    }

    /// Whether the launch was refused, so that the configuration is invalid and not failed.
    pub fn is_refusal(&self) -> bool {
        self.refused
    }

    /// The driver's error with what was being done.
    pub(crate) fn driver(doing: &str, error: DriverError) -> Self {
        Self::failed(format!("{doing}: {}", describe(error)))
    }
}

/// `CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered`.
pub(crate) fn describe(error: DriverError) -> String {
    let code = error.0 as u32;
    match error.error_string() {
        Ok(text) => format!("{:?} ({code}): {}", error.0, text.to_string_lossy()),
        Err(_) => format!("{:?} ({code})", error.0),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Error {
    fn from(error: E) -> Self {
        let error = error.into();
        match error.downcast_ref::<DriverError>() {
            Some(&driver) => Self {
                reason: describe(driver),
                refused: matches!(
                    driver.0,
                    CUresult::CUDA_ERROR_INVALID_VALUE
                        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                ),
            },
            None => Self::failed(error.to_string()),
        }
    }
}
