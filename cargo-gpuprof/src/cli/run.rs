//! Options of `run`.

use std::num::{NonZeroU32, NonZeroUsize};

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};
use gpuprof_model::ExitCode;

use super::{CargoOptions, GateOptions, OutputOptions, ViewOptions, library};
use crate::config::Config;
use crate::device::choice::Asked;
use crate::plan::{MAX_CONFIGURATIONS, Override, Selection};
use crate::repeats::Repeats;

/// Which driver runs the kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// A GPU where a driver and a device answer, the emulated driver where none is installed.
    #[default]
    Auto,
    /// A GPU.
    Cuda,
    /// The emulated driver: exact counters, no times.
    Emulator,
}

/// What happens to the L2 cache before each sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CacheControl {
    /// It is flushed.
    #[default]
    All,
    /// Nothing.
    None,
}

/// What happens to the clocks of the GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ClockControl {
    /// Nothing: the clock of every sample is recorded.
    #[default]
    None,
    /// Locked to the base clock while the run lasts.
    Base,
    /// Locked to the highest clock while the run lasts.
    Boost,
}

impl ClockControl {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Base => "base",
            Self::Boost => "boost",
        }
    }
}

/// How hardware counters are collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReplayMode {
    /// Every pass is a process of its own.
    #[default]
    Application,
    /// The passes are looped in one process, each on the inputs as they were at first.
    Range,
    /// CUPTI replays each launch.
    Kernel,
    /// None are: time only.
    None,
}

impl ReplayMode {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Range => "range",
            Self::Kernel => "kernel",
            Self::None => "none",
        }
    }
}

/// What a process is shared by.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Isolate {
    /// Every configuration has processes of its own.
    #[default]
    Configuration,
    /// All configurations of a kernel run in each of its processes; one that fails is run again alone.
    Kernel,
}

/// A set of sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// Speed of light, launch and occupancy.
    Basic,
    /// Basic with workloads, branches and the roofline.
    Detailed,
    /// Every section.
    Full,
    /// What the roofline needs.
    Roofline,
    /// Memory in detail.
    Memory,
}

/// Which launches of two passes are the same one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum AppReplayMatch {
    /// Those of the same kernel.
    Name,
    /// Those of the same kernel, grid and block.
    Grid,
    /// Those that agree in everything that is recorded.
    #[default]
    All,
}

/// How far the launches of two passes may differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum AppReplayMode {
    /// Every launch must match, in the same order.
    #[default]
    Strict,
    /// Every launch must match, in any order.
    Balanced,
    /// Launches that match none are let be.
    Relaxed,
}

/// Which series to take.
#[derive(Debug, Clone, Args)]
pub struct SelectionOptions {
    /// Take series and configurations whose key holds this text
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Take only keys that equal a filter
    #[arg(long, requires = "filters", help_heading = "Series")]
    pub exact: bool,
    /// Values of an axis instead of the annotated ones, such as block=64..1024, or a condition more, such
    /// as 'where block * n <= 1G'
    #[arg(long, value_name = "AXIS=VALUES", help_heading = "Series")]
    pub series: Vec<String>,
    /// Take N configurations of each series, spread over all its axes
    #[arg(long, value_name = "N", help_heading = "Series")]
    pub sample: Option<NonZeroUsize>,
    /// Seed of --sample
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Series")]
    pub sample_seed: u64,
    /// The most configurations that a run may have
    #[arg(long, value_name = "N", default_value_t = MAX_CONFIGURATIONS, help_heading = "Series")]
    pub max_configs: usize,
}

impl SelectionOptions {
    /// What to take, with the settings of the configuration file below those of its preset, and both below
    /// those of the command line.
    pub fn selection(&self, file: &Config, preset: Option<&Config>) -> Selection {
        let of_config = |config: &Config| -> Vec<Override> {
            let of_series = config.series.iter().flat_map(|(key, series)| {
                series.axes.iter().map(|text| Override {
                    text: text.clone(),
                    place: file.path.to_string(),
                    only: Some(key.clone()),
                    code: ExitCode::Configuration,
                })
            });
            of_series.collect()
        };
        Selection {
            overrides: [Some(file), preset]
                .into_iter()
                .flatten()
                .flat_map(of_config)
                .chain(self.series.iter().map(|text| Override::command_line(text)))
                .collect(),
            filters: self.filters.clone(),
            exact: self.exact,
            sample: self.sample.map(Into::into),
            seed: self.sample_seed,
            max_configurations: self.max_configs,
        }
    }
}

/// How kernels are built.
#[derive(Debug, Clone, Args)]
pub struct KernelOptions {
    /// Toolchain for the kernels: a rustup toolchain's name, or the path of a rustc with its library source
    #[arg(long, value_name = "TOOLCHAIN", env = "GPUPROF_KERNEL_RUSTC", help_heading = "Kernels")]
    pub kernel_toolchain: Option<String>,
    /// GPU architecture the kernels are compiled for
    #[arg(long, value_name = "ARCH", default_value = "sm_80", help_heading = "Kernels")]
    pub kernel_arch: String,
}

/// Options of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunOptions {
    /// Which series.
    #[command(flatten)]
    pub selection: SelectionOptions,
    /// How to build.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to build the kernels.
    #[command(flatten)]
    pub kernels: KernelOptions,
    /// Refuse a device without times; set by the commands that need them
    #[arg(skip)]
    pub needs_times: bool,
    /// Which driver runs the kernels
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "BACKEND",
        env = "GPUPROF_BACKEND",
        help_heading = "Run"
    )]
    pub backend: Backend,
    /// GPUs to spread the configurations over: ordinals, UUIDs or their beginnings, separated by commas, or `all`;
    /// a configuration stays on one of them [default: the first]
    #[arg(long, value_name = "DEVICES", env = "GPUPROF_DEVICES", help_heading = "Run")]
    pub devices: Option<Asked>,
    /// Processes that time each configuration on a GPU; 7..10 are 7, and 10 where they differ by more than 1%
    /// [default: 7..10]
    #[arg(long, value_name = "N[..M]", env = "GPUPROF_REPEAT", help_heading = "Run")]
    pub repeat: Option<Repeats>,
    /// Seconds a process may take before it is killed, not counting those in which it waits for others of the run
    /// [default: 120]
    #[arg(long, value_name = "SECONDS", env = "GPUPROF_TIMEOUT", help_heading = "Run")]
    pub timeout: Option<NonZeroU32>,
    /// L2 cache before each sample [default: all]
    #[arg(long, value_enum, value_name = "CONTROL", help_heading = "Run")]
    pub cache_control: Option<CacheControl>,
    /// Clocks of the GPU while it is measured; base and boost need an administrator
    #[arg(long, value_enum, default_value_t, value_name = "CONTROL", help_heading = "Run")]
    pub clock_control: ClockControl,
    /// NVML's library instead of libnvidia-ml.so.1
    #[arg(long, value_name = "PATH", env = "GPUPROF_NVML", value_parser = library, help_heading = "Run")]
    pub nvml_path: Option<Utf8PathBuf>,
    /// Do not wait for a GPU on which another gpuprof measures: exit with 107
    #[arg(long, help_heading = "Run")]
    pub no_wait: bool,
    /// How the hardware counters of a GPU are collected
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Run")]
    pub replay_mode: ReplayMode,
    /// What has processes of its own
    #[arg(long, value_enum, default_value_t, value_name = "UNIT", help_heading = "Run")]
    pub isolate: Isolate,
    /// Processes that prepare (context, module, inputs) while another one works [default: 1 where both collect counters,
    /// 0 where either takes times]. They stop for what is measured, but what they hold of the device's memory stays
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=4), help_heading = "Run")]
    pub ahead: Option<u8>,
    /// CUPTI's library or its folder, instead of looking for it
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library, help_heading = "Run")]
    pub cupti_path: Option<Utf8PathBuf>,
    /// Do not compare outputs with the host reference
    #[arg(long, help_heading = "Run")]
    pub no_verify: bool,
    /// Metrics to show, separated by commas, instead of the annotated ones
    #[arg(long, value_name = "METRICS", value_delimiter = ',', help_heading = "Run")]
    pub metrics: Vec<String>,
    /// Sections to show, by the name of a set; several separated by commas
    #[arg(long, value_enum, value_name = "SET", value_delimiter = ',', help_heading = "Run")]
    pub set: Vec<Set>,
    /// Sections to show, by name; several separated by commas
    #[arg(long, value_name = "SECTION", value_delimiter = ',', help_heading = "Run")]
    pub section: Vec<String>,
    /// Refuse to start where a configuration would need more counter passes
    #[arg(long, value_name = "N", env = "GPUPROF_MAX_PASSES", help_heading = "Run")]
    pub max_passes: Option<NonZeroU32>,
    /// Which launches of two passes are the same one
    #[arg(long, value_enum, default_value_t, value_name = "MATCH", help_heading = "Run")]
    pub app_replay_match: AppReplayMatch,
    /// How far the launches of two passes may differ
    #[arg(long, value_enum, default_value_t, value_name = "MODE", help_heading = "Run")]
    pub app_replay_mode: AppReplayMode,
    /// Print configurations and passes, and start nothing
    #[arg(long, help_heading = "Run")]
    pub dry_run: bool,
    /// Condition that every selected series must meet, such as 'best throughput >= 1 TB/s'
    #[arg(long, value_name = "CONDITION", help_heading = "Gate")]
    pub threshold: Vec<String>,
    /// Exit with 106 when a threshold cannot be judged
    #[arg(long, overrides_with = "no_strict", env = "GPUPROF_STRICT", help_heading = "Gate")]
    pub strict: bool,
    /// Do not exit with 106 when a threshold cannot be judged (the default)
    #[arg(long, overrides_with = "strict", help_heading = "Gate")]
    pub no_strict: bool,
    /// What it is compared with, and what that may decide.
    #[command(flatten)]
    pub gate: GateOptions,
    /// Run an archive made by `cargo gpuprof archive` instead of building
    #[arg(long, value_name = "FILE", help_heading = "Archive")]
    pub archive_file: Option<Utf8PathBuf>,
    /// Folder to unpack the archive to, instead of a temporary one
    #[arg(long, value_name = "DIR", requires = "archive_file", help_heading = "Archive")]
    pub extract_to: Option<Utf8PathBuf>,
    /// Configuration file instead of .config/gpuprof.toml
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    pub config_file: Option<Utf8PathBuf>,
    /// Read no configuration file
    #[arg(long, conflicts_with = "config_file", help_heading = "Configuration")]
    pub no_config: bool,
    /// How results are looked at.
    #[command(flatten)]
    pub view: ViewOptions,
    /// What is printed and written.
    #[command(flatten)]
    pub output: OutputOptions,
}
