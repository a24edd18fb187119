//! The device's own times of kernels, copies and fills, by CUPTI's activity records.
//!
//! Input: the possible locations of CUPTI, and the work of this process while an
//! [`ActivityRecorder`] lives. Output: start and end of each piece of work in nanoseconds of one
//! clock, with its stream, no matter which code launched it; and on request the calls that queued
//! it. The device takes both times, so they hold neither launch latency nor the work of CUDA events
//! around a kernel.
//!
//! No privilege is needed, unlike for counters. While another tool holds CUPTI (Nsight Systems, a
//! debugger), the recorder cannot begin.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cudarc::cupti::sys;
use cudarc::cupti::sys::CUpti_ActivityUnifiedMemoryCounterKind::{
    self as Counter,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD as BetweenDevices,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH as ToHost,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD as ToDevice,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT as CpuFault,
    CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT as GpuFault,
};
use cudarc::cupti::sys::CUpti_ActivityUnifiedMemoryCounterScope::CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES as AllDevices;

use crate::abi::one_at_a_time;
use crate::callbacks::WatchError;
use crate::driver;
use crate::host::string;
use crate::library::Library;
use crate::locate::{CUPTI, NotFound, Search};
use crate::{Failure, LoadError};

/// A kernel, a copy or a fill that the device has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Which of these it is.
    pub work: DeviceWork,
    /// When the device began it, in nanoseconds.
    pub start: u64,
    /// When it was done, on the same clock; 0 if it still runs.
    pub end: u64,
    /// The number of its device in the process.
    pub device: u32,
    /// CUPTI's number of its context.
    pub context: u32,
    /// CUPTI's number of its stream.
    pub stream: u32,
    /// CUPTI's number of the driver call that queued it; calls are numbered in their order. The
    /// work of a graph has the number of the graph's launch.
    pub correlation: u32,
}

impl Activity {
    /// The launch; none of a copy or a fill.
    #[must_use]
    pub fn kernel(&self) -> Option<&KernelActivity> {
        match &self.work {
            DeviceWork::Kernel(kernel) => Some(kernel),
            DeviceWork::Copy { .. } | DeviceWork::PeerCopy { .. } | DeviceWork::Fill { .. } => None,
        }
    }
}

/// The kinds of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceWork {
    /// A kernel.
    Kernel(KernelActivity),
    /// A copy.
    Copy {
        /// The kind of memory of its source, as CUPTI numbers it (`CUpti_ActivityMemoryKind`).
        from: u8,
        /// That of its destination.
        to: u8,
        /// How many bytes.
        bytes: u64,
    },
    /// A copy from one device to another.
    PeerCopy {
        /// The number of the device with the source.
        from_device: u32,
        /// The number of the device with the destination.
        to_device: u32,
        /// How many bytes.
        bytes: u64,
    },
    /// A fill.
    Fill {
        /// How many bytes.
        bytes: u64,
    },
}

/// The migrations and page faults of managed memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Migrations {
    /// Bytes from the host to a device.
    pub bytes_to_device: u64,
    /// Bytes from a device to the host.
    pub bytes_to_host: u64,
    /// Bytes from a device to another one.
    pub bytes_between_devices: u64,
    /// Groups of page faults of devices.
    pub gpu_faults: u64,
    /// Page faults of the host.
    pub cpu_faults: u64,
}

/// A call of the driver or of CUDA's runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// CUPTI's number of the call, which the work that it queued has too.
    pub correlation: u32,
    /// CUPTI's number of its thread.
    pub thread: u32,
    /// When it began, in nanoseconds, on the clock of the work.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    domain: u32,
    function: u32,
}

/// The launch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelActivity {
    /// Its name in the driver.
    pub name: String,
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Blocks of a cluster in each direction; 0 or 1 without clusters.
    pub cluster: [u32; 3],
    /// CUPTI's number of the graph that launched it, and of its node there.
    pub graph: Option<(u32, u64)>,
}

/// A CUPTI with activity records. Nothing for counters is opened.
#[derive(Clone, Copy)]
pub struct ActivityApi {
    functions: Functions,
}

impl ActivityApi {
    /// Loads the CUPTI that `explicit` names, the library or its folder, or the first one of the
    /// usual search.
    ///
    /// # Errors
    /// No driver of NVIDIA's, or no CUPTI with activity records.
    pub fn load(explicit: Option<&Path>) -> Result<Self, WatchError> {
        driver::probe_nvidia()?;
        let search = Search::from_environment(&CUPTI, explicit);
        let functions = search.first(|candidate, _| {
            let library = Library::open(candidate)
                .map_err(|reason| LoadError::Open { path: candidate.into(), reason })?;
            Functions::resolve(library)
                .map_err(|symbol| LoadError::MissingSymbol { path: candidate.into(), symbol })
        });
        let functions = functions.map_err(|searched| NotFound { searched })?;
        Ok(Self { functions })
    }
}

/// Records this process's work on the device until it is dropped. One lives at a time.
pub struct ActivityRecorder {
    functions: Functions,
    kinds: Vec<u32>,
}

impl ActivityRecorder {
    /// Begins to record work.
    ///
    /// # Errors
    /// Another tool holds CUPTI.
    pub fn begin(api: ActivityApi) -> Result<Self, Failure> {
        Self::begin_kinds(api, WORK)
    }

    /// Begins to record work and the calls that queue it, which slows those down.
    ///
    /// # Errors
    /// Another tool holds CUPTI.
    pub fn begin_with_calls(api: ActivityApi) -> Result<Self, Failure> {
        Self::begin_kinds(api, &[WORK, &[DRIVER_CALL, RUNTIME_CALL]].concat())
    }

    fn begin_kinds(ActivityApi { functions }: ActivityApi, kinds: &[u32]) -> Result<Self, Failure> {
        *NEXT_RECORD.lock().unwrap_or_else(PoisonError::into_inner) = Some(functions.next_record);
        let alone = one_at_a_time();
        // SAFETY: a driver answers, and both callbacks have the types that CUPTI calls.
        let code = unsafe { (functions.register)(give_buffer, take_buffer) };
        Failure::check("cuptiActivityRegisterCallbacks", code)?;
        let recorder = Self { functions, kinds: kinds.to_vec() };
        for kind in kinds {
            // SAFETY: callbacks are registered.
            let code = unsafe { (functions.enable)(*kind) };
            if let Err(failure) = Failure::check("cuptiActivityEnable", code) {
                drop(alone);
                drop(recorder);
                return Err(failure);
            }
        }
        drop(alone);
        Ok(recorder)
    }

    /// Records the migrations and page faults of managed memory too, from now on.
    ///
    /// # Errors
    /// A machine on which CUPTI cannot record them.
    pub fn begin_migrations(&mut self) -> Result<(), Failure> {
        let _alone = one_at_a_time();
        let mut counters = MIGRATIONS.map(|kind| sys::CUpti_ActivityUnifiedMemoryCounterConfig {
            scope: AllDevices,
            kind,
            deviceId: 0,
            enable: 1,
        });
        let count = counters.len() as u32;
        // SAFETY: an array of so many; CUPTI reads it.
        let code = unsafe { (self.functions.configure_migrations)(counters.as_mut_ptr(), count) };
        Failure::check("cuptiActivityConfigureUnifiedMemoryCounter", code)?;
        // SAFETY: callbacks are registered.
        let code = unsafe { (self.functions.enable)(MIGRATION) };
        Failure::check("cuptiActivityEnable", code)?;
        self.kinds.push(MIGRATION);
        Ok(())
    }

    /// The migrations that [`Self::take`] found since the last call.
    pub fn take_migrations(&mut self) -> Migrations {
        std::mem::take(&mut recorded().migrations)
    }

    /// The work recorded since the last call, in the order of its starts: all work that was
    /// synchronised with, and any other known work.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn take(&mut self) -> Result<Vec<Activity>, Failure> {
        let alone = one_at_a_time();
        // SAFETY: callbacks are registered.
        let code = unsafe { (self.functions.flush_all)(FLUSH_FORCED) };
        Failure::check("cuptiActivityFlushAll", code)?;
        drop(alone);
        let mut taken = std::mem::take(&mut recorded().work);
        taken.sort_by_key(|activity| activity.start);
        Ok(taken)
    }

    /// The calls that [`Self::take`] found so far, in the order of their starts.
    pub fn take_calls(&mut self) -> Vec<Call> {
        let mut calls = std::mem::take(&mut recorded().calls);
        calls.sort_by_key(|call| (call.start, std::cmp::Reverse(call.end)));
        calls
    }

    /// The function that `call` is of: `cuLaunchKernel`; none if CUPTI does not know it.
    #[must_use]
    pub fn function(&self, call: &Call) -> Option<String> {
        let mut name = std::ptr::null();
        // SAFETY: it writes a pointer.
        let code =
            unsafe { (self.functions.callback_name)(call.domain, call.function, &raw mut name) };
        // SAFETY: null, or a name that lives as long as CUPTI.
        (code == 0 && !name.is_null()).then(|| unsafe { string(name) })
    }

    /// The time now, on the clock of all records.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn now(&self) -> Result<u64, Failure> {
        let mut now = 0;
        // SAFETY: it writes a number.
        let code = unsafe { (self.functions.timestamp)(&raw mut now) };
        Failure::check("cuptiGetTimestamp", code)?;
        Ok(now)
    }
}

impl Drop for ActivityRecorder {
    fn drop(&mut self) {
        let _alone = one_at_a_time();
        for kind in &self.kinds {
            // SAFETY: callbacks are registered. A failure changes nothing.
            let _ = unsafe { (self.functions.disable)(*kind) };
        }
        // SAFETY: as above; buffers that are still out come back.
        let _ = unsafe { (self.functions.flush_all)(FLUSH_FORCED) };
        *recorded() = Recorded::NOTHING;
    }
}

/// Records of incomplete buffers are delivered too.
const FLUSH_FORCED: u32 = 1;

const KERNEL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL as u32;
const COPY: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY as u32;
const PEER_COPY: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY2 as u32;
const FILL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMSET as u32;
const DRIVER_CALL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_DRIVER as u32;
const RUNTIME_CALL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_RUNTIME as u32;
const DRIVER_API: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_DRIVER_API as u32;
const RUNTIME_API: u32 = sys::CUpti_CallbackDomain::CUPTI_CB_DOMAIN_RUNTIME_API as u32;
const MIGRATION: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER as u32;
const WORK: &[u32] = &[KERNEL, COPY, PEER_COPY, FILL];
const MIGRATIONS: [Counter; 5] = [ToDevice, ToHost, BetweenDevices, GpuFault, CpuFault];

/// CUPTI's number for "there is no further record".
const NO_FURTHER_RECORD: u32 = 12;

type GiveBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type TakeBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
type NextRecord = unsafe extern "C" fn(*mut u8, usize, *mut *mut c_void) -> u32;

/// The functions used here: they take no structs of parameters (`abi`).
#[derive(Clone, Copy)]
struct Functions {
    register: unsafe extern "C" fn(GiveBuffer, TakeBuffer) -> u32,
    enable: unsafe extern "C" fn(u32) -> u32,
    disable: unsafe extern "C" fn(u32) -> u32,
    flush_all: unsafe extern "C" fn(u32) -> u32,
    next_record: NextRecord,
    callback_name: unsafe extern "C" fn(u32, u32, *mut *const c_char) -> u32,
    timestamp: unsafe extern "C" fn(*mut u64) -> u32,
    configure_migrations:
        unsafe extern "C" fn(*mut sys::CUpti_ActivityUnifiedMemoryCounterConfig, u32) -> u32,
}

impl Functions {
    /// Looks all of them up; the name of the first that is missing otherwise.
    fn resolve(library: Library) -> Result<Self, &'static str> {
        // SAFETY: the types are those of cupti_activity.h, with its enums as the integers that they
        // are.
        unsafe {
            Ok(Self {
                register: library.symbol("cuptiActivityRegisterCallbacks")?,
                enable: library.symbol("cuptiActivityEnable")?,
                disable: library.symbol("cuptiActivityDisable")?,
                flush_all: library.symbol("cuptiActivityFlushAll")?,
                next_record: library.symbol("cuptiActivityGetNextRecord")?,
                callback_name: library.symbol("cuptiGetCallbackName")?,
                timestamp: library.symbol("cuptiGetTimestamp")?,
                configure_migrations: library
                    .symbol("cuptiActivityConfigureUnifiedMemoryCounter")?,
            })
        }
    }
}

/// The records that CUPTI has delivered. Its callbacks have no user data, so this is a static.
static RECORDED: Mutex<Recorded> = Mutex::new(Recorded::NOTHING);

struct Recorded {
    work: Vec<Activity>,
    calls: Vec<Call>,
    migrations: Migrations,
}

impl Recorded {
    const NOTHING: Self = Self {
        work: Vec::new(),
        calls: Vec::new(),
        migrations: Migrations {
            bytes_to_device: 0,
            bytes_to_host: 0,
            bytes_between_devices: 0,
            gpu_faults: 0,
            cpu_faults: 0,
        },
    };
}

/// How a delivered buffer is read.
static NEXT_RECORD: Mutex<Option<NextRecord>> = Mutex::new(None);

fn recorded() -> std::sync::MutexGuard<'static, Recorded> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer for some thousand records, aligned as CUPTI wants it.
const BUFFER: Layout = match Layout::from_size_align(1 << 20, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("8 is a power of two"),
};

/// Gives CUPTI a buffer to fill; without memory, none, and CUPTI drops records.
unsafe extern "C" fn give_buffer(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: the layout has a size.
    let allocated = unsafe { alloc(BUFFER) };
    // SAFETY: CUPTI passes three places to write to; 0 records are as many as fit.
    unsafe {
        buffer.write(allocated);
        size.write(if allocated.is_null() { 0 } else { BUFFER.size() });
        most.write(0);
    }
}

/// Takes the records of a buffer that CUPTI gives back.
unsafe extern "C" fn take_buffer(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    let next = *NEXT_RECORD.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut record, mut found) = (std::ptr::null_mut(), Recorded::NOTHING);
    found.migrations = std::mem::take(&mut recorded().migrations);
    while let Some(next) = next {
        // SAFETY: the first `valid` bytes of the buffer hold records.
        let code = unsafe { next(buffer, valid, &raw mut record) };
        if code != 0 {
            debug_assert_eq!(code, NO_FURTHER_RECORD);
            break;
        }
        // SAFETY: CUPTI's pointer to a record in the buffer.
        unsafe { found.read(record) };
    }
    let Recorded { work, calls, migrations } = found;
    let mut recorded = recorded();
    recorded.migrations = migrations;
    recorded.work.extend(work);
    recorded.calls.extend(calls);
    drop(recorded);
    if !buffer.is_null() {
        // SAFETY: `give_buffer` allocated it, and CUPTI does not use it any more.
        unsafe { dealloc(buffer, BUFFER) };
    }
}

/// # Safety
/// A value of this type is at `offset` of the record.
unsafe fn value<T: Copy>(record: *const c_void, offset: usize) -> T {
    // SAFETY: the caller's promise; records are packed to 8 bytes.
    unsafe { record.byte_add(offset).cast::<T>().read_unaligned() }
}

/// The field of a record.
macro_rules! field {
    ($record:ident, $struct:ident.$field:ident) => {{
        type Record = sys::$struct;
        let offset = offset_of!(Record, $field);
        // SAFETY: the caller of the function that uses this promises a record of this type.
        unsafe { value($record, offset) }
    }};
}

/// The work in a record. All structs of records have these fields by the same names.
macro_rules! activity {
    ($record:ident, $struct:ident, $work:expr) => {
        Activity {
            work: $work,
            start: field!($record, $struct.start),
            end: field!($record, $struct.end),
            device: field!($record, $struct.deviceId),
            context: field!($record, $struct.contextId),
            stream: field!($record, $struct.streamId),
            correlation: field!($record, $struct.correlationId),
        }
    };
}

impl Recorded {
    /// Adds a record of one of the kinds above. The fields read here have had their positions since
    /// CUDA 12; later versions append fields.
    ///
    /// # Safety
    /// `record` is a record of CUPTI's.
    unsafe fn read(&mut self, record: *const c_void) {
        // SAFETY: the caller's promise; every record begins with its kind.
        let kind = unsafe { record.cast::<u32>().read_unaligned() };
        self.work.push(match kind {
            KERNEL => {
                // SAFETY: a record of this kind.
                let kernel = unsafe { kernel(record) };
                activity!(record, CUpti_ActivityKernel9, DeviceWork::Kernel(kernel))
            }
            COPY => {
                let from = field!(record, CUpti_ActivityMemcpy5.srcKind);
                let to = field!(record, CUpti_ActivityMemcpy5.dstKind);
                let bytes = field!(record, CUpti_ActivityMemcpy5.bytes);
                activity!(record, CUpti_ActivityMemcpy5, DeviceWork::Copy { from, to, bytes })
            }
            PEER_COPY => {
                let from_device = field!(record, CUpti_ActivityMemcpyPtoP4.srcDeviceId);
                let to_device = field!(record, CUpti_ActivityMemcpyPtoP4.dstDeviceId);
                let bytes = field!(record, CUpti_ActivityMemcpyPtoP4.bytes);
                let work = DeviceWork::PeerCopy { from_device, to_device, bytes };
                activity!(record, CUpti_ActivityMemcpyPtoP4, work)
            }
            FILL => {
                let bytes = field!(record, CUpti_ActivityMemset4.bytes);
                activity!(record, CUpti_ActivityMemset4, DeviceWork::Fill { bytes })
            }
            DRIVER_CALL | RUNTIME_CALL => {
                self.calls.push(Call {
                    correlation: field!(record, CUpti_ActivityAPI.correlationId),
                    thread: field!(record, CUpti_ActivityAPI.threadId),
                    start: field!(record, CUpti_ActivityAPI.start),
                    end: field!(record, CUpti_ActivityAPI.end),
                    domain: if kind == DRIVER_CALL { DRIVER_API } else { RUNTIME_API },
                    function: field!(record, CUpti_ActivityAPI.cbid),
                });
                return;
            }
            MIGRATION => {
                let counter = field!(record, CUpti_ActivityUnifiedMemoryCounter2.counterKind);
                let value = field!(record, CUpti_ActivityUnifiedMemoryCounter2.value);
                self.migrations.add(counter, value);
                return;
            }
            _ => return,
        });
    }
}

impl Migrations {
    /// Adds a record of the counter of this number.
    fn add(&mut self, counter: u32, value: u64) {
        match MIGRATIONS.into_iter().find(|known| counter == *known as u32) {
            Some(ToDevice) => self.bytes_to_device += value,
            Some(ToHost) => self.bytes_to_host += value,
            Some(BetweenDevices) => self.bytes_between_devices += value,
            Some(GpuFault) => self.gpu_faults += value,
            // The value is the address of the instruction.
            Some(CpuFault) => self.cpu_faults += 1,
            _ => {}
        }
    }
}

/// The launch in a record of a kernel.
///
/// # Safety
/// `record` is such a record.
unsafe fn kernel(record: *const c_void) -> KernelActivity {
    let name: *const c_char = field!(record, CUpti_ActivityKernel9.name);
    let node: u64 = field!(record, CUpti_ActivityKernel9.graphNodeId);
    KernelActivity {
        // SAFETY: null, or a name that lives as long as its module.
        name: unsafe { string(name) },
        grid: [
            field!(record, CUpti_ActivityKernel9.gridX),
            field!(record, CUpti_ActivityKernel9.gridY),
            field!(record, CUpti_ActivityKernel9.gridZ),
        ],
        block: [
            field!(record, CUpti_ActivityKernel9.blockX),
            field!(record, CUpti_ActivityKernel9.blockY),
            field!(record, CUpti_ActivityKernel9.blockZ),
        ],
        shared_bytes: field!(record, CUpti_ActivityKernel9.dynamicSharedMemory),
        cluster: [
            field!(record, CUpti_ActivityKernel9.clusterX),
            field!(record, CUpti_ActivityKernel9.clusterY),
            field!(record, CUpti_ActivityKernel9.clusterZ),
        ],
        graph: (node != 0).then(|| (field!(record, CUpti_ActivityKernel9.graphId), node)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A record with `values` at the positions in the header of CUDA 13.0.
    fn record(kind: u32, values: &[(usize, u64)]) -> [u8; 208] {
        let mut bytes = [0; 208];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        for (at, value) in values {
            bytes[*at..*at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8; 208]) -> Recorded {
        let mut recorded = Recorded::NOTHING;
        // SAFETY: laid out like a record of its kind.
        unsafe { recorded.read(bytes.as_ptr().cast()) };
        recorded
    }

    /// The records in a file. Names are pointers of another process, so they are replaced.
    fn read_all(golden: &[u8]) -> Recorded {
        let mut bytes = zstd::decode_all(golden).unwrap();
        let (mut at, mut recorded) = (0, Recorded::NOTHING);
        while at < bytes.len() {
            let size = match u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()) {
                KERNEL => {
                    let name = c"kernel".as_ptr().expose_provenance();
                    bytes[at + 104..at + 112].copy_from_slice(&name.to_ne_bytes());
                    216
                }
                COPY => 128,
                FILL | PEER_COPY => 112,
                MIGRATION => 80,
                _ => 40,
            };
            // SAFETY: a record of CUPTI's, with a name in this process.
            unsafe { recorded.read(bytes[at..].as_ptr().cast()) };
            at += size;
        }
        recorded
    }

    /// Two fields of 32 bits that are next to each other.
    const fn pair(first: u64, second: u64) -> u64 {
        first | second << 32
    }

    #[test]
    fn the_fields_of_a_kernel_are_read_from_their_positions() {
        let name = c"saxpy".as_ptr().expose_provenance() as u64;
        let mut fields = vec![(16, 1_000), (24, 1_992), (44, pair(1, 7))];
        fields.extend([(52, pair(4, 2)), (60, pair(1, 256)), (68, pair(8, 1)), (80, 4096)]);
        fields.extend([(92, 31), (104, name), (144, 0x2_0000_0003), (156, 2)]);
        fields.extend([(176, pair(2, 1)), (184, pair(1, 0))]);
        let activity = &read(&record(KERNEL, &fields)).work[0];
        let kernel = KernelActivity {
            name: "saxpy".to_owned(),
            grid: [4, 2, 1],
            block: [256, 8, 1],
            shared_bytes: 4096,
            cluster: [2, 1, 1],
            graph: Some((2, 0x2_0000_0003)),
        };
        let (start, end, device, context, stream, correlation) = (1_000, 1_992, 0, 1, 7, 31);
        let work = DeviceWork::Kernel(kernel);
        assert_eq!(*activity, Activity { work, start, end, device, context, stream, correlation });
    }

    #[test]
    fn copies_fills_and_calls_are_read() {
        // The byte for the kind of a copy precedes the bytes for the kinds of its source and
        // destination.
        let copied = DeviceWork::Copy { from: 2, to: 3, bytes: 4096 };
        for (kind, work) in [(COPY, copied), (FILL, DeviceWork::Fill { bytes: 4096 })] {
            let mut fields = vec![(8, 4096), (16, 1_000), (24, 1_992)];
            fields.extend([(32, pair(1, 2)), (40, pair(7, 31))]);
            let mut bytes = record(kind, &fields);
            bytes[4..7].copy_from_slice(&[1, 2, 3]);
            let activity = &read(&bytes).work[0];
            let (start, end, device, context, stream, correlation) = (1_000, 1_992, 1, 2, 7, 31);
            let read = Activity { work, start, end, device, context, stream, correlation };
            assert_eq!(*activity, read);
        }
        for (kind, domain) in [(DRIVER_CALL, DRIVER_API), (RUNTIME_CALL, RUNTIME_API)] {
            let mut fields = vec![(8, 1_000), (16, 1_992), (24, pair(100, 77))];
            fields.push((32, pair(31, 0)));
            let mut bytes = record(kind, &fields);
            bytes[4..8].copy_from_slice(&307_u32.to_ne_bytes());
            let recorded = read(&bytes);
            let (correlation, thread, start, end, function) = (31, 77, 1_000, 1_992, 307);
            let call = Call { correlation, thread, start, end, domain, function };
            assert_eq!((recorded.work.len(), recorded.calls), (0, vec![call]));
        }
    }

    /// Records of an H200 (driver 580, CUPTI 13.0, 2026-11-28): a graph of four kernels, and two
    /// launches, the first one by another thread on another stream.
    #[test]
    fn records_of_an_h200_show_the_nodes_of_a_graph_and_the_threads_of_launches() {
        let recorded = read_all(include_bytes!("../tests/golden/h200/activity.bin.zst"));
        let threads: HashMap<u32, u32> =
            recorded.calls.iter().map(|call| (call.correlation, call.thread)).collect();
        let told = |work: &Activity| {
            let kernel = work.kernel().unwrap();
            let node = kernel.graph.map(|(graph, node)| (graph, node & 0xff));
            let main = threads[&work.correlation] == threads[&468];
            (kernel.grid[0], kernel.block[0], kernel.shared_bytes, work.stream, node, main)
        };
        let found: Vec<_> = recorded.work.iter().map(told).collect();
        let expected = [
            (4096, 256, 0, 13, Some((2, 0)), true),
            (64, 256, 1024, 13, Some((2, 1)), true),
            (8192, 128, 0, 16, Some((2, 2)), true),
            (2048, 512, 0, 13, Some((2, 3)), true),
            (16384, 64, 0, 14, None, false),
            (64, 256, 1024, 7, None, true),
        ];
        assert_eq!(found, expected);
    }

    /// Records of two H200 (driver 580, CUPTI 13.0, 2026-11-29): a copy of 64 MiB before and after
    /// the devices could access each other, copies that streams of either queued, and a kernel on
    /// each.
    #[test]
    fn records_of_two_h200_show_the_devices_of_copies_and_kernels() {
        let recorded = read_all(include_bytes!("../tests/golden/h200/peers.bin.zst"));
        let told = |work: &Activity| {
            let what = match work.work {
                DeviceWork::PeerCopy { from_device, to_device, bytes } => {
                    format!("{from_device} to {to_device} {bytes}")
                }
                DeviceWork::Copy { bytes, .. } => format!("copy {bytes}"),
                DeviceWork::Kernel(_) => "kernel".to_owned(),
                DeviceWork::Fill { bytes } => format!("fill {bytes}"),
            };
            (what, work.device, work.context, work.stream)
        };
        let found: Vec<_> = recorded.work.iter().map(told).collect();
        let expected = [
            ("fill 67108864", 0, 1, 7),
            ("fill 67108864", 0, 1, 7),
            ("fill 67108864", 1, 2, 15),
            ("fill 67108864", 1, 2, 15),
            // Without access: by way of the host.
            ("copy 67108864", 0, 1, 22),
            ("copy 67108864", 1, 2, 17),
            ("0 to 1 67108864", 0, 1, 22),
            ("0 to 1 4096", 0, 1, 10),
            ("1 to 0 4096", 1, 2, 19),
            ("0 to 1 4096", 0, 1, 22),
            ("0 to 1 4096", 0, 1, 22),
            ("copy 4096", 0, 1, 22),
            ("0 to 1 4096", 0, 1, 7),
            ("kernel", 0, 1, 22),
            ("kernel", 1, 2, 23),
            ("kernel", 0, 1, 7),
            ("kernel", 1, 2, 15),
            ("kernel", 1, 2, 23),
            ("kernel", 0, 1, 22),
        ];
        let expected = expected
            .map(|(what, device, context, stream)| (what.to_owned(), device, context, stream));
        assert_eq!(found, expected);
    }

    /// Of the same H200, twice: the host wrote 4 MiB of managed memory, a kernel read them, the
    /// host read them, a stream prefetched them, and the other device read them.
    #[test]
    fn records_of_two_h200_show_the_migrations_of_managed_memory() {
        let recorded = read_all(include_bytes!("../tests/golden/h200/managed.bin.zst"));
        let expected = Migrations {
            bytes_to_device: 16 << 20,
            bytes_to_host: 8 << 20,
            bytes_between_devices: 8 << 20,
            gpu_faults: 29,
            cpu_faults: 48,
        };
        assert_eq!(recorded.migrations, expected);
    }

    #[test]
    fn records_of_other_kinds_are_skipped() {
        let recorded = read(&record(40, &[]));
        assert_eq!((recorded.work.len(), recorded.calls.len()), (0, 0));
    }
}
