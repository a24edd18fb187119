//! Options of the gate: the baseline of a run, and the rules of the exit code.

use camino::Utf8PathBuf;
use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};

use super::word::word;
use super::{
    Color, ConfigurationOptions, Given, Interleave, MessageFormat, PlaceOptions, ViewOptions,
};
use gpuprof_report::{FileLine, Format};

/// The baseline of a run, and the rules of the exit code.
#[derive(Debug, Clone, Default, Args)]
pub struct GateOptions {
    /// Compare with this baseline: a name, or a file with a run
    #[arg(long, value_name = "NAME|FILE", env = "GPUPROF_BASELINE", help_heading = "Gate")]
    pub baseline: Option<String>,
    /// Build and measure another revision next to this one and compare with it: a git revision,
    /// `merge-base`, a folder with another checkout, or an archive
    #[arg(
        long,
        value_name = "REV",
        conflicts_with_all = ["baseline", "load_baseline"],
        help_heading = "Gate"
    )]
    pub base: Option<String>,
    /// As --base, with an archive of the other revision
    #[arg(
        long,
        value_name = "FILE",
        requires = "archive_file",
        conflicts_with_all = ["base", "baseline", "load_baseline"],
        help_heading = "Gate"
    )]
    pub base_archive: Option<Utf8PathBuf>,
    /// Compare this stored run with the baseline instead of measuring: a name, or a file with a run
    #[arg(
        long,
        value_name = "NAME|FILE",
        conflicts_with_all = [
            "save_baseline", "resume", "dry_run", "archive_file", "filters", "filterset",
            "exclude_series", "series", "sample", "package", "exclude", "partition",
        ],
        help_heading = "Gate"
    )]
    pub load_baseline: Option<String>,
    /// Keep this run as a baseline unless it fails
    #[arg(long, value_name = "NAME", help_heading = "Gate")]
    pub save_baseline: Option<String>,
    /// The rules of the exit code.
    #[command(flatten)]
    pub judging: JudgingOptions,
    /// Order of the passes on a GPU
    #[arg(long, value_parser = word::<Interleave>(), value_name = "ORDER", help_heading = "Run")]
    pub interleave: Option<Interleave>,
    /// Resume an interrupted run: its id, a prefix of it, or by default the last; with --slices,
    /// `auto` resumes the slice if it was started, and otherwise starts it
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest", help_heading = "Run")]
    pub resume: Option<String>,
    /// With --resume, seconds to wait while another process is working on the run; then the exit
    /// code is 75 [default: 3, or 120 with --resume=auto]
    #[arg(long, value_name = "SECONDS", env = "GPUPROF_WAIT_LOCK", help_heading = "Run")]
    pub wait_lock: Option<u32>,
}

/// The rules of the exit code.
#[derive(Debug, Clone, Default, Args)]
pub struct JudgingOptions {
    /// Exit with 106 when a threshold cannot be judged [env: GPUPROF_STRICT=true]
    #[arg(long, overrides_with = "no_strict", help_heading = "Gate")]
    pub strict: bool,
    /// The environment's value. A separate option: clap counts a flag that the environment sets as
    /// given, and refuses the opposite one next to it.
    #[arg(
        long = "GPUPROF_STRICT",
        hide = true,
        value_name = "BOOL",
        value_parser = BoolishValueParser::new(),
        env = "GPUPROF_STRICT"
    )]
    pub strict_by_environment: Option<bool>,
    /// Do not exit with 106 when a threshold cannot be judged (the default)
    #[arg(long, overrides_with = "strict", help_heading = "Gate")]
    pub no_strict: bool,
    /// Allow a baseline of another device
    #[arg(long, overrides_with = "no_across_devices", help_heading = "Gate")]
    pub across_devices: bool,
    /// Do not compare with a baseline of another device (the default)
    #[arg(long, overrides_with = "across_devices", help_heading = "Gate")]
    pub no_across_devices: bool,
    /// Judge and report, but exit with 0 when a threshold fails
    #[arg(long, overrides_with = "gate", help_heading = "Gate")]
    pub no_gate: bool,
    /// Let thresholds decide the exit code (the default)
    #[arg(long, overrides_with = "no_gate", help_heading = "Gate")]
    pub gate: bool,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// The settings that are given.
    #[command(flatten)]
    pub given: Given,
    /// The run: `latest`, an id or a prefix of it, or a file
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// How to write it
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
    /// Which rows and columns to show.
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
    /// How to write it
    #[arg(long, value_parser = word::<Format>(), default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// When to colour
    #[arg(long, value_parser = word::<Color>(), value_name = "WHEN", env = "CARGO_TERM_COLOR")]
    pub color: Option<Color>,
    /// Which rows and columns to show.
    #[command(flatten)]
    pub view: ViewOptions,
    /// Show the notes on noise as well
    #[arg(short, long)]
    pub verbose: bool,
    /// The location of runs.
    #[command(flatten)]
    pub place: PlaceOptions,
}

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
