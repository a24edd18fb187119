//! The Activity API: records of kernels with their times.
//!
//! Input: the two callbacks of a client, the kinds that it enables, and the launches that the
//! driver's table reports. Output: at a flush, a record of each launch since the last one, and of
//! its driver call if the client wants calls, in the client's buffer. Copies, fills and other calls
//! have no records: the fake driver does not report them.
//!
//! A profiler that is enabled meanwhile aborts the client: the times would hold its work.

use std::collections::BTreeSet;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::{Code, INVALID_PARAMETER, sys};
use crate::code::{INVALID_OPERATION, MAX_LIMIT_REACHED, NOT_INITIALIZED};
use crate::crash::crash;
use crate::driver::{self, Launch};
use crate::{timeline, trouble};

type GiveBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type TakeBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

const KERNEL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL as u32;
const CALL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_DRIVER as u32;
/// The size of every record here.
const RECORD: usize = size_of::<sys::CUpti_ActivityKernel9>();

/// The device's idle time between two launches, in nanoseconds.
const GAP: u64 = 800;

struct Recording {
    callbacks: Option<(GiveBuffer, TakeBuffer)>,
    enabled: BTreeSet<u32>,
    /// The end of the last launch.
    now: u64,
    /// The number of the last driver call.
    calls: u32,
}

static RECORDING: Mutex<Recording> =
    Mutex::new(Recording { callbacks: None, enabled: BTreeSet::new(), now: 1 << 40, calls: 0 });

fn recording() -> MutexGuard<'static, Recording> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a client records kernels.
pub fn is_enabled() -> bool {
    recording().enabled.contains(&KERNEL)
}

fn with(function: &str, f: impl FnOnce(&mut Recording) -> Result<(), Code>) -> Code {
    trouble::at_begin_of(function);
    match trouble::refusal(function) {
        Some(code) => code,
        None => f(&mut recording()).err().unwrap_or(0),
    }
}

/// CUPTI's function of this name.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityRegisterCallbacks(
    give: Option<GiveBuffer>,
    take: Option<TakeBuffer>,
) -> Code {
    with("cuptiActivityRegisterCallbacks", |recording| {
        recording.callbacks = Some(give.zip(take).ok_or(INVALID_PARAMETER)?);
        Ok(())
    })
}

/// CUPTI's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityEnable(kind: u32) -> Code {
    with("cuptiActivityEnable", |recording| {
        if recording.callbacks.is_none() {
            crash("cuptiActivityEnable without callbacks: nobody would take the records");
        }
        if !driver::answers() {
            return Err(NOT_INITIALIZED);
        }
        recording.enabled.insert(kind);
        if kind == KERNEL {
            driver::observe(true);
        }
        Ok(())
    })
}

/// CUPTI's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityDisable(kind: u32) -> Code {
    with("cuptiActivityDisable", |recording| {
        if !recording.enabled.remove(&kind) {
            return Err(INVALID_OPERATION);
        }
        if kind == KERNEL {
            driver::observe(false);
        }
        Ok(())
    })
}

/// CUPTI's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn cuptiActivityFlushAll(_flag: u32) -> Code {
    let mut callbacks = None;
    let mut records = Vec::new();
    let mut timed = true;
    let code = with("cuptiActivityFlushAll", |recording| {
        callbacks = recording.callbacks;
        if recording.enabled.contains(&KERNEL) {
            timed = !recording.enabled.contains(&CALL);
            for launch in driver::take() {
                recording.calls += 1;
                records.push(record(&launch, recording));
                records.extend((!timed).then(|| call(&launch, recording)));
            }
        }
        Ok(())
    });
    // Without the lock, as the client's callback asks for the records one by one.
    if let (Some(callbacks), false) = (callbacks, records.is_empty()) {
        let begin = timeline::now();
        if timed {
            timeline::linger(timeline::MEASURED);
            timeline::record("samples", begin);
        }
        deliver(&records, callbacks);
    }
    code
}

fn record(launch: &Launch, recording: &mut Recording) -> sys::CUpti_ActivityKernel9 {
    let start = recording.now + GAP;
    recording.now = start + launch.nanoseconds;
    // SAFETY: all-zero is a valid record: integers, null pointers, and enums that have a zero.
    let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
    record.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.start = start;
    record.end = recording.now;
    record.contextId = 1;
    record.streamId = u32::try_from(launch.stream).unwrap_or(u32::MAX);
    record.correlationId = recording.calls;
    let extents = |extents: [u32; 3]| extents.map(|extent| i32::try_from(extent).unwrap_or(-1));
    [record.gridX, record.gridY, record.gridZ] = extents(launch.grid);
    [record.blockX, record.blockY, record.blockZ] = extents(launch.block);
    record.dynamicSharedMemory = i32::try_from(launch.shared_bytes).unwrap_or(-1);
    // A name lives as long as its module, in NVIDIA's: here for ever.
    record.name = CString::new(launch.kernel.as_str()).unwrap_or_default().into_raw();
    record
}

/// The record of the driver call of a launch, in the place of a kernel's.
fn call(launch: &Launch, recording: &Recording) -> sys::CUpti_ActivityKernel9 {
    // SAFETY: as in `record`.
    let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
    let call = (&raw mut record).cast::<sys::CUpti_ActivityAPI>();
    // SAFETY: such a record is smaller, and no more aligned.
    unsafe {
        (*call).kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_DRIVER;
        (*call).threadId = launch.thread;
        (*call).correlationId = recording.calls;
    }
    record
}

fn deliver(records: &[sys::CUpti_ActivityKernel9], (give, take): (GiveBuffer, TakeBuffer)) {
    let mut left = records;
    while !left.is_empty() {
        let (mut buffer, mut size, mut most) = (ptr::null_mut(), 0, 0);
        // SAFETY: the client's callback writes all three.
        unsafe { give(&raw mut buffer, &raw mut size, &raw mut most) };
        if buffer.is_null() || size < RECORD || !buffer.addr().is_multiple_of(8) {
            crash("the client gave no buffer for records, or one that is not aligned to 8 bytes");
        }
        let (now, later) = left.split_at(left.len().min(size / RECORD));
        // SAFETY: so many records fit; the buffer is the client's, given to be written.
        unsafe { ptr::copy_nonoverlapping(now.as_ptr().cast(), buffer, size_of_val(now)) };
        // SAFETY: the client's callback takes its own buffer back.
        unsafe { take(ptr::null_mut(), 0, buffer, size, size_of_val(now)) };
        left = later;
    }
}

/// CUPTI's function of this name.
///
/// # Safety
/// CUPTI's: a buffer with so many valid bytes, and null or the record before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityGetNextRecord(
    buffer: *mut u8,
    valid: usize,
    record: *mut *mut c_void,
) -> Code {
    if buffer.is_null() || record.is_null() {
        return INVALID_PARAMETER;
    }
    // SAFETY: not null, and the caller's promise.
    let before = unsafe { record.read() };
    let at = if before.is_null() { 0 } else { before.addr() - buffer.addr() + RECORD };
    if at + RECORD > valid {
        return MAX_LIMIT_REACHED;
    }
    // SAFETY: as above; the next record lies in the valid bytes.
    unsafe { record.write(buffer.add(at).cast()) };
    0
}
