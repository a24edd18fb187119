//! Errors of a pass, classified by their meaning for the configuration.
//!
//! Input: errors of the driver, CUPTI and user code. Output: the error in words, and its meaning as
//! a kind, which comes from codes and never from words.

pub(crate) mod assertion;
pub(crate) mod expect_text;
pub(crate) mod outcome;

use std::error::Error as StdError;
use std::fmt;
use std::iter;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use gpuprof_cupti::Code;
use gpuprof_model::failure::{Denial, DenialKind, FailureKind};
use gpuprof_model::measurement::PassOutcome;

/// Why a pass did not finish.
///
/// Any error converts into it with `?`. A refused launch makes the configuration *invalid*, even if
/// the error is that of a library that launches kernels itself; every other error makes it
/// *failed*. Out-of-memory errors of the driver are retried in isolation; pass them on with `?` and
/// not as text, since text is not interpreted.
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
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The meaning of an error for the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Invalid,
    Failed(FailureKind),
    Denied(DenialKind),
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
    fn new(reason: impl Into<String>, meaning: Meaning) -> Self {
        Self { reason: reason.into(), meaning, source: None }
    }

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
        Self::new(reason, Meaning::Invalid)
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
        Self::new(reason, Meaning::Failed(FailureKind::Other))
    }

    /// Another process of the run kept the device from being this one's alone.
    pub(crate) fn no_exclusive_access(reason: impl Into<String>) -> Self {
        Self::new(reason, Meaning::Failed(FailureKind::NoExclusiveAccess))
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

    /// Whether a refused launch may be its cause, by its kind and its codes.
    pub(crate) fn may_be_a_refusal(&self) -> bool {
        let source = self.source().and_then(driver_error);
        self.meaning == Meaning::Failed(FailureKind::Other)
            && source.is_none_or(|error| REFUSALS.contains(&error.0))
    }

    /// The error that this one was made of, if it was.
    ///
    /// ```
    /// use gpuprof::Error;
    ///
    /// let error = Error::from("3x".parse::<u32>().unwrap_err());
    /// assert!(error.source().is_some_and(|it| it.is::<std::num::ParseIntError>()));
    /// assert!(Error::failed("no rows").source().is_none());
    /// ```
    pub fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }

    /// The error of something that `count` configurations did together: none of them is invalid for
    /// it.
    pub(crate) fn of_several(self, count: usize) -> Self {
        let meaning = match self.meaning {
            Meaning::Invalid if count > 1 => Meaning::Failed(FailureKind::Other),
            meaning => meaning,
        };
        Self { meaning, ..self }
    }

    /// The driver's error with what was being done.
    pub(crate) fn driver(doing: &str, error: DriverError) -> Self {
        Self {
            reason: format!("{doing}: {}", describe(error)),
            meaning: Meaning::Failed(kind_of(&error)),
            source: Some(Box::new(error)),
        }
    }

    /// The driver's error from one of our launches.
    pub(crate) fn launch(error: DriverError) -> Self {
        let meaning = meaning_of_launch(error);
        Self { reason: describe(error), meaning, source: Some(Box::new(error)) }
    }

    /// CUPTI's error, which may say that this machine does not give counters.
    pub(crate) fn cupti(error: impl StdError + Send + Sync + 'static) -> Self {
        let meaning = match code_of(&error) {
            Some(code) if code.is_denial() => Meaning::Denied(denial_of(code)),
            _ => Meaning::Failed(kind_of(&error)),
        };
        Self { reason: error.to_string(), meaning, source: Some(Box::new(error)) }
    }

    /// The same error in other words.
    pub(crate) fn in_words(self, reason: String) -> Self {
        Self { reason, ..self }
    }

    /// How a pass ended that met this.
    pub(crate) fn into_outcome(self) -> PassOutcome {
        let reason = self.reason;
        match self.meaning {
            Meaning::Invalid => PassOutcome::Invalid { reason },
            Meaning::Failed(kind) => PassOutcome::Failed { kind, reason },
            Meaning::Denied(kind) => PassOutcome::Denied(Denial { kind, reason }),
        }
    }
}

/// That this machine does not give counters, as `error` says.
pub(crate) fn denial(error: &(dyn StdError + 'static)) -> Denial {
    let kind = code_of(error).map(denial_of).unwrap_or_default();
    Denial { kind, reason: error.to_string() }
}

/// The kind of obstacle of CUPTI's `code`.
pub(crate) fn denial_of(code: Code) -> DenialKind {
    if code.is_virtual_gpu() { DenialKind::VirtualGpu } else { DenialKind::Other }
}

/// The error and its sources.
fn chain<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// The driver's error, if there is one.
fn driver_error<'e>(error: &'e (dyn StdError + 'static)) -> Option<&'e DriverError> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// CUPTI's code, if it failed.
fn code_of(error: &(dyn StdError + 'static)) -> Option<Code> {
    chain(error).find_map(|error| Some(error.downcast_ref::<gpuprof_cupti::Failure>()?.code))
}

/// The kind of failure of the codes in `error`.
fn kind_of(error: &(dyn StdError + 'static)) -> FailureKind {
    match (driver_error(error).map(|error| error.0), code_of(error)) {
        (Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY), _) | (_, Some(Code::OutOfMemory)) => {
            FailureKind::OutOfMemory
        }
        (Some(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE), _) => FailureKind::DeviceUnavailable,
        _ => FailureKind::Other,
    }
}

/// The driver's codes for a launch that the device or the kernel does not allow; other calls return
/// the first one too.
const REFUSALS: [CUresult; 4] = [
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE,
];

/// The code of a launch that was refused, by its number; none for every other code.
pub(crate) fn refusing(code: u32) -> Option<CUresult> {
    REFUSALS.into_iter().find(|&refusal| refusal as u32 == code)
}

/// The meaning of the driver's error from a launch.
fn meaning_of_launch(error: DriverError) -> Meaning {
    if REFUSALS.contains(&error.0) { Meaning::Invalid } else { Meaning::Failed(kind_of(&error)) }
}

/// The meaning of the driver's error from an unknown call: codes that only launches return are
/// refusals.
fn meaning_of(error: DriverError) -> Meaning {
    match error.0 {
        CUresult::CUDA_ERROR_INVALID_VALUE => Meaning::Failed(FailureKind::Other),
        _ => meaning_of_launch(error),
    }
}

/// `CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered`.
pub(crate) fn describe(error: DriverError) -> String {
    let code = error.0 as u32;
    if error.0 == CUresult::CUDA_ERROR_ASSERT
        && let Some(place) = assertion::find_failed()
    {
        return format!("the kernel ended at {place}");
    }
    let text = match error.error_string() {
        Ok(text) => format!("{:?} ({code}): {}", error.0, text.to_string_lossy()),
        Err(_) => format!("{:?} ({code})", error.0),
    };
    match error.0 {
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED => format!("{text}; {CAPTURE_ADVICE}"),
        _ => text,
    }
}

/// How to capture a graph, as the stream of a run is the default one.
const CAPTURE_ADVICE: &str = "CUDA does not capture the default stream, which `run.stream()` is: \
    capture a stream of `run.context().new_stream()`, and give it to `run.join`";

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
        let (reason, meaning) = match error.downcast_ref::<DriverError>() {
            Some(&driver) => (describe(driver), meaning_of(driver)),
            None => (error.to_string(), Meaning::Failed(kind_of(&*error))),
        };
        Self { reason, meaning, source: Some(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_cupti::host::ConfigProblem;
    use gpuprof_cupti::target::TargetError;

    /// An error of the user, made of another one; its words say something else.
    #[derive(Debug)]
    struct Wrapped(DriverError);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("CUDA_ERROR_ILLEGAL_ADDRESS, or so")
        }
    }

    impl StdError for Wrapped {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    fn failed(code: Code) -> gpuprof_cupti::Failure {
        gpuprof_cupti::Failure { call: "cuptiX", code }
    }

    #[test]
    fn the_kind_follows_from_the_innermost_error_code() {
        let memory = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        let cupti = || failed(Code::OutOfMemory);
        assert_eq!(meaning_of(memory), Meaning::Failed(FailureKind::OutOfMemory));
        let unavailable = DriverError(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE);
        assert_eq!(meaning_of(unavailable), Meaning::Failed(FailureKind::DeviceUnavailable));
        let errors: [Error; 4] = [
            Wrapped(memory).into(),
            cupti().into(),
            TargetError::Failed(cupti()).into(),
            Error::cupti(ConfigProblem::Failed(cupti())),
        ];
        for error in errors {
            assert_eq!(error.meaning, Meaning::Failed(FailureKind::OutOfMemory), "{error}");
            assert!(error.source().is_some(), "{error}");
        }
    }

    #[test]
    fn error_text_does_not_determine_the_kind() {
        for text in ["CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", "CUPTI_ERROR_OUT_OF_MEMORY (8)"]
        {
            for error in [Error::from(text), Error::failed(text)] {
                assert_eq!(error.meaning, Meaning::Failed(FailureKind::Other), "{error}");
            }
        }
    }

    #[test]
    fn a_denial_is_distinguished_from_a_failure_by_its_code() {
        let meaning = |code| Error::cupti(TargetError::Failed(failed(code))).meaning;
        assert_eq!(meaning(Code::HardwareBusy), Meaning::Denied(DenialKind::Other));
        let not_supported = meaning(Code::VirtualizedDeviceNotSupported);
        assert_eq!(not_supported, Meaning::Denied(DenialKind::VirtualGpu));
        assert_eq!(meaning(Code::InvalidOperation), Meaning::Failed(FailureKind::Other));
    }

    #[test]
    fn a_refused_launch_is_invalid_whatever_its_message() {
        let code = DriverError(CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(meaning_of_launch(code), Meaning::Invalid);
        // A wild `cuMemFree` has the same code.
        assert_eq!(meaning_of(code), Meaning::Failed(FailureKind::Other));
        let of_launches = DriverError(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        assert_eq!(meaning_of(of_launches), Meaning::Invalid);
        let refused = Error::invalid("a block of 4096 threads");
        let reworded = refused.in_words("▒▒▒".to_owned());
        assert!(reworded.is_refusal() && reworded.to_string() == "▒▒▒");
        assert!(!reworded.of_several(2).is_refusal());
    }

    #[test]
    fn a_refused_launch_may_cause_an_error_without_a_code_but_not_another_code() {
        let wrapped = |code| Error::from(Wrapped(DriverError(code)));
        assert!(Error::failed("the library returns 1").may_be_a_refusal());
        assert!(wrapped(CUresult::CUDA_ERROR_INVALID_VALUE).may_be_a_refusal());
        assert!(!wrapped(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).may_be_a_refusal());
        assert!(!wrapped(CUresult::CUDA_ERROR_OUT_OF_MEMORY).may_be_a_refusal());
        assert!(!Error::invalid("no two halves").may_be_a_refusal());
    }
}
