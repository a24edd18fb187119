//! The emulated driver's report: launches with exact counters, and the fault that stopped one.
//!
//! Input: the loaded libcuda.so. Output: nothing unless it is the emulated driver, recognised by
//! the functions that only it exports. Their contract is a C string of JSON that the caller frees.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};

use cudarc::driver::sys;
use gpuprof_model::checks::CheckRecord;
use gpuprof_model::code::{CountedCode, Counter, LineCounts, Listing};
use gpuprof_model::estimate::Estimate;
use gpuprof_model::measurement::{HardwareValue, LaunchRecord};
use gpuprof_model::series::without_place;
use gpuprof_model::timeline::{EstimatedDuration, MOST, Memory, Timeline, Work, WorkKind};
use serde::Deserialize;

use super::parts::Counts;
use crate::host::driver::library;
use crate::host::error::expect_text;
use crate::host::error::{Error, Result};

/// The version of the exports that this code understands.
const ABI_VERSION: u32 = 1;

#[derive(Deserialize)]
struct Report {
    launches: Vec<Launch>,
    #[serde(default)]
    moves: Vec<Move>,
    #[serde(default)]
    more_moves: u64,
    profiler_starts: usize,
    profiles: Vec<Profile>,
}

#[derive(Deserialize)]
struct Launch {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: u64,
    checks: CheckRecord,
    counters: BTreeMap<String, u64>,
    #[serde(default)]
    unclaimed: BTreeMap<String, String>,
    #[serde(default)]
    estimate: Option<Estimate>,
    #[serde(default)]
    profiler: Profiler,
}

/// The last call of the program to the profiler.
#[derive(Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Profiler {
    #[default]
    Untouched,
    Started,
    Stopped,
}

/// A copy or a fill.
#[derive(Deserialize)]
struct Move {
    kind: MoveKind,
    bytes: u64,
    stream: u64,
    launches_before: usize,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum MoveKind {
    Upload,
    Download,
    Copy,
    Fill,
}

/// The counts of a kernel by line.
#[derive(Deserialize)]
struct Profile {
    #[serde(flatten)]
    listing: Listing,
    /// Of each line, in the order of `Counter::ALL`.
    counts: Vec<[u64; Counter::EMULATED]>,
}

/// The counts of the emulated driver.
#[derive(Default)]
pub(crate) struct LaunchCounters {
    /// The launches.
    pub(crate) launches: Vec<LaunchRecord>,
    /// The launches, copies and fills in their order; none of a single launch.
    pub(crate) timeline: Option<Timeline>,
    /// How often the profiler was started.
    pub(crate) starts: usize,
    /// The counts of each. They name the hardware counters that the emulator does not count as a
    /// GPU does in this kernel, with the reason.
    pub(crate) counted: Vec<Counts>,
    /// The counts of each kernel by line.
    pub(crate) code: Vec<CountedCode>,
    /// The checks that ran; none where nothing was launched.
    pub(crate) checks: Option<CheckRecord>,
}

/// The kind of a failed assertion.
const ASSERT: &str = "assert";

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    kind: String,
    message: String,
    #[serde(default)]
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Frame {
    file: String,
    line: usize,
}

/// Whether the loaded driver is the emulated one.
pub(crate) fn is_loaded() -> bool {
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1).
    let version = unsafe {
        library::find::<unsafe extern "C" fn() -> u32>(b"gpuemu_abi_version\0").map(|f| f())
    };
    version == Some(ABI_VERSION)
}

/// What was counted since the last call.
///
/// # Errors
/// A driver without a report, or with a text that is not a report.
pub(crate) fn take_report() -> Result<LaunchCounters> {
    let text = take_text(b"gpuemu_take_report\0")
        .ok_or_else(|| Error::failed("the emulated driver gave no report"))?;
    let report: Report = serde_json::from_str(&text)?;
    let checks = report.launches.iter().map(|launch| launch.checks).reduce(CheckRecord::join);
    let code = report.profiles.into_iter().map(|profile| {
        let counts: Vec<LineCounts> = profile.counts.into_iter().map(LineCounts::from).collect();
        CountedCode::new(profile.listing, &counts)
    });
    let code = code.collect();
    let timeline = timeline(&report.launches, &report.moves, report.more_moves);
    let starts = report.profiler_starts;
    let mut found = LaunchCounters { timeline, starts, checks, code, ..LaunchCounters::default() };
    for launch in report.launches {
        let unclaimed = |(name, reason)| (name, HardwareValue::Unavailable(reason));
        found.counted.push(Counts {
            counters: launch.counters,
            hardware: launch.unclaimed.into_iter().map(unclaimed).collect(),
            estimate: launch.estimate,
        });
        found.launches.push(LaunchRecord {
            kernel: without_place(&launch.kernel).to_owned(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            stream: Some(launch.stream),
            outside: starts > 0 && launch.profiler != Profiler::Started,
            ..LaunchRecord::default()
        });
    }
    Ok(found)
}

/// The order of `launches` and `moves`, of which there are `more` in addition.
fn timeline(launches: &[Launch], moves: &[Move], more: u64) -> Option<Timeline> {
    let moved = |moved: &Move| {
        let bytes = moved.bytes;
        let copy = |from, to| WorkKind::Copy { from, to, bytes };
        let kind = match moved.kind {
            MoveKind::Upload => copy(Memory::Host, Memory::Device),
            MoveKind::Download => copy(Memory::Device, Memory::Host),
            MoveKind::Copy => copy(Memory::Device, Memory::Device),
            MoveKind::Fill => WorkKind::Fill { bytes },
        };
        let stream = moved.stream;
        Work { kind, stream, device: None, time: None, estimate: None, call: None }
    };
    let launched = |(at, launch): (usize, &Launch)| {
        let interval = |estimate: &Estimate| {
            let Estimate { low_ns, high_ns, .. } = *estimate;
            EstimatedDuration { low_ns, high_ns }
        };
        let (kind, estimate) = (WorkKind::Launch(at), launch.estimate.as_ref().map(interval));
        let stream = launch.stream;
        Work { kind, stream, device: None, time: None, estimate, call: None }
    };
    let places = moves.iter().map(|moved| moved.launches_before);
    let places = (0..launches.len()).map(|at| (at, true)).chain(places.map(|at| (at, false)));
    let work = launches.iter().enumerate().map(launched).chain(moves.iter().map(moved));
    let mut ordered: Vec<_> = places.zip(work).collect();
    // A copy before which there are n launches precedes launch n.
    ordered.sort_by_key(|(place, _)| *place);
    let all = ordered.len() as u64 + more;
    let work: Vec<Work> = ordered.into_iter().map(|(_, work)| work).take(MOST).collect();
    let more_work = all - work.len() as u64;
    let single_launch = all == 1 && launches.len() == 1;
    (all > 0 && !single_launch).then(|| Timeline { work, more_work, ..Timeline::default() })
}

/// The number of a stream with work since the last report that `stream` has not waited for.
pub(crate) fn missed_stream(stream: sys::CUstream) -> Option<u64> {
    type Missed = unsafe extern "C" fn(sys::CUstream) -> i64;
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1).
    let missed =
        unsafe { library::find::<Missed>(b"gpuemu_missed_stream\0").map(|missed| missed(stream)) };
    missed.and_then(|number| u64::try_from(number).ok())
}

/// How many launches the driver accepted so far; 0 if it is not the emulated one.
pub(crate) fn launch_count() -> usize {
    type Count = unsafe extern "C" fn() -> u64;
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1).
    let count = unsafe { library::find::<Count>(b"gpuemu_launch_count\0").map(|count| count()) };
    count.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// The fault that stopped the last launch or load, in one sentence.
pub(crate) fn take_fault() -> Option<String> {
    let fault: Fault = serde_json::from_str(&take_text(b"gpuemu_take_fault\0")?).ok()?;
    let places = fault.frames.iter().map(|frame| (frame.file.as_str(), frame.line));
    let text = fault.message.rsplit_once("): ").filter(|_| fault.kind == ASSERT);
    let filled = text.and_then(|(place, message)| {
        Some(format!("{place}): {}", expect_text::filled(message, places)?))
    });
    Some(filled.unwrap_or(fault.message))
}

/// Why the driver refused the last launch that the device or the kernel does not allow, in one
/// sentence: none if the program continued from it, and after this.
pub(crate) fn take_refused_launch() -> Option<String> {
    let refused = take_text(b"gpuemu_take_refused_launch\0")?;
    serde_json::from_str(&refused).ok().map(|fault: Fault| fault.message)
}

/// Gives the emulated driver the parameter's `name` for the buffer at `address`, and lets it refuse
/// stores to read-only buffers. Other drivers have neither function.
pub(crate) fn label_argument(address: u64, name: &str, read_only: bool) {
    type Label = unsafe extern "C" fn(u64, *const c_char, c_int) -> c_int;
    let Ok(name) = CString::new(name) else { return };
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1); the name is
    // NUL-terminated and alive during the call.
    unsafe {
        if let Some(label) = library::find::<Label>(b"gpuemu_label_argument\0") {
            label(address, name.as_ptr(), c_int::from(read_only));
        }
    }
}

/// Says how many registers ptxas assigned to a thread of `function`, so that the emulated driver's
/// occupancy counts them.
pub(crate) fn set_registers(function: sys::CUfunction, registers: u32) {
    type Set = unsafe extern "C" fn(sys::CUfunction, u32) -> c_int;
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1); the function
    // is loaded.
    unsafe {
        if let Some(set) = library::find::<Set>(b"gpuemu_set_registers\0") {
            set(function, registers);
        }
    }
}

/// Says which machine code ptxas made of `function`, so that the emulated driver's estimates count
/// its instructions. Without it, the driver estimates by the PTX alone.
pub(crate) fn set_machine_code(function: sys::CUfunction, cubin: &[u8]) {
    type Set = unsafe extern "C" fn(sys::CUfunction, *const u8, usize) -> c_int;
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1); the function
    // is loaded, and the bytes are alive during the call.
    unsafe {
        if let Some(set) = library::find::<Set>(b"gpuemu_set_machine_code\0") {
            set(function, cubin.as_ptr(), cubin.len());
        }
    }
}

/// The lines of `kernel` in the module of this `ptx`; none if the emulated driver cannot read it.
pub(crate) fn listing(ptx: &str, kernel: &str) -> Option<Listing> {
    type List = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char;
    let (ptx, kernel) = (CString::new(ptx).ok()?, CString::new(kernel).ok()?);
    // SAFETY: the symbol, if it exists, has this type (the emulator's ABI, version 1); both texts
    // are NUL-terminated and alive during the call.
    let text = unsafe {
        let list = library::find::<List>(b"gpuemu_listing\0")?;
        list(ptx.as_ptr(), kernel.as_ptr())
    };
    serde_json::from_str(&owned(text)?).ok()
}

fn take_text(symbol: &[u8]) -> Option<String> {
    // SAFETY: the symbols, if they exist, have this type (the emulator's ABI, version 1).
    let text = unsafe {
        let take = library::find::<unsafe extern "C" fn() -> *mut c_char>(symbol)?;
        take()
    };
    owned(text)
}

/// A text of the emulated driver's, which it takes back.
fn owned(text: *mut c_char) -> Option<String> {
    // SAFETY: the symbol has this type (the emulator's ABI, version 1); the string is
    // NUL-terminated, ours until it is freed, and freed once.
    unsafe {
        let free = library::find::<unsafe extern "C" fn(*mut c_char)>(b"gpuemu_free\0")?;
        if text.is_null() {
            return None;
        }
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        free(text);
        Some(owned)
    }
}
