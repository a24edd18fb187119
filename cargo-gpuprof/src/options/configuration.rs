//! Options for the configuration file and its preset.

use camino::Utf8PathBuf;
use clap::Args;

/// The configuration file to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConfigFile {
    /// The default file of the workspace or archive, if it exists.
    #[default]
    Usual,
    /// A file given by its path.
    At(Utf8PathBuf),
    /// None.
    None,
}

/// The configuration file and its preset.
#[derive(Debug, Clone, Default, Args)]
pub struct ConfigurationOptions {
    /// Configuration file instead of .config/gpuprof.toml
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    pub config_file: Option<Utf8PathBuf>,
    /// Read no configuration file
    #[arg(long, conflicts_with = "config_file", help_heading = "Configuration")]
    pub no_config: bool,
    /// Settings of the table [preset.NAME] of the configuration file
    #[arg(
        short = 'P',
        long,
        value_name = "NAME",
        env = "GPUPROF_PRESET",
        help_heading = "Configuration"
    )]
    pub preset: Option<String>,
}

impl ConfigurationOptions {
    /// The file that was asked for.
    pub fn file(&self) -> ConfigFile {
        match &self.config_file {
            _ if self.no_config => ConfigFile::None,
            Some(path) => ConfigFile::At(path.clone()),
            None => ConfigFile::Usual,
        }
    }
}
