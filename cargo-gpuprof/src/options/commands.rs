//! Options of the smaller subcommands.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_engine::device::RequestedDevice;
use gpuprof_engine::device::guard::Guarded;
use gpuprof_model::machine::ClockControl;

use super::word::word;
use super::{
    BackendChoice, CargoOptions, ConfigurationOptions, DeviceSelection, Given, KernelOptions,
    MessageFormat, PartitionOptions, SelectionOptions, library,
};

/// Options of `list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The series to list.
    #[command(flatten)]
    pub selection: SelectionOptions,
    /// How to build it.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// Format of standard output
    #[arg(long, value_parser = word::<MessageFormat>(), value_name = "FORMAT", help_heading = "Output")]
    pub message_format: Option<MessageFormat>,
    /// Print no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
    /// List the series of an archive made by `cargo gpuprof archive` instead of building
    #[arg(long, value_name = "FILE", help_heading = "Archive")]
    pub archive_file: Option<Utf8PathBuf>,
    /// The slice to list.
    #[command(flatten)]
    pub part: PartitionOptions,
}

/// Options of `metrics`.
#[derive(Debug, Clone, Default, Args)]
pub struct MetricsOptions {
    /// Show only metrics whose name or description contains this text; describe the metric if it is
    /// a full name
    #[arg(value_name = "TEXT")]
    pub search: Option<String>,
    /// List the counters of a chip, such as gh100; needs CUPTI, but no GPU
    #[arg(long, value_name = "CHIP", env = "GPUPROF_CHIP")]
    pub chip: Option<String>,
    /// Describe one metric: unit, hardware unit, kind, submetrics, passes
    #[arg(long, value_name = "NAME", conflicts_with = "search")]
    pub describe: Option<String>,
    /// List the chips that CUPTI knows
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_chips: bool,
    /// List the sets of sections; with --chip, also the passes that each needs
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_sets: bool,
    /// List the sections and their metrics
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_sections: bool,
    /// CUPTI's library or its folder, instead of searching the usual places
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library)]
    pub cupti_path: Option<Utf8PathBuf>,
    /// Path to Cargo.toml: use the metrics and sections of its workspace, not those of the current
    /// folder
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<Utf8PathBuf>,
    /// Format of standard output
    #[arg(long, value_parser = word::<MessageFormat>(), default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
}

/// Options of `doctor`.
#[derive(Debug, Clone, Default, Args)]
pub struct DoctorOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// Driver that has to run kernels
    #[arg(long, value_parser = word::<BackendChoice>(), value_name = "BACKEND", env = "GPUPROF_BACKEND")]
    pub backend: Option<BackendChoice>,
    /// GPUs that have to work, named as for `run` [default: the first; the others are only checked]
    #[arg(long, value_name = "DEVICES", env = "GPUPROF_DEVICES")]
    pub devices: Option<DeviceSelection>,
    /// CUPTI's library or its folder, instead of searching the usual places
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library)]
    pub cupti_path: Option<Utf8PathBuf>,
    /// NVML's library, instead of libnvidia-ml.so.1
    #[arg(long, value_name = "PATH", env = "GPUPROF_NVML", value_parser = library)]
    pub nvml_path: Option<Utf8PathBuf>,
    /// Toolchain for the kernels
    #[arg(long, value_name = "TOOLCHAIN", env = "GPUPROF_KERNEL_RUSTC")]
    pub kernel_toolchain: Option<String>,
    /// Check this archive, and whether its harnesses start here, instead of the toolchain
    #[arg(long, value_name = "FILE")]
    pub archive_file: Option<Utf8PathBuf>,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// Format of standard output
    #[arg(long, value_parser = word::<MessageFormat>(), value_name = "FORMAT")]
    pub message_format: Option<MessageFormat>,
}

/// Options of `characterize`.
#[derive(Debug, Clone, Args)]
pub struct CharacterizeOptions {
    /// The GPU to measure, by its position or its UUID
    #[arg(long, value_name = "DEVICE", default_value = "0")]
    pub device: RequestedDevice,
    /// Write the constants as JSON too
    #[arg(long, value_name = "FILE")]
    pub output: Option<Utf8PathBuf>,
}

/// Options of `archive`.
#[derive(Debug, Args)]
pub struct ArchiveOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The archive to write, a .tar.zst file.
    #[arg(long, value_name = "FILE")]
    pub archive_file: Utf8PathBuf,
    /// How to build it.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to build the kernels.
    #[command(flatten)]
    pub kernels: KernelOptions,
    /// Print no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// Options of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsOptions {
    /// The shell that reads the script
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManOptions {
    /// Write a page for cargo-gpuprof and for each of its subcommands into this folder, such as
    /// ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<Utf8PathBuf>,
}

/// The files of a question.
#[derive(Debug, Clone, Args)]
pub struct AskOptions {
    /// File with the question
    pub request: std::path::PathBuf,
    /// File for the answer
    pub reply: std::path::PathBuf,
}

/// Options of the guard of locked clocks.
#[derive(Debug, Clone, Args)]
pub struct GuardOptions {
    /// The device's UUID
    #[arg(long)]
    pub device: String,
    /// Clocks to lock; none only restores locked clocks
    #[arg(long, value_parser = word::<ClockControl>())]
    pub clocks: ClockControl,
    /// NVML's library, instead of libnvidia-ml.so.1
    #[arg(long)]
    pub nvml_path: Option<PathBuf>,
}

impl From<GuardOptions> for Guarded {
    fn from(GuardOptions { device, clocks, nvml_path }: GuardOptions) -> Self {
        Self { device, clocks, nvml_path }
    }
}
