//! Structures of areas and of graphs: the runtime's, and the driver's where they differ.

use crate::error::Error;
use crate::pointers::{Address, Dim3, Handle};
use std::ffi::{c_int, c_uint, c_void};

/// `cudaExtent`, and `cudaPos`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Pitched {
    pub address: Address,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Copy3D {
    from_array: Handle,
    from_at: Extent,
    from: Pitched,
    to_array: Handle,
    to_at: Extent,
    to: Pitched,
    extent: Extent,
    kind: c_int,
}

/// One side of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct DriverSide {
    at: Extent,
    level: usize,
    kind: c_uint,
    host: Address,
    device: Address,
    array: Handle,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct DriverCopy {
    from: DriverSide,
    to: DriverSide,
    extent: Extent,
}

/// `CU_MEMORYTYPE_UNIFIED`: the driver finds out where an address is.
const UNIFIED: c_uint = 4;

impl DriverSide {
    fn new(at: Extent, memory: Pitched) -> Self {
        let Pitched { address, pitch, height, .. } = memory;
        let (level, host, array, reserved) = (0, 0, Handle::NULL, 0);
        Self { at, level, kind: UNIFIED, host, device: address, array, reserved, pitch, height }
    }
}

impl DriverCopy {
    /// A copy of bytes in a row.
    pub fn linear(to: Address, from: Address, bytes: usize) -> Self {
        let row = |address| Pitched { address, pitch: bytes, width: bytes, height: 1 };
        let start = Extent { width: 0, height: 0, depth: 0 };
        let extent = Extent { width: bytes, height: 1, depth: 1 };
        let side = |address| DriverSide::new(start, row(address));
        Self { from: side(from), to: side(to), extent }
    }
}

impl Copy3D {
    /// The same as the driver has it.
    pub fn for_driver(self) -> Result<DriverCopy, Error> {
        let Self { from_array, from_at, from, to_array, to_at, to, extent, .. } = self;
        if from_array != Handle::NULL || to_array != Handle::NULL {
            return Err(Error::NOT_SUPPORTED);
        }
        let (from, to) = (DriverSide::new(from_at, from), DriverSide::new(to_at, to));
        Ok(DriverCopy { from, to, extent })
    }
}

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelNode {
    pub stub: Address,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: c_uint,
    pub arguments: Address,
    pub extra: Address,
}

/// `CUDA_KERNEL_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug)]
pub struct DriverKernelNode {
    pub function: Handle,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: c_uint,
    pub arguments: Address,
    pub extra: Address,
    /// A kernel and a context, in place of a function.
    pub others: [Handle; 2],
}

/// `cudaMemsetParams`, which is the driver's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FillNode {
    address: Address,
    pitch: usize,
    value: c_uint,
    element_bytes: c_uint,
    width: usize,
    height: usize,
}

/// `cudaHostNodeParams`, which is the driver's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HostNode {
    function: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
}
