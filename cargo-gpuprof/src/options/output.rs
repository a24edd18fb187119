//! Options of what is printed and written.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum};

use super::KeepRuns;

/// What standard output carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Tables.
    #[default]
    Human,
    /// One JSON object a line, each with a "reason".
    Json,
}

/// Where results go.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Format of standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
    /// Write tidy CSV, one row per configuration and metric; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Option<Utf8PathBuf>,
    /// Write the run document as JSON; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_json: Option<Utf8PathBuf>,
    /// Write Markdown tables; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_markdown: Option<Utf8PathBuf>,
    /// How many runs to keep below the target folder, the newest first; or all
    #[arg(long, value_name = "N|all", env = "GPUPROF_KEEP_RUNS", help_heading = "Output")]
    pub keep_runs: Option<KeepRuns>,
    /// When to colour
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        env = "CARGO_TERM_COLOR",
        help_heading = "Output"
    )]
    pub color: Color,
    /// Print no progress
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Where the terminal shows colour.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
