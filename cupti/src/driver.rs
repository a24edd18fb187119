//! The CUDA driver that CUPTI will talk to.
//!
//! CUPTI opens `libcuda.so.1` by that name, for any driver that the process itself uses (an
//! emulated one, say). So this module opens the same name, and calls nothing of CUPTI that needs a
//! GPU before `cuInit` has succeeded.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::OnceLock;

use crate::library::Library;

/// A driver that answered `cuInit` and has a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The newest CUDA version that it supports, as in `cuDriverGetVersion`: 13000 for 13.0.
    pub version: u32,
    /// How many devices it shows.
    pub devices: u32,
}

/// Why no driver answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverProblem {
    /// `libcuda.so.1` cannot be loaded.
    #[error("no CUDA driver is installed (libcuda.so.1: {reason})")]
    NotInstalled {
        /// The linker's words.
        reason: String,
    },
    /// It is a file with that name but without the driver's functions.
    #[error("libcuda.so.1 has no function {symbol}: it is not a CUDA driver")]
    NotADriver {
        /// The function.
        symbol: &'static str,
    },
    /// `cuInit` failed.
    #[error("cuInit failed with {code}: {}", cause(*code))]
    Init {
        /// The `CUresult`.
        code: u32,
    },
    /// It is the emulated driver, which lacks the functions that CUPTI takes from NVIDIA's.
    #[error("libcuda.so.1 is not NVIDIA's driver (an emulated one); take it off the library path")]
    Emulated,
    /// The driver works and shows no device.
    #[error("the CUDA driver shows no device; check nvidia-smi and CUDA_VISIBLE_DEVICES")]
    NoDevice,
}

const fn cause(code: u32) -> &'static str {
    match code {
        34 => "this libcuda is the toolkit's stub; put the driver's folder first",
        100 => "no CUDA device is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES",
        802 => "the system is not ready; start nvidia-fabricmanager",
        803 => "driver library and kernel module differ; reboot after the driver update",
        804 => {
            "forward compatibility does not cover this GPU; remove the compat folder from the library path"
        }
        _ => "the driver does not start; check nvidia-smi and dmesg",
    }
}

/// Starts the driver and counts its devices. The first call takes as long as `cuInit`, up to a
/// tenth of a second.
///
/// # Errors
/// If no driver is installed, or it does not start, or it shows no device.
pub fn probe() -> Result<Driver, DriverProblem> {
    let driver = Functions::open()?;
    // SAFETY: cuInit takes flags, which must be 0.
    check(unsafe { (driver.init)(0) })?;
    let (mut devices, mut version) = (0, 0);
    // SAFETY: the driver is initialised; it writes one int.
    check(unsafe { (driver.device_count)(&raw mut devices) })?;
    // SAFETY: as above.
    check(unsafe { (driver.version)(&raw mut version) })?;
    match u32::try_from(devices) {
        Ok(devices) if devices > 0 => {
            Ok(Driver { version: u32::try_from(version).unwrap_or(0), devices })
        }
        _ => Err(DriverProblem::NoDevice),
    }
}

/// As [`probe`], and it is not the emulated one: CUPTI asks the driver for tables that no header
/// describes, and 13.2 crashes without them.
///
/// # Errors
/// As [`probe`], or [`DriverProblem::Emulated`].
pub fn probe_nvidia() -> Result<Driver, DriverProblem> {
    let driver = probe()?;
    if Functions::open()?.is_emulated { Err(DriverProblem::Emulated) } else { Ok(driver) }
}

/// The driver's data on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleDevice {
    /// Its name; a MIG slice has `MIG` in it.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Its UUID as NVML knows it: `GPU-…`, or `MIG-…` of a slice.
    pub uuid: String,
}

/// The devices that the driver shows this process, in its order.
///
/// # Errors
/// As [`probe`].
pub fn visible_devices() -> Result<Vec<VisibleDevice>, DriverProblem> {
    let count = probe()?.devices;
    (0..count as usize).map(described).collect()
}

fn described(ordinal: usize) -> Result<VisibleDevice, DriverProblem> {
    const MAJOR: c_int = 75;
    const MINOR: c_int = 76;
    let driver = Functions::open()?;
    let (mut device, at) = (0, c_int::try_from(ordinal).unwrap_or(c_int::MAX));
    // SAFETY: probe() initialised the driver, which refuses an ordinal that it does not have; it
    // writes one int.
    check(unsafe { (driver.device)(&raw mut device, at) })?;
    let mut name = [0_u8; 256];
    // SAFETY: `device` came from cuDeviceGet; it writes at most the length that it is given.
    check(unsafe { (driver.name)(name.as_mut_ptr().cast(), 256, device) })?;
    let attribute = |attribute: c_int| {
        let mut value = 0;
        // SAFETY: as above; it writes one int.
        check(unsafe { (driver.attribute)(&raw mut value, attribute, device) })?;
        Ok::<_, DriverProblem>(u32::try_from(value).unwrap_or(0))
    };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok(VisibleDevice {
        compute_capability: (attribute(MAJOR)?, attribute(MINOR)?),
        // Of both, the slice's own comes last.
        uuid: uuids(ordinal)?
            .last()
            .map_or_else(String::new, |uuid| uuid_text(name.contains(" MIG "), uuid)),
        name,
    })
}

fn uuid_text(slice: bool, uuid: &[u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let groups = [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].map(hex);
    format!("{}-{}", if slice { "MIG" } else { "GPU" }, groups.join("-"))
}

/// The UUIDs under which the driver knows device `ordinal`: that of the device, and that of its MIG
/// slice. Empty if it has no such device.
pub(crate) fn uuids(ordinal: usize) -> Result<Vec<[u8; 16]>, DriverProblem> {
    probe()?;
    let driver = Functions::open()?;
    let (mut device, Ok(ordinal)) = (0, c_int::try_from(ordinal)) else {
        return Ok(Vec::new());
    };
    // SAFETY: probe() initialised the driver; it writes one int.
    if unsafe { (driver.device)(&raw mut device, ordinal) } != 0 {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for of in [driver.uuid, driver.uuid_of_slice] {
        let mut uuid = [0; 16];
        // SAFETY: `device` came from cuDeviceGet; a CUuuid is 16 bytes.
        if unsafe { of(&raw mut uuid, device) } == 0 {
            found.push(uuid);
        }
    }
    Ok(found)
}

fn check(code: u32) -> Result<(), DriverProblem> {
    if code == 0 { Ok(()) } else { Err(DriverProblem::Init { code }) }
}

struct Functions {
    init: unsafe extern "C" fn(c_uint) -> u32,
    device_count: unsafe extern "C" fn(*mut c_int) -> u32,
    version: unsafe extern "C" fn(*mut c_int) -> u32,
    device: unsafe extern "C" fn(*mut c_int, c_int) -> u32,
    name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> u32,
    attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> u32,
    uuid: unsafe extern "C" fn(*mut [u8; 16], c_int) -> u32,
    uuid_of_slice: unsafe extern "C" fn(*mut [u8; 16], c_int) -> u32,
    is_emulated: bool,
}

impl Functions {
    fn open() -> Result<&'static Self, DriverProblem> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let driver = Library::open("libcuda.so.1".as_ref())
            .map_err(|reason| DriverProblem::NotInstalled { reason })?;
        let missing = |symbol| DriverProblem::NotADriver { symbol };
        // SAFETY: the types are those of cuda.h, with CUresult and CUdevice as the integers that
        // they are.
        let functions = unsafe {
            Self {
                init: driver.symbol("cuInit").map_err(missing)?,
                device_count: driver.symbol("cuDeviceGetCount").map_err(missing)?,
                version: driver.symbol("cuDriverGetVersion").map_err(missing)?,
                device: driver.symbol("cuDeviceGet").map_err(missing)?,
                name: driver.symbol("cuDeviceGetName").map_err(missing)?,
                attribute: driver.symbol("cuDeviceGetAttribute").map_err(missing)?,
                uuid: driver.symbol("cuDeviceGetUuid").map_err(missing)?,
                uuid_of_slice: driver.symbol("cuDeviceGetUuid_v2").map_err(missing)?,
                // A function that the emulated driver alone has.
                is_emulated: driver.has("gpuemu_abi_version"),
            }
        };
        Ok(FUNCTIONS.get_or_init(|| functions))
    }
}

#[cfg(test)]
mod tests {
    use super::uuid_text;

    #[test]
    fn uuids_are_written_as_nvml_writes_them() {
        let uuid = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(uuid_text(false, &uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        assert!(uuid_text(true, &uuid).starts_with("MIG-0011"));
    }
}
