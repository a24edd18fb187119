//! The device's own times of kernels, copies and fills, by CUPTI's activity records.
//!
//! Input: the possible locations of CUPTI, and the work of this process while an
//! [`ActivityRecorder`] lives. Output: start and end of each piece of work in nanoseconds of one
//! clock, with its stream. The device takes both times, so they hold neither launch latency nor the
//! work of CUDA events around a kernel.
//!
//! No privilege is needed, unlike for counters. While another tool holds CUPTI (Nsight Systems, a
//! debugger), the recorder cannot begin.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cudarc::cupti::sys;

use crate::abi::one_at_a_time;
use crate::driver;
use crate::host::string;
use crate::launches::WatchError;
use crate::library::Library;
use crate::locate::Search;
use crate::{Failure, LoadError};

/// A kernel, a copy or a fill that the device has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The kernel's name in the driver; none for a copy or a fill.
    pub kernel: Option<String>,
    /// When the device began it, in nanoseconds.
    pub start: u64,
    /// When it was done, on the same clock; 0 if it still runs.
    pub end: u64,
    /// CUPTI's number of its stream.
    pub stream: u32,
}

/// A CUPTI with activity records. Of what counters need, nothing is opened.
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
        let search = Search::from_environment(explicit);
        let functions = search.first(|candidate| {
            let library = Library::open(candidate)
                .map_err(|reason| LoadError::Open { path: candidate.into(), reason })?;
            Functions::resolve(library)
                .map_err(|symbol| LoadError::MissingSymbol { path: candidate.into(), symbol })
        })?;
        Ok(Self { functions })
    }
}

/// Records this process's work on the device until it is dropped. One lives at a time.
pub struct ActivityRecorder {
    functions: Functions,
}

impl ActivityRecorder {
    /// Begins to record.
    ///
    /// # Errors
    /// Another tool holds CUPTI.
    pub fn begin(ActivityApi { functions }: ActivityApi) -> Result<Self, Failure> {
        *NEXT_RECORD.lock().unwrap_or_else(PoisonError::into_inner) = Some(functions.next_record);
        let alone = one_at_a_time();
        // SAFETY: a driver answers, and both callbacks have the types that CUPTI calls.
        let code = unsafe { (functions.register)(give_buffer, take_buffer) };
        Failure::check("cuptiActivityRegisterCallbacks", code)?;
        let recorder = Self { functions };
        for kind in KINDS {
            // SAFETY: callbacks are registered.
            let code = unsafe { (functions.enable)(kind) };
            if let Err(failure) = Failure::check("cuptiActivityEnable", code) {
                drop(alone);
                drop(recorder);
                return Err(failure);
            }
        }
        drop(alone);
        Ok(recorder)
    }

    /// The work recorded since the last call, in the order of its starts: all that was synchronised
    /// with, and what else is known by now.
    ///
    /// # Errors
    /// Whatever CUPTI answers.
    pub fn take(&mut self) -> Result<Vec<Activity>, Failure> {
        let alone = one_at_a_time();
        // SAFETY: callbacks are registered.
        let code = unsafe { (self.functions.flush_all)(FLUSH_FORCED) };
        Failure::check("cuptiActivityFlushAll", code)?;
        drop(alone);
        let mut taken = std::mem::take(&mut *recorded());
        taken.sort_by_key(|activity| activity.start);
        Ok(taken)
    }
}

impl Drop for ActivityRecorder {
    fn drop(&mut self) {
        let _alone = one_at_a_time();
        for kind in KINDS {
            // SAFETY: callbacks are registered. A failure changes nothing.
            let _ = unsafe { (self.functions.disable)(kind) };
        }
        // SAFETY: as above; buffers that are still out come back.
        let _ = unsafe { (self.functions.flush_all)(FLUSH_FORCED) };
        recorded().clear();
    }
}

/// Records of incomplete buffers are delivered too.
const FLUSH_FORCED: u32 = 1;

const KERNEL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL as u32;
const COPY: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY as u32;
const FILL: u32 = sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMSET as u32;
const KINDS: [u32; 3] = [KERNEL, COPY, FILL];

/// CUPTI's number for "there is no further record".
const NO_FURTHER_RECORD: u32 = 12;

type GiveBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type TakeBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
type NextRecord = unsafe extern "C" fn(*mut u8, usize, *mut *mut c_void) -> u32;

/// The functions used here: they take no structs, so they are not parameter functions (`abi`).
#[derive(Clone, Copy)]
struct Functions {
    register: unsafe extern "C" fn(GiveBuffer, TakeBuffer) -> u32,
    enable: unsafe extern "C" fn(u32) -> u32,
    disable: unsafe extern "C" fn(u32) -> u32,
    flush_all: unsafe extern "C" fn(u32) -> u32,
    next_record: NextRecord,
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
            })
        }
    }
}

/// The records that CUPTI has delivered; its callbacks get no data of ours.
static RECORDED: Mutex<Vec<Activity>> = Mutex::new(Vec::new());

/// How a delivered buffer is read.
static NEXT_RECORD: Mutex<Option<NextRecord>> = Mutex::new(None);

fn recorded() -> std::sync::MutexGuard<'static, Vec<Activity>> {
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
    let (mut record, mut found) = (std::ptr::null_mut(), Vec::new());
    while let Some(next) = next {
        // SAFETY: the first `valid` bytes of the buffer hold records.
        let code = unsafe { next(buffer, valid, &raw mut record) };
        if code != 0 {
            debug_assert_eq!(code, NO_FURTHER_RECORD);
            break;
        }
        // SAFETY: CUPTI's pointer to a record in the buffer.
        found.extend(unsafe { read(record) });
    }
    recorded().extend(found);
    if !buffer.is_null() {
        // SAFETY: `give_buffer` allocated it, and CUPTI does not use it any more.
        unsafe { dealloc(buffer, BUFFER) };
    }
}

/// The activity in a record of one of [`KINDS`]. The fields read here have had their positions
/// since CUDA 11; later versions append fields.
///
/// # Safety
/// `record` is a record of CUPTI's.
unsafe fn read(record: *const c_void) -> Option<Activity> {
    // SAFETY: the caller's promise; every record begins with its kind.
    let kind = unsafe { record.cast::<u32>().read_unaligned() };
    let (start, end, stream) = match kind {
        KERNEL => (
            offset_of!(sys::CUpti_ActivityKernel9, start),
            offset_of!(sys::CUpti_ActivityKernel9, end),
            offset_of!(sys::CUpti_ActivityKernel9, streamId),
        ),
        COPY => (
            offset_of!(sys::CUpti_ActivityMemcpy5, start),
            offset_of!(sys::CUpti_ActivityMemcpy5, end),
            offset_of!(sys::CUpti_ActivityMemcpy5, streamId),
        ),
        FILL => (
            offset_of!(sys::CUpti_ActivityMemset4, start),
            offset_of!(sys::CUpti_ActivityMemset4, end),
            offset_of!(sys::CUpti_ActivityMemset4, streamId),
        ),
        _ => return None,
    };
    // SAFETY: fields of the record of this kind; records are packed to 8 bytes.
    let time = |offset| unsafe { record.byte_add(offset).cast::<u64>().read_unaligned() };
    let kernel = (kind == KERNEL).then(|| {
        let offset = offset_of!(sys::CUpti_ActivityKernel9, name);
        // SAFETY: as above: a pointer.
        unsafe { record.byte_add(offset).cast::<*const c_char>().read_unaligned() }
    });
    Some(Activity {
        // SAFETY: null, or a name that lives as long as its module.
        kernel: kernel.map(|name| unsafe { string(name) }),
        start: time(start),
        end: time(end),
        // SAFETY: as above.
        stream: unsafe { record.byte_add(stream).cast::<u32>().read_unaligned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of `kind` with its fields at the positions in the header of CUDA 13.0.
    fn record(kind: u32, stream_at: usize, name: *const c_char) -> [u8; 160] {
        let mut bytes = [0; 160];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &kind.to_ne_bytes());
        put(16, &1_000_u64.to_ne_bytes());
        put(24, &1_992_u64.to_ne_bytes());
        put(stream_at, &7_u32.to_ne_bytes());
        if kind == KERNEL {
            put(104, &name.expose_provenance().to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn the_fields_of_each_kind_are_read_from_their_positions() {
        for (kind, stream_at, kernel) in [(10, 48, Some("saxpy")), (1, 40, None), (2, 40, None)] {
            let bytes = record(kind, stream_at, c"saxpy".as_ptr());
            // SAFETY: laid out like a record of this kind.
            let activity = unsafe { read(bytes.as_ptr().cast()) }.unwrap();
            let kernel = kernel.map(str::to_owned);
            assert_eq!(activity, Activity { kernel, start: 1_000, end: 1_992, stream: 7 });
        }
    }

    #[test]
    fn records_of_other_kinds_are_passed_over() {
        let bytes = record(4, 40, std::ptr::null());
        // SAFETY: it begins with a kind.
        assert_eq!(unsafe { read(bytes.as_ptr().cast()) }, None);
    }
}
