//! Launch facts from the driver, without a profiler.

use cudarc::driver::DriverError;
use cudarc::driver::sys::{
    CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute,
};
use gpuprof_model::assembled::{Frame, Fusable, Resources};
use gpuprof_model::measurement::{BlockLimits, LaunchFacts, OccupancyLimiter};
use gpuprof_model::occupancy::{Multiprocessor, Needs, WARP};
use gpuprof_model::protocol::MeasureRequest;

use crate::host::driver::cluster;
use crate::host::driver::function::Function;
use crate::host::error::Result;
use crate::host::launch::configuration::LaunchShape;
use crate::host::session::Session;

const POLICY: FunctionAttribute =
    FunctionAttribute::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;

/// The facts on a function in addition to the driver's.
pub(crate) struct Assembly {
    /// The facts of ptxas, or why there are none.
    pub(crate) resources: std::result::Result<Resources, String>,
    /// The local memory in its PTX.
    pub(crate) frame: Frame,
    /// The additions in its PTX that could be fused.
    fusable: Option<Fusable>,
}

impl Assembly {
    /// Of the entry point `symbol` in `ptx`, a module that `request` calls `module`.
    pub(crate) fn new(request: &MeasureRequest, module: &str, symbol: &str, ptx: &str) -> Self {
        let unknown = || Err("ptxas was not asked".to_owned());
        let resources =
            request.resources.get(module).map_or_else(unknown, |it| it.resources(symbol));
        // Read where something follows from it.
        let read = resources.is_ok() || !request.emulated;
        let frame = if read { Frame::parse(ptx, symbol) } else { Frame::default() };
        Self { frame, fusable: Fusable::parse(ptx, symbol), resources }
    }

    /// The bytes that are spilled of `local_bytes`.
    fn spilled(&self, emulated: bool, local_bytes: u32) -> std::result::Result<u32, String> {
        match &self.resources {
            Ok(resources) if emulated => Ok(self.frame.spilled_by(resources)),
            Err(reason) if emulated => Err(reason.clone()),
            _ => self.frame.spilled(local_bytes),
        }
    }
}

/// The function that the facts are about.
pub(crate) struct ReportedFunction {
    pub(crate) function: Function,
    /// Of an annotated kernel.
    pub(crate) assembly: Option<Assembly>,
}

/// The facts of one launch of a `reported` function.
///
/// Registers, spills and barriers on the emulated driver come from ptxas, and are `None` without
/// it; the same applies to the occupancy that depends on them.
///
/// # Errors
/// The driver's.
pub(crate) fn read(
    session: &Session,
    reported: &ReportedFunction,
    shape: LaunchShape,
    cluster: Option<[u32; 3]>,
) -> Result<LaunchFacts> {
    let ReportedFunction { function, assembly } = reported;
    let attribute = |a| function.attribute(a).map(|v| u32::try_from(v).unwrap_or(0));
    let emulated = session.device.emulated;
    let resources =
        assembly.as_ref().and_then(|it| it.resources.as_ref().ok()).filter(|_| emulated);
    let registers = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS).ok();
    let static_shared_bytes = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
    let reported = attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?;
    let local_bytes = resources.map_or(reported, |it| it.stack_bytes);
    let spilled = match assembly {
        Some(assembly) => assembly.spilled(emulated, local_bytes),
        None if !emulated && local_bytes == 0 => Ok(0),
        None => Err("registers and spills are known only for annotated kernels".to_owned()),
    };
    let mut facts = LaunchFacts {
        registers,
        static_shared_bytes,
        dynamic_shared_bytes: shape.shared,
        local_bytes,
        blocks_per_sm: None,
        theoretical_occupancy: None,
        limiter: None,
        waves: None,
        limits: None,
        cluster,
        max_active_clusters: None,
        max_cluster_size: cluster.and_then(|it| cluster::largest(function, shape, it)),
        cluster_scheduling_policy: cluster.and_then(|_| attribute(POLICY).ok()),
        cluster_occupancy: None,
        spilled_bytes: spilled.as_ref().ok().copied(),
        fusable: assembly.as_ref().and_then(|it| it.fusable),
        not_known: spilled.err(),
    };
    if registers.is_some() {
        let barriers = resources.map_or(1, |it| it.barriers);
        occupy(&mut facts, session, function, shape, barriers)?;
    }
    Ok(facts)
}

/// Adds to `facts`, which know the registers, how many blocks fit.
fn occupy(
    facts: &mut LaunchFacts,
    session: &Session,
    function: &Function,
    shape: LaunchShape,
    barriers: u32,
) -> Result<()> {
    let Some(registers) = facts.registers else { return Ok(()) };
    let threads: u32 = shape.block.iter().product();
    let on = multiprocessor(session)?;
    let fits = on.limits(&needs(function, facts, threads, registers, barriers)?);
    // The emulated driver has no calculator.
    let blocks = match session.device.emulated {
        true => fewest(&fits),
        false => function.blocks_per_sm(threads, shape.shared)?,
    };
    facts.blocks_per_sm = Some(blocks);
    facts.limiter = Some(tightest(&fits));
    facts.limits = Some(fits);
    let sm_count = u64::from(session.device.sm_count);
    let alone = u64::from(blocks) * sm_count;
    let clusters = facts.cluster.and_then(|it| cluster::most_active(function, shape, it));
    facts.max_active_clusters = clusters;
    let resident = resident(alone, clusters.zip(facts.cluster));
    if clusters.is_some() {
        facts.cluster_occupancy = (alone > 0).then(|| 100.0 * resident as f64 / alone as f64);
        if resident < alone {
            facts.limiter = Some(OccupancyLimiter::Clusters);
        }
    }
    // Of the whole device, since a cluster's blocks must be resident at once and leave some
    // multiprocessors empty.
    facts.theoretical_occupancy =
        Some(100.0 * (resident * warps(threads)) as f64 / (sm_count * on.threads / WARP) as f64);
    facts.waves = waves(shape.grid, resident);
    Ok(())
}

/// How many warps a block of `threads` has.
fn warps(threads: u32) -> u64 {
    u64::from(threads).div_ceil(WARP)
}

/// How often the device fills up with blocks of the grid.
fn waves(grid: [u32; 3], resident: u64) -> Option<f64> {
    let total: u64 = grid.iter().map(|&extent| u64::from(extent)).product();
    (resident > 0).then(|| total as f64 / resident as f64)
}

/// Blocks that the device holds at once: as many as fit `alone`, or those of as many `clusters` as
/// fit.
fn resident(alone: u64, clusters: Option<(u32, [u32; 3])>) -> u64 {
    clusters.map_or(alone, |(most, extents)| {
        u64::from(most) * extents.into_iter().map(u64::from).product::<u64>()
    })
}

/// How many blocks fit by all resources.
fn fewest(fits: &BlockLimits) -> u32 {
    let some = [fits.registers, fits.shared_memory, fits.barriers];
    some.into_iter().flatten().chain([fits.warps, fits.blocks]).min().unwrap_or(0)
}

/// The needs of a block of `threads` threads with `registers` each and `barriers`. The driver does
/// not report its barriers. The facts of its launch give the shared memory.
fn needs(
    function: &Function,
    facts: &LaunchFacts,
    threads: u32,
    registers: u32,
    barriers: u32,
) -> Result<Needs, DriverError> {
    use FunctionAttribute::{
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MOST_DYNAMIC,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as CARVEOUT,
    };
    Ok(Needs {
        threads: threads.into(),
        registers: registers.into(),
        static_shared: facts.static_shared_bytes.into(),
        dynamic_shared: facts.dynamic_shared_bytes.into(),
        most_dynamic_shared: u64::try_from(function.attribute(MOST_DYNAMIC)?).unwrap_or(0),
        carveout: u64::try_from(function.attribute(CARVEOUT)?).ok(),
        barriers: barriers.into(),
    })
}

/// The resources of a multiprocessor of the device.
fn multiprocessor(session: &Session) -> Result<Multiprocessor, DriverError> {
    Ok(Multiprocessor {
        capability: session.device.compute_capability,
        threads_per_block: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        threads: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        blocks: session.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        registers_per_block: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
        registers: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        shared_per_block: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        shared_per_block_optin: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        reserved_shared: session
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
    })
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

    #[test]
    fn as_many_blocks_fit_as_the_scarcest_resource_allows() {
        let limits = |registers, barriers| BlockLimits {
            warps: 16,
            blocks: 32,
            registers,
            shared_memory: None,
            barriers,
            reserved_shared_bytes: 1024,
        };
        assert_eq!(fewest(&limits(None, None)), 16);
        assert_eq!(fewest(&limits(Some(5), Some(9))), 5);
        assert_eq!(fewest(&limits(Some(5), Some(4))), 4);
    }

    #[test]
    fn clusters_may_leave_multiprocessors_empty() {
        assert_eq!(resident(132 * 8, None), 1056);
        assert_eq!(resident(132 * 8, Some((64, [8, 2, 1]))), 1024);
        assert_eq!(resident(132, Some((0, [16, 1, 1]))), 0);
    }

    #[test]
    fn the_limiter_is_the_resource_that_runs_out_first() {
        let limiter = |warps, blocks, registers, shared_memory| {
            tightest(&BlockLimits {
                warps,
                blocks,
                registers,
                shared_memory,
                barriers: None,
                reserved_shared_bytes: 1024,
            })
        };
        assert_eq!(limiter(8, 32, None, None), OccupancyLimiter::Warps);
        assert_eq!(limiter(64, 32, Some(32), None), OccupancyLimiter::Blocks);
        assert_eq!(limiter(8, 32, Some(2), Some(4)), OccupancyLimiter::Registers);
        assert_eq!(limiter(8, 32, Some(16), Some(4)), OccupancyLimiter::SharedMemory);
    }
}
