//! Functions on the device and not on a session: initialisation, support, counter availability.

use crate::call::{self, Code, INVALID_OPERATION, INVALID_PARAMETER, UNKNOWN, sys};
use crate::ready::{self, context, need_initialized};
use crate::{driver, session, timeline, trouble};

/// The counter availability image.
pub const AVAILABILITY: &[u8] = b"fake CUPTI: every counter is available\n";

pub fn initialize(_: &mut sys::CUpti_Profiler_Initialize_Params) -> Result<(), Code> {
    if !driver::answers() {
        return Err(UNKNOWN);
    }
    ready::begin();
    timeline::record("profiles", timeline::now());
    Ok(())
}

pub fn deinitialize(_: &mut sys::CUpti_Profiler_DeInitialize_Params) -> Result<(), Code> {
    need_initialized("cuptiProfilerDeInitialize");
    if session::is_open() {
        return Err(INVALID_OPERATION);
    }
    ready::end();
    Ok(())
}

pub fn chip_name(p: &mut sys::CUpti_Device_GetChipName_Params) -> Result<(), Code> {
    if p.deviceIndex != 0 {
        return Err(INVALID_PARAMETER);
    }
    p.pChipName = if driver::is_before_hopper() { c"GA100" } else { c"GH100" }.as_ptr();
    Ok(())
}

pub fn device_supported(p: &mut sys::CUpti_Profiler_DeviceSupported_Params) -> Result<(), Code> {
    use sys::CUpti_Profiler_Support_Level as Level;
    need_initialized("cuptiProfilerDeviceSupported");
    if p.cuDevice != 0 || p.api != sys::CUpti_Profiler_API::CUPTI_PROFILER_RANGE_PROFILING {
        return Err(INVALID_PARAMETER);
    }
    let level = |field| match trouble::support(field) {
        Some(1) => Level::CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED,
        Some(2) => Level::CUPTI_PROFILER_CONFIGURATION_DISABLED,
        Some(_) => Level::CUPTI_PROFILER_CONFIGURATION_UNKNOWN,
        None => Level::CUPTI_PROFILER_CONFIGURATION_SUPPORTED,
    };
    p.isSupported = level("isSupported");
    p.architecture = level("architecture");
    p.sli = level("sli");
    p.vGpu = level("vGpu");
    p.confidentialCompute = level("confidentialCompute");
    p.cmp = level("cmp");
    p.wsl = level("wsl");
    Ok(())
}

pub fn counter_availability(
    p: &mut sys::CUpti_Profiler_GetCounterAvailability_Params,
) -> Result<(), Code> {
    need_initialized("cuptiProfilerGetCounterAvailability");
    context(p.ctx)?;
    if session::is_open() {
        return Err(INVALID_OPERATION);
    }
    if trouble::hold_device().is_none() {
        call::crash(
            "cuptiProfilerGetCounterAvailability while another process profiles: NVIDIA's hangs here",
        );
    }
    write_availability(p.pCounterAvailabilityImage, &mut p.counterAvailabilityImageSize)
}

/// Writes the image of available counters to the client's buffer of this `size`, if there is one,
/// and the size that it has.
pub fn write_availability(buffer: *mut u8, size: &mut usize) -> Result<(), Code> {
    if !buffer.is_null() {
        if *size < AVAILABILITY.len() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: the client's buffer, of the size that it says.
        unsafe { call::bytes_mut(buffer, AVAILABILITY.len()) }?.copy_from_slice(AVAILABILITY);
    }
    *size = AVAILABILITY.len();
    Ok(())
}
