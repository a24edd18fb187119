//! Memory pools, and memory that the host and the device share.

use crate::driver::driver;
use crate::macros::{on_stream, runtime};
use crate::pointers::{Address, Handle, Out};
use std::ffi::{c_int, c_uint};

runtime! {
    fn cudaDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) {
        driver()?.cuDeviceGetDefaultMemPool(pool, device)
    }
    fn cudaDeviceGetMemPool(pool: Out<Handle>, device: c_int) {
        driver()?.cuDeviceGetMemPool(pool, device)
    }
    fn cudaDeviceSetMemPool(device: c_int, pool: Handle) {
        driver()?.cuDeviceSetMemPool(device, pool)
    }
    fn cudaMemPoolCreate(pool: Out<Handle>, properties: Address) {
        driver()?.cuMemPoolCreate(pool, properties)
    }
    fn cudaMemPoolDestroy(pool: Handle) { driver()?.cuMemPoolDestroy(pool) }
    fn cudaMemPoolTrimTo(pool: Handle, bytes: usize) { driver()?.cuMemPoolTrimTo(pool, bytes) }
    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Address) {
        driver()?.cuMemPoolSetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Address) {
        driver()?.cuMemPoolGetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolSetAccess(pool: Handle, descriptions: Address, count: usize) {
        driver()?.cuMemPoolSetAccess(pool, descriptions, count)
    }
    fn cudaMemPoolGetAccess(flags: Out<c_uint>, pool: Handle, location: Address) {
        driver()?.cuMemPoolGetAccess(flags, pool, location)
    }
    fn cudaMallocManaged(address: Out<Address>, bytes: usize, flags: c_uint) {
        let driver = driver()?;
        if bytes == 0 { address.set(0) } else { driver.cuMemAllocManaged(address, bytes, flags) }
    }
    // Advice on places, which changes no result. The arguments differ between versions.
    fn cudaMemAdvise | cudaMemAdvise_v2 | cudaMemPrefetchAsync | cudaMemPrefetchAsync_ptsz
        | cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz | cudaStreamAttachMemAsync
        | cudaStreamAttachMemAsync_ptsz() { driver().map(drop) }
}

on_stream! {
    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        address: Out<Address>, bytes: usize, pool: Handle, stream: Handle,
    ) on stream {
        let driver = driver()?;
        if bytes == 0 {
            address.set(0)
        } else {
            driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream)
        }
    }
}
