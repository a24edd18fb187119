//! CUPTI, initialised once per process.
//!
//! Input: the path of its library. Output: a factory of sessions, or an error that distinguishes a
//! machine without counters from all other errors.

use std::path::Path;

use gpuprof_cupti::{HostApi, Target, locate};

use crate::host::error::{Error, Result};

/// CUPTI, initialised for collection; it stays so until the process ends.
pub(crate) struct Profiler {
    pub(super) api: HostApi,
    pub(super) target: Target,
}

impl Profiler {
    /// Loads `library` and initialises it.
    ///
    /// # Errors
    /// A library that cannot be loaded, or that does not start.
    pub(crate) fn initialize(library: &Path) -> Result<Self> {
        let api = HostApi::load(&locate(Some(library))?)?;
        Ok(Self { api, target: Target::initialize(api).map_err(Error::cupti)? })
    }
}
