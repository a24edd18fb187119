//! A launch of an annotated kernel that can be made again and again.
//!
//! Input: the function, its extents, and the bytes of its parameters. Output: a launch on the
//! stream.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue};
use cudarc::driver::{CudaStream, DriverError, result};

use crate::host::driver::cluster;
use crate::host::driver::function::Function;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;

/// All data of a launch. The buffers at the addresses in the parameters must outlive it.
pub(crate) struct Launcher {
    pub(crate) function: Function,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) shape: LaunchShape,
    pub(crate) attributes: Attributes,
    pub(crate) parameters: Vec<Vec<u8>>,
}

/// The attributes of a launch by `cuLaunchKernelEx`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether all blocks of the grid run together.
    pub(crate) cooperative: bool,
}

impl Attributes {
    fn for_driver(self) -> Vec<CUlaunchAttribute> {
        let cooperative = self.cooperative.then(|| {
            let mut value = CUlaunchAttributeValue { pad: [0; 64] };
            value.cooperative = 1;
            let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            CUlaunchAttribute { id, pad: [0; 4], value }
        });
        self.cluster.map(cluster::dimension).into_iter().chain(cooperative).collect()
    }
}

impl Launcher {
    /// Queues a launch.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn launch(&mut self) -> Result<()> {
        self.queue().map_err(Error::launch)
    }

    fn queue(&mut self) -> Result<(), DriverError> {
        let Self { function, stream, shape, attributes, parameters } = self;
        let mut pointers: Vec<*mut c_void> =
            parameters.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        // SAFETY: the function, stream and buffers outlive the launch, and the parameters are those
        // of the annotated function, in number, order and size. The kernel is declared `unsafe`, so
        // its author is responsible for its accesses.
        unsafe {
            match &mut attributes.for_driver()[..] {
                [] => queue(function, *shape, stream, &mut pointers),
                some => cluster::launch(function.handle(), *shape, some, stream, &mut pointers),
            }
        }
    }
}

/// Queues a launch of `function` without attributes on `stream`.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// As for `cuLaunchKernel`: `parameters` point to those of the function, in number, order and size,
/// and the caller is responsible for the kernel's accesses.
pub(crate) unsafe fn queue(
    function: &Function,
    LaunchShape { grid, block, shared }: LaunchShape,
    stream: &CudaStream,
    parameters: &mut [*mut c_void],
) -> Result<(), DriverError> {
    let (grid, block, stream) = (grid.into(), block.into(), stream.cu_stream());
    // SAFETY: the function and the stream outlive the launch; the rest is the caller's promise.
    unsafe { result::launch_kernel(function.handle(), grid, block, shared, stream, parameters) }
}
