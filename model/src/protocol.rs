//! The versioned protocol between the runner and a harness process.
//!
//! A request is a JSON file, its path is in [`REQUEST_ENV`]; the reply is a JSON file at the path
//! that the request names. Standard output belongs to the user's code. Both sides read [`Header`]
//! first, so a harness and a runner of different versions can always report their versions to each
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::assembled::ModuleResources;
use crate::checks::Checks;
use crate::code::Listing;
use crate::configuration::Configuration;
use crate::declared::{DeclaredEntry, DeclaredKernel, LaunchableInstance};
use crate::failure::{Denial, RefusedMetric};
use crate::measurement::{DeviceRecord, PassOutcome};
use crate::nvtx_pattern::NvtxPattern;
use crate::over_time::SampledCounter;
use crate::series::{Listed, SeriesId};
use crate::space::Space;
use crate::units::Nanoseconds;

/// The protocol this build speaks. It changes whenever a request or reply changes its meaning.
pub const VERSION: u32 = 10;

/// The exit code of a harness that measured and could not write its reply. The configuration did
/// nothing wrong, so the run ends and can be resumed. No shell and no convention has this code.
pub const UNWRITTEN: u8 = 174;

/// How its last line on stderr begins then; the system's error follows.
pub const UNWRITTEN_REPLY: &str = "gpuprof: cannot write the reply: ";

/// The environment variable that holds the path of the request.
pub const REQUEST_ENV: &str = "__GPUPROF_REQUEST";

/// The environment variable that holds the process id of the runner, which a harness does not
/// outlive.
pub const RUNNER_ENV: &str = "__GPUPROF_RUNNER";

/// Bytes in every executable that calls `gpuprof::main!`, and in no other: so the runner need not
/// start foreign executables, such as criterion benches, to find out.
pub const MARKER: &str = "gpuprof harness protocol follows:";

/// The part of each other's files that both sides can read in any version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The protocol the writer speaks.
    pub protocol: u32,
    /// The version of the package that wrote the file.
    pub version: String,
}

/// A request of the runner to a harness process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The runner's protocol and version.
    pub header: Header,
    /// Where to write the reply.
    pub reply_path: PathBuf,
    /// Whether another process has the device. Until the runner hands it over
    /// ([`crate::notice::TURN`]), this one may open its context, load its modules and fill its
    /// buffers, and launches nothing.
    #[serde(default)]
    pub waits: bool,
    /// The lock of the device's quiet window, one for all processes of a run on one device: held
    /// shared while a process prepares or leaves, exclusively while one measures. None: no other
    /// process of the run is near the device.
    #[serde(default)]
    pub quiet: Option<PathBuf>,
    /// What to do.
    pub body: RequestBody,
    /// What to measure in the same process once `body`, which is [`RequestBody::Measure`], has been
    /// replied to.
    #[serde(default)]
    pub then: Option<Then>,
}

/// The work of a process after its first reply. Creating a context often takes longer than a pass,
/// so one process does both. If the first part fails, the process skips this part and says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Then {
    /// Run these configurations, as [`RequestBody::Measure`] does.
    pub measure: Vec<MeasureRequest>,
    /// Where to write the results.
    pub reply_path: PathBuf,
}

/// The kinds of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestBody {
    /// Say which series are registered.
    Describe,
    /// Say whether a driver and a device answer.
    Probe,
    /// Say whether these counters can be collected here, and prepare it.
    PlanCounters(CounterPlanRequest),
    /// Run these configurations once each, one after the other in this process.
    Measure(Vec<MeasureRequest>),
    /// Say which lines the code of these kernels has, by the emulated driver.
    ListCode(Vec<KernelCode>),
}

/// A kernel, and the file with its PTX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCode {
    /// The kernel's name in its module.
    pub kernel: String,
    /// The PTX of the module.
    pub ptx: PathBuf,
}

/// The data that a pass collects at each machine instruction. CUPTI allows one of them in a
/// process, and no other collector next to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceCollector {
    /// How often warps and threads executed it, and the cost of its accesses.
    Counts,
    /// The bank conflicts of all of them, as counters.
    Conflicts,
    /// How often a warp was found at it, and in which state.
    Samples,
}

/// What to find at each machine instruction, in place of times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRequest {
    /// What.
    pub collector: SourceCollector,
    /// CUPTI's library or its folder.
    pub cupti: PathBuf,
    /// The folder for the cubins.
    pub folder: PathBuf,
}

/// Counters to sample over the time of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverTimeRequest {
    /// CUPTI's library or its folder.
    pub cupti: PathBuf,
    /// The counters. A counter that the chip does not sample together with earlier ones is left
    /// out.
    pub counters: Vec<SampledCounter>,
}

/// The NVTX ranges of a series function's closure that are collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvtxRequest {
    /// Ranges that match one of these; nothing else of the closure belongs to the measured range.
    pub patterns: Vec<NvtxPattern>,
    /// The library that NVTX loads into the process.
    pub library: PathBuf,
}

/// The requested counters, and the folder for their config images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterPlanRequest {
    /// CUPTI's library or its folder, if one was named; else the harness looks for it.
    pub cupti: Option<PathBuf>,
    /// PerfWorks names.
    pub metrics: Vec<String>,
    /// The folder for the config images: one per group, named by its position.
    pub config_folder: PathBuf,
}

/// Counters that CUPTI collects together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterGroup {
    /// PerfWorks names.
    pub metrics: Vec<String>,
    /// The config image.
    pub config_image: PathBuf,
    /// Passes that they need.
    pub passes: u32,
}

/// The passes that collecting the counters takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterPlan {
    /// CUPTI's library, as it was found.
    pub cupti: PathBuf,
    /// Its version, such as `13.0`.
    pub cupti_version: String,
    /// The chip, as CUPTI calls it.
    pub chip: String,
    /// The counters, as they are collected together.
    pub groups: Vec<CounterGroup>,
    /// Those that the chip has and this device does not give, as [`WITHHELD`] says.
    #[serde(default)]
    pub withheld: Vec<String>,
}

/// Why counters of the chip may not be had on a device that gives others.
pub const WITHHELD: &str = "the chip has this counter, but a MIG instance has no counters for \
                            units that it shares with other instances. Check: nvidia-smi -L; \
                            remedy: leave the counter out, or measure on the whole GPU or on an \
                            instance that shares no units";

/// Why counters cannot be collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterProblem {
    /// A name that is not a metric of this chip, or metrics that cannot be combined: the user's to
    /// mend.
    Metrics {
        /// What is wrong, for people.
        reason: String,
        /// The metrics that the chip cannot collect, if single ones are at fault.
        refused: Vec<RefusedMetric>,
    },
    /// This machine does not give counters.
    Machine(Denial),
}

crate::words! {
    /// How counters are collected.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Replay = Application {
        /// Every pass runs in its own process.
        Application = "application",
        /// The passes are looped in one process; the inputs are put back, or set up again, before
        /// each of them.
        Range = "range",
        /// As `range`: Nsight Compute's name for it.
        Kernel = "kernel",
    }
}

crate::words! {
    /// The extent of the counters of a series function.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum CounterRange = Auto {
        /// The closure if it launches several kernels or a graph, else its launch.
        Auto = "auto",
        /// The closure as one range, in which kernels overlap.
        Closure = "closure",
        /// Each launch by itself, one after the other.
        Launch = "launch",
    }
}

/// The counters of a pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CounterRequest {
    /// CUPTI's library.
    pub cupti: PathBuf,
    /// The chip, as CUPTI calls it.
    pub chip: String,
    /// PerfWorks names, as planned.
    pub metrics: Vec<String>,
    /// The config image of the plan.
    pub config_image: PathBuf,
    /// How passes are replayed.
    pub replay: Replay,
    /// Which pass this process collects, from 0; with [`Replay::Application`] only.
    pub pass: u32,
    /// The counter data image that the passes before this one filled; none for the first.
    pub image_before: Option<PathBuf>,
    /// The file of the counter data image, if a pass is still to come. Consecutive requests of one
    /// process that name the same file are collected in one session, since starting a session costs
    /// more than a pass.
    pub image: PathBuf,
    /// Which of the image's slots is this configuration's, from 0.
    #[serde(rename = "place")]
    pub slot: u32,
    /// How many slots the image has: several if configurations of a kernel share it. Launches that
    /// nothing reads fill the slot of a configuration that is not requested in this process, so
    /// that the others keep their positions.
    #[serde(rename = "places")]
    pub slots: u32,
}

/// One configuration and one pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureRequest {
    /// The kernel of the series, as the harness describes it.
    pub kernel: String,
    /// The point of the series.
    pub configuration: Configuration,
    /// PTX files: by the name of the package whose library they were built from, or by the module
    /// name in `declared`.
    pub modules: BTreeMap<String, PathBuf>,
    /// The instance of a declared kernel that is to be launched.
    #[serde(default)]
    pub declared: Option<DeclaredEntry>,
    /// The instances of declared kernels that a series function may launch.
    #[serde(default)]
    pub launchable: Vec<LaunchableInstance>,
    /// The facts of ptxas on the modules, without a GPU.
    #[serde(default)]
    pub resources: BTreeMap<String, ModuleResources>,
    /// The cubins that ptxas made of the modules, without a GPU.
    #[serde(default)]
    pub cubins: BTreeMap<String, PathBuf>,
    /// Whether the emulated driver is required.
    pub emulated: bool,
    /// Which repetition of pass 0 this is, from 0.
    pub repeat: u32,
    /// Whether to run `verify`.
    pub verify: bool,
    /// How to take samples.
    pub sampling: Sampling,
    /// CUPTI's library or its folder, if it is known: it times samples and reports refused
    /// launches.
    #[serde(default)]
    pub cupti: Option<PathBuf>,
    /// The extent of the counters of a series function.
    #[serde(default)]
    pub range: CounterRange,
    /// The NVTX ranges that are collected, of a series function.
    #[serde(default)]
    pub nvtx: Option<NvtxRequest>,
    /// The counters to collect; a pass that collects counters takes no samples.
    #[serde(default)]
    pub counters: Option<CounterRequest>,
    /// What to find at each machine instruction; such a pass takes no samples of times.
    #[serde(default)]
    pub source: Option<SourceRequest>,
    /// The counters to sample over the time of a launch; such a pass takes no samples of times.
    #[serde(default)]
    pub over_time: Option<OverTimeRequest>,
    /// Whether to measure the energy of a launch; such a pass takes no samples of times.
    #[serde(default)]
    pub energy: bool,
    /// Whether to report the links of the device.
    #[serde(default)]
    pub links: bool,
    /// Whether to record the migrations of managed memory.
    #[serde(default)]
    pub unified_memory: bool,
    /// The attributes of the device to report in addition to the default ones, by their names after
    /// `device__attribute_`.
    #[serde(default)]
    pub attributes: Vec<String>,
}

/// How pass 0 takes its samples on a GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Whether the L2 cache is emptied before each sample.
    pub cold_cache: bool,
    /// Stop when the relative standard error of the median is under this (0.005 is 0.5 %).
    pub relative_standard_error: f64,
    /// Take at least this many samples.
    pub min_samples: u32,
    /// Take at most this many samples.
    pub max_samples: u32,
    /// Sample for at most this long.
    pub max_time_ns: Nanoseconds,
    /// Warm up for at least this long.
    pub min_warmup_ns: Nanoseconds,
    /// Warm up for at most this long.
    pub max_warmup_ns: Nanoseconds,
    /// Measure the device's copy bandwidth in the same process.
    pub copy_bandwidth: bool,
    /// NVML's library, if one was named.
    #[serde(default)]
    pub nvml: Option<PathBuf>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            cold_cache: true,
            relative_standard_error: 0.005,
            min_samples: 20,
            max_samples: 2000,
            max_time_ns: Nanoseconds(2e9),
            min_warmup_ns: Nanoseconds(5e7),
            max_warmup_ns: Nanoseconds(1e9),
            copy_bandwidth: true,
            nvml: None,
        }
    }
}

impl Sampling {
    /// Few samples, for a first look: a tenth of a second at most, after a short warm-up.
    pub fn quick() -> Self {
        Self {
            min_samples: 5,
            max_samples: 20,
            max_time_ns: Nanoseconds(1e8),
            min_warmup_ns: Nanoseconds(5e6),
            max_warmup_ns: Nanoseconds(1e8),
            ..Self::default()
        }
    }
}

/// The reply of a harness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The harness' protocol and version.
    pub header: Header,
    /// The answer; absent when the request's protocol is not spoken here.
    pub body: Option<ReplyBody>,
}

/// The kinds of answer, one for each kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyBody {
    /// The registered series, or why they are unknown.
    Described(Result<Vec<SeriesDescription>, String>),
    /// Whether a driver and a device answer.
    Probed(DriverProbe),
    /// The plan for the counters, or why they are unavailable.
    CountersPlanned(Result<CounterPlan, CounterProblem>),
    /// The results of the pass for each configuration, in request order; none after a failed one,
    /// since a broken context affects all later ones.
    Measured(Vec<PassOutcome>),
    /// The lines of each kernel's code; none of one that the emulated driver cannot read.
    CodeListed(Vec<Option<Listing>>),
}

/// One registered series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesDescription {
    /// Its name.
    pub id: SeriesId,
    /// The package with the source of the annotation.
    pub source_package: String,
    /// That package's folder at build time.
    pub source_folder: PathBuf,
    /// The annotated function's file, relative to the workspace root as rustc saw it.
    pub file: String,
    /// The annotated function's line.
    pub line: u32,
    /// The function's path from its crate's root, which is the same in every harness that links
    /// the crate; empty in a harness of an older version.
    #[serde(default)]
    pub path: String,
    /// The kernel's doc comment, one line a line.
    pub docs: String,
    /// Its axes with their annotated values, and how they combine.
    #[serde(flatten)]
    pub space: Space,
    /// Its clauses with a range that is written `..`, in the form with `..=`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_ranges: Vec<String>,
    /// Its thresholds as written.
    pub thresholds: Vec<String>,
    /// The metrics the annotation asks for.
    pub metrics: Vec<String>,
    /// The checks of the emulated driver that the annotation selects, if it does.
    #[serde(default)]
    pub check: Option<Checks>,
    /// Whether the kernel is a Rust device function, built to PTX by the runner.
    pub device_function: bool,
    /// The kernel's declaration, if it lives elsewhere: compiled by the runner.
    #[serde(default)]
    pub declared: Option<DeclaredKernel>,
    /// The packages with kernels that a series function may launch by name: built to PTX by the
    /// runner. None if the series is a kernel.
    #[serde(default)]
    pub launches: BTreeSet<String>,
    /// The declared kernels that a series function may launch by name, each as its own series:
    /// compiled by the runner.
    #[serde(default)]
    pub declared_launches: Vec<SeriesDescription>,
}

impl<'s> From<&'s SeriesDescription> for Listed<'s> {
    fn from(series: &'s SeriesDescription) -> Self {
        Self { id: &series.id, file: &series.file, line: series.line }
    }
}

impl SeriesDescription {
    /// Whether the harness launches the kernel itself, as its annotation says, once a pass.
    pub fn is_kernel(&self) -> bool {
        self.device_function || self.declared.is_some()
    }
}

/// Whether a GPU driver answers, asked in a harness process so that a crash is a diagnosis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverProbe {
    /// No driver library is installed.
    Absent,
    /// A driver is installed and reports no device.
    NoDevice,
    /// A driver answers for these devices, in its order: the position of each is its ordinal.
    Devices(Vec<DeviceRecord>),
    /// A driver is there and does not work.
    Broken {
        /// The call that failed.
        call: String,
        /// The driver's error code.
        code: u32,
        /// The driver's name for it, such as `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`.
        name: String,
    },
}
