//! The launch configuration of a series function.
//!
//! Input: the axes `block`, `grid`, `shared` and `cluster`, or the function's own settings. Output:
//! a launch configuration for cudarc.

use cudarc::driver::LaunchConfig;

/// CUDA's execution configuration, but for the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaunchShape {
    /// Blocks in x, y and z.
    pub(crate) grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub(crate) block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub(crate) shared: u32,
}

/// The launch configuration for the closure of [`Run::measure`](crate::Run::measure).
///
/// ```
/// use gpuprof::Launch;
/// use gpuprof::cudarc::driver::{CudaFunction, CudaStream, DriverError};
///
/// /// Launches a kernel without parameters with the configuration.
/// fn launch(stream: &CudaStream, kernel: &CudaFunction, with: &Launch) -> Result<(), DriverError> {
///     // SAFETY: the kernel takes nothing.
///     unsafe { stream.launch_builder(kernel).launch(with.config()) }.map(drop)
/// }
/// ```
#[doc(alias("cudaLaunchConfig_t", "cudaLaunchKernel"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    pub(crate) shape: Option<LaunchShape>,
    pub(crate) cluster: Option<[u32; 3]>,
}

impl Launch {
    /// Blocks of a thread block cluster in x, y and z, of the axis `cluster` or of
    /// [`Run::cluster`](crate::Run::cluster).
    ///
    /// A launch with clusters goes through `cuLaunchKernelEx`; this is for its attribute.
    ///
    /// ```
    /// use gpuprof::Launch;
    ///
    /// /// Blocks of a cluster in all dimensions.
    /// fn blocks(launch: &Launch) -> u32 {
    ///     launch.cluster().map_or(1, |(x, y, z)| x * y * z)
    /// }
    /// ```
    #[doc(alias("cudaLaunchAttributeClusterDimension", "cuLaunchKernelEx"))]
    pub fn cluster(&self) -> Option<(u32, u32, u32)> {
        self.cluster.map(Into::into)
    }

    /// The launch configuration of the axes `block`, `grid` and `shared`, or of
    /// [`Run::block`](crate::Run::block), [`Run::grid`](crate::Run::grid) and
    /// [`Run::shared`](crate::Run::shared).
    ///
    /// # Panics
    /// If neither gives a block and a grid; the pass then fails with this message.
    ///
    /// ```
    /// use gpuprof::Launch;
    ///
    /// fn threads_of_a_block(launch: &Launch) -> u32 {
    ///     let (x, y, z) = launch.config().block_dim;
    ///     x * y * z
    /// }
    /// ```
    #[doc(alias("LaunchConfig", "dynamicSmemBytes"))]
    pub fn config(&self) -> LaunchConfig {
        let Some(LaunchShape { grid, block, shared }) = self.shape else {
            panic!(
                "no launch configuration: give the series axes `block` and `grid`, or call \
                    run.block(…) and run.grid(…) before run.measure(…)"
            );
        };
        LaunchConfig { grid_dim: grid.into(), block_dim: block.into(), shared_mem_bytes: shared }
    }
}
