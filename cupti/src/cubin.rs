//! The machine code of a module, and the name under which CUPTI counts and samples it.
//!
//! Input: the loading of a module while a [`CubinWatch`] lives. Output: the cubin that the driver
//! made of its PTX.

use std::ffi::c_void;
use std::slice;

use cudarc::cupti::sys;

use crate::HostApi;
use crate::abi::{Call, CubinFunctions};
use crate::callbacks::{Listener, Subscription, WatchError};
use crate::target::TargetError;

/// The CRC of `cubin`, by which CUPTI names the code of a module.
///
/// # Errors
/// CUPTI's, such as for bytes that are not a cubin.
pub fn crc(api: HostApi, cubin: &[u8]) -> Result<u32, TargetError> {
    let functions = CubinFunctions::resolve(api.library).map_err(|symbol| api.missing(symbol))?;
    let mut call = Call::<sys::CUpti_GetCubinCrcParams>::new();
    call.fields().cubinSize = cubin.len();
    call.fields().cubin = cubin.as_ptr().cast();
    // SAFETY: as many bytes as it says, for the time of the call.
    unsafe { functions.crc.call(&mut call) }?;
    // SAFETY: an integer that CUPTI wrote. Counts have its lower half.
    Ok(unsafe { (*call.out()).cubinCrc } as u32)
}

/// Sees the modules that this process loads until it is dropped.
pub struct CubinWatch(Subscription<LastCubin>);

impl CubinWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// [`crate::Code::MultipleSubscribersNotSupported`] if there is another subscriber; no NVIDIA
    /// driver.
    pub fn begin(api: HostApi) -> Result<Self, WatchError> {
        Subscription::begin(api).map(Self)
    }

    /// The code of the last module.
    #[must_use]
    pub fn last(&self) -> Option<Vec<u8>> {
        self.0.listener().0.clone()
    }
}

#[derive(Default)]
struct LastCubin(Option<Vec<u8>>);

impl Listener for LastCubin {
    const DOMAIN: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_RESOURCE as u32;

    unsafe fn hear(&mut self, id: u32, data: *const c_void) {
        if id != sys::CUpti_CallbackIdResource::CUPTI_CBID_RESOURCE_MODULE_LOADED as u32 {
            return;
        }
        // SAFETY: in this domain CUPTI gives this struct.
        let module = unsafe { (*data.cast::<sys::CUpti_ResourceData>()).resourceDescriptor };
        // SAFETY: it describes a module in this callback.
        let module = unsafe { module.cast::<sys::CUpti_ModuleResourceData>().as_ref() };
        let module = module.filter(|it| !it.pCubin.is_null());
        // SAFETY: as many bytes as it says.
        let bytes = |it: &sys::CUpti_ModuleResourceData| unsafe {
            slice::from_raw_parts(it.pCubin.cast::<u8>(), it.cubinSize).to_vec()
        };
        self.0 = module.map(bytes);
    }
}
