//! One process' hold on a device: context, stream, device record, and the probe for a driver.
//!
//! Input: whether the emulated driver must answer. Output: a context on device 0 and
//! everything later code wants to know of the device. cudarc is the only way to the driver; its
//! library and symbols are looked for before they are called, since it panics where they are
//! missing.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::result::device;
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaModule, CudaStream, DriverError};
use cudarc::nvrtc::Ptx;
use gpuprof_model::declared::MachineCode;
use gpuprof_model::links::DeviceLinks;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::protocol::{DriverProbe, MeasureRequest};
use gpuprof_model::units::BytesPerSecond;

use super::collect::cubins::{self, Cubin};
use super::collect::flush::Flush;
use super::collect::profiler::Profiler;
use super::collect::{attributes, bandwidth, emulator, links, persisting};
use super::declaration;
use super::error::{Error, Result};
use crate::host::driver::function::Function;
use crate::host::driver::library;
use crate::host::driver::nvml::Watch;
use crate::host::driver::uuid;
use crate::host::runner::line::Handover;
use crate::host::runner::measure_lock::MeasureLock;

/// A module of a request.
#[derive(Clone, Copy)]
pub(crate) enum ModuleName<'a> {
    /// The device functions of a package.
    Package(&'a str),
    /// The name in a declaration.
    Declared(&'a str),
}

impl<'a> ModuleName<'a> {
    /// Its key in the request.
    pub(crate) fn key(self) -> &'a str {
        match self {
            Self::Package(key) | Self::Declared(key) => key,
        }
    }

    /// What to do where it lacks a kernel.
    fn hint(self) -> &'static str {
        match self {
            Self::Package(_) => ": kernels must be in the library target of the package",
            Self::Declared(_) => "",
        }
    }
}

impl fmt::Display for ModuleName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package(package) => write!(f, "the PTX of package `{package}`"),
            Self::Declared(module) => write!(f, "the module {module}"),
        }
    }
}

/// The name of an entry point.
#[derive(Clone, Copy)]
pub(crate) struct EntryName<'a> {
    pub(crate) module: ModuleName<'a>,
    pub(crate) name: &'a str,
    /// The end of its name if the module has others called `name`.
    pub(crate) place: &'a str,
}

/// An entry point that is loaded.
pub(crate) struct LoadedKernel {
    pub(crate) function: Function,
    pub(crate) module: Arc<CudaModule>,
    /// Its full name in the module.
    pub(crate) symbol: String,
}

/// The data that a series makes once for each process.
#[derive(Clone)]
pub(super) struct SetupData {
    pub(super) data: Rc<dyn Any>,
    /// How long the series took to make it.
    pub(super) took: Duration,
}

/// An open device.
pub(crate) struct Session {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) device: DeviceRecord,
    /// CUPTI, once it is initialised: it stays so until the process ends.
    profiler: OnceCell<Profiler>,
    flush: OnceCell<Flush>,
    /// NVML's eye on the device, once it is open, or why there is none.
    watch: OnceCell<std::result::Result<RefCell<Watch>, String>>,
    /// The links of the device, once they are read.
    links: OnceCell<DeviceLinks>,
    /// Whoever hands the device over; none if this process has it.
    turn: Cell<Option<Rc<Handover>>>,
    /// The device's copy bandwidth, once this process has measured it.
    copy_bandwidth: Cell<Option<BytesPerSecond>>,
    /// Keeps other processes from this one's measuring, and this one from theirs.
    pub(crate) quiet: MeasureLock,
    /// Whether something has warmed the device up in this process.
    pub(crate) warm: Cell<bool>,
    /// The machine code of the modules, for counts by machine instruction.
    pub(crate) cubins: RefCell<Vec<Cubin>>,
    /// The set-ups of series, each made once for all configurations, by the names of the series.
    pub(super) setups: RefCell<BTreeMap<&'static str, SetupData>>,
}

impl Session {
    /// Opens device 0, which `turn` hands over where another process has it.
    ///
    /// # Errors
    /// No driver, a driver that is not the emulated one although it must be, or any driver error.
    pub(crate) fn open(
        emulated: bool,
        turn: Option<Rc<Handover>>,
        quiet: MeasureLock,
    ) -> Result<Self> {
        if !library::is_present() {
            return Err(Error::failed("cannot load the CUDA driver library (libcuda.so)"));
        }
        if emulated != emulator::is_loaded() {
            return Err(Error::failed(if emulated {
                "the emulated driver was requested, but another libcuda.so was loaded first"
            } else {
                "a GPU was requested, but the emulated driver was loaded"
            }));
        }
        let context = quiet
            .stage(|| CudaContext::new(0).map_err(|e| Error::driver("opening device 0", e)))?;
        let device = record(context.cu_device(), emulated)
            .map_err(|e| Error::driver("reading device 0", e))?;
        Ok(Self {
            stream: context.default_stream(),
            context,
            device,
            profiler: OnceCell::new(),
            flush: OnceCell::new(),
            watch: OnceCell::new(),
            links: OnceCell::new(),
            turn: Cell::new(turn),
            copy_bandwidth: Cell::new(None),
            quiet,
            warm: Cell::new(false),
            cubins: RefCell::default(),
            setups: RefCell::default(),
        })
    }

    /// Waits until the device is this process's.
    pub(crate) fn take_turn(&self) {
        if let Some(handover) = self.turn.take() {
            handover.wait();
        }
    }

    /// Has the reply written by `reply`, frees everything on the device and destroys the context
    /// while no process measures. Memory that user code allocated is freed with the process.
    ///
    /// # Errors
    /// Those of `reply`.
    pub(crate) fn close(self, reply: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let Self { context, stream, profiler, flush, watch, quiet, .. } = self;
        quiet.leave(|| {
            // Pools give back what was freed, of which the next process may need every byte: a
            // reply hands it the device.
            let _ = context.synchronize();
            // It warms up, and measures once this one is gone.
            let replied = reply();
            drop((profiler, watch, flush, stream));
            drop(context);
            replied
        })
    }

    /// The device's copy bandwidth in bytes a second, measured while no process of the run does
    /// anything else; none where the device has too little free memory for it.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn copy_bandwidth(&self) -> Result<Option<BytesPerSecond>> {
        if self.copy_bandwidth.get().is_none() {
            let _quiet = self.quiet.window()?;
            self.copy_bandwidth.set(bandwidth::copy(&self.stream, self.device.l2_bytes)?);
        }
        Ok(self.copy_bandwidth.get())
    }

    /// Queues the flush of the L2 cache; its buffer stays until the process ends.
    ///
    /// # Errors
    /// The driver's: the buffer may not fit.
    pub(crate) fn flush(&self) -> Result<()> {
        persisting::reset();
        self.evict()
    }

    /// As [`Session::flush`], by one launch and nothing else: persisting lines stay.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn evict(&self) -> Result<()> {
        self.flusher()?.run()
    }

    /// The kernel of [`Session::evict`]. It is made when it is first needed: this loads a module
    /// and fills a buffer.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn flusher(&self) -> Result<&Flush> {
        if let Some(flush) = self.flush.get() {
            return Ok(flush);
        }
        let flush = Flush::new(&self.stream, self.device.l2_bytes)?;
        Ok(self.flush.get_or_init(|| flush))
    }

    /// CUPTI, initialised; `library` is used the first time.
    ///
    /// # Errors
    /// A library that cannot be loaded, or that does not start.
    pub(crate) fn profiler(&self, library: &Path) -> Result<&Profiler> {
        if let Some(profiler) = self.profiler.get() {
            return Ok(profiler);
        }
        let profiler = self.quiet.stage(|| Profiler::initialize(library))?;
        Ok(self.profiler.get_or_init(|| profiler))
    }

    /// The watch for slowdowns of the device; `library` is NVML, if one was named, and is used the
    /// first time. Opening it takes longer than many kernels, so it is done before the turn.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn watch(
        &self,
        library: Option<&Path>,
    ) -> &std::result::Result<RefCell<Watch>, String> {
        self.watch.get_or_init(|| {
            let begun = self.quiet.stage(|| Ok(Watch::begin(library, &self.device.uuid)));
            begun.map_err(|e| e.to_string()).flatten().map(RefCell::new)
        })
    }

    /// What is known of the device by now, with those of its attributes and links that `request`
    /// asks for: more once NVML watches it.
    pub(crate) fn device_record(&self, request: &MeasureRequest) -> DeviceRecord {
        let watch = self.watch.get().and_then(|watch| watch.as_ref().ok());
        let virtual_gpu = watch.and_then(|watch| watch.borrow().is_virtual);
        let device = self.context.cu_device();
        let mut known = DeviceRecord { virtual_gpu, ..self.device.clone() };
        known.attributes.extend(attributes::query(device, &request.attributes));
        if request.links && !known.emulated {
            let read = || links::read(device, &known.uuid, request.sampling.nvml.as_deref());
            known.links = Some(self.links.get_or_init(read).clone());
        }
        known
    }

    /// Loads the module `of`: with its PTX, which is empty if it is machine code.
    ///
    /// # Errors
    /// A missing or unreadable file, or a refusal of the driver; *invalid* if the file has no
    /// machine code for this device.
    pub(crate) fn load_module(
        &self,
        request: &MeasureRequest,
        of: ModuleName<'_>,
    ) -> Result<(Arc<CudaModule>, String)> {
        let path = request
            .modules
            .get(of.key())
            .ok_or_else(|| Error::failed(format!("the request does not hold {of}")))?;
        let unreadable =
            |e: io::Error| Error::failed(format!("reading {of} ({}): {e}", path.display()));
        if let Some(code) = declaration::machine_code(request, of.key()) {
            let image = Ptx::from_binary(fs::read(path).map_err(unreadable)?);
            let module = self.quiet.stage(|| {
                let loaded = self.context.load_module(image);
                loaded.map_err(|e| self.machine_code_refused(code, e))
            })?;
            return Ok((module, String::new()));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let module = self.quiet.stage(|| {
            let load = || {
                let loaded = self.context.load_module(Ptx::from_src(&text));
                loaded.map_err(|e| self.explain(Error::driver(&format!("loading {of}"), e)))
            };
            match &request.source {
                Some(wanted) if !self.device.emulated => {
                    let (module, cubin) = cubins::load_with_cubin(wanted, path, load)?;
                    self.cubins.borrow_mut().push(cubin);
                    Ok(module)
                }
                _ => load(),
            }
        })?;
        Ok((module, text))
    }

    /// That the driver refuses the machine code of a declared kernel.
    fn machine_code_refused(&self, code: &MachineCode, error: DriverError) -> Error {
        let failure = Error::driver(&format!("loading {}", code.file), error);
        match error.0 {
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => Error::invalid(format!(
                "{failure}: {}",
                code.not_for(self.device.compute_capability)
            )),
            CUresult::CUDA_ERROR_INVALID_IMAGE => {
                let version = self.device.driver_version;
                let words = format!(
                    "{failure}: the file is damaged, or made by a CUDA toolkit newer than the driver, \
                     which is of CUDA {}.{}",
                    version / 1000,
                    version % 1000 / 10
                );
                failure.in_words(words)
            }
            _ => failure,
        }
    }

    /// Loads an entry point of `module` by its full name: `name` and `place`, or `name` alone if it
    /// is unique.
    ///
    /// # Errors
    /// A module without it.
    pub(crate) fn load_kernel(
        &self,
        request: &MeasureRequest,
        module: Arc<CudaModule>,
        EntryName { module: of, name, place }: EntryName<'_>,
    ) -> Result<LoadedKernel> {
        // Its code may go to the device only now.
        let load = |symbol: &str| {
            let loaded = self.quiet.stage(|| Ok(module.load_function(symbol)))?;
            let known = request.resources.get(of.key()).map(|it| it.resources(symbol));
            if let (true, Ok(function), Some(Ok(known))) = (request.emulated, &loaded, known) {
                emulator::set_registers(function.cu_function(), known.registers);
                let cubin = request.cubins.get(of.key()).and_then(|file| fs::read(file).ok());
                cubin.iter().for_each(|it| emulator::set_machine_code(function.cu_function(), it));
            }
            Ok::<_, Error>(loaded)
        };
        let mut symbol = format!("{name}{place}");
        let mut loaded = load(&symbol)?;
        if loaded.is_err() {
            name.clone_into(&mut symbol);
            loaded = load(name)?;
        }
        let function = loaded.map_err(|e| match e.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => {
                Error::failed(format!("{of} has no kernel `{name}`{}", of.hint()))
            }
            _ => self.explain(Error::driver(&format!("loading kernel `{name}`"), e)),
        })?;
        Ok(LoadedKernel { function: Function::from(&function), module, symbol })
    }

    /// An attribute of the device.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn attribute(&self, attribute: Attribute) -> Result<u64, DriverError> {
        self.context.attribute(attribute).map(|value| u64::try_from(value).unwrap_or(0))
    }

    /// The emulated driver's report in place of the error.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self.take_fault() {
            Some(fault) => error.in_words(fault),
            None => error,
        }
    }

    /// Adds the emulated driver's report to an error that has other facts, such as the place of a
    /// panic.
    pub(crate) fn add_reason(&self, error: Error) -> Error {
        match self.take_fault() {
            Some(fault) => {
                let reason = format!("{error}\nthe emulated driver: {fault}");
                error.in_words(reason)
            }
            None => error,
        }
    }

    fn take_fault(&self) -> Option<String> {
        self.device.emulated.then(emulator::take_fault).flatten()
    }
}

/// The driver's data on its `device`. It needs no context, since opening one takes a fifth of a
/// second.
fn record(device: CUdevice, emulated: bool) -> Result<DeviceRecord, DriverError> {
    let get = |attribute| {
        // SAFETY: the driver gave the device out.
        let value = unsafe { device::get_attribute(device, attribute) };
        value.map(|value| u64::try_from(value).unwrap_or(0))
    };
    let major = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let memory_khz = get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?;
    let bus_bits = get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
    // Two transfers per clock: DDR, GDDR and HBM, as the attribute counts clocks.
    let peak = 2.0 * memory_khz as f64 * 1e3 * bus_bits as f64 / 8.0;
    let name = device::get_name(device)?;
    let mut driver_version = 0;
    // SAFETY: the driver is loaded and writes one int.
    unsafe { sys::cuDriverGetVersion(&mut driver_version) }.result()?;
    Ok(DeviceRecord {
        uuid: uuid::read(device, &name)?,
        name,
        compute_capability: (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0)),
        sm_count: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        l2_bytes: get(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        dram_peak_bytes_per_second: (peak > 0.0).then_some(BytesPerSecond(peak)),
        driver_version: u32::try_from(driver_version).unwrap_or(0),
        emulated,
        virtual_gpu: None,
        links: None,
        attributes: attributes::read(device),
    })
}

/// Whether a driver and a device answer in this process.
pub(crate) fn probe() -> DriverProbe {
    if !library::is_present() {
        return DriverProbe::Absent;
    }
    let broken = |call: &str, error: CUresult| DriverProbe::Broken {
        call: call.to_owned(),
        code: error as u32,
        name: format!("{error:?}"),
    };
    // SAFETY: cuInit has no preconditions; the library is there.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_SUCCESS => {}
        // The toolkit's stub library replaces a driver that is not installed.
        CUresult::CUDA_ERROR_STUB_LIBRARY => return DriverProbe::Absent,
        CUresult::CUDA_ERROR_NO_DEVICE => return DriverProbe::NoDevice,
        error => return broken("cuInit", error),
    }
    let mut count = 0;
    // SAFETY: the driver is initialised and writes one int.
    match unsafe { sys::cuDeviceGetCount(&mut count) } {
        CUresult::CUDA_SUCCESS if count == 0 => return DriverProbe::NoDevice,
        CUresult::CUDA_SUCCESS => {}
        error => return broken("cuDeviceGetCount", error),
    }
    let shown = |ordinal| device::get(ordinal).and_then(|d| record(d, emulator::is_loaded()));
    match (0..count).map(shown).collect() {
        Ok(devices) => DriverProbe::Devices(devices),
        Err(error) => broken("cuDeviceGet", error.0),
    }
}
