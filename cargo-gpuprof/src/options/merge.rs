//! Options of `merge`.

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_engine::merge::Prefer;

use super::word::word;
use super::{
    ConfigurationOptions, Given, JudgingOptions, OutputOptions, PlaceOptions, ViewOptions,
};

/// Options of `merge`.
#[derive(Debug, Args)]
pub struct MergeOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// Folders with slices of one plan: that of --slices, of a plan, or of single slices
    #[arg(value_name = "DIR|RUN", required = true)]
    pub from: Vec<Utf8PathBuf>,
    /// Only print the numbers of the slices to measure again, such as 3,7, for `sbatch --array`
    #[arg(long)]
    pub missing: bool,
    /// Accept missing and unfinished slices
    #[arg(long)]
    pub partial: bool,
    /// Measurement to keep of a slice that was measured twice
    #[arg(long, value_parser = word::<Prefer>(), default_value_t, value_name = "WHICH")]
    pub prefer: Prefer,
    /// Compare with this baseline: a name, or a file with a run
    #[arg(long, value_name = "NAME|FILE", env = "GPUPROF_BASELINE", help_heading = "Gate")]
    pub baseline: Option<String>,
    /// Keep the merged run as a baseline unless it fails
    #[arg(long, value_name = "NAME", help_heading = "Gate")]
    pub save_baseline: Option<String>,
    /// The rules of the exit code.
    #[command(flatten)]
    pub judging: JudgingOptions,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// The rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// Show the notes on noise as well
    #[arg(short, long)]
    pub verbose: bool,
    /// The outputs.
    #[command(flatten)]
    pub output: OutputOptions,
    /// The workspace and its target folder.
    #[command(flatten)]
    pub place: PlaceOptions,
}
