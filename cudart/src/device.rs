//! The device: there is one, with one context for the whole process.

use crate::driver::driver;
use crate::error::{Error, UNKNOWN};
use crate::macros::runtime;
use crate::pointers::{Out, Text};
use crate::properties::Properties;
use crate::registry;
use std::ffi::{c_char, c_int, c_uint};

/// `CUDART_VERSION` of the headers.
const VERSION: c_int = if cfg!(cudart_12) { 12080 } else { 13000 };

/// The width of shared memory's banks: four bytes.
const FOUR_BYTES: c_uint = 1;

/// Fails unless `device` is the only one.
pub fn only(device: c_int) -> Result<(), Error> {
    driver()?;
    if device == 0 { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

fn synchronize() -> Result<(), Error> {
    driver()?.cuCtxSynchronize()
}

fn reset() -> Result<(), Error> {
    registry::forget_loaded();
    driver()?.cuDevicePrimaryCtxReset_v2(0)
}

runtime! {
    fn cudaRuntimeGetVersion(version: Out<c_int>) { version.set(VERSION) }
    fn cudaDriverGetVersion(version: Out<c_int>) {
        // A missing driver is version 0 and not an error.
        match driver() {
            Ok(driver) => driver.cuDriverGetVersion(version),
            Err(_) => version.set(0),
        }
    }
    fn cudaGetDeviceCount(count: Out<c_int>) { driver()?.cuDeviceGetCount(count) }
    fn cudaGetDevice(device: Out<c_int>) {
        driver()?;
        device.set(0)
    }
    fn cudaSetDevice(device: c_int) { only(device) }
    fn cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) { only(device) }
    fn cudaSetValidDevices(_devices: *const c_int, _count: c_int) { driver().map(drop) }
    fn cudaChooseDevice(device: Out<c_int>, _wanted: *const Properties) {
        driver()?;
        device.set(0)
    }
    fn cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        driver()?.cuDeviceGetAttribute(value, attribute, device)
    }
    fn cudaDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int) {
        driver()?.cuDeviceGetPCIBusId(text, length, device)
    }
    fn cudaDeviceGetByPCIBusId(device: Out<c_int>, text: Text) {
        driver()?.cuDeviceGetByPCIBusId(device, text)
    }
    fn cudaDeviceSynchronize() { synchronize() }
    fn cudaDeviceReset() { reset() }
    fn cudaDeviceGetLimit(value: Out<usize>, limit: c_uint) {
        driver()?.cuCtxGetLimit(value, limit)
    }
    fn cudaDeviceSetLimit(limit: c_uint, value: usize) { driver()?.cuCtxSetLimit(limit, value) }
    fn cudaDeviceGetCacheConfig(config: Out<c_uint>) { driver()?.cuCtxGetCacheConfig(config) }
    fn cudaDeviceSetCacheConfig(config: c_uint) { driver()?.cuCtxSetCacheConfig(config) }
    fn cudaDeviceGetSharedMemConfig(config: Out<c_uint>) {
        driver()?;
        config.set(FOUR_BYTES)
    }
    fn cudaDeviceSetSharedMemConfig(_config: c_uint) { driver().map(drop) }
    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        driver()?.cuCtxGetStreamPriorityRange(least, greatest)
    }
    fn cudaGetDeviceFlags(flags: Out<c_uint>) { driver()?.cuCtxGetFlags(flags) }
    fn cudaSetDeviceFlags(_flags: c_uint) { driver().map(drop) }
    fn cudaDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        driver()?.cuDeviceCanAccessPeer(can, device, peer)
    }
    // A device has no access to itself as a peer.
    fn cudaDeviceEnablePeerAccess(_peer: c_int, _flags: c_uint) { Err(Error::INVALID_DEVICE) }
    fn cudaDeviceDisablePeerAccess(_peer: c_int) { Err(Error::INVALID_DEVICE) }
    fn cudaProfilerStart() { driver()?.cuProfilerStart() }
    fn cudaProfilerStop() { driver()?.cuProfilerStop() }
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(error: Error) -> Text {
    let of_driver = || {
        let mut text = std::ptr::null();
        driver().ok()?.cuGetErrorString(error, Out::new(&mut text)).ok()?;
        Some(text)
    };
    let own = error.own_text().map(|text| text.as_ptr());
    own.or_else(of_driver).unwrap_or(UNKNOWN.as_ptr())
}

// Names of before CUDA 4, which version 12 still has.
runtime! {
    fn cudaThreadSynchronize() { synchronize() }
    fn cudaThreadExit() { reset() }
    fn cudaThreadGetLimit(value: Out<usize>, limit: c_uint) {
        driver()?.cuCtxGetLimit(value, limit)
    }
    fn cudaThreadSetLimit(limit: c_uint, value: usize) { driver()?.cuCtxSetLimit(limit, value) }
    fn cudaThreadGetCacheConfig(config: Out<c_uint>) { driver()?.cuCtxGetCacheConfig(config) }
    fn cudaThreadSetCacheConfig(config: c_uint) { driver()?.cuCtxSetCacheConfig(config) }
}
