//! The Callback API: one subscriber, which receives calls of the driver.
//!
//! Input: a subscriber, and the calls that the driver's table reports. Output: two callbacks per
//! call, one before it, which knows no result, and one after it. Calls that are not launches have
//! no identifier here: the driver reports only their codes.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::call::{Code, INVALID_PARAMETER, sys};
use crate::code::{MULTIPLE_SUBSCRIBERS, NOT_INITIALIZED};
use crate::{driver, table, trouble};

type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

const DRIVER_API: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_DRIVER_API as u32;

/// The subscriber, and whether it receives calls of the driver.
struct Subscriber {
    callback: Callback,
    data: usize,
    enabled: bool,
}

static SUBSCRIBER: Mutex<Option<Subscriber>> = Mutex::new(None);

/// The only handle.
const HANDLE: usize = 0x5ab5;

fn with(function: &str, f: impl FnOnce(&mut Option<Subscriber>) -> Result<(), Code>) -> Code {
    trouble::at_begin_of(function);
    if let Some(code) = trouble::refusal(function) {
        return code;
    }
    let mut subscriber = SUBSCRIBER.lock().unwrap_or_else(PoisonError::into_inner);
    f(&mut subscriber).err().unwrap_or(0)
}

/// CUPTI's function of this name.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiSubscribe(
    handle: *mut usize,
    callback: Option<Callback>,
    data: *mut c_void,
) -> Code {
    with("cuptiSubscribe", |subscriber| {
        let callback = callback.filter(|_| !handle.is_null()).ok_or(INVALID_PARAMETER)?;
        if !driver::answers() {
            return Err(NOT_INITIALIZED);
        }
        if subscriber.is_some() {
            return Err(MULTIPLE_SUBSCRIBERS);
        }
        *subscriber = Some(Subscriber { callback, data: data.expose_provenance(), enabled: false });
        // SAFETY: not null, and the caller's promise.
        unsafe { handle.write(HANDLE) };
        trouble::log("subscribes");
        Ok(())
    })
}

/// CUPTI's function of this name.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiUnsubscribe(handle: usize) -> Code {
    with("cuptiUnsubscribe", |subscriber| {
        if handle != HANDLE || subscriber.take().is_none() {
            return Err(INVALID_PARAMETER);
        }
        driver::watch(None);
        trouble::log("unsubscribes");
        Ok(())
    })
}

/// CUPTI's function of this name; of the driver API alone.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiEnableDomain(enable: u32, handle: usize, domain: u32) -> Code {
    with("cuptiEnableDomain", |subscriber| {
        let subscriber = subscriber.as_mut().filter(|_| handle == HANDLE && domain == DRIVER_API);
        subscriber.ok_or(INVALID_PARAMETER)?.enabled = enable != 0;
        driver::watch((enable != 0).then_some(hear as table::Hear));
        Ok(())
    })
}

/// Receives the driver's reports.
unsafe extern "C" fn hear(call: *const table::Call) {
    use sys::CUpti_ApiCallbackSite as Site;
    use sys::CUpti_driver_api_trace_cbid_enum as Id;
    // SAFETY: the driver's call lives until this returns.
    let call = unsafe { &*call };
    let told = SUBSCRIBER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .filter(|subscriber| subscriber.enabled)
        .map(|subscriber| (subscriber.callback, subscriber.data));
    let Some((callback, data)) = told else { return };
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (call.grid, call.block);
    let parameters = sys::cuLaunchKernel_params_st {
        f: ptr::null_mut(),
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: call.shared_bytes,
        hStream: ptr::null_mut(),
        kernelParams: ptr::null_mut(),
        extra: ptr::null_mut(),
    };
    let id = match call.launch {
        true => Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel as u32,
        false => Id::CUPTI_DRIVER_TRACE_CBID_INVALID as u32,
    };
    let mut code = call.code;
    for (site, result) in
        [(Site::CUPTI_API_ENTER, ptr::null_mut()), (Site::CUPTI_API_EXIT, &raw mut code)]
    {
        let told = sys::CUpti_CallbackData {
            callbackSite: site,
            functionName: ptr::null(),
            functionParams: (&raw const parameters).cast(),
            functionReturnValue: result.cast(),
            symbolName: call.kernel,
            context: ptr::null_mut(),
            contextUid: 0,
            correlationData: ptr::null_mut(),
            correlationId: 0,
        };
        // SAFETY: the subscriber passed both as a pair, and the arguments live until it returns.
        unsafe {
            callback(
                ptr::with_exposed_provenance_mut(data),
                DRIVER_API,
                id,
                (&raw const told).cast(),
            );
        }
    }
}
