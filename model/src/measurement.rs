//! Measurements: the results of one pass.
//!
//! Input: launches, counters, samples and launch facts from a collector. Output: plain data that
//! travels from the harness process to the runner. Every value has its source.

mod machine;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::assembled::Fusable;
use crate::checks::CheckRecord;
use crate::code::{CostlyLine, CountedCode};
use crate::estimate::Estimate;
use crate::failure::{Denial, FailureKind};
use crate::links::DeviceLinks;
use crate::over_time::CountersOverTime;
use crate::parts::Part;
use crate::timeline::Timeline;
use crate::unified_memory::UnifiedMemory;
use crate::units::{BytesPerSecond, Nanoseconds};
pub use machine::{
    MachineCounts, MachineFunction, MachineInstruction, MachineModule, SourceCollection,
};

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A GPU or its driver.
    Measured,
    /// The emulated driver.
    Emulated,
    /// A model of time over the execution on the emulated driver; the value has an interval.
    Estimated,
    /// The annotation.
    Declared,
    /// A formula over other values.
    Derived,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Estimated => "estimated",
            Self::Declared => "declared",
            Self::Derived => "derived",
        })
    }
}

/// One kernel launch. The replay discipline compares all but its thread and its times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LaunchRecord {
    /// The kernel's name in its module.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// Blocks a cluster in x, y and z, if the launch says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Its device, by the number in the process; none of the measured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u32>,
    /// The context's number in its process, if the driver or CUPTI reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
    /// The stream's number in its context, if the driver or CUPTI reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u64>,
    /// The number of the graph that launched it, if CUPTI reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<u32>,
    /// The thread that launched it, if CUPTI reports it: threads are numbered from 0 in the order
    /// of their first launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
    /// When the device began it, in nanoseconds after the first start of the range: the median of
    /// the samples. None if the device's own times are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// How long it ran on the device, in nanoseconds, like `start_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// Whether it does not belong to the range: the closure calls `cuProfilerStart`, and this is
    /// neither between such a call and the next `cuProfilerStop` nor after the last such call; or
    /// it is in none of the NVTX ranges that `--nvtx` selects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// Pass 0 on a GPU: un-profiled samples by CUDA events.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timing {
    /// Every sample, in nanoseconds, in the order taken.
    pub samples_ns: Vec<f64>,
    /// The timer.
    #[serde(default)]
    pub timer: Timer,
    /// Why the device's own times are unknown, if CUDA events timed the samples; none in older
    /// documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_device_times: Option<String>,
    /// The SM clock around each sample, in hertz; `None` where both ends fell on different SMs.
    pub sm_clock_hz: Vec<Option<f64>>,
    /// Launches before the first sample.
    pub warmup_launches: u32,
    /// How long the warm-up took, in nanoseconds.
    pub warmup_ns: Nanoseconds,
    /// Whether duration and clock had become steady when the warm-up ended.
    pub warmup_steady: bool,
    /// Whether the relative standard error of the median fell under its target.
    pub converged: bool,
    /// Bytes read before each sample to empty the L2 cache; 0 with `--cache-control none`.
    pub flush_bytes: u64,
    /// Samples that were discarded and taken again, since the device was slowed down meanwhile.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discarded: u32,
    /// Why there is no time: slowdowns continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstable: Option<String>,
    /// Why slowdowns were not watched for; none if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<String>,
    /// The state of the buffers that the kernel reads and changes, at each sample; none if there
    /// are no such buffers, and if this is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlace>,
}

crate::words! {
    /// The timer of the samples.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Timer = Events {
        /// CUDA events around the launches, which add some 2 µs.
        Events = "events",
        /// The device: CUPTI records the start and end of the work.
        Device = "device",
    }
}

/// The state of buffers that a kernel reads and writes, at each timed sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// The initial state: they are restored before each sample, outside the timed window.
    Each,
    /// The state after the previous sample.
    Once,
}

/// Buffers that a launch may read and changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InPlace {
    /// Their state at each sample.
    pub reset: Reset,
    /// The kernel's names for them, in the order of its parameters.
    pub buffers: Vec<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The resource that limits how many blocks fit on a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OccupancyLimiter {
    /// The multiprocessor's warps (or threads).
    Warps,
    /// The multiprocessor's block slots.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
    /// Clusters: their blocks must fit on neighbouring multiprocessors at once, and some stay
    /// empty.
    Clusters,
}

impl fmt::Display for OccupancyLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Clusters => "clusters",
        })
    }
}

/// The driver's facts about a launch, without a profiler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchFacts {
    /// Registers a thread; unknown if nothing has assigned them (the emulator).
    pub registers: Option<u32>,
    /// Static shared memory a block, in bytes.
    pub static_shared_bytes: u32,
    /// Dynamic shared memory a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Local memory a thread, in bytes.
    pub local_bytes: u32,
    /// Resident blocks a multiprocessor, by the driver's occupancy calculator.
    pub blocks_per_sm: Option<u32>,
    /// Resident warps over the most a multiprocessor holds, in percent; with clusters, those of the
    /// whole device.
    pub theoretical_occupancy: Option<f64>,
    /// The resource that stops one more block from fitting.
    pub limiter: Option<OccupancyLimiter>,
    /// Blocks of the grid over the blocks resident on the whole device.
    pub waves: Option<f64>,
    /// How many blocks a multiprocessor could hold by each of its resources alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BlockLimits>,
    /// Blocks a cluster in x, y and z, if the launch has clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Clusters resident on the whole device, by the driver's occupancy calculator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active_clusters: Option<u32>,
    /// The most blocks that a cluster of this launch could have, by the driver's occupancy
    /// calculator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cluster_size: Option<u32>,
    /// How the function wants the blocks of a cluster spread, as the driver numbers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_scheduling_policy: Option<u32>,
    /// Blocks resident on the whole device with clusters, in percent of those without clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_occupancy: Option<f64>,
    /// Bytes of registers a thread that are spilled to local memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled_bytes: Option<u32>,
    /// Additions in the PTX that could be fused with a multiplication; none of a series function,
    /// and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusable: Option<Fusable>,
    /// Why registers or spills are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_known: Option<String>,
}

/// How many blocks of a launch a multiprocessor could hold by each of its resources alone; `None`
/// if a block needs nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockLimits {
    /// By its warps.
    pub warps: u32,
    /// By its block slots.
    pub blocks: u32,
    /// By its registers.
    pub registers: Option<u32>,
    /// By its shared memory.
    pub shared_memory: Option<u32>,
    /// By its barriers, of which a block is taken to need one.
    #[serde(default)]
    pub barriers: Option<u32>,
    /// Shared memory a block that the driver keeps for itself, in bytes.
    pub reserved_shared_bytes: u32,
}

/// The device a pass ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceRecord {
    /// The name the driver gives.
    pub name: String,
    /// The UUID as `GPU-…`; empty for the emulator.
    pub uuid: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Peak DRAM bandwidth from memory clock and bus width, in bytes a second, if they are known.
    pub dram_peak_bytes_per_second: Option<BytesPerSecond>,
    /// The driver's version, such as 13000.
    pub driver_version: u32,
    /// Whether this is the emulated driver.
    pub emulated: bool,
    /// Whether this is a virtual GPU, so that times include the load of its neighbours; none if
    /// unknown. A GPU that is passed through to a virtual machine as a whole is not virtual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_gpu: Option<bool>,
    /// Its links; none if no metric of the run needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<DeviceLinks>,
    /// The driver's attributes of the device, by the lower-case name of the attribute in `cuda.h`
    /// without `CU_DEVICE_ATTRIBUTE_`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, i64>,
}

/// The name of a device of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceName {
    /// The UUID, as `GPU-…` or a MIG instance's `MIG-…`.
    pub uuid: String,
    /// The name the driver gives.
    pub name: String,
}

/// How the UUIDs of MIG instances begin.
pub const MIG_PREFIX: &str = "MIG-";

/// Everything a pass that ran to its end found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PassResult {
    /// The device.
    pub device: DeviceRecord,
    /// The launches inside the measured range, in order.
    pub launches: Vec<LaunchRecord>,
    /// One call of the closure; none of a single launch, or if nothing observed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// The migrations of managed memory in that call; none if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unified_memory: Option<UnifiedMemory>,
    /// Exact counters by name, summed over the launches.
    pub counters: BTreeMap<String, u64>,
    /// Hardware counters by PerfWorks name, or why one has no value on this device.
    #[serde(default)]
    pub hardware: BTreeMap<String, HardwareValue>,
    /// The counters of the parts of the range, if they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<CountedPart>,
    /// The state of a counter pass.
    #[serde(default)]
    pub counter_pass: Option<CounterPass>,
    /// How long the emulated driver's model says that the launches take on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Samples, on a GPU.
    pub timing: Option<Timing>,
    /// Launch facts, if the launched function is known.
    pub facts: Option<LaunchFacts>,
    /// The source lines with the costliest accesses, summed over the launches; none on a GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costly: Vec<CostlyLine>,
    /// The code of the kernels and its counts line by line; none on a GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CountedCode>,
    /// What was found at each machine instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineCounts>,
    /// Counters over the time of a launch; none if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_time: Option<CountersOverTime>,
    /// The bytes of the kernel's buffers; none of a series function, which has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// A hash of the kernel's arguments before the launch; none of a series function, and in
    /// processes after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<u32>,
    /// Bytes the annotation says the kernel must move.
    pub declared_bytes: Option<u64>,
    /// Floating-point operations the annotation says the kernel must do.
    pub declared_flops: Option<u64>,
    /// Copy bandwidth measured in this process, read plus written bytes a second.
    pub copy_bandwidth: Option<BytesPerSecond>,
    /// The energy of a launch, measured by a process that follows this pass; none if it was not
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Nanoseconds of the set-up that the process made once for the series; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<Nanoseconds>,
    /// Whether `verify` ran and agreed.
    pub verified: bool,
    /// The largest error that `verify` found, in units of the tolerance; none if nothing was
    /// verified and if a function of the user compared.
    #[serde(default)]
    pub largest_error: Option<f64>,
    /// The data that `verify` compared, and the tolerance; none if nothing was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Why nothing was verified, though no difference was found.
    #[serde(default)]
    pub unverified: Option<Unverified>,
    /// The checks of the emulated driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckRecord>,
    /// The output of kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// The files that buffers were filled from, in the order of the parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_files: Vec<InputFile>,
}

/// The energy of a launch, or of a closure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Energy {
    /// The device's counter said so.
    Measured {
        /// How many joules.
        joules: f64,
        /// How many joules more or less it may be, since the counter moves in steps.
        resolution: f64,
        /// How many launches between two updates of the counter that is the mean of.
        launches: u64,
        /// How long they took, in nanoseconds.
        took_ns: Nanoseconds,
    },
    /// Why it is not known.
    Unavailable(String),
}

/// What was counted in a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedPart {
    /// The part.
    pub part: Part,
    /// Exact counters by name, summed over its launches.
    pub counters: BTreeMap<String, u64>,
    /// Hardware counters by PerfWorks name, or why one has no value.
    pub hardware: BTreeMap<String, HardwareValue>,
    /// How long the emulated driver's model says that it takes on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// A file that a buffer was filled from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// `package/path` with the path of the annotation, or that alone where it is absolute.
    pub path: String,
    /// SHA-256 of its contents.
    pub sha256: String,
}

/// What was compared with a reference, over all buffers of a kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verification {
    /// How many elements.
    pub elements: u64,
    /// How many of them a function of the user compared.
    pub by_function: u64,
    /// The largest error that a tolerance accepts, as a share of a buffer's typical value; 0 if all
    /// of its elements must be equal.
    pub tolerance: f64,
    /// How many elements of each buffer, by the kernel's name for it; empty in older documents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub buffers: BTreeMap<String, u64>,
}

/// Why a kernel is not verified though no comparison found a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unverified {
    /// The annotation of a kernel that writes buffers names no reference, or a series function does
    /// not call `run.verify`.
    NoReference,
    /// The output buffers have no elements.
    NothingCompared,
    /// The reference leaves the buffers as they were, as a kernel that does nothing would.
    NothingChanged,
    /// The tolerance, or `compare`, accepts the contents of the buffers before the launch.
    AnythingAccepted,
    /// The tolerance, or `compare`, accepts half of every expected value.
    HalfAccepted,
    /// Most of what was compared is not a number (NaN) on both sides.
    MostlyNan,
}

impl Unverified {
    /// Whether the reference was called but cannot reject any result. The case without elements
    /// does not count: there, nothing can be wrong.
    #[must_use]
    pub fn says_nothing(self) -> bool {
        match self {
            Self::NoReference | Self::NothingCompared => false,
            Self::NothingChanged
            | Self::AnythingAccepted
            | Self::HalfAccepted
            | Self::MostlyNan => true,
        }
    }

    /// The word that reports for programs have for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NoReference => "no-reference",
            Self::NothingCompared => "nothing-compared",
            Self::NothingChanged => "nothing-changed",
            Self::AnythingAccepted => "anything-accepted",
            Self::HalfAccepted => "half-accepted",
            Self::MostlyNan => "mostly-nan",
        }
    }
}

/// The value of a hardware counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HardwareValue {
    /// The value.
    Value(f64),
    /// Why there is none.
    Unavailable(String),
}

/// The state of a counter pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterPass {
    /// Whether every pass of the metrics has been collected.
    pub complete: bool,
    /// Milliseconds of each step of the collection, in order.
    pub steps_ms: Vec<(String, f64)>,
}

/// How one pass ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassOutcome {
    /// It ran to its end.
    Finished(Box<PassResult>),
    /// The launch cannot exist on this device.
    Invalid {
        /// Why the launch was refused, for people.
        reason: String,
    },
    /// It ran and went wrong.
    Failed {
        /// What kind of failure it is.
        kind: FailureKind,
        /// The error in full, for people.
        reason: String,
    },
    /// This machine does not give the counters that the pass was to collect.
    Denied(Denial),
    /// Another configuration of the process went wrong before this one was measured.
    Lost,
}

impl PassOutcome {
    /// Whether the process it happened in can continue with other configurations.
    #[must_use]
    pub fn lets_others_go_on(&self) -> bool {
        matches!(self, Self::Finished(_) | Self::Invalid { .. })
    }
}
