//! Launch facts that the driver tells without a profiler.

use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute,
};
use cudarc::driver::{CudaFunction, DriverError};
use gpuprof_model::measurement::{BlockLimits, LaunchFacts, OccupancyLimiter};

use crate::host::cluster;
use crate::host::error::Result;
use crate::host::session::Session;

/// Threads of a warp on every device so far.
const WARP: u64 = 32;

/// Registers are given to a warp in units of this many (CUDA occupancy calculator, capability 7.0
/// on).
const REGISTER_UNIT: u64 = 256;

/// The facts of one launch of `function`.
///
/// What the driver cannot tell (registers, on the emulated driver) is `None`; so is the occupancy
/// that depends on it.
///
/// # Errors
/// The driver's.
pub(crate) fn read(
    session: &Session,
    function: &CudaFunction,
    (grid, block, dynamic_shared_bytes): ([u32; 3], [u32; 3], u32),
    cluster: Option<[u32; 3]>,
) -> Result<LaunchFacts> {
    let attribute = |a| function.get_attribute(a).map(|v| u32::try_from(v).unwrap_or(0));
    let registers = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS).ok();
    let static_shared_bytes = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    let local_bytes = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
    let mut facts = LaunchFacts {
        registers,
        static_shared_bytes,
        dynamic_shared_bytes,
        local_bytes,
        blocks_per_sm: None,
        theoretical_occupancy: None,
        limiter: None,
        waves: None,
        limits: None,
        cluster,
        max_active_clusters: None,
        cluster_occupancy: None,
    };
    let Some(registers) = registers else { return Ok(facts) };
    let threads: u32 = block.iter().product();
    let blocks = function.occupancy_max_active_blocks_per_multiprocessor(
        threads,
        dynamic_shared_bytes as usize,
        None,
    )?;
    let limits = Limits::read(session)?;
    let warps = u64::from(threads).div_ceil(WARP);
    let shared = u64::from(static_shared_bytes) + u64::from(dynamic_shared_bytes);
    facts.blocks_per_sm = Some(blocks);
    let fits = limits.fits(warps, u64::from(registers), shared);
    facts.limiter = Some(tightest(&fits));
    facts.limits = Some(fits);
    let sm_count = u64::from(session.device.sm_count);
    let alone = u64::from(blocks) * sm_count;
    let clusters = cluster.and_then(|cluster| {
        cluster::most_active(function, (grid, block, dynamic_shared_bytes, cluster))
    });
    facts.max_active_clusters = clusters;
    let resident = resident(alone, clusters.zip(cluster));
    if clusters.is_some() {
        facts.cluster_occupancy = (alone > 0).then(|| 100.0 * resident as f64 / alone as f64);
        if resident < alone {
            facts.limiter = Some(OccupancyLimiter::Clusters);
        }
    }
    // Of the whole device, since a cluster's blocks must be resident at once and leave some
    // multiprocessors empty.
    facts.theoretical_occupancy =
        Some(100.0 * (resident * warps) as f64 / (sm_count * limits.threads / WARP) as f64);
    let total: u64 = grid.iter().map(|&extent| u64::from(extent)).product();
    facts.waves = (resident > 0).then(|| total as f64 / resident as f64);
    Ok(facts)
}

/// Blocks that the device holds at once: as many as fit `alone`, or those of as many `clusters` as
/// fit.
fn resident(alone: u64, clusters: Option<(u32, [u32; 3])>) -> u64 {
    clusters.map_or(alone, |(most, extents)| {
        u64::from(most) * extents.into_iter().map(u64::from).product::<u64>()
    })
}

struct Limits {
    threads: u64,
    blocks: u64,
    registers: u64,
    shared: u64,
    reserved_shared: u64,
}

impl Limits {
    fn read(session: &Session) -> Result<Self, DriverError> {
        Ok(Self {
            threads: session
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks: session
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            registers: session
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared: session
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            reserved_shared: session
                .attribute(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        })
    }

    /// How many blocks fit by each resource alone.
    fn fits(&self, warps: u64, registers: u64, shared: u64) -> BlockLimits {
        let narrow = |blocks: u64| u32::try_from(blocks).unwrap_or(u32::MAX);
        let fits = |have: u64, need: u64| have.checked_div(need).map(narrow);
        let per_warp = (registers * WARP).next_multiple_of(REGISTER_UNIT);
        let shared_need = if shared == 0 { 0 } else { shared + self.reserved_shared };
        BlockLimits {
            warps: fits(self.threads / WARP, warps).unwrap_or(0),
            blocks: narrow(self.blocks),
            registers: fits(self.registers, per_warp * warps),
            shared_memory: fits(self.shared, shared_need),
            reserved_shared_bytes: narrow(self.reserved_shared),
        }
    }
}

/// The resource that fits the fewest blocks; the first of equals in the order warps, blocks,
/// registers, shared memory.
fn tightest(fits: &BlockLimits) -> OccupancyLimiter {
    let most = u32::MAX;
    [
        (fits.warps, OccupancyLimiter::Warps),
        (fits.blocks, OccupancyLimiter::Blocks),
        (fits.registers.unwrap_or(most), OccupancyLimiter::Registers),
        (fits.shared_memory.unwrap_or(most), OccupancyLimiter::SharedMemory),
    ]
    .into_iter()
    .min_by_key(|&(blocks, _)| blocks)
    .map_or(OccupancyLimiter::Warps, |(_, limiter)| limiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Limits = Limits {
        threads: 2048,
        blocks: 32,
        registers: 65536,
        shared: 233_472,
        reserved_shared: 1024,
    };

    #[test]
    fn clusters_may_leave_multiprocessors_empty() {
        assert_eq!(resident(132 * 8, None), 1056);
        assert_eq!(resident(132 * 8, Some((64, [8, 2, 1]))), 1024);
        assert_eq!(resident(132, Some((0, [16, 1, 1]))), 0);
    }

    #[test]
    fn the_limiter_is_the_resource_that_runs_out_first() {
        assert_eq!(tightest(&H200.fits(8, 16, 0)), OccupancyLimiter::Warps);
        assert_eq!(tightest(&H200.fits(1, 16, 0)), OccupancyLimiter::Blocks);
        assert_eq!(tightest(&H200.fits(8, 128, 0)), OccupancyLimiter::Registers);
        assert_eq!(tightest(&H200.fits(8, 16, 48 << 10)), OccupancyLimiter::SharedMemory);
    }
}
