//! Errors of a pass, told apart by what they mean for the configuration.

use std::error::Error as StdError;
use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Why a pass did not finish.
///
/// Any error converts into it with `?`. A refused launch makes the configuration *invalid*; every
/// other error makes it *failed*.
///
/// ```
/// use gpuprof::{Result, Run};
///
/// fn check(run: &Run<'_>) -> Result<()> {
///     if run.value::<u64>("n")? > 1 << 30 {
///         return Err("more elements than the index type holds".into());
///     }
///     Ok(())
/// }
/// ```
#[doc(alias("cudaError_t", "CUresult"))]
pub struct Error {
    reason: String,
    meaning: Meaning,
}

/// What an error means for the configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Invalid,
    Failed,
    Denied,
}

/// The result of a series function.
///
/// ```
/// use gpuprof::prelude::*;
///
/// fn own_work(run: &mut Run<'_>) -> gpuprof::Result<()> {
///     run.context().synchronize()?;
///     Ok(())
/// }
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The launch cannot exist on this device: the configuration is *invalid*.
    ///
    /// ```
    /// use gpuprof::{Error, Result};
    ///
    /// fn check_tile(tile: u32, block: u32) -> Result<()> {
    ///     if block % tile != 0 {
    ///         return Err(Error::invalid(format!("a block of {block} is not whole tiles of {tile}")));
    ///     }
    ///     Ok(())
    /// }
    /// assert!(check_tile(48, 64).unwrap_err().is_refusal());
    /// ```
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), meaning: Meaning::Invalid }
    }

    /// The pass went wrong: the configuration *failed*.
    ///
    /// ```
    /// use gpuprof::Error;
    ///
    /// let error = Error::failed("the input file has no rows");
    /// assert_eq!(error.to_string(), "the input file has no rows");
    /// ```
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), meaning: Meaning::Failed }
    }

    /// Whether the launch was refused, so that the configuration is invalid and not failed.
    ///
    /// ```
    /// use gpuprof::Error;
    ///
    /// assert!(Error::invalid("a block of 2048 threads is over the limit of 1024").is_refusal());
    /// assert!(!Error::failed("the device ran out of memory").is_refusal());
    /// ```
    pub fn is_refusal(&self) -> bool {
        self.meaning == Meaning::Invalid
    }

    /// This machine does not give the counters.
    pub(crate) fn denied(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), meaning: Meaning::Denied }
    }

    /// The error of something that `count` configurations did together: none of them is invalid for
    /// it.
    pub(crate) fn of_several(self, count: usize) -> Self {
        let meaning = match self.meaning {
            Meaning::Invalid if count > 1 => Meaning::Failed,
            meaning => meaning,
        };
        Self { meaning, ..self }
    }

    /// Whether the counters cannot be had on this machine.
    pub(crate) fn is_denial(&self) -> bool {
        self.meaning == Meaning::Denied
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
            Some(&driver) => {
                let refused = matches!(
                    driver.0,
                    CUresult::CUDA_ERROR_INVALID_VALUE
                        | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
                );
                let meaning = if refused { Meaning::Invalid } else { Meaning::Failed };
                Self { reason: describe(driver), meaning }
            }
            None => Self::failed(error.to_string()),
        }
    }
}
