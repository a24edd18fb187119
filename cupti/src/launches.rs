//! Launches that the driver refuses, from any caller.
//!
//! Input: a CUPTI, and the process's calls of the driver while a [`LaunchWatch`] lives. Output: the
//! refused launch, as long as the program has not continued after it: no other call has failed
//! since, and no launch was accepted.
//!
//! CUPTI's callback API reports every call of the driver, on every thread; it slows all of them
//! down, so nothing is timed meanwhile.

use std::ffi::{c_char, c_void};

use cudarc::cupti::sys;

use crate::HostApi;
use crate::callbacks::{Listener, Subscription, WatchError};
use crate::host::string;

/// A launch that the driver failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedLaunch {
    /// The kernel's name in the driver; none if CUPTI does not report it.
    pub kernel: Option<String>,
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The `CUresult`.
    pub code: u32,
}

/// Sees the launches of this process until it is dropped.
pub struct LaunchWatch(Subscription<CallResults>);

impl LaunchWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// [`crate::Code::MultipleSubscribersNotSupported`] if there is another subscriber; no NVIDIA
    /// driver.
    pub fn begin(api: HostApi) -> Result<Self, WatchError> {
        Subscription::begin(api).map(Self)
    }

    /// The launch that failed and from which the program has not gone on.
    #[must_use]
    pub fn failed(&self) -> Option<FailedLaunch> {
        self.0.listener().failed.clone()
    }
}

const EXIT: u32 = sys::CUpti_ApiCallbackSite::CUPTI_API_EXIT as u32;

/// `CUDA_ERROR_NOT_READY`, the answer of a query.
const NOT_READY: u32 = 600;

/// The result of the calls so far.
#[derive(Debug, Default)]
struct CallResults {
    failed: Option<FailedLaunch>,
}

impl CallResults {
    /// A call that returned `code`, with its launch where it is one.
    fn returned(&mut self, code: u32, launch: Option<FailedLaunch>) {
        match (code, launch) {
            (0 | NOT_READY, None) => {}
            (0, Some(_)) | (_, None) => self.failed = None,
            (_, launch) => self.failed = launch,
        }
    }
}

impl Listener for CallResults {
    const DOMAIN: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_DRIVER_API as u32;

    unsafe fn hear(&mut self, id: u32, data: *const c_void) {
        let data = data.cast::<sys::CUpti_CallbackData>();
        // SAFETY: in this domain CUPTI gives this struct; an enum is read as the integer that it
        // is.
        let site = unsafe { (&raw const (*data).callbackSite).cast::<u32>().read() };
        // SAFETY: as above.
        let code = unsafe { (*data).functionReturnValue.cast::<u32>() };
        if site != EXIT || code.is_null() {
            return;
        }
        // SAFETY: after the call there is a CUresult.
        let code = unsafe { code.read() };
        // SAFETY: as above; the parameters are those of the function with this id.
        let launch = unsafe { launch(id, data, code) };
        self.returned(code, launch);
    }
}

/// The launch of a call, if it is one.
///
/// # Safety
/// `data` is the argument of CUPTI's callback for `cbid`.
unsafe fn launch(
    cbid: u32,
    data: *const sys::CUpti_CallbackData,
    code: u32,
) -> Option<FailedLaunch> {
    use sys::CUpti_driver_api_trace_cbid_enum as Id;
    const KERNEL: [u32; 4] = [
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel as u32,
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz as u32,
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel as u32,
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz as u32,
    ];
    const KERNEL_EX: [u32; 2] = [
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx as u32,
        Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz as u32,
    ];
    // SAFETY: the caller's promise.
    let (parameters, symbol) = unsafe { ((*data).functionParams, (*data).symbolName) };
    let (grid, block, shared_bytes) = if KERNEL.contains(&cbid) {
        // SAFETY: both forms begin with these fields.
        let p = unsafe { &*parameters.cast::<sys::cuLaunchKernel_params_st>() };
        let (grid, block) =
            ([p.gridDimX, p.gridDimY, p.gridDimZ], [p.blockDimX, p.blockDimY, p.blockDimZ]);
        (grid, block, p.sharedMemBytes)
    } else if KERNEL_EX.contains(&cbid) {
        // SAFETY: the parameters of these functions.
        let config = unsafe { (*parameters.cast::<sys::cuLaunchKernelEx_params_st>()).config };
        // SAFETY: the program passed it to the driver, which has read it.
        match unsafe { config.as_ref() } {
            Some(c) => {
                let (grid, block) =
                    ([c.gridDimX, c.gridDimY, c.gridDimZ], [c.blockDimX, c.blockDimY, c.blockDimZ]);
                (grid, block, c.sharedMemBytes)
            }
            None => ([0; 3], [0; 3], 0),
        }
    } else {
        return None;
    };
    // SAFETY: null, or the kernel's name.
    let kernel = unsafe { text(symbol) };
    Some(FailedLaunch { kernel, grid, block, shared_bytes, code })
}

/// # Safety
/// Null, or a string that ends in NUL.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { string(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID_VALUE: u32 = 1;

    fn launch(threads: u32, code: u32) -> Option<FailedLaunch> {
        Some(FailedLaunch {
            kernel: None,
            grid: [1; 3],
            block: [threads, 1, 1],
            shared_bytes: 0,
            code,
        })
    }

    /// The threads of the launch that is left of some calls.
    fn left(calls: &[(u32, Option<FailedLaunch>)]) -> Option<u32> {
        let mut seen = CallResults::default();
        for (code, launch) in calls {
            seen.returned(*code, launch.clone());
        }
        seen.failed.map(|launch| launch.block[0])
    }

    #[test]
    fn a_failed_launch_is_reported_until_the_program_continues() {
        let (refused, freed) = ((INVALID_VALUE, launch(2048, INVALID_VALUE)), (0, None));
        let still_busy = (NOT_READY, None);
        assert_eq!(left(&[refused.clone(), freed.clone(), still_busy]), Some(2048));
        assert_eq!(left(&[refused.clone(), (0, launch(64, 0))]), None);
        assert_eq!(left(&[refused.clone(), (INVALID_VALUE, None)]), None);
        assert_eq!(left(&[refused, (701, launch(1024, 701)), freed]), Some(1024));
    }
}
