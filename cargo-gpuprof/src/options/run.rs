//! Options of `run`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_model::machine::Chip;
use gpuprof_model::nvtx_pattern::NvtxPattern;
use gpuprof_model::protocol::CounterRange;
use gpuprof_model::suggest::did_you_mean;

use super::at_least_one::at_least_one;
use super::word::word;
use super::{
    AheadCount, AppReplayMatch, AppReplayMode, BackendChoice, CacheControl, CargoOptions, Checks,
    ClockControl, ConfigurationOptions, DeviceSelection, FailureOptions, FilterOptions,
    GateOptions, Given, Isolate, KernelOptions, OutputOptions, Repeats, ReplayMode, Set,
    SliceOptions, TimeBudget, ViewOptions, library,
};

/// The subcommands that users know: a misspelt one is taken for a filter. `cli` tests that they are
/// all.
pub const SUBCOMMANDS: [&str; 19] = [
    "run",
    "check",
    "list",
    "metrics",
    "rules",
    "compare",
    "report",
    "merge",
    "baseline",
    "runs",
    "history",
    "calibrate",
    "characterize",
    "emulate",
    "show-config",
    "doctor",
    "archive",
    "completions",
    "man",
];

/// The longest time that a killed runner's lock may outlive it: a process that it was just starting
/// shares its open files until it executes its own program, and the kernel keeps the lock as long
/// as either has the file.
const LINGERING: Duration = Duration::from_secs(3);

/// How long the lock of a machine that is lost may outlive it, and a little more: NFS servers wait
/// for 90 s by default.
const LEASE: Duration = Duration::from_secs(120);

/// The name of the last run.
const LATEST: &str = "latest";

/// Resumes a run if there is one to resume.
pub const AUTO: &str = "auto";

/// The series and configurations to take.
#[derive(Debug, Clone, Default, Args)]
pub struct SelectionOptions {
    /// The filters.
    #[command(flatten)]
    pub filters: FilterOptions,
    /// Values that replace those of an annotated axis, such as block=64..=1024, or one more
    /// condition, such as 'where block * n <= 1G'
    #[arg(long, value_name = "AXIS=VALUES", help_heading = "Series")]
    pub series: Vec<String>,
    /// Take N configurations of each series, spread over all its axes
    #[arg(long, value_name = "N", help_heading = "Series")]
    #[arg(value_parser = at_least_one::<NonZeroUsize>)]
    pub sample: Option<NonZeroUsize>,
    /// Seed of --sample
    #[arg(long, value_name = "SEED", help_heading = "Series")]
    pub sample_seed: Option<u64>,
    /// Maximum number of configurations in a run
    #[arg(long, value_name = "N", help_heading = "Series")]
    pub max_configs: Option<usize>,
}

/// Options of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The series to run.
    #[command(flatten)]
    pub selection: SelectionOptions,
    /// How to build.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to build the kernels.
    #[command(flatten)]
    pub kernels: KernelOptions,
    /// Driver that runs the kernels
    #[arg(long, value_parser = word::<BackendChoice>(), value_name = "BACKEND", env = "GPUPROF_BACKEND", help_heading = "Run")]
    pub backend: Option<BackendChoice>,
    /// Chip that the emulated driver is; several, separated by commas, run the same configurations
    /// and get a column each [default: h200]
    #[arg(long, value_parser = word::<Chip>(), value_name = "CHIP", value_delimiter = ',', help_heading = "Run")]
    pub chip: Vec<Chip>,
    /// GPUs to spread the configurations over: ordinals, UUIDs or UUID prefixes, separated by
    /// commas, or `all`; a configuration stays on one of them [default: the first]
    #[arg(long, value_name = "DEVICES", env = "GPUPROF_DEVICES", help_heading = "Run")]
    pub devices: Option<DeviceSelection>,
    /// Exit with 107 before anything is measured unless the name of each GPU contains this text,
    /// such as H100 (case-insensitive)
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub expect_device: Option<String>,
    /// Processes that time each configuration on a GPU; 7..10 takes 7, and up to 10 if those vary.
    /// With a stored baseline the default is 8..30, and more than 8 if there are few configurations
    #[arg(long, value_name = "N[..M]", env = "GPUPROF_REPEAT", help_heading = "Run")]
    pub repeat: Option<Repeats>,
    /// Maximum number of processes per configuration (per side with --base) while the result is
    /// undecided [default: 112, and 431 once at most three or 5 % are undecided]
    #[arg(long, value_name = "N", env = "GPUPROF_MAX_REPEAT", help_heading = "Run")]
    #[arg(value_parser = at_least_one::<NonZeroU32>)]
    pub max_repeat: Option<NonZeroU32>,
    /// Stop adding processes to undecided results after this time, such as 90s, 10min or 1h
    #[arg(long, value_name = "DURATION", env = "GPUPROF_TIME_BUDGET", help_heading = "Run")]
    pub time_budget: Option<TimeBudget>,
    /// Seconds that a process may take for a configuration before it is killed, not counting the
    /// time it waits for other processes of the run
    #[arg(long, value_name = "SECONDS", env = "GPUPROF_TIMEOUT", help_heading = "Run")]
    #[arg(value_parser = at_least_one::<NonZeroU32>)]
    pub timeout: Option<NonZeroU32>,
    /// The options for failures.
    #[command(flatten)]
    pub failures: FailureOptions,
    /// Time each configuration in one process with few samples, and judge nothing; such a run
    /// cannot become a baseline
    #[arg(long, help_heading = "Run")]
    #[arg(conflicts_with_all = [
        "base", "base_archive", "load_baseline", "save_baseline", "threshold", "strict",
    ])]
    pub quick: bool,
    /// State of the L2 cache before each sample
    #[arg(long, value_parser = word::<CacheControl>(), value_name = "CONTROL", help_heading = "Run")]
    pub cache_control: Option<CacheControl>,
    /// Clocks of the GPU while it is measured; base and boost need an administrator
    #[arg(long, value_parser = word::<ClockControl>(), value_name = "CONTROL", help_heading = "Run")]
    pub clock_control: Option<ClockControl>,
    /// NVML's library, instead of libnvidia-ml.so.1
    #[arg(long, value_name = "PATH", env = "GPUPROF_NVML", value_parser = library, help_heading = "Run")]
    pub nvml_path: Option<Utf8PathBuf>,
    /// Exit with 107 instead of waiting while another gpuprof measures on the GPU
    #[arg(long, overrides_with = "wait", help_heading = "Run")]
    pub no_wait: bool,
    /// Wait while another gpuprof measures on the GPU (the default)
    #[arg(long, overrides_with = "no_wait", help_heading = "Run")]
    pub wait: bool,
    /// Method of collecting the hardware counters of a GPU
    #[arg(long, value_parser = word::<ReplayMode>(), value_name = "MODE", help_heading = "Run")]
    pub replay_mode: Option<ReplayMode>,
    /// Work that the counters of a series function cover
    #[arg(long, value_parser = word::<CounterRange>(), value_name = "RANGE", help_heading = "Run")]
    pub range: Option<CounterRange>,
    /// Measure only the work of series functions in NVTX ranges that match, such as `phase/*` or
    /// `domain@phase`
    #[arg(long, value_name = "PATTERN", value_delimiter = ',', help_heading = "Run")]
    pub nvtx: Vec<NvtxPattern>,
    /// Configurations that share a process
    #[arg(long, value_parser = word::<Isolate>(), value_name = "UNIT", help_heading = "Run")]
    pub isolate: Option<Isolate>,
    /// Processes that prepare (context, module, inputs) while another one works [default: 1 if
    /// both collect counters, 0 if either takes times]. They pause during measurements, but keep
    /// the device memory they hold. On the emulated driver: processes that run next to the first
    /// [default: one for each further core]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub ahead: Option<AheadCount>,
    /// CUPTI's library or its folder, instead of searching the usual places
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library, help_heading = "Run")]
    pub cupti_path: Option<Utf8PathBuf>,
    /// Do not compare outputs with the host reference
    #[arg(long, overrides_with = "verify", help_heading = "Run")]
    pub no_verify: bool,
    /// Compare outputs with the host reference (the default)
    #[arg(long, overrides_with = "no_verify", help_heading = "Run")]
    pub verify: bool,
    /// Checks of the emulated driver, separated by commas: memory, init, race, sync, all or none.
    /// `all` runs them in every block; else init and race run in the first 16 blocks, the last and
    /// every 16th. memory and sync always run
    #[arg(long, value_name = "CHECKS", help_heading = "Run")]
    pub check: Option<Checks>,
    /// Do not estimate times on the emulated driver
    #[arg(long, overrides_with = "estimate", help_heading = "Run")]
    pub no_estimate: bool,
    /// Estimate times on the emulated driver (the default)
    #[arg(long, overrides_with = "no_estimate", help_heading = "Run")]
    pub estimate: bool,
    /// Metrics to show, separated by commas, instead of the annotated ones
    #[arg(long, value_name = "METRICS", value_delimiter = ',', help_heading = "Run")]
    pub metrics: Vec<String>,
    /// Sections to show, by the name of a set; several separated by commas
    #[arg(long, value_parser = word::<Set>(), value_name = "SET", value_delimiter = ',', help_heading = "Run")]
    pub set: Vec<Set>,
    /// Sections to show, by name; several separated by commas
    #[arg(long, value_name = "SECTION", value_delimiter = ',', help_heading = "Run")]
    pub section: Vec<String>,
    /// Also collect the counters that the rules of advice need, and report the extra cost
    #[arg(long, overrides_with = "no_advice", help_heading = "Run")]
    pub advice: bool,
    /// Collect no extra counters for advice (the default); rules use what was collected
    #[arg(long, overrides_with = "advice", help_heading = "Run")]
    pub no_advice: bool,
    /// Folder of your own rules of advice, instead of .config/gpuprof/rules
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub rules: Option<Utf8PathBuf>,
    /// Refuse to start if a configuration needs more counter passes than this
    #[arg(long, value_name = "N", env = "GPUPROF_MAX_PASSES", help_heading = "Run")]
    #[arg(value_parser = at_least_one::<NonZeroU32>)]
    pub max_passes: Option<NonZeroU32>,
    /// How launches of two passes are matched
    #[arg(long, value_parser = word::<AppReplayMatch>(), value_name = "MATCH", help_heading = "Run")]
    pub app_replay_match: Option<AppReplayMatch>,
    /// How far the launches of two passes may differ
    #[arg(long, value_parser = word::<AppReplayMode>(), value_name = "MODE", help_heading = "Run")]
    pub app_replay_mode: Option<AppReplayMode>,
    /// Print configurations and passes, but start nothing
    #[arg(long, help_heading = "Run")]
    pub dry_run: bool,
    /// Condition that every selected series must meet, such as 'best throughput >= 1 TB/s'
    #[arg(long, value_name = "CONDITION", help_heading = "Gate")]
    pub threshold: Vec<String>,
    /// The baseline, and the rules of the exit code.
    #[command(flatten)]
    pub gate: GateOptions,
    /// The slice that is measured here.
    #[command(flatten)]
    pub slice: SliceOptions,
    /// Run an archive made by `cargo gpuprof archive` instead of building
    #[arg(long, value_name = "FILE", help_heading = "Archive")]
    pub archive_file: Option<Utf8PathBuf>,
    /// Folder to unpack the archive to, instead of a temporary one
    #[arg(long, value_name = "DIR", requires = "archive_file", help_heading = "Archive")]
    pub extract_to: Option<Utf8PathBuf>,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// The rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// The outputs.
    #[command(flatten)]
    pub output: OutputOptions,
}

impl RunOptions {
    /// Treats the word after `--resume` as a filter if it cannot name a run: `--resume nbody` means
    /// `--resume latest nbody`.
    pub fn take_filter_from_resume(&mut self) {
        let names_run = |text: &str| {
            let digits = text.starts_with(|c: char| c.is_ascii_digit());
            digits && text.chars().all(|c| c.is_ascii_digit() || matches!(c, 'T' | 'Z' | '-'))
        };
        let Some(text) = &mut self.gate.resume else { return };
        if text != AUTO && !names_run(text) && did_you_mean(text, [LATEST]).is_none() {
            self.selection.filters.texts.push(std::mem::replace(text, LATEST.to_owned()));
        }
    }

    /// Whether the run resumes an unfinished one if there is one, and begins otherwise.
    pub fn goes_on_or_begins(&self) -> bool {
        self.gate.resume.as_deref() == Some(AUTO)
    }

    /// How long to wait while another process is working on the run: with `--resume=auto` longer
    /// than an NFS server keeps the lock of a machine that is lost.
    pub fn patience(&self) -> Duration {
        let usual = if self.goes_on_or_begins() { LEASE } else { LINGERING };
        self.gate.wait_lock.map_or(usual, |seconds| Duration::from_secs(seconds.into()))
    }
}

/// A parsed command line of `run`, for tests.
#[cfg(test)]
pub(crate) fn parsed(line: &str) -> RunOptions {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunOptions,
    }
    let parsed = <Line as clap::Parser>::try_parse_from(line.split(' '));
    parsed.unwrap_or_else(|e| panic!("{line}: {e}")).run
}
