//! The driver's functions that the runtime calls, found in `libcuda.so.1`.
//!
//! The first call of the runtime opens the driver and retains the primary context of its device,
//! which every thread gets as its current one unless it has another.

use crate::error::Error;
use crate::pointers::{Address, Handle, In, Out, Text};
use crate::structures::{DriverCopy, DriverKernelNode, FillNode, HostNode};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NOW`.
const NOW: c_int = 2;

/// Declares the functions of [`Driver`], each of which returns a `CUresult`.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The driver's functions; a missing one is not supported.
        #[allow(non_snake_case, reason = "the names are CUDA's")]
        pub struct Driver {
            $($name: Option<unsafe extern "C" fn($($type),*) -> u32>,)*
        }

        #[allow(non_snake_case, reason = "the names are CUDA's")]
        #[allow(clippy::too_many_arguments, reason = "the arguments are CUDA's")]
        impl Driver {
            /// The functions of the driver that is installed.
            fn open() -> Option<Self> {
                // SAFETY: the name ends with a NUL; a driver may run code when it is loaded.
                let library = unsafe { dlopen(c"libcuda.so.1".as_ptr(), NOW) };
                if library.is_null() {
                    return None;
                }
                let find = |name: &str| {
                    // SAFETY: the library was opened, and every name ends with a NUL.
                    unsafe { dlsym(library, name.as_ptr().cast()) }
                };
                Some(Self {
                    // SAFETY: a null is none, and anything else the function of `cuda.h` with this
                    // name and these parameters.
                    $($name: unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            Option<unsafe extern "C" fn($($type),*) -> u32>,
                        >(find(concat!(stringify!($name), "\0")))
                    },)*
                })
            }

            $(pub fn $name(&self, $($argument: $type),*) -> Result<(), Error> {
                let function = self.$name.ok_or(Error::NOT_SUPPORTED)?;
                // SAFETY: the arguments come from a caller of the runtime, which has the driver's
                // contract for each of them, or are the runtime's own.
                Error::check(unsafe { function($($argument),*) })
            })*
        }
    };
}

functions! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: Out<c_int>);
    cuGetErrorString(code: Error, text: Out<Text>);
    cuDeviceGetCount(count: Out<c_int>);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int);
    cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int);
    cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int);
    cuDeviceGetPCIBusId(text: *mut c_char, length: c_int, device: c_int);
    cuDeviceGetByPCIBusId(device: Out<c_int>, text: Text);
    cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int);
    cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int);
    cuDevicePrimaryCtxReset_v2(device: c_int);
    cuCtxGetCurrent(context: Out<Handle>);
    cuCtxSetCurrent(context: Handle);
    cuCtxSynchronize();
    cuCtxGetFlags(flags: Out<c_uint>);
    cuCtxGetLimit(value: Out<usize>, limit: c_uint);
    cuCtxSetLimit(limit: c_uint, value: usize);
    cuCtxGetCacheConfig(config: Out<c_uint>);
    cuCtxSetCacheConfig(config: c_uint);
    cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>);
    cuProfilerStart();
    cuProfilerStop();
    cuMemAlloc_v2(address: Out<Address>, bytes: usize);
    cuMemAllocAsync(address: Out<Address>, bytes: usize, stream: Handle);
    cuMemFree_v2(address: Address);
    cuMemFreeAsync(address: Address, stream: Handle);
    cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>);
    cuMemHostAlloc(address: Out<Address>, bytes: usize, flags: c_uint);
    cuMemFreeHost(address: Address);
    cuMemHostGetDevicePointer_v2(address: Out<Address>, host: Address, flags: c_uint);
    cuMemHostRegister_v2(address: Address, bytes: usize, flags: c_uint);
    cuMemHostUnregister(address: Address);
    cuMemcpyAsync(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyHtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemcpy3DAsync_v2(copy: In<DriverCopy>, stream: Handle);
    cuMemAllocManaged(address: Out<Address>, bytes: usize, flags: c_uint);
    cuMemAllocFromPoolAsync(address: Out<Address>, bytes: usize, pool: Handle, stream: Handle);
    cuMemPoolCreate(pool: Out<Handle>, properties: Address);
    cuMemPoolDestroy(pool: Handle);
    cuMemPoolTrimTo(pool: Handle, bytes: usize);
    cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Address);
    cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Address);
    cuMemPoolSetAccess(pool: Handle, descriptions: Address, count: usize);
    cuMemPoolGetAccess(flags: Out<c_uint>, pool: Handle, location: Address);
    cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int);
    cuDeviceGetMemPool(pool: Out<Handle>, device: c_int);
    cuDeviceSetMemPool(device: c_int, pool: Handle);
    cuMemsetD8Async(address: Address, value: u8, count: usize, stream: Handle);
    cuPointerGetAttribute(value: *mut c_void, attribute: c_int, address: Address);
    cuLibraryLoadData(
        library: Out<Handle>, image: Address, options: Handle, values: Handle, count: c_uint,
        library_options: Handle, library_values: Handle, library_count: c_uint
    );
    cuLibraryUnload(library: Handle);
    cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text);
    cuLibraryGetGlobal(address: Out<Address>, bytes: Out<usize>, library: Handle, name: Text);
    cuKernelGetFunction(function: Out<Handle>, kernel: Handle);
    cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: Handle);
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    cuFuncSetCacheConfig(function: Handle, config: c_uint);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: Handle, threads: c_int, shared: usize, flags: c_uint
    );
    cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>, function: Handle, blocks: c_int, threads: c_int
    );
    cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, arguments: Address,
        extra: Address
    );
    cuLaunchCooperativeKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, shared: c_uint, stream: Handle, arguments: Address
    );
    cuLaunchKernelEx(
        config: *const c_void, function: Handle, arguments: Address, extra: Address
    );
    cuLaunchHostFunc(
        stream: Handle, function: Option<extern "C" fn(*mut c_void)>, argument: *mut c_void
    );
    cuStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamQuery(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    cuStreamGetPriority(stream: Handle, priority: Out<c_int>);
    cuStreamGetFlags(stream: Handle, flags: Out<c_uint>);
    cuStreamIsCapturing(stream: Handle, status: Out<c_uint>);
    cuStreamBeginCapture_v2(stream: Handle, mode: c_uint);
    cuStreamEndCapture(stream: Handle, graph: Out<Handle>);
    cuThreadExchangeStreamCaptureMode(mode: Out<c_uint>);
    cuGraphCreate(graph: Out<Handle>, flags: c_uint);
    cuGraphClone(clone: Out<Handle>, graph: Handle);
    cuGraphDestroy(graph: Handle);
    cuGraphGetNodes(graph: Handle, nodes: Address, count: Out<usize>);
    cuGraphAddDependencies(graph: Handle, from: Address, to: Address, count: usize);
    cuGraphInstantiateWithFlags(executable: Out<Handle>, graph: Handle, flags: c_ulonglong);
    cuGraphExecDestroy(executable: Handle);
    cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Address);
    cuGraphUpload(executable: Handle, stream: Handle);
    cuGraphLaunch(executable: Handle, stream: Handle);
    cuGraphAddKernelNode_v2(
        node: Out<Handle>, graph: Handle, after: Address, count: usize,
        launch: In<DriverKernelNode>
    );
    cuGraphExecKernelNodeSetParams_v2(
        executable: Handle, node: Handle, launch: In<DriverKernelNode>
    );
    cuGraphAddMemcpyNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, copy: In<DriverCopy>,
        context: Handle
    );
    cuGraphAddMemsetNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, fill: In<FillNode>,
        context: Handle
    );
    cuGraphAddHostNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, host: In<HostNode>
    );
    cuGraphAddEmptyNode(node: Out<Handle>, graph: Handle, after: Address, count: usize);
    cuGraphAddMemAllocNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, parameters: Address
    );
    cuGraphAddMemFreeNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, address: Address
    );
    cuDeviceGraphMemTrim(device: c_int);
    cuGraphAddChildGraphNode(
        node: Out<Handle>, graph: Handle, after: Address, count: usize, child: Handle
    );
    cuEventCreate(event: Out<Handle>, flags: c_uint);
    cuEventDestroy_v2(event: Handle);
    cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint);
    cuEventSynchronize(event: Handle);
    cuEventQuery(event: Handle);
    cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle);
}

/// The driver and the primary context of its device.
static OPENED: OnceLock<Result<(Driver, Handle), Error>> = OnceLock::new();

fn opened() -> &'static Result<(Driver, Handle), Error> {
    OPENED.get_or_init(|| {
        let driver = Driver::open().ok_or(Error::INSUFFICIENT_DRIVER)?;
        driver.cuInit(0)?;
        let mut context = Handle::NULL;
        driver.cuDevicePrimaryCtxRetain(Out::new(&mut context), 0)?;
        Ok((driver, context))
    })
}

/// The driver, with a current context on this thread.
pub fn driver() -> Result<&'static Driver, Error> {
    let (driver, primary) = opened().as_ref().map_err(|error| *error)?;
    let mut current = Handle::NULL;
    driver.cuCtxGetCurrent(Out::new(&mut current))?;
    if current == Handle::NULL {
        driver.cuCtxSetCurrent(*primary)?;
    }
    Ok(driver)
}
