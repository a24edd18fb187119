//! Which configuration file is read, and which preset of it.

use camino::Utf8PathBuf;
use clap::Args;

/// Which configuration file is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConfigFile {
    /// The usual one of the workspace, or of the archive, if it has one.
    #[default]
    Usual,
    /// This one.
    At(Utf8PathBuf),
    /// None.
    None,
}

/// Which configuration file is read, and which preset of it.
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
