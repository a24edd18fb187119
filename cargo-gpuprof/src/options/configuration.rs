//! Which configuration file is read, and which preset of it.

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;

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
    /// Whether the command line says what to read, or to read nothing.
    pub fn is_explicit(&self) -> bool {
        self.no_config || self.config_file.is_some()
    }

    /// The file that was asked for.
    pub fn file(&self) -> Option<&Utf8Path> {
        self.config_file.as_deref()
    }
}
