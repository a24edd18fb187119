//! NVML: the driver's data on a device beyond CUDA's, found by the UUID from CUDA.
//!
//! Input: a library and a UUID. Output: clocks to lock, and facts for `doctor`. Ordinals do not
//! work: CUDA's order depends on `CUDA_VISIBLE_DEVICES` and speed, NVML's on the bus. A MIG slice
//! has a separate UUID and the clocks of its whole GPU. Loaded in child processes only: the guard
//! of clocks and `__ask`.

use std::path::{Path, PathBuf};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, ClockLimitId, GpuVirtualizationMode};
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use gpuprof_model::machine::ClockControl;

pub use gpuprof_model::measurement::MIG_PREFIX;

/// NVML, loaded and initialised.
#[derive(Debug)]
pub struct Library(Nvml);

/// Clocks that can be locked: of the whole GPU, in MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lockable {
    /// The clock that the device holds within its power limit under any load: its base clock.
    Base,
    /// This one.
    Mhz(u32),
}

/// NVML's data on a device; `None` if it does not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The driver, such as `580.95.05`.
    pub driver: Option<String>,
    /// Whether the driver stays loaded without clients.
    pub persistence: Option<bool>,
    /// Whether MIG is on.
    pub mig: Option<bool>,
    /// Whether the device is shared by virtual machines (vGPU); a passed-through one is not.
    pub vgpu: Option<bool>,
    /// The SM clock now, in MHz.
    pub sm_mhz: Option<u32>,
    /// The highest SM clock, in MHz.
    pub max_sm_mhz: Option<u32>,
    /// Why clocks are slowed now.
    pub slowed: Vec<String>,
}

impl Library {
    /// Loads `path`, or `libnvidia-ml.so.1` where the linker finds it.
    ///
    /// # Errors
    /// Why not, with what to do.
    pub fn open(path: Option<&Path>) -> Result<Self, String> {
        let path = path.map_or_else(|| PathBuf::from("libnvidia-ml.so.1"), Path::to_owned);
        Nvml::builder().lib_path(path.as_os_str()).init().map(Self).map_err(|error| {
            format!(
                "NVML ({}) does not work: {}; it comes with the driver (in a container, with the \
                 driver capability `utility`); to use another one, set --nvml-path or GPUPROF_NVML",
                path.display(),
                words(&error)
            )
        })
    }

    /// The GPU of `uuid`: for a MIG slice, its whole GPU.
    ///
    /// # Errors
    /// NVML does not know it.
    pub fn gpu(&self, uuid: &str) -> Result<Device<'_>, String> {
        let unknown = |e: NvmlError| format!("NVML does not know {uuid}: {}", words(&e));
        let device = self.0.device_by_uuid(uuid).map_err(unknown)?;
        if uuid.starts_with(MIG_PREFIX) {
            device.mig_parent_device().map_err(unknown)
        } else {
            Ok(device)
        }
    }

    /// The data on `uuid`.
    ///
    /// # Errors
    /// NVML does not know it.
    pub fn facts(&self, uuid: &str) -> Result<Facts, String> {
        let device = self.gpu(uuid)?;
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let mode = device.virtualization_mode().ok();
        Ok(Facts {
            driver: self.0.sys_driver_version().ok(),
            persistence: device.is_in_persistent_mode().ok(),
            mig: device.mig_mode().ok().map(|mode| mode.current == 1),
            vgpu: mode.map(|m| {
                !matches!(m, GpuVirtualizationMode::Bare | GpuVirtualizationMode::PassThrough)
            }),
            sm_mhz: device.clock_info(Clock::SM).ok(),
            max_sm_mhz: device.max_clock_info(Clock::SM).ok(),
            slowed: SLOWED
                .iter()
                .filter(|(r, _)| reasons.contains(*r))
                .map(|(_, t)| (*t).to_owned())
                .collect(),
        })
    }
}

/// Reasons for slow clocks that are not settings.
const SLOWED: [(ThrottleReasons, &str); 6] = [
    (ThrottleReasons::SW_POWER_CAP, "power limit"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
    (ThrottleReasons::SYNC_BOOST, "sync boost group"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "temperature (software)"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "temperature (hardware)"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
];

/// The clocks for `control` on `device`; none if it leaves them unchanged.
///
/// # Errors
/// NVML does not report the highest clock.
pub fn lockable(device: &Device<'_>, control: ClockControl) -> Result<Option<Lockable>, NvmlError> {
    match control {
        ClockControl::None => Ok(None),
        ClockControl::Base => Ok(Some(Lockable::Base)),
        ClockControl::Boost => {
            device.max_clock_info(Clock::Graphics).map(|mhz| Some(Lockable::Mhz(mhz)))
        }
    }
}

/// Locks the clocks of `device`.
///
/// # Errors
/// NVML refuses.
pub fn lock(device: &mut Device<'_>, clocks: Lockable) -> Result<(), NvmlError> {
    let numeric = |mhz| GpuLockedClocksSetting::Numeric { min_clock_mhz: mhz, max_clock_mhz: mhz };
    match clocks {
        Lockable::Mhz(mhz) => device.set_gpu_locked_clocks(numeric(mhz)),
        Lockable::Base => {
            let (lower_bound, upper_bound) = (ClockLimitId::Tdp, ClockLimitId::Tdp);
            match device.set_gpu_locked_clocks(GpuLockedClocksSetting::Symbolic {
                lower_bound,
                upper_bound,
            }) {
                // Drivers and devices that know no symbolic limits: the default application clock
                // is the same one where there is such a thing.
                Err(NvmlError::InvalidArg | NvmlError::NotSupported) => {
                    let mhz = device.default_applications_clock(Clock::Graphics)?;
                    device.set_gpu_locked_clocks(numeric(mhz))
                }
                done => done,
            }
        }
    }
}

/// The error in words, the linker's with its own.
pub fn words(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(inner) => {
            std::error::Error::source(inner).map_or_else(|| inner.to_string(), ToString::to_string)
        }
        error => error.to_string(),
    }
}
