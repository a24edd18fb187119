//! The driver under the fake: opened by the name that NVIDIA's CUPTI uses, asked through its
//! private table.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use crate::table::{Counter, ID, Table};

/// A launch, or a copy or fill, as the driver reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Its kind: one of the constants of [`crate::table::moved`].
    pub moved: u32,
    /// How many bytes it moved.
    pub bytes: u64,
    /// Of a launch: 1 after a start of the profiler, 2 after a stop.
    pub profiler: u32,
    /// The kernel.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The number of its stream; 0 is the default stream.
    pub stream: u64,
    /// The thread that launched it.
    pub thread: u32,
    /// How long it took.
    pub nanoseconds: u64,
    /// The emulator's counters by name.
    pub counters: BTreeMap<String, u64>,
}

struct Driver {
    current: unsafe extern "C" fn(*mut *mut c_void) -> u32,
    device_count: unsafe extern "C" fn(*mut c_int) -> u32,
    uuid: unsafe extern "C" fn(*mut [u8; 16], c_int) -> u32,
    attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> u32,
    table: &'static Table,
}

/// The fake driver; none if another answers, or none at all.
fn driver() -> Option<&'static Driver> {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    DRIVER.get_or_init(open).as_ref()
}

fn open() -> Option<Driver> {
    // SAFETY: the name ends in NUL; a driver's initialisers only set up their own state.
    let library =
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return None;
    }
    let symbol = |name: &CStr| {
        // SAFETY: an open library; the name ends in NUL.
        let address = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    };
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> u32;
    type GetTable = unsafe extern "C" fn(*mut *const Table, *const c_void) -> u32;
    // SAFETY: the types are those of cuda.h, and cuGetExportTable's as NVIDIA's clients call it.
    let (current, device_count, uuid, attribute, get) = unsafe {
        (
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut *mut c_void) -> u32>(
                symbol(c"cuCtxGetCurrent")?,
            ),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> u32>(symbol(
                c"cuDeviceGetCount",
            )?),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut [u8; 16], c_int) -> u32>(
                symbol(c"cuDeviceGetUuid_v2")?,
            ),
            std::mem::transmute::<*mut c_void, Attribute>(symbol(c"cuDeviceGetAttribute")?),
            std::mem::transmute::<*mut c_void, GetTable>(symbol(c"cuGetExportTable")?),
        )
    };
    let mut table: *const Table = std::ptr::null();
    // SAFETY: it writes a pointer; the identifier has 16 bytes.
    let code = unsafe { get(&raw mut table, ID.as_ptr().cast()) };
    if code != 0 || table.is_null() {
        return None;
    }
    // SAFETY: a table of the fake driver's, which is never unloaded.
    Some(Driver { current, device_count, uuid, attribute, table: unsafe { &*table } })
}

/// Whether the fake driver is there and initialised, with a device.
pub fn answers() -> bool {
    let mut count = 0;
    // SAFETY: it writes one int.
    driver()
        .is_some_and(|driver| unsafe { (driver.device_count)(&raw mut count) } == 0 && count > 0)
}

/// The UUID of the first device, in hexadecimal digits; empty without one.
pub fn uuid() -> String {
    let mut uuid = [0; 16];
    // SAFETY: it writes 16 bytes.
    let code = driver().map(|driver| unsafe { (driver.uuid)(&raw mut uuid, 0) });
    let text = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    if code == Some(0) { text } else { String::new() }
}

/// Whether the first device is older than Hopper; not without one.
pub fn is_before_hopper() -> bool {
    const MAJOR: c_int = 75;
    let mut major = 0;
    // SAFETY: it writes one int.
    let code = driver().map(|driver| unsafe { (driver.attribute)(&raw mut major, MAJOR, 0) });
    code == Some(0) && major < 9
}

/// The context that is current on this thread.
pub fn current_context() -> Option<*mut c_void> {
    let mut context = std::ptr::null_mut();
    // SAFETY: it writes one pointer.
    let code = unsafe { (driver()?.current)(&raw mut context) };
    (code == 0 && !context.is_null()).then_some(context)
}

/// Forgets launches so far and keeps later ones, or stops keeping them.
pub fn observe(on: bool) {
    if let Some(driver) = driver() {
        (driver.table.observe)(on);
    }
}

/// Reports every failed call, launch and loaded module to `hear`, or to no function.
pub fn watch(hear: Option<crate::table::Hear>) {
    if let Some(driver) = driver() {
        (driver.table.watch)(hear);
    }
}

/// The counts of a machine instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The kernel.
    pub kernel: String,
    /// The offset of the instruction.
    pub offset: u32,
    /// Its PTX.
    pub text: String,
    /// The emulator's counts by line.
    pub counts: [u64; 15],
}

/// The instructions of the kernels launched since the last call.
pub fn executed() -> Vec<Executed> {
    unsafe extern "C" fn visit(into: *mut c_void, one: *const crate::table::Instruction) {
        // SAFETY: `into` is the vector below; the rest lives for the call.
        unsafe {
            let one = &*one;
            let owned = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
            let (kernel, text) = (owned(one.kernel), owned(one.text));
            let executed = Executed { kernel, offset: 16 * one.number, text, counts: one.counts };
            (*into.cast::<Vec<Executed>>()).push(executed);
        }
    }
    let mut all: Vec<Executed> = Vec::new();
    if let Some(driver) = driver() {
        // SAFETY: `visit` takes this argument, and the vector outlives the call.
        unsafe { (driver.table.instructions)(visit, (&raw mut all).cast()) };
    }
    all
}

/// The launches since the last call, while they are observed.
pub fn take() -> Vec<Launch> {
    let mut work = take_work();
    work.retain(|launch| launch.moved == crate::table::moved::NOTHING);
    work
}

/// The launches, copies and fills since the last call, while they are observed.
pub fn take_work() -> Vec<Launch> {
    unsafe extern "C" fn visit(into: *mut c_void, launch: *const crate::table::Launch) {
        // SAFETY: `into` is the vector below; the driver's launch lives for the call, and so does
        // all it points to.
        unsafe {
            let launch = &*launch;
            let text = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
            let counters = std::slice::from_raw_parts(launch.counters, launch.counter_count);
            let counter = |counter: &Counter| (text(counter.name), counter.value);
            (*into.cast::<Vec<Launch>>()).push(Launch {
                moved: launch.moved,
                bytes: launch.bytes,
                profiler: launch.profiler,
                kernel: text(launch.kernel),
                grid: launch.grid,
                block: launch.block,
                shared_bytes: launch.shared_bytes,
                stream: launch.stream,
                thread: launch.thread,
                nanoseconds: launch.nanoseconds,
                counters: counters.iter().map(counter).collect(),
            });
        }
    }
    let mut launches = Vec::new();
    if let Some(driver) = driver() {
        // SAFETY: `visit` takes this argument, and the vector outlives the call.
        unsafe { (driver.table.take)(visit, (&raw mut launches).cast()) };
    }
    launches
}
