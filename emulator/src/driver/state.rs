//! The driver's state between calls.

use super::code::Code;
use super::graph_state::Graphs;
use super::linker::Linker;
use super::log::Log;
use super::order::Order;
use super::pointers::{Handle, HostFunction};
use super::shared_pages::Managed;
use crate::device::{Chip, Device, Kernel, LaunchConfig, LaunchError, Module, fault_json};
use crate::machine::fault::{FaultKind, panic_message};
use std::collections::HashMap;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An event of the program.
#[derive(Debug)]
pub struct Event {
    /// Whether it takes times.
    pub timed: bool,
    /// When it was recorded last.
    pub recorded: Option<Instant>,
}

/// A launch that the device or the kernel does not allow.
#[derive(Debug)]
pub struct Refusal {
    /// The kernel's name.
    pub kernel: String,
    /// Its grid, block and shared memory.
    pub config: LaunchConfig,
    /// Why, in one sentence.
    pub message: String,
}

/// Pools that the program made or asked for.
#[derive(Debug, Default)]
pub struct Pools {
    /// The attributes of each that were set.
    pub all: HashMap<Handle, HashMap<c_int, u64>>,
    /// The device's own, once it was asked for.
    pub default: Option<Handle>,
    /// The one that allocations on streams use, if it is not the default one.
    pub chosen: Option<Handle>,
}

/// Work that the driver does.
pub type DeviceWork = dyn Fn(&mut Driver, u64) -> Result<(), Code> + Send + Sync;

/// The work of a node.
#[derive(Clone)]
pub enum Work {
    /// A copy, a fill or a launch, on the stream with this number.
    Device(Arc<DeviceWork>),
    /// A call of the program's function, with the address of its argument.
    Host(Option<HostFunction>, u64),
    /// An allocation of this many bytes at an address that is reserved for it.
    Allocate {
        /// The address.
        address: u64,
        /// The size.
        bytes: u64,
    },
    /// All of another graph; nothing, if it is empty.
    All(Vec<Work>),
}

/// The whole driver.
#[derive(Default)]
pub struct Driver {
    /// The one device.
    pub device: Device,
    /// Loaded modules.
    pub modules: HashMap<Handle, Module>,
    /// Functions that were asked for, with their module.
    pub functions: HashMap<Handle, (Handle, Kernel)>,
    /// Streams, by handle: number, priority and flags.
    pub streams: HashMap<Handle, (u64, i32, u32)>,
    /// Events: whether they were recorded.
    pub events: HashMap<Handle, Event>,
    /// The order of the work of streams.
    pub order: Order,
    /// Host memory that the driver allocated.
    pub host_memory: HashMap<u64, usize>,
    /// Memory that the host and the device share.
    pub managed: Managed,
    /// Links at run time.
    pub linkers: HashMap<Handle, Linker>,
    /// Memory pools.
    pub pools: Pools,
    /// Graphs and captures.
    pub graphs: Graphs<Work>,
    /// Contexts other than the primary one.
    pub contexts: Vec<Handle>,
    /// How often the primary context is retained.
    pub primary_uses: u32,
    /// Bytes of the buffer of `printf`, as the program set them.
    pub printf_bytes: usize,
    /// The error that every later call returns.
    pub sticky: Option<Code>,
    /// The next reply of `gpuemu_take_fault`.
    pub fault: Option<String>,
    /// The refused launch, if no call has failed and nothing was launched since.
    pub refused: Option<Refusal>,
    /// The log of events.
    pub log: Log,
    next_handle: usize,
}

/// The primary context.
pub const PRIMARY: Handle = Handle(0x1000);

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

fn driver() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// After the message of a fault at an address of pinned memory.
const ONLY_PINNED: &str = "; it is pinned memory of the host, which the emulated device shares if it \
     is an argument of a launch or of cudaHostAllocMapped (CU_MEMHOSTALLOC_DEVICEMAP)";

impl Driver {
    fn new() -> Self {
        let log = Log::from_environment();
        Self { printf_bytes: 1 << 20, log, next_handle: PRIMARY.0, ..Self::default() }
    }

    /// A handle that was never used.
    pub fn handle(&mut self) -> Handle {
        self.next_handle += 0x10;
        Handle(self.next_handle)
    }

    /// Remembers why a call failed.
    pub fn note(&mut self, kind: &str, message: &str) {
        self.failed(fault_json(kind, message, None), message);
    }

    /// Remembers a refused launch; returns `code`.
    fn refuse(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        message: String,
        code: Code,
    ) -> Code {
        self.note("launch_config", &message);
        self.refused = Some(Refusal { kernel: kernel.name().to_owned(), config, message });
        code
    }

    /// The code of a launch that did not end well. A fault in a kernel makes the context unusable,
    /// as on a GPU, and is reported by later calls, not by the launch.
    pub fn refuse_launch(
        &mut self,
        kernel: &Kernel,
        config: LaunchConfig,
        error: LaunchError,
    ) -> Result<(), Code> {
        match error {
            LaunchError::Config(message) => {
                Err(self.refuse(kernel, config, message, Code::INVALID_VALUE))
            }
            LaunchError::CooperativeTooLarge(message) => {
                Err(self.refuse(kernel, config, message, Code::COOPERATIVE_LAUNCH_TOO_LARGE))
            }
            LaunchError::Fault(mut report) => {
                if report.address.is_some_and(|at| self.managed.is_only_pinned(at)) {
                    report.message.push_str(ONLY_PINNED);
                }
                let json = fault_json(report.kind, &report.message, Some(&report));
                self.failed(json, &report.message);
                self.sticky = Some(match report.class {
                    FaultKind::OutOfBounds | FaultKind::UseAfterFree | FaultKind::Null => {
                        Code::ILLEGAL_ADDRESS
                    }
                    FaultKind::Misaligned => Code::MISALIGNED_ADDRESS,
                    FaultKind::Assert => Code::ASSERT,
                    FaultKind::StackOverflow => Code::HARDWARE_STACK_ERROR,
                    FaultKind::Unsupported => Code::NOT_SUPPORTED,
                    FaultKind::Internal => Code::UNKNOWN,
                    FaultKind::Trap
                    | FaultKind::BarrierDeadlock
                    | FaultKind::Race
                    | FaultKind::Uninitialised
                    | FaultKind::ReadOnly
                    | FaultKind::Undefined => Code::LAUNCH_FAILED,
                });
                Ok(())
            }
        }
    }

    /// Runs a call. When another call fails or a launch is accepted, the program has moved on, and
    /// the refused launch is forgotten. After an accepted launch without a fault, so is the reason
    /// of an earlier failure.
    fn call(&mut self, f: Call<'_, Self>) -> Result<(), Code> {
        let (refused, launches) = (self.refused.take(), self.device.launch_count());
        let fault = refused.as_ref().and_then(|_| self.fault.take());
        let outcome = f(self);
        let went_on = self.device.launch_count() > launches;
        if !went_on && matches!(outcome, Ok(()) | Err(Code::NOT_READY)) {
            self.refused = refused;
            self.fault = self.fault.take().or(fault);
        }
        if went_on && self.sticky.is_none() {
            self.fault = None;
        }
        outcome
    }

    fn failed(&mut self, json: String, message: &str) {
        self.log.fault(&json, message);
        self.fault = Some(json);
    }

    /// Writes the launches that ended well where the log wants them; it takes them then.
    pub fn log_launches(&mut self) {
        if self.log.keeps_launches() {
            for launch in self.device.take_launches() {
                self.log.launch(&launch);
            }
        }
    }

    /// Destroys everything that belongs to the device's context.
    pub fn reset(&mut self) {
        self.modules.clear();
        self.functions.clear();
        self.streams.clear();
        self.events.clear();
        self.order = Order::default();
        self.graphs = Graphs::default();
        self.linkers.clear();
        self.pools = Pools::default();
        self.managed.clear();
        self.device.memory.clear();
        self.sticky = None;
    }
}

/// The effect of a function of the API, boxed so that all functions share the code around it.
pub type Call<'a, T> = Box<dyn FnOnce(&mut T) -> Result<(), Code> + 'a>;

fn locked(f: Call<'_, Option<Driver>>) -> Code {
    let outcome = catch_unwind(AssertUnwindSafe(|| f(&mut driver())));
    match outcome {
        Ok(result) => result.into(),
        Err(panic) => {
            let message = panic_message(&*panic);
            if let Some(driver) = driver().as_mut() {
                driver.note(FaultKind::Internal.word(), &message);
                driver.sticky = Some(Code::UNKNOWN);
            }
            Code::UNKNOWN
        }
    }
}

/// `cuInit`.
pub fn initialise() -> Code {
    locked(Box::new(|driver| {
        driver.get_or_insert_with(Driver::new);
        Ok(())
    }))
}

/// How many devices there are.
pub fn device_count() -> c_int {
    1
}

/// The chip of a device.
pub fn chip_of(driver: &Driver, device: c_int) -> Result<&'static Chip, Code> {
    if device == 0 { Ok(driver.device.chip) } else { Err(Code::INVALID_DEVICE) }
}

/// A call that needs the driver to be initialised.
pub fn with(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    on_initialised(Box::new(f))
}

fn on_initialised(f: Call<'_, Driver>) -> Code {
    locked(Box::new(|driver| driver.as_mut().ok_or(Code::NOT_INITIALIZED)?.call(f)))
}

/// A call of a function that the driver does not support.
pub fn unsupported(function: &'static str) -> Code {
    locked(Box::new(|driver| {
        if let Some(driver) = driver {
            driver.log.lacks(function);
            driver.refused = None;
        }
        Err(Code::NOT_SUPPORTED)
    }))
}

/// Whether `cuInit` was called.
pub fn is_initialised() -> bool {
    driver().is_some()
}

/// Whatever the driver says about its past, initialised or not.
pub fn peek<T>(f: impl FnOnce(&mut Driver) -> Option<T>) -> Option<T> {
    driver().as_mut().and_then(f)
}
