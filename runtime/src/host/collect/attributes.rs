//! Attributes of the device from the driver, for `device__attribute_…`.

use std::collections::BTreeMap;
use std::ffi::c_int;

use cudarc::driver::result;
use cudarc::driver::sys::CUdevice_attribute::{self as Attribute, *};
use cudarc::driver::sys::{CUdevice, CUresult};
use gpuprof_model::metric::attribute_number;

use crate::host::driver::library;

/// How cudarc, after `cuda.h`, begins their names.
const PREFIX: &str = "CU_DEVICE_ATTRIBUTE_";

/// The attributes that a launch can depend on, and those that determine its speed.
const KEPT: &[Attribute] = &[
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
    CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS,
    CU_DEVICE_ATTRIBUTE_ECC_ENABLED,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT,
    CU_DEVICE_ATTRIBUTE_INTEGRATED,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH,
    CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH,
    CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT,
];

/// The attributes of `device` that the driver knows; `device` came from the driver.
pub(crate) fn read(device: CUdevice) -> BTreeMap<String, i64> {
    let value_of = |attribute: &Attribute| {
        let name = format!("{attribute:?}");
        // SAFETY: the driver gave the device out.
        let value = unsafe { result::device::get_attribute(device, *attribute) }.ok()?;
        Some((name.strip_prefix(PREFIX)?.to_lowercase(), i64::from(value)))
    };
    KEPT.iter().filter_map(value_of).collect()
}

/// The attributes among `names` that the driver reports for its `device`. They are queried by their
/// numbers, since cudarc's bindings may be older than the driver.
pub(crate) fn query(device: CUdevice, names: &[String]) -> BTreeMap<String, i64> {
    type Ask = unsafe extern "C" fn(*mut c_int, c_int, CUdevice) -> CUresult;
    let value_of = |name: &String| {
        let (number, mut value) = (attribute_number(name)?, 0);
        // SAFETY: the symbol has this type (cuda.h), with the enumeration as the integer that it is
        // in C; the driver gave the device out and writes one integer.
        let code = unsafe {
            let ask = library::find::<Ask>(b"cuDeviceGetAttribute\0")?;
            ask(&mut value, number, device)
        };
        (code == CUresult::CUDA_SUCCESS).then(|| (name.clone(), i64::from(value)))
    };
    names.iter().filter_map(value_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_names_match_the_header_and_are_unique() {
        let names: BTreeMap<String, ()> =
            KEPT.iter().map(|attribute| (format!("{attribute:?}"), ())).collect();
        assert_eq!(names.len(), KEPT.len());
        assert!(names.keys().all(|name| name.starts_with(PREFIX)), "{names:?}");
        // What is not among these is refused before anything runs.
        let known = gpuprof_model::metric::KEPT_ATTRIBUTES.iter();
        let known: BTreeMap<String, ()> =
            known.map(|name| (format!("{PREFIX}{}", name.to_uppercase()), ())).collect();
        assert_eq!(known, names);
    }
}
