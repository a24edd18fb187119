//! Options of `check`.

use std::num::NonZeroU32;

use clap::Args;
use gpuprof_model::machine::Chip;

use super::at_least_one::at_least_one;
use super::word::word;
use super::{
    CargoOptions, ConfigurationOptions, FailureOptions, Given, KernelOptions, OutputOptions,
    SelectionOptions,
};

/// Options of `check`.
#[derive(Debug, Clone, Default, Args)]
pub struct CheckOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The series to check.
    #[command(flatten)]
    pub selection: SelectionOptions,
    /// How to build.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to build the kernels.
    #[command(flatten)]
    pub kernels: KernelOptions,
    /// Chip that the emulated driver is; several, separated by commas, run the same configurations
    /// [default: h200]
    #[arg(long, value_parser = word::<Chip>(), value_name = "CHIP", value_delimiter = ',', help_heading = "Run")]
    pub chip: Vec<Chip>,
    /// Seconds before a process is killed, not counting the time it waits for other processes of
    /// the run
    #[arg(long, value_name = "SECONDS", env = "GPUPROF_TIMEOUT", help_heading = "Run")]
    #[arg(value_parser = at_least_one::<NonZeroU32>)]
    pub timeout: Option<NonZeroU32>,
    /// The options for failures.
    #[command(flatten)]
    pub failures: FailureOptions,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// The outputs.
    #[command(flatten)]
    pub output: OutputOptions,
}
