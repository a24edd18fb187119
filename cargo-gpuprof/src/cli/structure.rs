//! The structures that clap fills in: one per subcommand.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use gpuprof_model::ExitCode;

use crate::options::{
    ArchiveOptions, AskOptions, BaselineOptions, BecomeOptions, CalibrateOptions,
    CharacterizeOptions, CheckOptions, CompareOptions, CompletionsOptions, DoctorOptions,
    EmulateOptions, GuardOptions, HistoryOptions, ListOptions, ManOptions, MergeOptions,
    MetricsOptions, ReportOptions, RulesOptions, RunOptions, RunsOptions,
};

/// The version, and the commit of the build if the build script knows it.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("GPUPROF_COMMIT"));

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// The word cargo passes before our own arguments.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo", styles = STYLES, max_term_width = 100)]
pub enum Cargo {
    /// Profile Rust CUDA kernels over launch-parameter series and gate on the result.
    #[command(version = VERSION, after_help = exit_codes(), display_name = "cargo-gpuprof")]
    Gpuprof(Gpuprof),
}

/// `cargo gpuprof`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gpuprof {
    /// The subcommand; none for `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunOptions,
}

impl Gpuprof {
    /// Every set of options of `run` that was given.
    pub(super) fn runs(&mut self) -> impl Iterator<Item = &mut RunOptions> {
        let below = match &mut self.command {
            Some(Command::Run(run) | Command::ShowConfig(run)) => Some(&mut **run),
            Some(Command::Calibrate(calibrate)) => Some(&mut calibrate.run),
            _ => None,
        };
        [&mut self.run].into_iter().chain(below)
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build, profile and judge series (the default).
    #[command(visible_alias = "r", after_help = exit_codes())]
    Run(Box<RunOptions>),
    /// Find faults: run every configuration on the emulated driver with all checks.
    #[command(after_help = exit_codes())]
    Check(Box<CheckOptions>),
    /// List kernels, axes and configuration counts.
    List(Box<ListOptions>),
    /// List and search the metrics that thresholds and --metrics may name.
    Metrics(MetricsOptions),
    /// List the rules of advice, show one in full, and name the counters that a run lacks for them.
    Rules(RulesOptions),
    /// Judge a stored run against another.
    #[command(after_help = exit_codes())]
    Compare(Box<CompareOptions>),
    /// Write a stored run in any format, without a GPU.
    Report(Box<ReportOptions>),
    /// Merge the slices of `run --partition` into one run.
    #[command(after_help = exit_codes())]
    Merge(Box<MergeOptions>),
    /// List, show, move and replace baselines.
    Baseline(Box<BaselineOptions>),
    /// List, show and remove stored runs.
    Runs(RunsOptions),
    /// Record metrics of every revision, and show the revisions that changed them.
    History(Box<HistoryOptions>),
    /// Measure the noise of this machine: one build against itself.
    Calibrate(Box<CalibrateOptions>),
    /// Measure the constants of a GPU that the model of estimated times needs.
    Characterize(CharacterizeOptions),
    /// Run any CUDA program on the emulated driver, without a GPU.
    Emulate(EmulateOptions),
    /// Show every setting and threshold with the layer it comes from.
    ShowConfig(Box<RunOptions>),
    /// Check this machine: driver, permission, CUPTI, toolchain, emulator.
    Doctor(DoctorOptions),
    /// Answer a question about a library, in a separate process.
    #[command(name = gpuprof_engine::cupti::SUBCOMMAND, hide = true)]
    Ask(AskOptions),
    /// Compile CUDA C++, in a separate process.
    #[command(name = gpuprof_build::cuda_cpp::SUBCOMMAND, hide = true)]
    Nvrtc(AskOptions),
    /// Run a user's program as a child that ends with its parent.
    #[command(name = crate::commands::emulate::SUBCOMMAND, hide = true)]
    Become(BecomeOptions),
    /// Guard locked clocks, in a separate process.
    #[command(name = gpuprof_engine::device::guard::SUBCOMMAND, hide = true)]
    Guard(GuardOptions),
    /// Pack harnesses, kernels and metadata for a machine without cargo and source.
    Archive(Box<ArchiveOptions>),
    /// Write a completion script for a shell to standard output.
    Completions(CompletionsOptions),
    /// Write the manual page to standard output, or all pages into a folder.
    Man(ManOptions),
}

fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in ExitCode::TABLE {
        text.push_str(&format!("  {:<4} {meaning}\n", code.code()));
    }
    text.push_str("  128+n  ended by signal n, with what was measured kept");
    text
}
