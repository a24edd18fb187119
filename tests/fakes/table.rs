//! The interface of the fake driver for the fakes of CUPTI and NVML: a table of functions, like
//! NVIDIA's.
//!
//! Compiled into all, without checks between them: they are built in one step.

use std::ffi::{c_char, c_void};

/// Under which `cuGetExportTable` gives [`Table`].
pub const ID: [u8; 16] = *b"gpuprof-fake-tbl";

/// One counter of a launch.
#[repr(C)]
#[derive(Debug)]
pub struct Counter {
    /// Its name, as the emulator has it.
    pub name: *const c_char,
    /// Its value.
    pub value: u64,
}

/// A launch, or a copy or fill.
#[repr(C)]
#[derive(Debug)]
pub struct Launch {
    /// Its kind: one of the constants of [`moved`].
    pub moved: u32,
    /// How many bytes it moved; 0 of a launch.
    pub bytes: u64,
    /// Of a launch: 1 if the program had started the profiler before it, 2 if it had stopped it, 0
    /// if neither.
    pub profiler: u32,
    /// The kernel.
    pub kernel: *const c_char,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The number of its stream; 0 is the default stream.
    pub stream: u64,
    /// The thread that launched it, by the system's number.
    pub thread: u32,
    /// How long it took.
    pub nanoseconds: u64,
    /// Its counters.
    pub counters: *const Counter,
    /// How many.
    pub counter_count: usize,
}

/// The values of [`Launch::moved`].
pub mod moved {
    /// A launch.
    pub const NOTHING: u32 = 0;
    /// From the host to the device.
    pub const UPLOAD: u32 = 1;
    /// From the device to the host.
    pub const DOWNLOAD: u32 = 2;
    /// Within the device's memory.
    pub const COPY: u32 = 3;
    /// One value to many addresses.
    pub const FILL: u32 = 4;
}

/// The counts of an instruction, summed over launches.
#[repr(C)]
#[derive(Debug)]
pub struct Instruction {
    /// The kernel.
    pub kernel: *const c_char,
    /// Its number in the kernel.
    pub number: u32,
    /// Its PTX.
    pub text: *const c_char,
    /// The emulator's counts by line.
    pub counts: [u64; 15],
}

/// Takes the counts of an instruction, which live for the call only.
pub type VisitInstruction = unsafe extern "C" fn(into: *mut c_void, one: *const Instruction);

/// Takes a launch, which lives for the call only.
pub type Visit = unsafe extern "C" fn(into: *mut c_void, launch: *const Launch);

/// A call that failed, a launch, or the loading of a module.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    /// Its result.
    pub code: u32,
    /// Whether it is a launch: the rest is its own.
    pub launch: bool,
    /// The kernel; null where the launch was accepted.
    pub kernel: *const c_char,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The cubin of the module that it loaded.
    pub cubin: *const c_char,
    /// Its size; 0 where it loaded none.
    pub cubin_bytes: usize,
}

/// Hears of a call, which lives for this call only.
pub type Hear = unsafe extern "C" fn(call: *const Call);

/// The driver's side.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// Forgets the launches so far and keeps later ones, or stops keeping them.
    pub observe: extern "C" fn(on: bool),
    /// Visits the launches, copies and fills kept since the last call, in order, and forgets them.
    pub take: unsafe extern "C" fn(visit: Visit, into: *mut c_void),
    /// Visits the instructions of all kernels launched since the last call, and forgets them.
    pub instructions: unsafe extern "C" fn(visit: VisitInstruction, into: *mut c_void),
    /// Tells of every call that fails, launches, or loads a module from now on, or of none.
    pub watch: extern "C" fn(hear: Option<Hear>),
    /// How long the device has worked, in nanoseconds.
    pub worked: extern "C" fn() -> u64,
}
