//! Streams. Work is done when it is enqueued, so a stream is only a number.

use super::code::Code;
use super::current::{current, with_context, with_healthy};
use super::pointers::{Handle, HostFunction, Out, Target, call_host};
use super::state::{Driver, PRIMARY};
use std::ffi::{c_int, c_uint};

/// The default stream has three names: null, legacy and per-thread.
fn known(driver: &Driver, stream: Handle) -> Result<(), Code> {
    if stream.0 <= 2 || driver.streams.contains_key(&stream) {
        Ok(())
    } else {
        Err(Code::INVALID_HANDLE)
    }
}

fn create(stream: Out<Handle>, flags: c_uint, priority: c_int) -> Code {
    with_healthy(|driver| {
        let handle = driver.handle();
        let number = driver.streams.values().map(|(number, ..)| *number).max().unwrap_or(0) + 1;
        driver.streams.insert(handle, (number, priority, flags));
        stream.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(stream: Out<Handle>, flags: c_uint) -> Code {
    create(stream, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreateWithPriority(
    stream: Out<Handle>,
    flags: c_uint,
    priority: c_int,
) -> Code {
    create(stream, flags, priority)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: Handle) -> Code {
    with_context(|driver| driver.streams.remove(&stream).map(drop).ok_or(Code::INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(stream: Handle) -> Code {
    with_healthy(|driver| known(driver, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(stream: Handle) -> Code {
    with_healthy(|driver| known(driver, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) -> Code {
    with_healthy(|driver| {
        known(driver, stream)?;
        driver.events.get(&event).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamGetPriority(stream: Handle, priority: Out<c_int>) -> Code {
    with_context(|driver| {
        known(driver, stream)?;
        priority.set(driver.streams.get(&stream).map_or(0, |(_, priority, _)| *priority))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamGetFlags(stream: Handle, flags: Out<c_uint>) -> Code {
    with_context(|driver| {
        known(driver, stream)?;
        flags.set(driver.streams.get(&stream).map_or(0, |(.., flags)| *flags))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) -> Code {
    with_context(|driver| {
        known(driver, stream)?;
        context.set(current().unwrap_or(PRIMARY))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamIsCapturing(stream: Handle, status: Out<c_uint>) -> Code {
    with_context(|driver| {
        known(driver, stream)?;
        status.set(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLaunchHostFunc(
    stream: Handle,
    function: Option<HostFunction>,
    argument: Target,
) -> Code {
    let ready = with_healthy(|driver| known(driver, stream));
    if ready != Code::SUCCESS {
        return ready;
    }
    call_host(function, argument).into()
}
