//! Options of the gate: the baseline of a run, and the rules of the exit code.

use camino::Utf8PathBuf;
use clap::Args;
use clap::builder::BoolishValueParser;

use super::Interleave;
use super::word::word;

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
