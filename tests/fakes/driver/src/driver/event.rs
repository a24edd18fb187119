//! Events, which hold the device's time when they were recorded.

use std::collections::BTreeMap;
use std::ffi::c_uint;
use std::sync::Mutex;

use super::code::Code;
use super::current::{with_context, with_healthy};
use super::ledger;
use super::pointers::{Handle, Out};
use super::state::Event;
use crate::timeline;

/// When an event was recorded, in nanoseconds: of device time, and of the system's clock.
type Recorded = Option<(u64, u128)>;

/// By event; none before it is recorded.
static EVENTS: Mutex<BTreeMap<Handle, Recorded>> = Mutex::new(BTreeMap::new());

fn events<T>(f: impl FnOnce(&mut BTreeMap<Handle, Recorded>) -> T) -> T {
    f(&mut EVENTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventCreate(event: Out<Handle>, _flags: c_uint) -> Code {
    with_healthy(|driver| {
        let handle = driver.handle();
        // Streams look events up here before they wait for one.
        driver.events.insert(handle, Event { timed: true, recorded: None });
        events(|all| all.insert(handle, None));
        event.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(event: Handle) -> Code {
    with_context(|driver| {
        events(|all| all.remove(&event));
        driver.events.remove(&event).map(drop).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, stream: Handle) -> Code {
    with_healthy(|driver| {
        if driver.graphs.fork(event, stream) {
            return Ok(());
        }
        let now = (ledger::now(driver), timeline::now());
        timeline::linger(timeline::MEASURED);
        events(|all| all.get_mut(&event).map(|time| *time = Some(now))).ok_or(Code::INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) -> Code {
    cuEventRecord(event, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventQuery(event: Handle) -> Code {
    with_healthy(|_| events(|all| all.get(&event).map(drop)).ok_or(Code::INVALID_HANDLE))
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(event: Handle) -> Code {
    cuEventQuery(event)
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) -> Code {
    with_healthy(|_| {
        let at = |event| events(|all| all.get(&event).copied()).ok_or(Code::INVALID_HANDLE);
        match (at(start)?, at(end)?) {
            #[expect(clippy::cast_precision_loss, reason = "as CUDA has it")]
            (Some((start, begin)), Some((end, _))) => {
                timeline::record("samples", begin);
                milliseconds.set((end as f64 - start as f64) as f32 / 1e6)
            }
            // Never recorded.
            _ => Err(Code::INVALID_HANDLE),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) -> Code {
    cuEventElapsedTime(milliseconds, start, end)
}
