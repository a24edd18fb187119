//! Options of `rules`.

use camino::Utf8PathBuf;
use clap::Args;

use super::{ConfigurationOptions, Given, PlaceOptions, library};

/// Options of `rules`.
#[derive(Debug, Clone, Args)]
pub struct RulesOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// Show this rule in full
    #[arg(value_name = "RULE")]
    pub rule: Option<String>,
    /// Show the counters that the rules lack in this run: `latest`, an id or a prefix of it, or a
    /// file
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Show the cost of the rules' counters on a chip, such as gh100; needs CUPTI, but no GPU
    #[arg(long, value_name = "CHIP", env = "GPUPROF_CHIP")]
    pub chip: Option<String>,
    /// CUPTI's library or its folder, instead of searching the usual places
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library)]
    pub cupti_path: Option<Utf8PathBuf>,
    /// Folder of your own rules, instead of .config/gpuprof/rules
    #[arg(long, value_name = "DIR")]
    pub rules: Option<Utf8PathBuf>,
    /// The configuration file.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}
