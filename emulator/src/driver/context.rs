//! Contexts: one primary, and further ones with the same device and memory.

use super::code::Code;
use super::current::{current, pop_current, push_current, set_current, with_context, with_healthy};
use super::exported::exported;
use super::pointers::{Handle, Out};
use super::state::{Driver, PRIMARY, with};
use crate::lower::program::MOST_LOCAL_BYTES;
use std::ffi::{c_int, c_uint};

/// `CU_LIMIT_STACK_SIZE`.
const STACK_SIZE: c_uint = 0;
/// `CU_LIMIT_PRINTF_FIFO_SIZE`. It binds nothing here.
const PRINTF_FIFO_SIZE: c_uint = 1;
/// `CU_LIMIT_MALLOC_HEAP_SIZE`.
const MALLOC_HEAP_SIZE: c_uint = 2;

/// Refuses every device but the one.
pub fn only(device: c_int) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

fn check_context(driver: &Driver, context: Handle) -> Result<(), Code> {
    let primary = context == PRIMARY && driver.primary_uses > 0;
    if primary || driver.contexts.contains(&context) { Ok(()) } else { Err(Code::INVALID_CONTEXT) }
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) -> Code {
    with(|driver| {
        only(device)?;
        driver.primary_uses += 1;
        context.set(PRIMARY)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    with(|driver| {
        only(device)?;
        driver.primary_uses = driver.primary_uses.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if driver.primary_uses == 0 && driver.contexts.is_empty() {
            driver.reset();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxReset_v2(device: c_int) -> Code {
    with(|driver| {
        only(device)?;
        driver.reset();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxGetState(
    device: c_int,
    flags: Out<c_uint>,
    active: Out<c_int>,
) -> Code {
    with(|driver| {
        only(device)?;
        flags.set(0)?;
        active.set(c_int::from(driver.primary_uses > 0))
    })
}

fn create(context: Out<Handle>, device: c_int) -> Code {
    with(|driver| {
        only(device)?;
        let handle = driver.handle();
        push_current(handle)?;
        driver.contexts.push(handle);
        context.set(handle)
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cuCtxDestroy_v2(context: Handle) -> Code {
    with(|driver| {
        let at = driver
            .contexts
            .iter()
            .position(|known| *known == context)
            .ok_or(Code::INVALID_CONTEXT)?;
        driver.contexts.remove(at);
        if current() == Some(context) {
            pop_current();
        }
        if driver.primary_uses == 0 && driver.contexts.is_empty() {
            driver.reset();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: Handle) -> Code {
    with(|driver| {
        if context != Handle::NULL {
            check_context(driver, context)?;
        }
        set_current(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> Code {
    with(|driver| {
        check_context(driver, context)?;
        push_current(context)
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cuCtxPopCurrent_v2(context: Out<Handle>) -> Code {
    with(|_| {
        context.set_if_wanted(pop_current().ok_or(Code::INVALID_CONTEXT)?);
        Ok(())
    })
}

/// Lets the host wait for the device.
pub fn wait_for_all() -> Code {
    with_healthy(|driver| {
        driver.order.wait_for_all();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetApiVersion(context: Handle, version: Out<c_uint>) -> Code {
    with(|driver| {
        check_context(driver, context)?;
        version.set(3020)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetId(context: Handle, id: Out<u64>) -> Code {
    with(|driver| {
        let context =
            if context == Handle::NULL { current().ok_or(Code::INVALID_CONTEXT)? } else { context };
        check_context(driver, context)?;
        id.set(context.0 as u64)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetLimit(value: Out<usize>, limit: c_uint) -> Code {
    with_context(|driver| {
        value.set(match limit {
            STACK_SIZE => driver.device.stack_bytes() as usize,
            PRINTF_FIFO_SIZE => driver.printf_bytes,
            MALLOC_HEAP_SIZE => driver.device.heap_bytes() as usize,
            _ => return Err(Code::NOT_SUPPORTED),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetLimit(limit: c_uint, value: usize) -> Code {
    with_context(|driver| {
        match limit {
            STACK_SIZE => {
                let bytes = u32::try_from(value).ok().filter(|bytes| *bytes <= MOST_LOCAL_BYTES);
                driver.device.set_stack_bytes(bytes.ok_or(Code::INVALID_VALUE)?);
            }
            PRINTF_FIFO_SIZE => driver.printf_bytes = value,
            MALLOC_HEAP_SIZE => {
                let bytes = value as u64;
                if bytes > driver.device.memory.available().0 {
                    return Err(Code::OUT_OF_MEMORY);
                }
                if !driver.device.set_heap_bytes(bytes) {
                    let why = "CU_LIMIT_MALLOC_HEAP_SIZE is set after a launch of a kernel that \
                               allocates or frees: set it before";
                    driver.note("invalid_argument", why);
                    return Err(Code::INVALID_VALUE);
                }
            }
            _ => return Err(Code::NOT_SUPPORTED),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) -> Code {
    with_context(|_| {
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuProfilerStart() -> Code {
    with_context(|driver| {
        driver.device.start_profiler();
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuProfilerStop() -> Code {
    with_context(|driver| {
        driver.device.stop_profiler();
        Ok(())
    })
}

exported! {
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, _flags: c_uint) = with(|_| only(device));
    fn cuCtxCreate_v2(context: Out<Handle>, _flags: c_uint, device: c_int) =
        create(context, device);
    fn cuCtxCreate_v4(context: Out<Handle>, _params: Handle, _flags: c_uint, device: c_int) =
        create(context, device);
    fn cuCtxGetCurrent(context: Out<Handle>) =
        with(|_| context.set(current().unwrap_or(Handle::NULL)));
    fn cuCtxGetDevice(device: Out<c_int>) = with_context(|_| device.set(0));
    fn cuCtxSynchronize() = wait_for_all();
    fn cuCtxGetFlags(flags: Out<c_uint>) = with_context(|_| flags.set(0));
    fn cuCtxSetFlags(_flags: c_uint) = with_context(|_| Ok(()));
    fn cuCtxGetCacheConfig(config: Out<c_uint>) = with_context(|_| config.set(0));
    fn cuCtxSetCacheConfig(_config: c_uint) = with_context(|_| Ok(()));
}
