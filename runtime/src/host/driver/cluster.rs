//! Thread block clusters: the launch attribute, and the requirements on the device.
//!
//! Input: a launch and the extents of its cluster. Output: the launch, queued by
//! `cuLaunchKernelEx`, or the rule that the cluster breaks (CUDA C++ Programming Guide, "Thread
//! Block Clusters"): compute capability 9.0, a grid of whole clusters, and at most 8 blocks without
//! opting in, at most 16 with.

use std::ffi::c_void;

use cudarc::driver::sys::{
    self, CUfunction_attribute_enum as FunctionAttribute, CUlaunchAttribute, CUlaunchAttributeID,
    CUlaunchAttributeValue, CUlaunchConfig,
};
use cudarc::driver::{CudaStream, DriverError};

use crate::host::driver::function::Function;
use crate::host::driver::library;
use crate::host::error::{Error, Result};
use crate::host::launch::configuration::LaunchShape;

/// Blocks of a cluster that every device with clusters takes.
const PORTABLE: u64 = 8;

/// Blocks of a cluster that a kernel may opt in to.
const MOST: u64 = 16;

/// A cluster of one block is not a cluster.
pub(crate) fn is_trivial(cluster: [u32; 3]) -> bool {
    cluster == [1; 3]
}

/// Refuses clusters that the driver would refuse, with the broken rule.
///
/// # Errors
/// That rule; the configuration is invalid.
pub(crate) fn check(cluster: [u32; 3], grid: [u32; 3], capability: (u32, u32)) -> Result<()> {
    if is_trivial(cluster) {
        return Ok(());
    }
    let (major, minor) = capability;
    if major < 9 {
        return Err(Error::invalid(format!(
            "clusters need compute capability 9.0, and this device has {major}.{minor}"
        )));
    }
    for ((blocks, extent), name) in grid.into_iter().zip(cluster).zip(["x", "y", "z"]) {
        if blocks % extent != 0 {
            return Err(Error::invalid(format!(
                "a grid of {blocks} blocks in {name} is not a multiple of the cluster extent {extent}"
            )));
        }
    }
    let blocks = blocks(cluster);
    if blocks > MOST {
        return Err(Error::invalid(format!(
            "a cluster of {blocks} blocks exceeds the limit of {MOST}"
        )));
    }
    Ok(())
}

fn blocks(cluster: [u32; 3]) -> u64 {
    cluster.into_iter().map(u64::from).product()
}

/// Opts `function` in to a cluster of more blocks than every device takes.
///
/// # Errors
/// The driver's.
pub(crate) fn opt_in(function: &Function, cluster: [u32; 3]) -> Result<()> {
    if blocks(cluster) > PORTABLE {
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        function.set_attribute(attribute, 1)?;
    }
    Ok(())
}

/// Queues a launch with `attributes`.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// As for `cuLaunchKernel`: `parameters` are those of the function, in number, order and size, and
/// the caller is responsible for the kernel's accesses.
pub(crate) unsafe fn launch(
    function: sys::CUfunction,
    shape: LaunchShape,
    attributes: &mut [CUlaunchAttribute],
    stream: &CudaStream,
    parameters: &mut [*mut c_void],
) -> std::result::Result<(), DriverError> {
    let config = config(shape, stream.cu_stream(), attributes);
    // SAFETY: the configuration and its attributes outlive the call, which copies the
    // parameters; the rest is the caller's promise.
    unsafe {
        sys::cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), std::ptr::null_mut())
    }
    .result()
}

/// How many clusters of such a launch the device holds at once; `None` if the driver does not
/// report it.
pub(crate) fn most_active(
    function: &Function,
    shape: LaunchShape,
    cluster: [u32; 3],
) -> Option<u32> {
    ask(b"cuOccupancyMaxActiveClusters\0", function, shape, cluster)
}

/// The most blocks that a cluster of such a launch could have; `None` if the driver does not report
/// it.
pub(crate) fn largest(function: &Function, shape: LaunchShape, cluster: [u32; 3]) -> Option<u32> {
    ask(b"cuOccupancyMaxPotentialClusterSize\0", function, shape, cluster)
}

/// The result of the driver's function `name` for a launch; it is one of those of `cuda.h` that
/// take a function and a configuration, and return a number.
fn ask(name: &[u8], function: &Function, shape: LaunchShape, cluster: [u32; 3]) -> Option<u32> {
    type Ask = unsafe extern "C" fn(
        *mut std::ffi::c_int,
        sys::CUfunction,
        *const CUlaunchConfig,
    ) -> sys::CUresult;
    let mut attributes = [dimension(cluster)];
    let config = config(shape, std::ptr::null_mut(), &mut attributes);
    let mut number = 0;
    // SAFETY: the symbol, if it exists, has this type (cuda.h); function and configuration outlive
    // the call, which writes one integer.
    let answered = unsafe {
        library::find::<Ask>(name).is_some_and(|ask| {
            ask(&mut number, function.handle(), &config) == sys::CUresult::CUDA_SUCCESS
        })
    };
    u32::try_from(number).ok().filter(|_| answered)
}

/// The attribute of a launch with clusters of this extent.
pub(crate) fn dimension(cluster: [u32; 3]) -> CUlaunchAttribute {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.clusterDim.x = cluster[0];
    value.clusterDim.y = cluster[1];
    value.clusterDim.z = cluster[2];
    let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    CUlaunchAttribute { id, pad: [0; 4], value }
}

fn config(
    LaunchShape { grid, block, shared }: LaunchShape,
    stream: sys::CUstream,
    attributes: &mut [CUlaunchAttribute],
) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_cluster_is_refused_with_the_rule() {
        let refused = |cluster, grid, capability| {
            let error = check(cluster, grid, capability).unwrap_err();
            assert!(error.is_refusal());
            error.to_string()
        };
        check([2, 1, 1], [8, 1, 1], (9, 0)).unwrap();
        check([1, 1, 1], [7, 1, 1], (7, 5)).unwrap();
        assert_eq!(
            refused([2, 1, 1], [8, 1, 1], (8, 0)),
            "clusters need compute capability 9.0, and this device has 8.0"
        );
        assert_eq!(
            refused([1, 2, 1], [8, 3, 1], (9, 0)),
            "a grid of 3 blocks in y is not a multiple of the cluster extent 2"
        );
        assert_eq!(
            refused([32, 1, 1], [64, 1, 1], (9, 0)),
            "a cluster of 32 blocks exceeds the limit of 16"
        );
    }
}
