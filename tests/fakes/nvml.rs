//! A fake NVML for tests: a library of NVML's functions with devices in a folder.
//!
//! Input: the folder in `FAKE_NVML`, or in that variable at compile time. Output: a line for each
//! action in its file `nvml-log`. The files of the folder control the results: `deny` refuses locks
//! for lack of permission, `no-reset` refuses to reset them, `no-symbols` removes symbolic clock
//! limits; `reasons` and `thermal` are numbers, one per call (the last for all later calls), the
//! reasons of slowed clocks and the nanoseconds slowed by temperature; `no-persistence` and `mig`
//! set that state of every device, and `vgpu` contains the number of their virtualisation mode
//! (`none`: unknown); a file with `-` and a UUID after its name applies to that device only. A
//! device uses 300 W while it works for this process, or the number in `watts`, and its counter of
//! energy changes every 20 ms, when it is read; `no-energy` removes the counter. Its link to the
//! host is PCIe 5 with 16 lanes. `nvlink` gives it NVLinks: how many it has and how many of them
//! are active, and of each the version, the type of the other end, and MB/s, in NVML's numbers
//! (`18 18 6 2 26562` of an H200); without it there is none.
//! Devices are `GPU-…`, and slices `MIG-…` of the first of them. Compiled with `rustc --crate-type
//! cdylib`.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "table.rs"]
#[allow(dead_code, reason = "the interface is for other fakes too")]
mod table;

const SUCCESS: c_int = 0;
const UNINITIALIZED: c_int = 1;
const INVALID_ARGUMENT: c_int = 2;
const NOT_SUPPORTED: c_int = 3;
const NO_PERMISSION: c_int = 4;
const NOT_FOUND: c_int = 6;

/// `NVML_CLOCK_LIMIT_ID_RANGE_START`: greater numbers are symbols.
const SYMBOLS: c_uint = 0xffff_ff00;

type Device = *mut c_void;

static DEVICES: Mutex<Vec<CString>> = Mutex::new(Vec::new());

fn folder() -> PathBuf {
    let compiled = option_env!("FAKE_NVML").map(Into::into);
    std::env::var_os("FAKE_NVML").or(compiled).expect("FAKE_NVML names a folder").into()
}

fn says(name: &str) -> bool {
    folder().join(name).exists()
}

/// The file `name` about this device, or about every device.
fn text_of(device: Device, name: &str) -> Option<String> {
    let read = |name: &str| fs::read_to_string(folder().join(name)).ok();
    read(&format!("{name}-{}", name_of(device))).or_else(|| read(name))
}

fn says_of(device: Device, name: &str) -> bool {
    text_of(device, name).is_some()
}

/// Appends a line, in one write: the guards of several devices log at the same time.
fn log(line: &str) {
    let file = fs::OpenOptions::new().create(true).append(true).open(folder().join("nvml-log"));
    let line = format!("{line}\n");
    file.expect("the folder can be written").write_all(line.as_bytes()).expect("it can be written");
}

/// The number for the next call of the script `name`; 0 without one.
fn next(name: &str, calls: &AtomicUsize) -> u64 {
    let text = fs::read_to_string(folder().join(name)).unwrap_or_default();
    let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("it is a number")).collect();
    let call = calls.fetch_add(1, Ordering::Relaxed);
    numbers.get(call).or(numbers.last()).copied().unwrap_or(0)
}

/// A handle is the position in the list, from 1.
fn name_of(device: Device) -> String {
    let devices = DEVICES.lock().expect("no test panics here");
    devices[device as usize - 1].to_string_lossy().into_owned()
}

fn handle(uuid: CString) -> Device {
    let mut devices = DEVICES.lock().expect("no test panics here");
    let at = devices.iter().position(|known| *known == uuid).unwrap_or_else(|| {
        devices.push(uuid);
        devices.len() - 1
    });
    (at + 1) as Device
}

/// # Safety
/// `out` is valid for a write.
unsafe fn give<T>(out: *mut T, value: T) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { out.write(value) };
    SUCCESS
}

static INITIALIZED: AtomicBool = AtomicBool::new(false);

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> c_int {
    INITIALIZED.store(true, Ordering::Relaxed);
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) -> c_int {
    let version = c"580.95.05".to_bytes_with_nul();
    assert!(length as usize >= version.len());
    // SAFETY: the caller's buffer has `length` bytes, and the version fits.
    unsafe { out.copy_from_nonoverlapping(version.as_ptr().cast(), version.len()) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, out: *mut Device) -> c_int {
    // SAFETY: NVML is given a string that ends with a zero.
    let uuid = unsafe { CStr::from_ptr(uuid) }.to_owned();
    if !uuid.to_string_lossy().starts_with("GPU-") && !uuid.to_string_lossy().starts_with("MIG-") {
        return NOT_FOUND;
    }
    // SAFETY: NVML is given a place for the handle.
    unsafe { give(out, handle(uuid)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device: Device, out: *mut Device) -> c_int {
    if !name_of(device).starts_with("MIG-") {
        return INVALID_ARGUMENT;
    }
    // SAFETY: NVML is given a place for the handle.
    unsafe { give(out, handle(c"GPU-parent".to_owned())) }
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceSetGpuLockedClocks(device: Device, least: c_uint, most: c_uint) -> c_int {
    if says("deny") {
        return NO_PERMISSION;
    }
    if least >= SYMBOLS && says("no-symbols") {
        return INVALID_ARGUMENT;
    }
    let word = |clock: c_uint| if clock == SYMBOLS + 1 { "tdp".to_owned() } else { clock.to_string() };
    log(&format!("{} locked to {}..{}", name_of(device), word(least), word(most)));
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceResetGpuLockedClocks(device: Device) -> c_int {
    if says("no-reset") {
        return NO_PERMISSION;
    }
    log(&format!("{} reset", name_of(device)));
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxClockInfo(_: Device, _clock: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 1980) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetClockInfo(_: Device, _clock: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 345) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetDefaultApplicationsClock(_: Device, _clock: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 1410) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(_: Device, out: *mut c_ulonglong) -> c_int {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, next("reasons", &CALLS)) }
}

/// `nvmlViolationTime_t`: reference and violation, in nanoseconds.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetViolationStatus(_: Device, policy: c_uint, out: *mut [c_ulonglong; 2]) -> c_int {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    const THERMAL: c_uint = 1;
    if policy != THERMAL || says("no-violations") {
        return NOT_SUPPORTED;
    }
    // SAFETY: NVML is given a place for both numbers.
    unsafe { give(out, [0, next("thermal", &CALLS)]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetPersistenceMode(device: Device, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, c_uint::from(!says_of(device, "no-persistence"))) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(device: Device, current: *mut c_uint, pending: *mut c_uint) -> c_int {
    let on = c_uint::from(says_of(device, "mig"));
    // SAFETY: NVML is given a place for each number.
    unsafe {
        give(current, on);
        give(pending, on)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetVirtualizationMode(device: Device, out: *mut c_uint) -> c_int {
    let mode = text_of(device, "vgpu").unwrap_or_else(|| "0".to_owned());
    let Ok(mode) = mode.parse() else { return NOT_SUPPORTED };
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, mode) }
}

/// The NVLinks of a device: all, active ones, version, other end, and MB/s.
fn nvlinks(device: Device) -> Option<[c_uint; 5]> {
    let text = text_of(device, "nvlink")?;
    let numbers: Vec<c_uint> = text.split_whitespace().map(|n| n.parse().expect("it is a number")).collect();
    Some(numbers.try_into().expect("there are five numbers"))
}

/// Number `at` of the link, as far as there is such a link.
///
/// # Safety
/// `out` is valid for a write.
unsafe fn of_link(device: Device, link: c_uint, out: *mut c_uint, value: impl FnOnce([c_uint; 5]) -> c_uint) -> c_int {
    match nvlinks(device) {
        None => NOT_SUPPORTED,
        Some([all, ..]) if link >= all => INVALID_ARGUMENT,
        // SAFETY: the caller's promise.
        Some(links) => unsafe { give(out, value(links)) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkState(device: Device, link: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { of_link(device, link, out, |[_, active, ..]| c_uint::from(link < active)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkVersion(device: Device, link: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { of_link(device, link, out, |[_, _, version, ..]| version) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(device: Device, link: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { of_link(device, link, out, |[_, _, _, end, _]| end) }
}

/// Of any capability: an H200 has them all.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkCapability(device: Device, link: c_uint, _: c_uint, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { of_link(device, link, out, |_| 1) }
}

/// `nvmlPciInfo_t`: the last 32 bytes are the address. In a virtual machine the switch of an H200
/// has this one.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Device, link: c_uint, out: *mut [u8; 68]) -> c_int {
    match nvlinks(device) {
        None => NOT_SUPPORTED,
        Some([all, ..]) if link >= all => INVALID_ARGUMENT,
        Some(_) => {
            let mut info = [0; 68];
            let address = format!("FFFFFFFF:FF:{link:02X}.0");
            info[36..36 + address.len()].copy_from_slice(address.as_bytes());
            // SAFETY: NVML is given a place for the struct.
            unsafe { give(out, info) }
        }
    }
}

/// `nvmlFieldValue_t`.
#[repr(C)]
struct FieldValue {
    field: c_uint,
    link: c_uint,
    times: [c_ulonglong; 2],
    kind: c_uint,
    code: c_int,
    value: c_ulonglong,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(device: Device, count: c_int, values: *mut FieldValue) -> c_int {
    const SPEED: c_uint = 164;
    // SAFETY: NVML is given so many of them.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count as usize) };
    for value in values {
        (value.code, value.value) = match nvlinks(device) {
            Some([all, .., speed]) if value.field == SPEED && value.link < all => (SUCCESS, speed.into()),
            _ => (NOT_SUPPORTED, 0),
        };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrPcieLinkGeneration(_: Device, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 5) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(_: Device, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 5) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCurrPcieLinkWidth(_: Device, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 16) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(_: Device, out: *mut c_uint) -> c_int {
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, 16) }
}

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// How long the fake driver has worked; 0 without one.
fn worked_ns() -> u64 {
    type GetTable = unsafe extern "C" fn(*mut *const table::Table, *const c_void) -> u32;
    const NOW: c_int = 2;
    // SAFETY: the name ends in NUL; the driver is loaded before it is asked for its energy.
    let get = unsafe {
        let library = dlopen(c"libcuda.so.1".as_ptr(), NOW);
        if library.is_null() { library } else { dlsym(library, c"cuGetExportTable".as_ptr()) }
    };
    if get.is_null() {
        return 0;
    }
    let mut found = std::ptr::null();
    // SAFETY: the type is that of NVIDIA's clients; it writes a pointer to a table that stays.
    unsafe {
        let get: GetTable = std::mem::transmute(get);
        let code = get(&raw mut found, table::ID.as_ptr().cast());
        if code == 0 { ((*found).worked)() } else { 0 }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(device: Device, out: *mut c_ulonglong) -> c_int {
    /// When the counter last changed, and its value.
    static SHOWN: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    const INTERVAL: Duration = Duration::from_millis(20);
    if !INITIALIZED.load(Ordering::Relaxed) {
        return UNINITIALIZED;
    }
    if device.is_null() || out.is_null() {
        return INVALID_ARGUMENT;
    }
    if says_of(device, "no-energy") || name_of(device).starts_with("MIG-") {
        return NOT_SUPPORTED;
    }
    let watts: u64 = text_of(device, "watts").map_or(300, |text| text.trim().parse().expect("it is a number"));
    let mut shown = SHOWN.lock().expect("no test panics here");
    let value = match *shown {
        Some((changed, value)) if changed.elapsed() < INTERVAL => value,
        _ => {
            let value = 5_000 + worked_ns() * watts / 1_000_000;
            *shown = Some((Instant::now(), value));
            value
        }
    };
    // SAFETY: NVML is given a place for the number.
    unsafe { give(out, value) }
}
