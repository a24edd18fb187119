//! Streams. Work is done when it is enqueued, so a stream is only a number.

use super::code::Code;
use super::current::{after_stream, current, on_stream, with_context, with_healthy};
use super::exported::exported;
use super::graph::{NON_BLOCKING, launch_host};
use super::pointers::{Handle, HostFunction, Out, Target};
use super::state::PRIMARY;
use std::ffi::{c_int, c_uint};

fn create(stream: Out<Handle>, flags: c_uint, priority: c_int) -> Code {
    with_healthy(|driver| {
        let handle = driver.handle();
        let number = driver.streams.values().map(|(number, ..)| *number).max().unwrap_or(0) + 1;
        driver.streams.insert(handle, (number, priority, flags));
        driver.order.create(number, flags & NON_BLOCKING == 0);
        stream.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) -> Code {
    on_stream(stream, |driver, number| {
        if !driver.graphs.join(stream, event) {
            driver.order.wait(number, event);
        }
        driver.events.get(&event).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

exported! {
    fn cuStreamCreate(stream: Out<Handle>, flags: c_uint) = create(stream, flags, 0);
    fn cuStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) =
        create(stream, flags, priority);
    pub(super) fn cuStreamDestroy_v2(stream: Handle) =
        with_context(|driver| driver.streams.remove(&stream).map(drop).ok_or(Code::INVALID_HANDLE));
    fn cuStreamSynchronize(stream: Handle) = after_stream(stream);
    fn cuStreamQuery(stream: Handle) = after_stream(stream);
    fn cuStreamGetCtx(stream: Handle, context: Out<Handle>) =
        on_stream(stream, |_, _| context.set(current().unwrap_or(PRIMARY)));
    fn cuStreamGetPriority(stream: Handle, priority: Out<c_int>) = on_stream(stream, |driver, _| {
        priority.set(driver.streams.get(&stream).map_or(0, |(_, priority, _)| *priority))
    });
    fn cuStreamGetFlags(stream: Handle, flags: Out<c_uint>) = on_stream(stream, |driver, _| {
        flags.set(driver.streams.get(&stream).map_or(0, |(.., flags)| *flags))
    });
    fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, argument: Target) =
        launch_host(stream, function, argument.address()).into();
}
