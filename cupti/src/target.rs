//! Collection on a GPU.
//!
//! Input: a CUDA context of the system's driver, a config image, and the counter data of the passes
//! so far. Output: the counter data with one more pass in it, and the start of the next pass.
//!
//! CUPTI's target functions crash in a process in which `cuptiProfilerInitialize` failed. So they
//! are methods of [`Target`], which exists only after the driver answered `cuInit`, reported a
//! device, and CUPTI initialised; and a [`Session`] takes only a context of one of that driver's
//! devices.

mod session;
mod support;

use std::ptr;
use std::sync::Arc;

use cudarc::cupti::sys;
use cudarc::driver::{CudaContext, DriverError};

pub use session::{PassEnd, PassStart, RangeMode, Replay, Session, SessionOptions};
pub use support::{Level, Support};

use crate::abi::{Call, Functions};
use crate::driver::{self, Driver, DriverProblem};
use crate::host::string;
use crate::image::Kind;
use crate::{Failure, HostApi, LoadError};

/// Why collection fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TargetError {
    /// The driver that CUPTI would use does not answer.
    #[error("{0}")]
    Driver(#[from] DriverProblem),
    /// The context is not one of that driver's devices: an emulated driver made it.
    #[error(
        "device {ordinal} of this process does not belong to the CUDA driver that CUPTI uses; an \
         emulated driver is loaded"
    )]
    ForeignContext {
        /// cudarc's device ordinal.
        ordinal: usize,
    },
    /// The driver refused something about the context.
    #[error("the context cannot be used: {0}")]
    Context(#[source] DriverError),
    /// CUPTI failed.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// A call that the session's state does not allow.
    #[error("{call} needs a session that is {needs}")]
    OutOfOrder {
        /// The method.
        call: &'static str,
        /// The state it needs.
        needs: &'static str,
    },
    /// Ranges that did not fit into the counter data image: nothing in it may be trusted to be
    /// complete.
    #[error("{dropped} ranges were dropped: more were run than the session's max_ranges")]
    RangesDropped {
        /// How many.
        dropped: usize,
    },
    /// Counts or samples of machine instructions that CUPTI lost, so the rest adds up to nothing.
    #[error("CUPTI lost {dropped} {what}")]
    Lost {
        /// Of what.
        what: &'static str,
        /// How many.
        dropped: u64,
    },
    /// A CUPTI without the functions for it.
    #[error("{0}")]
    Load(#[from] LoadError),
}

/// A CUPTI that is initialised for collection, and the driver under it. A handle: copies share it,
/// and the last one to go de-initialises.
#[derive(Clone)]
pub struct Target {
    inner: Arc<TargetState>,
}

struct TargetState {
    functions: &'static Functions,
    driver: Driver,
}

impl Target {
    /// Initialises CUPTI for collection. Costs about 0.1 s the first time.
    ///
    /// # Errors [`TargetError::Driver`] before anything of CUPTI is called; [`TargetError::Failed`]
    /// with CUPTI's error.
    pub fn initialize(api: HostApi) -> Result<Self, TargetError> {
        let driver = driver::probe()?;
        let functions = api.functions;
        let mut call = Call::<sys::CUpti_Profiler_Initialize_Params>::new();
        // SAFETY: the driver is initialised and has a device, which is all that this function
        // needs. With a driver of another vendor it fails (12.6 to 13.5 were tested), and there is
        // no Target.
        if let Err(failure) = unsafe { functions.initialize.call(&mut call) } {
            driver::probe_nvidia()?;
            return Err(failure.into());
        }
        Ok(Self { inner: Arc::new(TargetState { functions, driver }) })
    }

    /// The driver that CUPTI uses.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.inner.driver
    }

    fn functions(&self) -> &'static Functions {
        self.inner.functions
    }

    /// The chip of device `ordinal`, such as `GH100` for an H200: the name that
    /// [`crate::Host::new`] takes.
    ///
    /// # Errors
    /// [`crate::Code::InvalidDevice`] or [`crate::Code::InvalidParameter`] for a device that is not
    /// there.
    pub fn chip_name(&self, ordinal: usize) -> Result<String, Failure> {
        let mut call = Call::<sys::CUpti_Device_GetChipName_Params>::new();
        call.fields().deviceIndex = ordinal;
        // SAFETY: CUPTI is initialised.
        unsafe { self.functions().chip_name.call(&mut call) }?;
        // SAFETY: on success a string that CUPTI keeps.
        Ok(unsafe { string((*call.out()).pChipName) })
    }

    /// Whether range profiling works on the device of `context`, and the obstacles.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn device_supported(&self, context: &CudaContext) -> Result<Support, TargetError> {
        own(context)?;
        Ok(Support::query(self.functions(), context.cu_device())?)
    }

    /// The counters that the device of `context` offers: an image for [`crate::Host::new`]. Needed
    /// once a device, driver and CUPTI; costs 0.1 to 0.5 s. It hung where another process held the
    /// profiler, so ask while holding the device's lock, and with no [`Session`] open.
    ///
    /// # Errors
    /// [`crate::Code::InsufficientPrivileges`] and its like, or whatever CUPTI answers.
    pub fn counter_availability(&self, context: &CudaContext) -> Result<Vec<u8>, TargetError> {
        own(context)?;
        let get = &self.functions().counter_availability;
        let mut size = Call::<sys::CUpti_Profiler_GetCounterAvailability_Params>::new();
        size.fields().ctx = context.cu_ctx();
        size.fields().pCounterAvailabilityImage = ptr::null_mut();
        // SAFETY: CUPTI is initialised and the context is live; without a buffer it writes the
        // size.
        unsafe { get.call(&mut size) }?;
        // SAFETY: an integer that CUPTI wrote.
        let mut image = vec![0; unsafe { (*size.out()).counterAvailabilityImageSize }];
        let mut call = Call::<sys::CUpti_Profiler_GetCounterAvailability_Params>::new();
        call.fields().ctx = context.cu_ctx();
        call.fields().counterAvailabilityImageSize = image.len();
        call.fields().pCounterAvailabilityImage = image.as_mut_ptr();
        // SAFETY: as above; the buffer has the size that CUPTI asked for.
        unsafe { get.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote: the bytes that it used.
        image.truncate(unsafe { (*call.out()).counterAvailabilityImageSize });
        Ok(Kind::Availability.seal(&image))
    }
}

/// Refuses a context of another driver, which CUPTI would mistake for one of NVIDIA's.
pub(crate) fn own(context: &CudaContext) -> Result<(), TargetError> {
    let ordinal = context.ordinal();
    let uuid = context.uuid().map_err(TargetError::Context)?;
    let same = |known: &[u8; 16]| known.iter().zip(&uuid.bytes).all(|(a, b)| *a == *b as u8);
    if driver::uuids(ordinal)?.iter().any(same) {
        context.bind_to_thread().map_err(TargetError::Context)
    } else {
        Err(TargetError::ForeignContext { ordinal })
    }
}

impl Drop for TargetState {
    fn drop(&mut self) {
        let mut call = Call::<sys::CUpti_Profiler_DeInitialize_Params>::new();
        // SAFETY: initialised once, and every session held this alive until it was disabled. A
        // failure changes nothing.
        let _ = unsafe { self.functions.deinitialize.call(&mut call) };
    }
}
