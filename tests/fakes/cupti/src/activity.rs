//! The Activity API: records of kernels, copies and fills with their times.
//!
//! Input: the two callbacks of a client, the kinds that it enables, and the work that the driver's
//! table reports. Output: at a flush, a record of each piece of work since the last one, and of its
//! driver call if the client wants calls, in the client's buffer. Other calls have no records: the
//! fake driver does not report them.
//!
//! With `FAKE_PEERS`, copies within the device are copies from device 0 to device 1.
//! `FAKE_MIGRATIONS` has pairs of a counter of managed memory and its value (`1:4096 4:2`), of
//! which each flush with a launch has a record.
//!
//! A profiler that is enabled meanwhile aborts the client: the times would hold its work.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::{Code, INVALID_PARAMETER, sys};
use crate::code::{INVALID_OPERATION, MAX_LIMIT_REACHED, NOT_INITIALIZED};
use crate::crash::crash;
use crate::driver::{self, Launch};
use crate::table::moved;
use crate::{timeline, trouble};

type GiveBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type TakeBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

const KERNEL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL as u32;
const MIGRATION: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER as u32;
const CALL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_DRIVER as u32;
/// The size of every record here.
const RECORD: usize = size_of::<Record>();

/// The device's idle time before each piece of work, in nanoseconds.
const GAP: u64 = 800;
/// How long before the work its call begins, and returns.
const CALL_BEGINS: u64 = 700;
const CALL_ENDS: u64 = 200;

struct Recording {
    callbacks: Option<(GiveBuffer, TakeBuffer)>,
    enabled: BTreeSet<u32>,
    /// The end of the last launch.
    now: u64,
    /// The number of the last driver call.
    calls: u32,
    /// Whether the last launch came after a start (1) or a stop (2) of the profiler.
    profiler: u32,
    /// The records for the next flush.
    pending: Vec<Record>,
}

static RECORDING: Mutex<Recording> = Mutex::new(Recording {
    callbacks: None,
    enabled: BTreeSet::new(),
    now: 1 << 40,
    calls: 0,
    profiler: 0,
    pending: Vec::new(),
});

/// A record of any kind, in the place of a kernel's, which is the largest.
#[repr(transparent)]
#[allow(dead_code, reason = "clients read its bytes")]
struct Record(sys::CUpti_ActivityKernel9);

// SAFETY: its pointer is to a name that lives for ever.
unsafe impl Send for Record {}

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
            crash("cuptiActivityEnable without callbacks: the records would be lost");
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
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiActivityConfigureUnifiedMemoryCounter(
    config: *const sys::CUpti_ActivityUnifiedMemoryCounterConfig,
    count: u32,
) -> Code {
    with("cuptiActivityConfigureUnifiedMemoryCounter", |_| match config.is_null() || count == 0 {
        true => Err(INVALID_PARAMETER),
        false => Ok(()),
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
            recording.pending.clear();
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
        recording.settle();
        records = std::mem::take(&mut recording.pending);
        // Copies around a measurement are none.
        let launched = records.iter().any(|Record(record)| record.kind as u32 == KERNEL);
        timed = launched && !recording.enabled.contains(&CALL);
        if launched && recording.enabled.contains(&MIGRATION) {
            records.extend(migrations());
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

/// The time after all work so far.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetTimestamp(time: *mut u64) -> Code {
    with("cuptiGetTimestamp", |recording| {
        recording.settle();
        // SAFETY: the caller's promise.
        unsafe { time.as_mut() }.map(|time| *time = recording.now).ok_or(INVALID_PARAMETER)
    })
}

/// The functions that have records, of the driver alone.
const FUNCTIONS: [(sys::CUpti_driver_api_trace_cbid_enum, &CStr); 7] = {
    use sys::CUpti_driver_api_trace_cbid_enum as Id;
    [
        (Id::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, c"cuLaunchKernel"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, c"cuMemcpyHtoDAsync_v2"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, c"cuMemcpyDtoHAsync_v2"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, c"cuMemcpyDtoDAsync_v2"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, c"cuMemsetD8Async"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, c"cuProfilerStart"),
        (Id::CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, c"cuProfilerStop"),
    ]
};

/// The place of the start of the profiler among them; the stop follows.
const PROFILER: usize = 5;

/// CUPTI's function of this name.
///
/// # Safety
/// CUPTI's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuptiGetCallbackName(
    domain: u32,
    function: u32,
    name: *mut *const c_char,
) -> Code {
    const DRIVER: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_DRIVER_API as u32;
    let known = FUNCTIONS.iter().find(|(id, _)| domain == DRIVER && *id as u32 == function);
    with("cuptiGetCallbackName", |_| match (known, name.is_null()) {
        (Some((_, text)), false) => {
            // SAFETY: not null, and the caller's promise.
            unsafe { name.write(text.as_ptr()) };
            Ok(())
        }
        _ => Err(INVALID_PARAMETER),
    })
}

impl Recording {
    /// Makes records of all work so far.
    fn settle(&mut self) {
        if !self.enabled.contains(&KERNEL) {
            return;
        }
        for work in driver::take_work() {
            let start = self.now + GAP;
            self.tell_profiler(&work);
            self.now = start + work.nanoseconds;
            self.calls += 1;
            let record = match work.moved {
                moved::NOTHING => kernel(&work, (start, self.now), self.calls),
                _ => self.moved(&work, start),
            };
            self.pending.push(Record(record));
            if self.enabled.contains(&CALL) {
                let time = (start - CALL_BEGINS, start - CALL_ENDS);
                let call = self.call(work.moved as usize, work.thread, time);
                self.pending.push(Record(call));
            }
        }
    }

    /// Makes a record of the call that started or stopped the profiler before `work`.
    fn tell_profiler(&mut self, work: &Launch) {
        let changed = work.moved == moved::NOTHING && work.profiler != self.profiler;
        if changed && self.enabled.contains(&CALL) {
            self.calls += 1;
            let time = (self.now + 1, self.now + 2);
            let function = PROFILER + work.profiler as usize - 1;
            let call = self.call(function, work.thread, time);
            self.pending.push(Record(call));
        }
        if changed {
            self.profiler = work.profiler;
        }
    }

    /// The record of a copy or a fill.
    fn moved(&self, work: &Launch, start: u64) -> sys::CUpti_ActivityKernel9 {
        use sys::CUpti_ActivityMemoryKind as Memory;
        // SAFETY: all-zero is a valid record: integers, null pointers, and enums that have a zero.
        let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
        let stream = u32::try_from(work.stream).unwrap_or(u32::MAX);
        let pageable = Memory::CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE as u8;
        let device = Memory::CUPTI_ACTIVITY_MEMORY_KIND_DEVICE as u8;
        if work.moved == moved::FILL {
            let fill = (&raw mut record).cast::<sys::CUpti_ActivityMemset4>();
            // SAFETY: such a record is smaller, and no more aligned.
            let fill = unsafe { &mut *fill };
            fill.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMSET;
            (fill.bytes, fill.start, fill.end) = (work.bytes, start, self.now);
            (fill.contextId, fill.streamId, fill.correlationId) = (1, stream, self.calls);
            return record;
        }
        if work.moved == moved::COPY && env::var_os("FAKE_PEERS").is_some() {
            let copy = (&raw mut record).cast::<sys::CUpti_ActivityMemcpyPtoP4>();
            // SAFETY: as above.
            let copy = unsafe { &mut *copy };
            copy.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY2;
            (copy.bytes, copy.start, copy.end) = (work.bytes, start, self.now);
            (copy.contextId, copy.streamId, copy.correlationId) = (1, stream, self.calls);
            (copy.dstDeviceId, copy.dstContextId) = (1, 2);
            return record;
        }
        let copy = (&raw mut record).cast::<sys::CUpti_ActivityMemcpy5>();
        // SAFETY: as above.
        let copy = unsafe { &mut *copy };
        copy.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY;
        (copy.bytes, copy.start, copy.end) = (work.bytes, start, self.now);
        (copy.contextId, copy.streamId, copy.correlationId) = (1, stream, self.calls);
        (copy.srcKind, copy.dstKind) = match work.moved {
            moved::UPLOAD => (pageable, device),
            moved::DOWNLOAD => (device, pageable),
            moved::COPY => (device, device),
            other => crash(&format!("the driver moved bytes in the way {other}")),
        };
        record
    }

    /// The record of a call of one of [`FUNCTIONS`].
    fn call(&self, function: usize, thread: u32, time: (u64, u64)) -> sys::CUpti_ActivityKernel9 {
        // SAFETY: as in `moved`.
        let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
        let call = (&raw mut record).cast::<sys::CUpti_ActivityAPI>();
        // SAFETY: such a record is smaller, and no more aligned.
        let call = unsafe { &mut *call };
        call.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_DRIVER;
        call.cbid = FUNCTIONS[function].0 as u32;
        (call.start, call.end) = time;
        (call.threadId, call.correlationId) = (thread, self.calls);
        record
    }
}

/// The records of `FAKE_MIGRATIONS`.
fn migrations() -> Vec<Record> {
    let text = env::var("FAKE_MIGRATIONS").unwrap_or_default();
    let record = |pair: &str| {
        let (counter, value) = pair.split_once(':').expect("a counter and its value");
        // SAFETY: all-zero is a valid record: integers, null pointers, and enums that have a zero.
        let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
        let moved = (&raw mut record).cast::<u32>();
        // SAFETY: a record is larger: its kind, its counter, and the value after them.
        unsafe {
            moved.write(MIGRATION);
            moved.add(1).write(counter.parse().expect("the number of a counter"));
            moved.add(2).cast::<u64>().write(value.parse().expect("a number"));
        }
        Record(record)
    };
    text.split_whitespace().map(record).collect()
}

/// The record of a launch.
fn kernel(
    launch: &Launch,
    (start, end): (u64, u64),
    correlation: u32,
) -> sys::CUpti_ActivityKernel9 {
    // SAFETY: all-zero is a valid record: integers, null pointers, and enums that have a zero.
    let mut record: sys::CUpti_ActivityKernel9 = unsafe { std::mem::zeroed() };
    record.kind = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.start = start;
    record.end = end;
    record.contextId = 1;
    record.streamId = u32::try_from(launch.stream).unwrap_or(u32::MAX);
    record.correlationId = correlation;
    let extents = |extents: [u32; 3]| extents.map(|extent| i32::try_from(extent).unwrap_or(-1));
    [record.gridX, record.gridY, record.gridZ] = extents(launch.grid);
    [record.blockX, record.blockY, record.blockZ] = extents(launch.block);
    record.dynamicSharedMemory = i32::try_from(launch.shared_bytes).unwrap_or(-1);
    // A name lives as long as its module, in NVIDIA's: here for ever.
    record.name = CString::new(launch.kernel.as_str()).unwrap_or_default().into_raw();
    record
}

fn deliver(records: &[Record], (give, take): (GiveBuffer, TakeBuffer)) {
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
