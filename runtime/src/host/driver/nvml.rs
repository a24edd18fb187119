//! NVML, as far as needed to detect that the device was, or may be, slowed down, and its energy.
//!
//! Input: NVML's library and the UUID of the device. Output: why the device was slowed down since
//! the last query, if it was, whether it is a virtual GPU, which neighbours slow down invisibly for
//! NVML, and the energy that it has used. The library is opened like the driver's own programs open
//! it, and never closed.
//!
//! A slowdown counts if no setting asked for it and it can halve clocks or worse: heat, a power
//! brake, a hardware slowdown. A low clock does not count if nothing runs, if an administrator or
//! `--clock-control` set it, if a group of GPUs is synchronised, or at the power limit: under load
//! a big GPU normally works at that limit, and the clock of every sample is recorded.

pub(crate) mod links;

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::Path;

use gpuprof_model::measurement::MIG_PREFIX;
use libloading::Library;

/// The linker's name of the driver's library.
const DEFAULT: &str = "libnvidia-ml.so.1";

/// The function that reads the counter of energy.
const ENERGY: &str = "nvmlDeviceGetTotalEnergyConsumption";

/// `NVML_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: c_int = 3;

/// `NVML_PERF_POLICY_THERMAL`.
const THERMAL: c_uint = 1;

/// `nvmlClocksEventReason…` of `nvml.h`.
const REASONS: [(c_ulonglong, &str); 4] = [
    (0x08, "a hardware slowdown"),
    (0x20, "its temperature (software slowdown)"),
    (0x40, "its temperature (hardware slowdown)"),
    (0x80, "an external power brake"),
];

/// `NVML_GPU_VIRTUALIZATION_MODE_NONE`.
const BARE: c_uint = 0;

/// `NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH`: a virtual machine has the whole GPU.
const PASSED_THROUGH: c_uint = 1;

type Handle = *mut c_void;
type Result<T> = std::result::Result<T, String>;

/// `nvmlViolationTime_t`, in nanoseconds.
#[repr(C)]
#[derive(Default)]
struct Violation {
    reference: c_ulonglong,
    violation: c_ulonglong,
}

/// NVML, initialised, and its handle of a device.
struct Opened {
    library: &'static Library,
    device: Handle,
    /// Whether CUDA's device is a slice of it.
    is_slice: bool,
}

impl Opened {
    /// Opens NVML for the device that CUDA calls `uuid`, or the GPU that it is a slice of.
    fn device(library: Option<&Path>, uuid: &str) -> Result<Self> {
        let path = library.unwrap_or(Path::new(DEFAULT));
        let unloaded = |e: String| format!("NVML ({}) cannot be loaded: {e}", path.display());
        // SAFETY: NVML's initialisers only set up its own state.
        let library = unsafe { Library::new(path) }.map_err(failed).map_err(unloaded)?;
        // NVML keeps pointers into itself.
        let library: &'static Library = Box::leak(Box::new(library));
        type Init = unsafe extern "C" fn() -> c_int;
        type ByUuid = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
        type Parent = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
        // SAFETY: the types are those of nvml.h, with nvmlReturn_t as the integer that it is.
        let functions = unsafe {
            let init = library.get::<Init>(b"nvmlInit_v2");
            let by_uuid = library.get::<ByUuid>(b"nvmlDeviceGetHandleByUUID");
            let parent = library.get::<Parent>(b"nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
            init.and_then(|init| Ok((init, by_uuid?, parent?)))
        };
        let (init, by_uuid, parent) = functions.map_err(failed).map_err(unloaded)?;
        let name = CString::new(uuid).map_err(|e| e.to_string())?;
        let mut device = std::ptr::null_mut();
        // SAFETY: nvmlInit_v2 has no preconditions; it counts its callers.
        check("nvmlInit_v2", unsafe { init() })?;
        // SAFETY: NVML is initialised; the name ends with a zero, and a handle is a pointer.
        let found = unsafe { by_uuid(name.as_ptr(), &raw mut device) };
        check("nvmlDeviceGetHandleByUUID", found)?;
        let is_slice = uuid.starts_with(MIG_PREFIX);
        if is_slice {
            let slice = device;
            // SAFETY: as above; the handle came from NVML.
            let found = unsafe { parent(slice, &raw mut device) };
            check("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", found)?;
        }
        Ok(Self { library, device, is_slice })
    }
}

fn failed(error: libloading::Error) -> String {
    std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
}

struct Functions {
    reasons: unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int,
    violation: unsafe extern "C" fn(Handle, c_uint, *mut Violation) -> c_int,
    /// Not in every NVML.
    energy: Option<unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int>,
    /// Not in every NVML.
    virtualization: Option<unsafe extern "C" fn(Handle, *mut c_uint) -> c_int>,
}

impl Functions {
    fn load(library: &Library) -> Result<Self> {
        // SAFETY: the types are those of nvml.h, with nvmlReturn_t and enumerations as the integers
        // that they are.
        unsafe {
            Ok(Self {
                reasons: *library
                    .get(b"nvmlDeviceGetCurrentClocksThrottleReasons")
                    .map_err(failed)?,
                violation: *library.get(b"nvmlDeviceGetViolationStatus").map_err(failed)?,
                energy: library.get(ENERGY.as_bytes()).ok().map(|function| *function),
                virtualization: library
                    .get(b"nvmlDeviceGetVirtualizationMode")
                    .ok()
                    .map(|function| *function),
            })
        }
    }
}

/// Watches a device for slowdowns.
pub(crate) struct Watch {
    functions: Functions,
    device: Handle,
    /// Whether it is a slice of a GPU, which `device` is.
    is_slice: bool,
    /// Nanoseconds slowed by heat until now; `None` where the device does not count them.
    hot_ns: Option<u64>,
    /// Whether virtual machines share the device; `None` where NVML does not say.
    pub(crate) is_virtual: Option<bool>,
}

impl Watch {
    /// Begins to watch the device that CUDA calls `uuid`.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub(crate) fn begin(library: Option<&Path>, uuid: &str) -> Result<Self> {
        // Clocks are those of the GPU that it is a slice of.
        let Opened { library, device, is_slice } = Opened::device(library, uuid)?;
        let functions =
            Functions::load(library).map_err(|e| format!("this NVML is too old: {e}"))?;
        let mut watch = Self { functions, device, is_slice, hot_ns: None, is_virtual: None };
        watch.reasons()?;
        watch.hot_ns = watch.hot();
        watch.is_virtual = watch.mode().map(|mode| !matches!(mode, BARE | PASSED_THROUGH));
        Ok(watch)
    }

    /// Why the device is slowed down, or was since the last question; none if it was not.
    ///
    /// The reasons are those of this instant; heat is counted by the driver, so that a slowdown
    /// which came and went is noticed too.
    pub(crate) fn slowed(&mut self) -> Option<String> {
        let now = self.hot();
        let grown = matches!((self.hot_ns, now), (Some(before), Some(now)) if now > before);
        self.hot_ns = now;
        let reasons = self.reasons().unwrap_or(0);
        let mut words: Vec<&str> =
            REASONS.iter().filter(|(bit, _)| reasons & bit != 0).map(|(_, text)| *text).collect();
        if words.is_empty() && grown {
            words.push("its temperature");
        }
        (!words.is_empty()).then(|| words.join(" and "))
    }

    /// The counter of the device's energy.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn energy_counter(&self) -> Result<EnergyCounter> {
        if self.is_slice {
            return Err("NVML counts the energy of a whole GPU, not of a MIG instance".to_owned());
        }
        let read = self.functions.energy.ok_or_else(|| format!("this NVML has no {ENERGY}"))?;
        let counter = EnergyCounter { read, device: self.device };
        counter.read().map(|_| counter)
    }

    fn mode(&self) -> Option<c_uint> {
        let mut mode = 0;
        // SAFETY: the handle came from NVML, which writes one integer.
        let code = unsafe { (self.functions.virtualization?)(self.device, &raw mut mode) };
        (code == 0).then_some(mode)
    }

    fn reasons(&self) -> Result<u64> {
        let mut reasons = 0;
        // SAFETY: the handle came from NVML, which writes one integer.
        check("nvmlDeviceGetCurrentClocksThrottleReasons", unsafe {
            (self.functions.reasons)(self.device, &raw mut reasons)
        })?;
        Ok(reasons)
    }

    fn hot(&self) -> Option<u64> {
        let mut time = Violation::default();
        // SAFETY: the handle came from NVML, which writes two integers.
        let code = unsafe { (self.functions.violation)(self.device, THERMAL, &raw mut time) };
        (code == 0).then_some(time.violation)
    }
}

/// Counts the energy that a device has used since the driver was loaded.
#[derive(Clone, Copy)]
pub(crate) struct EnergyCounter {
    read: unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int,
    device: Handle,
}

// SAFETY: NVML's functions and handles may be used by any thread.
unsafe impl Send for EnergyCounter {}

impl EnergyCounter {
    /// The millijoules so far.
    ///
    /// # Errors
    /// Why they are not known.
    pub(crate) fn read(self) -> Result<u64> {
        let mut millijoules = 0;
        // SAFETY: the handle came from NVML, which writes one integer.
        match unsafe { (self.read)(self.device, &raw mut millijoules) } {
            NOT_SUPPORTED => Err("NVML counts no energy of this GPU".to_owned()),
            code => check(ENERGY, code).map(|()| millijoules),
        }
    }
}

fn check(call: &str, code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(format!("{call} returned {code}")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// The fake NVML in a separate folder.
    pub(crate) fn fake() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvidia-ml.so.1");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fakes/nvml.rs");
        let status = Command::new("rustc")
            .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "nvml", "-o"])
            .args([library.as_path(), Path::new(source)])
            // Compiled in: this process cannot set a variable while its other threads read.
            .env("FAKE_NVML", folder.path())
            .status();
        assert!(status.unwrap().success());
        (folder, library)
    }

    #[test]
    fn only_unrequested_throttle_reasons_count() {
        let (folder, library) = fake();
        // Idle, application clocks, power limit, sync boost, display clocks: none of these counts.
        // The first is queried when the watch begins.
        fs::write(folder.path().join("reasons"), "0 279 8 32 64 128 40 0").unwrap();
        let mut watch = Watch::begin(Some(&library), "GPU-1").unwrap();
        let mut told = || watch.slowed();
        assert_eq!(told(), None);
        assert_eq!(told().unwrap(), "a hardware slowdown");
        assert_eq!(told().unwrap(), "its temperature (software slowdown)");
        assert_eq!(told().unwrap(), "its temperature (hardware slowdown)");
        assert_eq!(told().unwrap(), "an external power brake");
        assert_eq!(told().unwrap(), "a hardware slowdown and its temperature (software slowdown)");
        assert_eq!(told(), None);
    }

    #[test]
    fn thermal_throttling_between_two_reads_is_noticed() {
        let (folder, library) = fake();
        fs::write(folder.path().join("thermal"), "500 500 700 700").unwrap();
        let mut watch = Watch::begin(Some(&library), "MIG-1").unwrap();
        assert_eq!(watch.slowed(), None);
        assert_eq!(watch.slowed().unwrap(), "its temperature");
        assert_eq!(watch.slowed(), None);
    }

    #[test]
    fn a_device_without_thermal_counters_is_watched_by_throttle_reasons() {
        let (folder, library) = fake();
        fs::write(folder.path().join("no-violations"), "").unwrap();
        fs::write(folder.path().join("reasons"), "0 0 64").unwrap();
        let mut watch = Watch::begin(Some(&library), "GPU-1").unwrap();
        assert_eq!(watch.slowed(), None);
        assert!(watch.slowed().is_some());
    }

    #[test]
    fn a_virtual_gpu_is_distinguished_from_a_passed_through_one() {
        let (folder, library) = fake();
        let told = || Watch::begin(Some(&library), "GPU-1").unwrap().is_virtual;
        assert_eq!(told(), Some(false));
        let modes = [("1", Some(false)), ("2", Some(true)), ("3", Some(true)), ("none", None)];
        for (mode, expected) in modes {
            fs::write(folder.path().join("vgpu"), mode).unwrap();
            assert_eq!(told(), expected, "{mode}");
        }
    }

    #[test]
    fn energy_is_counted_of_whole_gpus_that_have_a_counter() {
        let (folder, library) = fake();
        let energy = |uuid| {
            let counter = Watch::begin(Some(&library), uuid).unwrap().energy_counter();
            counter.and_then(EnergyCounter::read)
        };
        assert_eq!(energy("GPU-1"), Ok(5_000));
        let slice = energy("MIG-1").unwrap_err();
        assert_eq!(slice, "NVML counts the energy of a whole GPU, not of a MIG instance");
        fs::write(folder.path().join("no-energy"), "").unwrap();
        assert_eq!(energy("GPU-1").unwrap_err(), "NVML counts no energy of this GPU");
    }

    #[test]
    fn a_failed_watch_reports_its_reason() {
        let missing = Watch::begin(Some(Path::new("/nonexistent/nvml.so")), "GPU-1").err().unwrap();
        assert!(missing.starts_with("NVML (/nonexistent/nvml.so) cannot be loaded: "), "{missing}");
        let (_folder, library) = fake();
        let unknown = Watch::begin(Some(&library), "nobody").err().unwrap();
        assert_eq!(unknown, "nvmlDeviceGetHandleByUUID returned 6");
    }
}
