//! Errors of calls into CUPTI.

use std::path::PathBuf;

use crate::driver::DriverProblem;
use crate::{Code, Version};

/// A CUPTI function that returned something else than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{call} failed: {code}\n  cause: {}\n  check: {}\n  remedy: {}",
    code.advice().cause, code.advice().check, code.advice().remedy
)]
pub struct Failure {
    /// The function, by its name in CUPTI.
    pub call: &'static str,
    /// Its return code.
    pub code: Code,
}

impl Failure {
    /// Whether the function `call` of CUPTI succeeded, which returned `code`.
    pub(crate) fn check(call: &'static str, code: u32) -> Result<(), Self> {
        match Code::from_number(code) {
            Code::Success => Ok(()),
            code => Err(Self { call, code }),
        }
    }
}

/// Why a CUPTI that was found cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not a platform on which CUPTI is loaded.
    #[error("CUPTI is loaded on Linux only")]
    Platform,
    /// The dynamic linker refused the library.
    #[error("{} cannot be loaded: {reason}", path.display())]
    Open {
        /// The file, or the bare name that the linker was asked for.
        path: PathBuf,
        /// The linker's words.
        reason: String,
    },
    /// The host API does its work in `libnvperf_host.so`, which has to lie next to CUPTI.
    #[error(
        "{} has no libnvperf_host.so next to it: {reason}; reinstall CUPTI whole (`pip install \
         nvidia-cuda-cupti`)", path.display()
    )]
    NvperfMissing {
        /// The CUPTI library.
        path: PathBuf,
        /// The linker's words.
        reason: String,
    },
    /// A function that every CUPTI from 12.6 on has is not there.
    #[error("{} has no function {symbol}: it is not CUPTI 12.6 or newer", path.display())]
    MissingSymbol {
        /// The CUPTI library.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
    },
    /// Older than the Range Profiler API.
    #[error(
        "{} is CUPTI {version}; the Range Profiler API needs 12.6 or newer \
         (`pip install nvidia-cuda-cupti`)", path.display()
    )]
    TooOld {
        /// The CUPTI library.
        path: PathBuf,
        /// Its version.
        version: Version,
    },
    /// CUPTI 13.2 and newer crash (13.2) or fail (13.3 on) at the first call where no driver
    /// answers.
    #[error(
        "{} is CUPTI {version}, which does not work without a CUDA driver (13.2 crashes, newer ones answer \
         999), and {driver}; for work without a GPU install 12.6 to 13.1, as in \
         `pip install nvidia-cuda-cupti==13.0.85`", path.display()
    )]
    NeedsDriver {
        /// The CUPTI library.
        path: PathBuf,
        /// Its version.
        version: Version,
        /// What is wrong with the driver.
        driver: DriverProblem,
    },
    /// One process can hold only one CUPTI: libnvperf is found by its bare name.
    #[error(
        "{} cannot be loaded: this process has already loaded {}", wanted.display(), loaded.display()
    )]
    AnotherLoaded {
        /// The library asked for.
        wanted: PathBuf,
        /// The library that is loaded.
        loaded: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_happened_and_what_to_do() {
        let failure =
            Failure { call: "cuptiRangeProfilerEnable", code: Code::InsufficientPrivileges };
        let text = failure.to_string();
        assert!(
            text.starts_with(
                "cuptiRangeProfilerEnable failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)\n  cause: the driver lets \
                 only administrators read GPU performance counters\n  check: grep RmProfilingAdminOnly"
            ),
            "{text}"
        );
        assert!(text.contains("--cap-add=SYS_ADMIN"), "{text}");
    }

    #[test]
    fn a_version_that_crashes_offline_is_explained() {
        let text = LoadError::NeedsDriver {
            path: "/x/libcupti.so.13".into(),
            version: Version::at_least(13, 2),
            driver: DriverProblem::NotInstalled { reason: "no such file".into() },
        }
        .to_string();
        assert_eq!(
            text,
            "/x/libcupti.so.13 is CUPTI 13.2 or newer, which does not work without a CUDA driver (13.2 crashes, newer \
             ones answer 999), and no CUDA driver is installed (libcuda.so.1: no such file); for work without a GPU \
             install 12.6 to 13.1, as in `pip install nvidia-cuda-cupti==13.0.85`"
        );
    }
}
