//! Events. They order nothing, since everything is done at once, and they measure nothing: the
//! emulator has no time. A program that is only to be run may ask for this computer's
//! (`GPUEMU_EVENT_TIMES=host`), which says how long emulation took, and a program whose times are
//! not read may ask for zeros (`zero`).

use super::code::Code;
use super::current::{on_stream, with_context, with_healthy};
use super::exported::exported;
use super::pointers::{Handle, Out};
use super::state::Event;
use std::ffi::c_uint;
use std::time::Instant;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Out<Handle>, flags: c_uint) -> Code {
    with_healthy(|driver| {
        let handle = driver.handle();
        driver.events.insert(handle, Event { timed: flags & DISABLE_TIMING == 0, recorded: None });
        event.set(handle)
    })
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn cuEventDestroy_v2(event: Handle) -> Code {
    with_context(|driver| {
        driver.order.forget(event);
        driver.events.remove(&event).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    on_stream(stream, |driver, number| {
        let known = driver.events.get_mut(&event).ok_or(Code::INVALID_HANDLE)?;
        // An event of a capture has no time.
        let is_captured = driver.graphs.fork(event, stream);
        known.recorded = (!is_captured).then(Instant::now);
        if !is_captured {
            driver.order.record(event, number);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: Handle) -> Code {
    with_healthy(|driver| {
        driver.order.wait_for_event(event);
        driver.events.get(&event).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) -> Code {
    with_healthy(|driver| {
        let recorded = |event| match driver.events.get(&event) {
            Some(Event { timed: true, recorded: Some(at) }) => Ok(*at),
            _ => Err(Code::INVALID_HANDLE),
        };
        let (start, end) = (recorded(start)?, recorded(end)?);
        match std::env::var("GPUEMU_EVENT_TIMES").as_deref() {
            Ok("host") => {}
            Ok("zero") => return milliseconds.set(0.0),
            _ => {
                let message = "the emulator has no time: cuEventElapsedTime is not supported";
                driver.note("unsupported", message);
                return Err(Code::NOT_SUPPORTED);
            }
        }
        driver.log.times_events();
        let forward = end.saturating_duration_since(start).as_secs_f64();
        let backward = start.saturating_duration_since(end).as_secs_f64();
        #[expect(clippy::cast_possible_truncation, reason = "as CUDA has it")]
        milliseconds.set(((forward - backward) * 1e3) as f32)
    })
}

exported! {
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) =
        cuEventRecord(event, stream);
    fn cuEventSynchronize(event: Handle) = cuEventQuery(event);
    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) =
        cuEventElapsedTime(milliseconds, start, end);
}
