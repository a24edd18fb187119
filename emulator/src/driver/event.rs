//! Events. They order nothing, since everything is done at once, and they measure nothing: the
//! emulator has no time.

use super::code::Code;
use super::current::{on_stream, with_context, with_healthy};
use super::pointers::{Handle, Out};
use std::ffi::c_uint;

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Out<Handle>, _flags: c_uint) -> Code {
    with_healthy(|driver| {
        let handle = driver.handle();
        driver.events.insert(handle, false);
        event.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: Handle) -> Code {
    with_context(|driver| driver.events.remove(&event).map(drop).ok_or(Code::INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    on_stream(stream, |driver, _| {
        *driver.events.get_mut(&event).ok_or(Code::INVALID_HANDLE)? = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) -> Code {
    cuEventRecord(event, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: Handle) -> Code {
    with_healthy(|driver| driver.events.get(&event).map(drop).ok_or(Code::INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: Handle) -> Code {
    cuEventQuery(event)
}

fn elapsed() -> Code {
    with_healthy(|driver| {
        driver.note("unsupported", "the emulator has no time: cuEventElapsedTime is not supported");
        Err(Code::NOT_SUPPORTED)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(_milliseconds: Out<f32>, _start: Handle, _end: Handle) -> Code {
    elapsed()
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime_v2(_milliseconds: Out<f32>, _start: Handle, _end: Handle) -> Code {
    elapsed()
}
