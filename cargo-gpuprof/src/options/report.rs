//! Options of `report` and `compare`.

use camino::Utf8PathBuf;
use clap::Args;
use gpuprof_report::{FileLine, Format};

use super::word::word;
use super::{Color, ConfigurationOptions, Given, JudgingOptions, PlaceOptions, ViewOptions};

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The run: `latest`, an id or a prefix of it, or a file
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Format of the report
    #[arg(long, value_parser = word::<Format>(), default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// File to write instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<Utf8PathBuf>,
    /// Write each chart as an SVG file into a folder as well
    #[arg(long, value_name = "DIR")]
    pub export_svg: Option<Utf8PathBuf>,
    /// Write the HTML page, to --output or below the target folder, and open it in the browser
    #[arg(long)]
    pub open: bool,
    /// Show the source with its counts: the lines that cost most, or those around FILE:LINE
    #[arg(long, value_name = "FILE:LINE", value_parser = FileLine::parse, conflicts_with = "open")]
    pub source: Option<Option<FileLine>>,
    /// Show the code of kernels that changed since the baseline, side by side
    #[arg(long, conflicts_with_all = ["open", "source"])]
    pub code_diff: bool,
    /// When to colour
    #[arg(long, value_parser = word::<Color>(), value_name = "WHEN", env = "CARGO_TERM_COLOR")]
    pub color: Option<Color>,
    /// Folder of your own rules of advice, instead of .config/gpuprof/rules
    #[arg(long, value_name = "DIR")]
    pub rules: Option<Utf8PathBuf>,
    /// The origins of settings that are not given here.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// The rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// Show the notes on noise as well
    #[arg(short, long)]
    pub verbose: bool,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The run to compare with: a baseline, `latest`, an id, or a file
    #[arg(value_name = "BASELINE")]
    pub baseline: String,
    /// The run to judge
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Condition to judge by as well, such as 'every duration <= baseline + 5%'; it replaces an
    /// equivalent one of the run or of the defaults
    #[arg(long, value_name = "CONDITION")]
    pub threshold: Vec<String>,
    /// The rules of the exit code.
    #[command(flatten)]
    pub judging: JudgingOptions,
    /// The origins of settings that are not given here.
    #[command(flatten)]
    pub configuration: ConfigurationOptions,
    /// Format of the report
    #[arg(long, value_parser = word::<Format>(), default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// When to colour
    #[arg(long, value_parser = word::<Color>(), value_name = "WHEN", env = "CARGO_TERM_COLOR")]
    pub color: Option<Color>,
    /// The rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// Show the notes on noise as well
    #[arg(short, long)]
    pub verbose: bool,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}
