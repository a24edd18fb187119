//! Launches: the configuration between `<<<` and `>>>`, and the kernel's arguments.

use crate::driver::driver;
use crate::error::{Error, report};
use crate::macros::on_stream;
use crate::pointers::{Address, Dim3, Handle, Out};
use crate::registry::kernel;
use std::cell::RefCell;
use std::ffi::{c_uint, c_void};

/// What is between `<<<` and `>>>`.
#[derive(Debug, Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
}

thread_local! {
    /// The configurations of launches that have begun on this thread, the last one on top.
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
) -> c_uint {
    let configuration = Configuration { grid, block, shared, stream };
    CONFIGURATIONS.with_borrow_mut(|all| all.push(configuration));
    0
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPopCallConfiguration(
    grid: Out<Dim3>,
    block: Out<Dim3>,
    shared: Out<usize>,
    stream: Out<Handle>,
) -> Error {
    report(|| {
        let last = CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Error::MISSING_CONFIGURATION)?;
        grid.set(last.grid)?;
        block.set(last.block)?;
        shared.set(last.shared)?;
        stream.set(last.stream)
    })
}

#[unsafe(no_mangle)]
extern "C" fn __cudaGetKernel(kernel: Out<Address>, stub: Address) -> Error {
    // The stub itself is the kernel: a driver's handle would not survive a reset of the device.
    report(|| kernel.set(stub))
}

/// The bytes of dynamic shared memory, as the driver takes them.
fn shared_bytes(shared: usize) -> Result<c_uint, Error> {
    c_uint::try_from(shared).map_err(|_| Error::INVALID_CONFIGURATION)
}

/// The driver's word for a launch that the device cannot run is a wrong argument.
fn launched(result: Result<(), Error>) -> Result<(), Error> {
    result.map_err(|error| error.renamed(Error::INVALID_VALUE, Error::INVALID_CONFIGURATION))
}

fn launch(stub: Address, configuration: Configuration, arguments: Address) -> Result<(), Error> {
    let Configuration { grid, block, shared, stream } = configuration;
    let (function, shared) = (kernel(stub)?, shared_bytes(shared)?);
    launched(driver()?.cuLaunchKernel(
        function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments, 0,
    ))
}

on_stream! {
    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz(
        stub: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Handle,
    ) on stream { launch(stub, Configuration { grid, block, shared, stream }, arguments) }
    fn cudaLaunchKernel | cudaLaunchKernel_ptsz(
        stub: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Handle,
    ) on stream { launch(stub, Configuration { grid, block, shared, stream }, arguments) }
    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(
        stub: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Handle,
    ) on stream {
        let (function, shared) = (kernel(stub)?, shared_bytes(shared)?);
        launched(driver()?.cuLaunchCooperativeKernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
        ))
    }
    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz(
        stream: Handle, function: Option<extern "C" fn(*mut c_void)>, argument: *mut c_void,
    ) on stream { driver()?.cuLaunchHostFunc(stream, function, argument) }
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
    attributes: *const c_void,
    attribute_count: c_uint,
}

/// `CUlaunchConfig`. The runtime's attributes are the driver's.
#[repr(C)]
#[derive(Debug)]
struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    stream: Handle,
    attributes: *const c_void,
    attribute_count: c_uint,
}

fn launch_with(
    config: *const LaunchConfig,
    per_thread: bool,
    stub: Address,
    arguments: Address,
) -> Result<(), Error> {
    if config.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: not null, and by CUDA's contract a configuration.
    let LaunchConfig { grid, block, shared, stream, attributes, attribute_count } =
        unsafe { config.read() };
    let stream = if per_thread { stream.per_thread() } else { stream };
    let shared = shared_bytes(shared)?;
    let config = DriverConfig { grid, block, shared, stream, attributes, attribute_count };
    let function = kernel(stub)?;
    launched(driver()?.cuLaunchKernelEx((&raw const config).cast(), function, arguments, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    stub: Address,
    arguments: Address,
) -> Error {
    report(|| launch_with(config, false, stub, arguments))
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchKernelExC_ptsz(
    config: *const LaunchConfig,
    stub: Address,
    arguments: Address,
) -> Error {
    report(|| launch_with(config, true, stub, arguments))
}
