//! A launch of an annotated kernel that can be made again and again.
//!
//! Input: the function, its extents, and the bytes of its parameters. Output: a launch on the
//! stream.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, DriverError, result};

use super::cluster;
use super::error::Result;

/// Everything that a launch needs. The buffers whose addresses the parameters hold must outlive it.
pub(crate) struct Launcher {
    pub(crate) function: CudaFunction,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) parameters: Vec<Vec<u8>>,
}

impl Launcher {
    /// Queues a launch.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn launch(&mut self) -> Result<()> {
        Ok(self.queue()?)
    }

    fn queue(&mut self) -> Result<(), DriverError> {
        let Self { function, stream, grid, block, shared, cluster, parameters } = self;
        let function = function.cu_function();
        let mut pointers: Vec<*mut c_void> =
            parameters.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        // SAFETY: the function, stream and buffers outlive the launch, and the parameters are those
        // of the annotated function, in number, order and size. What the kernel does with them is
        // what its author, who declared it `unsafe`, answers for.
        unsafe {
            match *cluster {
                Some(cluster) => {
                    let extents = (*grid, *block, *shared, cluster);
                    cluster::launch(function, extents, stream, &mut pointers)
                }
                None => result::launch_kernel(
                    function,
                    (*grid).into(),
                    (*block).into(),
                    *shared,
                    stream.cu_stream(),
                    &mut pointers,
                ),
            }
        }
    }
}
