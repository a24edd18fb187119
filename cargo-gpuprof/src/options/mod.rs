//! Options: what a user can ask for, as types that several rooms share.
//!
//! Input: words of the command line (clap), of the configuration file and of presets (serde).
//! Output: typed values. Of the tool this room looks at the list of report formats only; `cli`
//! arranges its structures into subcommands.

mod ahead;
mod at_least_one;
mod calibrate;
mod cargo;
mod commands;
mod configuration;
mod devices;
mod either;
mod emulate;
mod gate;
mod history;
mod keep_runs;
mod library;
mod machine;
mod merge;
mod order;
mod output;
mod partition;
mod replay;
mod rules;
mod run;
mod runs;
mod set;
mod settings;
mod time_budget;
mod view;

pub use ahead::AheadCount;
pub use at_least_one::at_least_one;
pub use calibrate::{CALIBRATE_REPEAT, CalibrateOptions};
pub use cargo::{BuildOptions, CargoOptions, KernelOptions};
pub use commands::{
    ArchiveOptions, AskOptions, CompletionsOptions, DoctorOptions, GuardOptions, ListOptions,
    ManOptions, MetricsOptions,
};
pub use configuration::ConfigurationOptions;
pub use devices::{DeviceName, DeviceSelection};
pub use emulate::{BecomeOptions, EmulateOptions};
pub use gate::{
    BaselineAction, BaselineOptions, CompareOptions, GateOptions, JudgingOptions, PlaceOptions,
    ReportOptions,
};
pub use gpuprof_analysis::stats::repeats::{NOISE_PERCENT, Repeats, noise_percent};
pub use history::{AddOptions, HistoryAction, HistoryFormat, HistoryOptions, ShowOptions};
pub use keep_runs::KeepRuns;
pub use library::library;
pub use machine::{Backend, CacheControl, ClockControl};
pub use merge::{MergeOptions, Prefer};
pub use order::Interleave;
pub use output::{Color, MessageFormat, OutputOptions};
pub use partition::{Method, Partition, PartitionBy, PartitionOptions, SliceOptions};
pub use replay::{AppReplayMatch, AppReplayMode, Isolate, ReplayMode};
pub use rules::RulesOptions;
#[cfg(test)]
pub(crate) use run::parsed;
pub use run::{RunOptions, SUBCOMMANDS, SelectionOptions};
pub use runs::{Age, RemoveOptions, RunsAction, RunsOptions};
pub use set::Set;
pub use settings::{Defaults, Shown, below, defaults, library_from};
pub(crate) use settings::{settings, types};
pub use time_budget::TimeBudget;
pub use view::ViewOptions;
