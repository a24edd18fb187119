//! Kernels: attributes and occupancy.

use crate::driver::driver;
use crate::error::Error;
use crate::macros::runtime;
use crate::pointers::{Address, Out, Text};
use crate::registry::{kernel, kernel_name};
use std::ffi::{c_int, c_uint};

/// `cudaFuncAttributes`.
#[repr(C)]
#[derive(Debug)]
struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    /// From the greatest block to the size of clusters, in the order of [`ATTRIBUTES`].
    numbers: [c_int; 13],
    reserved: [c_int; 16],
}

/// The driver's attributes of the sizes in [`Attributes`], and of its numbers.
const SIZES: [c_int; 3] = [1, 2, 3];
const ATTRIBUTES: [c_int; 13] = [0, REGISTERS, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];

/// The registers of a thread. ptxas assigns them; the emulated driver does not know them, and the
/// runtime reports zero.
const REGISTERS: c_int = 4;

fn attributes(stub: Address) -> Result<Attributes, Error> {
    let (driver, function) = (driver()?, kernel(stub)?);
    let get = |attribute| {
        let mut value = 0;
        match driver.cuFuncGetAttribute(Out::new(&mut value), attribute, function) {
            Err(Error::NOT_SUPPORTED) if attribute == REGISTERS => Ok(0),
            other => other.map(|()| value),
        }
    };
    let mut sizes = [0; 3];
    for (size, attribute) in sizes.iter_mut().zip(SIZES) {
        *size = usize::try_from(get(attribute)?).map_err(|_| Error::INVALID_VALUE)?;
    }
    let mut numbers = [0; 13];
    for (number, attribute) in numbers.iter_mut().zip(ATTRIBUTES) {
        *number = get(attribute)?;
    }
    let [shared, constant, local] = sizes;
    Ok(Attributes { shared, constant, local, numbers, reserved: [0; 16] })
}

fn active_blocks(
    blocks: Out<c_int>,
    stub: Address,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Result<(), Error> {
    let (driver, function) = (driver()?, kernel(stub)?);
    driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, threads, shared, flags,
    )
}

runtime! {
    fn cudaFuncGetAttributes(all: Out<Attributes>, stub: Address) { all.set(attributes(stub)?) }
    fn cudaFuncSetAttribute(stub: Address, attribute: c_int, value: c_int) {
        driver()?.cuFuncSetAttribute(kernel(stub)?, attribute, value)
    }
    fn cudaFuncSetCacheConfig(stub: Address, config: c_uint) {
        driver()?.cuFuncSetCacheConfig(kernel(stub)?, config)
    }
    // The width of banks has been fixed since Maxwell.
    fn cudaFuncSetSharedMemConfig(stub: Address, _config: c_uint) { kernel(stub).map(drop) }
    fn cudaFuncGetName(name: Out<Text>, stub: Address) { name.set(kernel_name(stub)?) }
    fn cudaGetFuncBySymbol(function: Out<crate::pointers::Handle>, stub: Address) {
        function.set(kernel(stub)?)
    }
    fn cudaGetKernel(handle: Out<Address>, stub: Address) {
        kernel(stub)?;
        handle.set(stub)
    }
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>, stub: Address, threads: c_int, shared: usize,
    ) { active_blocks(blocks, stub, threads, shared, 0) }
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, stub: Address, threads: c_int, shared: usize, flags: c_uint,
    ) { active_blocks(blocks, stub, threads, shared, flags) }
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>, stub: Address, blocks: c_int, threads: c_int,
    ) {
        let (driver, function) = (driver()?, kernel(stub)?);
        driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads)
    }
}
