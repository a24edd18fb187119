//! What the emulator tells beyond CUDA's API.
//!
//! Strings are JSON, NUL-terminated, and go back through `gpuemu_free`.

use super::pointers::{free_text, give_text};
use super::state::peek;
use std::ffi::c_char;

/// The version of this contract.
const ABI_VERSION: u32 = 1;

#[unsafe(no_mangle)]
extern "C" fn gpuemu_abi_version() -> u32 {
    ABI_VERSION
}

/// The device and the launches that ended well since the previous call. Before `cuInit`: no
/// launches.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_take_report() -> *mut c_char {
    let report = peek(|driver| Some(driver.device.take_report()));
    give_text(report.unwrap_or_else(|| crate::device::Device::default().take_report()))
}

/// The last fault since the previous call, or null.
#[unsafe(no_mangle)]
extern "C" fn gpuemu_take_fault() -> *mut c_char {
    match peek(|driver| driver.fault.take()) {
        Some(fault) => give_text(fault),
        None => std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn gpuemu_free(text: *mut c_char) {
    free_text(text);
}
