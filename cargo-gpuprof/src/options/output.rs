//! Options of what is printed and written.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use camino::Utf8PathBuf;
use clap::Args;

use super::KeepRuns;
use super::word::word;

gpuprof_model::words! {
    /// The contents of standard output.
    pub enum MessageFormat = Human {
        /// Tables.
        Human = "human",
        /// One JSON object a line, each with a "reason".
        Json = "json",
    }
}

/// The destinations of results.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputOptions {
    /// Format of standard output
    #[arg(long, value_parser = word::<MessageFormat>(), value_name = "FORMAT", help_heading = "Output")]
    pub message_format: Option<MessageFormat>,
    /// Write tidy CSV, one row per configuration and metric; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Option<Utf8PathBuf>,
    /// Write one HTML page with charts; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_html: Option<Utf8PathBuf>,
    /// Write the run document as JSON; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_json: Option<Utf8PathBuf>,
    /// Write JUnit XML, one test case per configuration; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_junit: Option<Utf8PathBuf>,
    /// Write Markdown tables; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_markdown: Option<Utf8PathBuf>,
    /// Write each chart as an SVG file into a folder, readable on light and on dark pages
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub export_svg: Option<Utf8PathBuf>,
    /// Open the HTML page of the run in the browser
    #[arg(long, help_heading = "Output")]
    pub open: bool,
    /// How many runs to keep below the target folder, the newest first; or all
    #[arg(long, value_name = "N|all", env = "GPUPROF_KEEP_RUNS", help_heading = "Output")]
    pub keep_runs: Option<KeepRuns>,
    /// When to colour
    #[arg(
        long,
        value_parser = word::<Color>(),
        value_name = "WHEN",
        env = "CARGO_TERM_COLOR",
        help_heading = "Output"
    )]
    pub color: Option<Color>,
    /// Print no progress
    #[arg(short, long, overrides_with = "no_quiet", help_heading = "Output")]
    pub quiet: bool,
    /// Print progress (the default)
    #[arg(long, overrides_with = "quiet", help_heading = "Output")]
    pub no_quiet: bool,
}

gpuprof_model::words! {
    /// When to colour.
    pub enum Color = Auto {
        /// If the terminal shows colour.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
}

impl Color {
    /// Whether text on `stream` is coloured. Without a choice the terminal decides, and the
    /// variables of the environment that are usual (`NO_COLOR`, `CLICOLOR`).
    pub fn shows_on(self, stream: &impl RawStream) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => AutoStream::choice(stream) != ColorChoice::Never,
        }
    }
}
