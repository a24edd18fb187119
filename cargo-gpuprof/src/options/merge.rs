//! Options of `merge`.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};

use super::{
    CargoOptions, ConfigurationOptions, GateOptions, JudgingOptions, OutputOptions, PlaceOptions,
    RunOptions, ViewOptions,
};

/// Which of several measurements of one slice counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Prefer {
    /// The one that was whole first, whatever it found
    #[default]
    First,
    /// The newest one that is whole
    Newest,
}

/// Options of `merge`.
#[derive(Debug, Args)]
pub struct MergeOptions {
    /// Folders with slices of one plan: that of --slices, of a plan, or of single slices
    #[arg(value_name = "DIR|RUN", required = true)]
    pub from: Vec<Utf8PathBuf>,
    /// Only print the numbers of the slices to measure again, such as 3,7, for `sbatch --array`
    #[arg(long)]
    pub missing: bool,
    /// Accept that slices are missing or were not measured to their end
    #[arg(long)]
    pub partial: bool,
    /// Which measurement counts of a slice that was measured twice
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub prefer: Prefer,
    /// Compare with this baseline: a name, or a file with a run
    #[arg(long, value_name = "NAME|FILE", env = "GPUPROF_BASELINE", help_heading = "Gate")]
    pub baseline: Option<String>,
    /// Keep the merged run as a baseline unless it fails
    #[arg(long, value_name = "NAME", help_heading = "Gate")]
    pub save_baseline: Option<String>,
    /// What may decide the exit code.
    #[command(flatten)]
    pub judging: JudgingOptions,
    /// Which configuration file is read.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// Which rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// What is printed and written.
    #[command(flatten)]
    pub output: OutputOptions,
    /// Where the workspace and its target folder are.
    #[command(flatten)]
    pub place: PlaceOptions,
}

impl MergeOptions {
    /// The options of the run that is made, for the settings that it has.
    pub fn of_run(&self) -> RunOptions {
        RunOptions {
            cargo: CargoOptions::from(&self.place),
            gate: GateOptions {
                baseline: self.baseline.clone(),
                save_baseline: self.save_baseline.clone(),
                judging: self.judging.clone(),
                ..GateOptions::default()
            },
            configuration: self.configuration.clone(),
            view: self.view.clone(),
            output: self.output.clone(),
            ..RunOptions::default()
        }
    }
}
