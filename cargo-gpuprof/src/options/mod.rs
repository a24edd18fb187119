//! Options: the requests of a user, as types that several rooms share.
//!
//! Input: words of the command line (clap), of the configuration file and of presets (serde).
//! Output: typed values. A value that a lower room takes is a type of that room; `cli` arranges
//! the structures into subcommands.

mod ahead;
mod at_least_one;
mod backend;
mod baseline;
mod calibrate;
mod cargo;
mod check;
mod commands;
mod configuration;
mod emulate;
mod failures;
mod filter;
mod gate;
mod given;
mod given_value;
mod history;
mod library;
mod merge;
mod output;
mod partition;
mod purpose;
mod replay;
mod report;
mod rules;
mod run;
mod runs;
mod settings;
mod time_budget;
mod view;
mod word;

pub use ahead::AheadCount;
pub use at_least_one::at_least_one;
pub use backend::BackendChoice;
pub use baseline::{BaselineAction, BaselineOptions};
pub use calibrate::{CALIBRATE_REPEAT, CalibrateOptions};
pub use cargo::{CargoOptions, KernelOptions, PlaceOptions};
pub use check::CheckOptions;
pub use commands::{
    ArchiveOptions, AskOptions, CharacterizeOptions, CompletionsOptions, DoctorOptions,
    GuardOptions, ListOptions, ManOptions, MetricsOptions,
};
pub use configuration::{ConfigFile, ConfigurationOptions};
pub use emulate::{BecomeOptions, EmulateOptions};
pub use failures::FailureOptions;
pub use filter::FilterOptions;
pub use gate::{GateOptions, JudgingOptions};
pub use given::Given;
pub use given_value::GivenValue;
pub use gpuprof_analysis::stats::repeats::{Repeats, noise_percent};
pub use gpuprof_build::options::{BuildOptions, CargoRequest};
pub use gpuprof_catalogue::set::Set;
pub use gpuprof_engine::device::DeviceSelection;
pub use gpuprof_engine::schedule::{Interleave, Isolate};
pub use gpuprof_engine::store::KeepRuns;
pub use gpuprof_model::Checks;
pub use gpuprof_model::machine::{CacheControl, ClockControl};
pub use history::{AddOptions, HistoryAction, HistoryFormat, HistoryOptions, ShowOptions};
pub use library::library;
pub use merge::MergeOptions;
pub use output::{Color, MessageFormat, OutputOptions};
pub use partition::{PartitionOptions, SliceOptions};
pub use purpose::Purpose;
pub use replay::{AppReplayMatch, AppReplayMode, ReplayMode};
pub use report::{CompareOptions, ReportOptions};
pub use rules::RulesOptions;
#[cfg(test)]
pub(crate) use run::parsed;
pub use run::{RunOptions, SUBCOMMANDS, SelectionOptions};
pub use runs::{Age, RemoveOptions, RunsAction, RunsOptions};
pub use settings::{Defaults, Shown, below, defaults, library_from};
pub(crate) use settings::{settings, types};
pub use time_budget::TimeBudget;
pub use view::ViewOptions;
