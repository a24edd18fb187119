//! Options of `history`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

use super::word::word;
use super::{Color, FilterOptions, PlaceOptions};

/// Options of `history`.
#[derive(Debug, Args)]
pub struct HistoryOptions {
    /// The action.
    #[command(subcommand)]
    pub action: HistoryAction,
    /// The history [default: .config/gpuprof/history.jsonl in the workspace]
    #[arg(long, value_name = "FILE", global = true)]
    pub file: Option<Utf8PathBuf>,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}

/// The actions on a history.
#[derive(Debug, Subcommand)]
pub enum HistoryAction {
    /// Append the metrics of a stored run.
    Add(AddOptions),
    /// Show metrics over revisions, and the revisions that changed them.
    Show(ShowOptions),
}

/// Options of `history add`.
#[derive(Debug, Args)]
pub struct AddOptions {
    /// The run: `latest`, an id or a prefix of it, or a file
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Metrics to keep, separated by commas [default: the shown and the judged metrics]
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Also keep a run of uncommitted changes, as a separate point
    #[arg(long)]
    pub allow_dirty: bool,
}

/// Options of `history show`.
#[derive(Debug, Args)]
pub struct ShowOptions {
    /// The series and configurations to show.
    #[command(flatten)]
    pub filters: FilterOptions,
    /// Metrics to show, separated by commas [default: all]
    #[arg(long, value_name = "METRICS", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Show devices whose name contains this text
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Show only the last N revisions of each metric, and look for changes there
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// List every revision with its value
    #[arg(long)]
    pub revisions: bool,
    /// Format of standard output
    #[arg(long, value_parser = word::<HistoryFormat>(), default_value_t, value_name = "FORMAT")]
    pub format: HistoryFormat,
    /// When to colour
    #[arg(long, value_parser = word::<Color>(), default_value_t, value_name = "WHEN", env = "CARGO_TERM_COLOR")]
    pub color: Color,
}

gpuprof_model::words! {
    /// The formats that `history show` writes.
    pub enum HistoryFormat = Table {
        /// For people.
        Table = "table",
        /// One document with every timeline.
        Json = "json",
        /// One row a revision.
        Csv = "csv",
        /// One page with charts, to open in a browser.
        Html = "html",
    }
}
