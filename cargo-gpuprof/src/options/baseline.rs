//! Options of `baseline`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

use super::word::word;
use super::{MessageFormat, PlaceOptions};

/// Options of `baseline`.
#[derive(Debug, Args)]
pub struct BaselineOptions {
    /// The action.
    #[command(subcommand)]
    pub action: BaselineAction,
    /// The location of baselines.
    #[command(flatten)]
    pub place: PlaceOptions,
}

/// The actions on baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineAction {
    /// List the baselines.
    List {
        /// Format of the list
        #[arg(long, value_parser = word::<MessageFormat>(), default_value_t, value_name = "FORMAT")]
        message_format: MessageFormat,
    },
    /// Show a baseline as a report.
    Show {
        /// Name of the baseline
        name: String,
    },
    /// Remove a baseline.
    Rm {
        /// Name of the baseline
        name: String,
    },
    /// Write a baseline to a file.
    Export {
        /// Name of the baseline
        name: String,
        /// File to write
        file: Utf8PathBuf,
        /// Keep every sample, not only the values that a comparison needs
        #[arg(long)]
        samples: bool,
    },
    /// Keep the run in a file as a baseline.
    Import {
        /// File with the run
        file: Utf8PathBuf,
        /// Name of the baseline
        name: String,
        /// Put it in .config/gpuprof/baselines, for git
        #[arg(long)]
        checked_in: bool,
    },
    /// Make a stored run a baseline, replacing one of the same name.
    Accept {
        /// Name of the baseline
        name: String,
        /// The run: `latest`, an id or a prefix of it, or a file
        #[arg(long, value_name = "RUN", default_value = "latest")]
        run: String,
        /// Put it in .config/gpuprof/baselines, for git
        #[arg(long)]
        checked_in: bool,
        /// Keep every sample, not only the values that a comparison needs
        #[arg(long)]
        samples: bool,
    },
}
