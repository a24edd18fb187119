//! The Callback API: one subscriber, which receives calls of the driver.
//!
//! Input: a subscriber, and the calls that the driver's table reports. Output: two callbacks per
//! call, one before it, which knows no result, and one after it; or one per module. Calls that are
//! not launches have no identifier here: the driver reports only their codes.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::call::{Code, INVALID_PARAMETER, sys};
use crate::code::{MULTIPLE_SUBSCRIBERS, NOT_INITIALIZED};
use crate::{driver, table, trouble};

type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

const DRIVER_API: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_DRIVER_API as u32;
const RESOURCE: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_RESOURCE as u32;

/// The subscriber, and the domain that it hears.
struct Subscriber {
    callback: Callback,
    data: usize,
    domain: Option<u32>,
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
        *subscriber = Some(Subscriber { callback, data: data.expose_provenance(), domain: None });
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

/// CUPTI's function of this name; of two domains, of which a subscriber hears one.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiEnableDomain(enable: u32, handle: usize, domain: u32) -> Code {
    with("cuptiEnableDomain", |subscriber| {
        let known = handle == HANDLE && [DRIVER_API, RESOURCE].contains(&domain);
        let subscriber = subscriber.as_mut().filter(|_| known);
        subscriber.ok_or(INVALID_PARAMETER)?.domain = (enable != 0).then_some(domain);
        driver::watch((enable != 0).then_some(hear as table::Hear));
        Ok(())
    })
}

/// Receives the driver's reports.
unsafe extern "C" fn hear(call: *const table::Call) {
    // SAFETY: the driver's call lives until this returns.
    let call = unsafe { &*call };
    let subscriber = SUBSCRIBER.lock().unwrap_or_else(PoisonError::into_inner);
    let told = subscriber.as_ref().map(|it| (it.callback, it.data, it.domain));
    drop(subscriber);
    let Some((callback, data, Some(domain))) = told else { return };
    let data = ptr::with_exposed_provenance_mut(data);
    if domain == RESOURCE {
        tell_of_module(call, callback, data);
    } else {
        tell_of_call(call, callback, data);
    }
}

/// One callback for the module that `call` loaded.
fn tell_of_module(call: &table::Call, callback: Callback, data: *mut c_void) {
    if call.cubin_bytes == 0 {
        return;
    }
    let mut module = sys::CUpti_ModuleResourceData {
        moduleId: 1,
        cubinSize: call.cubin_bytes,
        pCubin: call.cubin,
    };
    // SAFETY: pointers, which may be null.
    let mut told: sys::CUpti_ResourceData = unsafe { std::mem::zeroed() };
    told.resourceDescriptor = (&raw mut module).cast();
    let id = sys::CUpti_CallbackIdResource::CUPTI_CBID_RESOURCE_MODULE_LOADED as u32;
    // SAFETY: the subscriber passed both as a pair, and the arguments live until it returns.
    unsafe { callback(data, RESOURCE, id, (&raw const told).cast()) };
}

/// Two callbacks for `call`.
fn tell_of_call(call: &table::Call, callback: Callback, data: *mut c_void) {
    use sys::CUpti_ApiCallbackSite as Site;
    use sys::CUpti_driver_api_trace_cbid_enum as Id;
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
            callback(data, DRIVER_API, id, (&raw const told).cast());
        }
    }
}
