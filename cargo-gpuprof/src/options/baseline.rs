//! Options of `baseline`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

use super::word::word;
use super::{MessageFormat, PlaceOptions};

/// Options of `baseline`.
#[derive(Debug, Args)]
pub struct BaselineOptions {
    /// What to do.
    #[command(subcommand)]
    pub action: BaselineAction,
    /// The location of baselines.
    #[command(flatten)]
    pub place: PlaceOptions,
}

/// What to do with baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineAction {
    /// List the baselines.
    List {
        /// How to print them
        #[arg(long, value_parser = word::<MessageFormat>(), default_value_t, value_name = "FORMAT")]
        message_format: MessageFormat,
    },
    /// Show a baseline as a report.
    Show {
        /// Its name
        name: String,
    },
    /// Remove a baseline.
    Rm {
        /// Its name
        name: String,
    },
    /// Write a baseline to a file.
    Export {
        /// Its name
        name: String,
        /// The file
        file: Utf8PathBuf,
        /// Keep every sample, not only what a comparison needs
        #[arg(long)]
        samples: bool,
    },
    /// Keep the run in a file as a baseline.
    Import {
        /// The file
        file: Utf8PathBuf,
        /// What to call it
        name: String,
        /// Put it in .config/gpuprof/baselines, for git
        #[arg(long)]
        checked_in: bool,
    },
    /// Make a stored run the baseline, replacing the one of that name.
    Accept {
        /// What it is called
        name: String,
        /// The run: `latest`, an id or a prefix of it, or a file
        #[arg(long, value_name = "RUN", default_value = "latest")]
        run: String,
        /// Put it in .config/gpuprof/baselines, for git
        #[arg(long)]
        checked_in: bool,
        /// Keep every sample, not only what a comparison needs
        #[arg(long)]
        samples: bool,
    },
}
