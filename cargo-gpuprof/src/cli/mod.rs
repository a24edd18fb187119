//! The command line: clap structures only, one per subcommand.

mod cargo;
mod gate;
mod library;
mod output;
mod parse;
mod run;
mod view;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use gpuprof_model::ExitCode;

pub use cargo::CargoOptions;
pub use gate::{
    BaselineAction, BaselineOptions, CalibrateOptions, CompareOptions, Format, GateOptions,
    PlaceOptions, ReportOptions,
};
pub use library::library;
pub use output::{MessageFormat, OutputOptions};
pub use parse::{parse, with_subcommand_word};
pub use run::{
    AppReplayMatch, AppReplayMode, Backend, CacheControl, ClockControl, Isolate, KernelOptions,
    ReplayMode, RunOptions, SelectionOptions, Set,
};
pub use view::ViewOptions;

use crate::device::choice::Asked;

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
    #[command(version, after_help = exit_codes(), display_name = "cargo-gpuprof")]
    Gpuprof(Gpuprof),
}

/// `cargo gpuprof`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gpuprof {
    /// What to do; without it, `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunOptions,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build, profile and judge series (the default).
    #[command(visible_alias = "r", after_help = exit_codes())]
    Run(Box<RunOptions>),
    /// List kernels, axes and configuration counts.
    List(Box<ListOptions>),
    /// List and search the metrics that thresholds and --metrics may name.
    Metrics(MetricsOptions),
    /// Judge a stored run against another.
    #[command(after_help = exit_codes())]
    Compare(Box<CompareOptions>),
    /// Write a stored run in any format, without a GPU.
    Report(Box<ReportOptions>),
    /// List, show, move and replace baselines.
    Baseline(Box<BaselineOptions>),
    /// Measure the noise of this machine: one build against itself.
    Calibrate(Box<CalibrateOptions>),
    /// Show every setting and threshold with the layer it comes from.
    ShowConfig(Box<RunOptions>),
    /// Check this machine: driver, permission, CUPTI, toolchain, emulator.
    Doctor(DoctorOptions),
    /// Answer a question about a library, in a process of its own.
    #[command(name = crate::cupti::SUBCOMMAND, hide = true)]
    Ask(AskOptions),
    /// Guard locked clocks, in a process of its own.
    #[command(name = crate::device::guard::SUBCOMMAND, hide = true)]
    Guard(GuardOptions),
    /// Pack harnesses, PTX and metadata for a machine without cargo and source.
    Archive(Box<ArchiveOptions>),
}

/// The names of the subcommands that users know.
pub fn subcommands() -> Vec<String> {
    let cargo = Cargo::command();
    let all = cargo.get_subcommands().flat_map(clap::Command::get_subcommands);
    all.filter(|command| !command.is_hide_set()).map(|it| it.get_name().to_owned()).collect()
}

/// Options of `list`.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// What to list.
    #[command(flatten)]
    pub selection: SelectionOptions,
    /// How to build it.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
    /// When to colour.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output")]
    pub color: Color,
}

/// Options of `metrics`.
#[derive(Debug, Clone, Default, Args)]
pub struct MetricsOptions {
    /// Show only metrics whose name or description holds this text; describe the one whose whole name it is
    #[arg(value_name = "TEXT")]
    pub search: Option<String>,
    /// List the counters of a chip, such as gh100, which needs CUPTI and no GPU
    #[arg(long, value_name = "CHIP", env = "GPUPROF_CHIP")]
    pub chip: Option<String>,
    /// Describe one metric: unit, hardware unit, kind, submetrics, passes
    #[arg(long, value_name = "NAME", conflicts_with = "search")]
    pub describe: Option<String>,
    /// List the chips that CUPTI knows
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_chips: bool,
    /// List the sets of sections
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_sets: bool,
    /// List the sections and their metrics
    #[arg(long, group = "listing", conflicts_with_all = ["search", "describe"])]
    pub list_sections: bool,
    /// CUPTI's library or its folder, instead of looking for it
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library)]
    pub cupti_path: Option<camino::Utf8PathBuf>,
}

/// Options of `doctor`.
#[derive(Debug, Clone, Default, Args)]
pub struct DoctorOptions {
    /// Which driver is expected to run kernels
    #[arg(long, value_enum, default_value_t, value_name = "BACKEND", env = "GPUPROF_BACKEND")]
    pub backend: Backend,
    /// GPUs that have to work, as `run` names them [default: the first, and the others are looked at]
    #[arg(long, value_name = "DEVICES", env = "GPUPROF_DEVICES")]
    pub devices: Option<Asked>,
    /// CUPTI's library or its folder, instead of looking for it
    #[arg(long, value_name = "PATH", env = "GPUPROF_CUPTI", value_parser = library)]
    pub cupti_path: Option<camino::Utf8PathBuf>,
    /// NVML's library instead of libnvidia-ml.so.1
    #[arg(long, value_name = "PATH", env = "GPUPROF_NVML", value_parser = library)]
    pub nvml_path: Option<camino::Utf8PathBuf>,
    /// Toolchain for the kernels
    #[arg(long, value_name = "TOOLCHAIN", env = "GPUPROF_KERNEL_RUSTC")]
    pub kernel_toolchain: Option<String>,
}

/// The files of a question.
#[derive(Debug, Clone, Args)]
pub struct AskOptions {
    /// Where the question is
    pub request: std::path::PathBuf,
    /// Where the answer goes
    pub reply: std::path::PathBuf,
}

/// Options of the guard of locked clocks.
#[derive(Debug, Clone, Args)]
pub struct GuardOptions {
    /// The device's UUID
    #[arg(long)]
    pub device: String,
    /// What to lock; with none, locked clocks are only put back
    #[arg(long, value_enum)]
    pub clocks: ClockControl,
    /// NVML's library instead of libnvidia-ml.so.1
    #[arg(long)]
    pub nvml_path: Option<std::path::PathBuf>,
}

/// Options of `archive`.
#[derive(Debug, Args)]
pub struct ArchiveOptions {
    /// The archive to write, a .tar.zst file.
    #[arg(long, value_name = "FILE")]
    pub archive_file: camino::Utf8PathBuf,
    /// How to build it.
    #[command(flatten)]
    pub cargo: CargoOptions,
    /// How to build the kernels.
    #[command(flatten)]
    pub kernels: KernelOptions,
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

fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in ExitCode::TABLE {
        text.push_str(&format!("  {:<4} {meaning}\n", code.code()));
    }
    text.push_str("  128+n  ended by signal n, with what was measured kept");
    text
}

/// What a command line says, for tests.
#[cfg(test)]
pub(crate) fn parsed(line: &str) -> Gpuprof {
    let Cargo::Gpuprof(parsed) =
        Cargo::try_parse_from(with_subcommand_word(line.split(' ').map(Into::into)))
            .unwrap_or_else(|e| panic!("{line}: {e}"));
    parsed
}

#[cfg(test)]
mod tests {
    use super::parsed as parse;
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cargo::command().debug_assert();
    }

    #[test]
    fn run_is_the_default_with_or_without_cargo() {
        let direct = parse("cargo-gpuprof --series block=64..1024");
        assert!(direct.command.is_none());
        assert_eq!(direct.run.selection.series, ["block=64..1024"]);
        let by_cargo = parse("cargo-gpuprof gpuprof run -p saxpy");
        assert!(
            matches!(by_cargo.command, Some(Command::Run(run)) if run.cargo.package == ["saxpy"])
        );
    }

    #[test]
    fn a_place_may_stand_before_or_after_what_to_do_with_baselines() {
        for line in ["baseline --target-dir t list", "baseline list --target-dir t"] {
            let parsed = parse(&format!("cargo-gpuprof {line}")).command;
            let of_baselines = |options: &BaselineOptions| options.place.target_dir.clone();
            let Some(Command::Baseline(options)) = &parsed else { panic!("{line}") };
            assert_eq!(of_baselines(options), Some("t".into()), "{line}");
        }
    }

    #[test]
    fn help_strings_start_with_a_capital_and_end_without_a_stop() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                if let Some(help) = argument.get_help() {
                    let help = help.to_string();
                    assert!(help.starts_with(|c: char| !c.is_lowercase()), "{help}");
                    assert!(!help.ends_with('.'), "{help}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cargo::command());
    }
}
