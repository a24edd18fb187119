//! Streams and events.

use crate::driver::driver;
use crate::error::Error;
use crate::macros::{on_stream, runtime};
use crate::pointers::{Handle, Out};
use std::ffi::{c_int, c_uint, c_void};

type Callback = extern "C" fn(Handle, Error, *mut c_void);

/// A callback with its arguments, until its stream calls it.
struct Pending {
    callback: Callback,
    stream: Handle,
    argument: *mut c_void,
}

extern "C" fn call(pending: *mut c_void) {
    // SAFETY: `cudaStreamAddCallback` made it, and the driver calls each function once.
    let Pending { callback, stream, argument } = *unsafe { Box::from_raw(pending.cast()) };
    callback(stream, Error::SUCCESS, argument);
}

fn add_callback(
    stream: Handle,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> Result<(), Error> {
    let callback = callback.ok_or(Error::INVALID_VALUE)?;
    let driver = driver()?;
    let pending = Box::into_raw(Box::new(Pending { callback, stream, argument }));
    driver.cuLaunchHostFunc(stream, Some(call), pending.cast()).inspect_err(|_| {
        // SAFETY: a launch that failed calls nothing, so the box is still this function's.
        drop(unsafe { Box::from_raw(pending) });
    })
}

runtime! {
    fn cudaStreamCreate(stream: Out<Handle>) {
        driver()?.cuStreamCreateWithPriority(stream, 0, 0)
    }
    fn cudaStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) {
        driver()?.cuStreamCreateWithPriority(stream, flags, 0)
    }
    fn cudaStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) {
        driver()?.cuStreamCreateWithPriority(stream, flags, priority)
    }
    fn cudaStreamDestroy(stream: Handle) { driver()?.cuStreamDestroy_v2(stream) }
    fn cudaEventCreate(event: Out<Handle>) { driver()?.cuEventCreate(event, 0) }
    fn cudaEventCreateWithFlags(event: Out<Handle>, flags: c_uint) {
        driver()?.cuEventCreate(event, flags)
    }
    fn cudaEventDestroy(event: Handle) { driver()?.cuEventDestroy_v2(event) }
    fn cudaEventSynchronize(event: Handle) { driver()?.cuEventSynchronize(event) }
    fn cudaEventQuery(event: Handle) { driver()?.cuEventQuery(event) }
    fn cudaEventElapsedTime | cudaEventElapsedTime_v2(
        milliseconds: Out<f32>, start: Handle, end: Handle,
    ) { driver()?.cuEventElapsedTime(milliseconds, start, end) }
}

on_stream! {
    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz(stream: Handle) on stream {
        driver()?.cuStreamSynchronize(stream)
    }
    fn cudaStreamQuery | cudaStreamQuery_ptsz(stream: Handle) on stream {
        driver()?.cuStreamQuery(stream)
    }
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(
        stream: Handle, event: Handle, flags: c_uint,
    ) on stream { driver()?.cuStreamWaitEvent(stream, event, flags) }
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz(
        stream: Handle, priority: Out<c_int>,
    ) on stream { driver()?.cuStreamGetPriority(stream, priority) }
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz(
        stream: Handle, flags: Out<c_uint>,
    ) on stream { driver()?.cuStreamGetFlags(stream, flags) }
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(
        stream: Handle, status: Out<c_uint>,
    ) on stream { driver()?.cuStreamIsCapturing(stream, status) }
    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz(
        stream: Handle, callback: Option<Callback>, argument: *mut c_void, _flags: c_uint,
    ) on stream { add_callback(stream, callback, argument) }
    fn cudaEventRecord | cudaEventRecord_ptsz(event: Handle, stream: Handle) on stream {
        driver()?.cuEventRecordWithFlags(event, stream, 0)
    }
    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz(
        event: Handle, stream: Handle, flags: c_uint,
    ) on stream { driver()?.cuEventRecordWithFlags(event, stream, flags) }
}
