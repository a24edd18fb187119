//! The settings of a run: options that the configuration file and its presets can give as well.
//!
//! This is the one table of them. A row names the setting, its option, its type and its default;
//! the configuration file's keys, `show-config` and the help text follow from it. An option's own
//! field, with its help, is in [`RunOptions`](super::RunOptions).

use camino::Utf8Path;
use clap::ArgMatches;
use serde_json::Value;

use super::GivenValue;
use gpuprof_build::options::BENCH;
use gpuprof_engine::plan::MAX_CONFIGURATIONS;
use gpuprof_model::words::Word;
use types::*;

/// The types of the rows: every user of the rows imports all of them.
pub(crate) mod types {
    pub(crate) use std::num::{NonZeroU32, NonZeroUsize};

    pub(crate) use camino::Utf8PathBuf;
    pub(crate) use gpuprof_model::machine::Chip;
    pub(crate) use gpuprof_model::nvtx_pattern::NvtxPattern;
    pub(crate) use gpuprof_model::protocol::CounterRange;

    pub(crate) use crate::options::{
        AheadCount, AppReplayMatch, AppReplayMode, BackendChoice, CacheControl, Checks,
        ClockControl, Color, DeviceSelection, Interleave, Isolate, KeepRuns, MessageFormat,
        Repeats, ReplayMode, Set, TimeBudget,
    };
}

/// Passes the rows to the macro `$to`. A row is `name "--option": TYPE => VALUE = DEFAULT;` where
/// TYPE is a layer's value, and VALUE the run's value.
macro_rules! settings {
    ($to:ident) => {
        $to! {
            /// The driver that runs the kernels.
            backend "--backend": BackendChoice => BackendChoice = BackendChoice::default();
            /// The chips that the emulated driver is; none for the default one.
            chip "--chip": Vec<Chip> => Vec<Chip> = Vec::new();
            /// The GPUs that the configurations are spread over; none for the first one.
            devices "--devices": DeviceSelection => Option<DeviceSelection> = None;
            /// A part of the name of each GPU; none for any GPU and the emulated driver.
            expect_device "--expect-device": String => Option<String> = None;
            /// Processes that time each configuration on a GPU.
            repeat "--repeat": Repeats => Repeats = Repeats::DEFAULT;
            /// The most rounds of a configuration that is undecided; none for those of
            /// `sequential::Most::DEFAULT`.
            max_repeat "--max-repeat": NonZeroU32 => Option<NonZeroU32> = None;
            /// How long more rounds may be asked for.
            time_budget "--time-budget": TimeBudget => Option<TimeBudget> = None;
            /// Seconds a process may take.
            timeout "--timeout": NonZeroU32 => u32 = 120;
            /// Whether the run ends after the first failure.
            fail_fast "--fail-fast": bool => bool = false;
            /// How often a process of a configuration that failed is started again.
            retries "--retries": u32 => u32 = 0;
            /// State of the L2 cache before each sample.
            cache_control "--cache-control": CacheControl => CacheControl = CacheControl::default();
            /// Clocks of the GPU during the run.
            clock_control "--clock-control": ClockControl => ClockControl = ClockControl::default();
            /// NVML's library, if the default search is not used.
            nvml_path "--nvml-path": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// Whether a run waits for a GPU on which another one measures.
            wait "--wait": bool => bool = true;
            /// How hardware counters are collected.
            replay_mode "--replay-mode": ReplayMode => ReplayMode = ReplayMode::default();
            /// The extent of the counters of a series function.
            range "--range": CounterRange => CounterRange = CounterRange::default();
            /// The NVTX ranges of series functions that are measured; none to measure all work.
            nvtx "--nvtx": Vec<NvtxPattern> => Vec<NvtxPattern> = Vec::new();
            /// The unit that gets separate processes.
            isolate "--isolate": Isolate => Isolate = Isolate::default();
            /// Processes that prepare while another one works; none to use as many as change no
            /// result.
            ahead "--ahead": AheadCount => Option<AheadCount> = None;
            /// The order of the passes.
            interleave "--interleave": Interleave => Interleave = Interleave::default();
            /// CUPTI's library or its folder, if the default search is not used.
            cupti_path "--cupti-path": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// Whether outputs are compared with the host reference.
            verify "--verify": bool => bool = true;
            /// The checks of the emulated driver.
            check "--check": Checks => Checks = Checks::default();
            /// Whether the emulated driver estimates times.
            estimate "--estimate": bool => bool = true;
            /// Sections to show, by the names of sets.
            sets "--set": Vec<Set> => Vec<Set> = Vec::new();
            /// Sections to show, by name.
            sections "--section": Vec<String> => Vec<String> = Vec::new();
            /// Whether the counters of the rules of advice are collected as well.
            advice "--advice": bool => bool = false;
            /// The folder of rules of advice, if it is not the default one.
            rules "--rules": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The most counter passes that a configuration may need.
            max_passes "--max-passes": NonZeroU32 => Option<NonZeroU32> = None;
            /// How launches of two passes are matched.
            app_replay_match "--app-replay-match":
                AppReplayMatch => AppReplayMatch = AppReplayMatch::default();
            /// How far the launches of two passes may differ.
            app_replay_mode "--app-replay-mode":
                AppReplayMode => AppReplayMode = AppReplayMode::default();
            /// Configurations to take of each series; none for all.
            sample "--sample": NonZeroUsize => Option<NonZeroUsize> = None;
            /// The seed of a sample.
            sample_seed "--sample-seed": u64 => u64 = 0;
            /// Maximum number of configurations in a run.
            max_configs "--max-configs": usize => usize = MAX_CONFIGURATIONS;
            /// The GPU architecture that kernels are compiled for.
            kernel_arch "--kernel-arch": String => String = "sm_80".to_owned();
            /// The toolchain of the kernels, if the default search is not used.
            kernel_toolchain "--kernel-toolchain": String => Option<String> = None;
            /// Whether thresholds decide the exit code.
            gate "--gate": bool => bool = true;
            /// Whether an entry that cannot be judged ends with exit code 106.
            strict "--strict": bool => bool = false;
            /// The baseline to compare with: a name or a file.
            baseline "--baseline": String => Option<String> = None;
            /// The other revision that is measured too.
            base "--base": String => Option<String> = None;
            /// Whether a baseline of another device is compared with as well.
            across_devices "--across-devices": bool => bool = false;
            /// The metric that decides which configuration is best; none for the headline metric.
            best_by "--best-by": String => Option<String> = None;
            /// The configuration that the others are compared with, in addition to the best.
            reference "--reference": String => Option<String> = None;
            /// The condition on the rows that are compared and shown.
            filter "--filter": String => Option<String> = None;
            /// Axes and metrics to show; none for all axes and the series' metrics.
            columns "--columns": Vec<String> => Vec<String> = Vec::new();
            /// The axis or metric to sort by.
            sort "--sort": String => Option<String> = None;
            /// The most rows to show.
            top "--top": NonZeroUsize => Option<NonZeroUsize> = None;
            /// The metrics of the marked front.
            pareto "--pareto": Vec<String> => Vec<String> = Vec::new();
            /// The contents of standard output.
            message_format "--message-format":
                MessageFormat => MessageFormat = MessageFormat::default();
            /// The CSV file that is written as well.
            export_csv "--export-csv": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The HTML page that is written as well.
            export_html "--export-html": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The JSON file that is written as well.
            export_json "--export-json": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The JUnit file that is written as well.
            export_junit "--export-junit": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The Markdown file that is written as well.
            export_markdown "--export-markdown": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// The folder into which each chart is written as well.
            export_svg "--export-svg": Utf8PathBuf => Option<Utf8PathBuf> = None;
            /// When to colour.
            color "--color": Color => Color = Color::default();
            /// Whether neither progress nor notes are printed.
            quiet "--quiet": bool => bool = false;
            /// The cargo profile of the harness.
            profile "--profile": String => String = BENCH.to_owned();
            /// The features to activate.
            features "--features": Vec<String> => Vec<String> = Vec::new();
            /// Whether all features are activated.
            all_features "--all-features": bool => bool = false;
            /// Whether the default features are activated.
            default_features "--default-features": bool => bool = true;
            /// The bench targets that are built.
            bench "--bench": Vec<String> => Vec<String> = Vec::new();
            /// How many runs are kept below the target folder.
            keep_runs "--keep-runs": KeepRuns => KeepRuns = KeepRuns::default();
        }
    };
}
pub(crate) use settings;

/// A value of a setting, as people and programs read it.
pub trait Shown: Clone + Send + Sync + 'static {
    /// The value that `matches` have of the argument `id`.
    fn given(matches: &ArgMatches, id: &str) -> Option<GivenValue<Self>> {
        let value = || matches.get_one::<Self>(id).cloned().expect("a given argument has a value");
        GivenValue::new(matches, id, value)
    }

    /// For people: in words of the command line.
    fn text(&self) -> String;

    /// For programs.
    fn json(&self) -> Value {
        self.text().into()
    }

    /// The flag that says it, of an `option`.
    fn flag(&self, option: &str) -> String {
        option.to_owned()
    }
}

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self) -> String {
                self.word().to_owned()
            }
        }
    )*};
}

words!(BackendChoice, CacheControl, ClockControl, ReplayMode, Isolate, Interleave);
words!(AppReplayMatch, AppReplayMode, Chip, CounterRange, Set, MessageFormat, Color);

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self) -> String {
                self.to_string()
            }

            fn json(&self) -> Value {
                serde_json::json!(self)
            }
        }
    )*};
}

numbers!(u32, u64, usize, NonZeroU32, NonZeroUsize, AheadCount, Repeats);

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

texts!(String, Utf8PathBuf, KeepRuns, DeviceSelection, TimeBudget, Checks, NvtxPattern);

impl Shown for bool {
    fn given(matches: &ArgMatches, id: &str) -> Option<GivenValue<Self>> {
        let denied = || GivenValue::new(matches, &format!("no_{id}"), || false);
        GivenValue::new(matches, id, || true).or_else(denied)
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> Value {
        (*self).into()
    }

    fn flag(&self, option: &str) -> String {
        if *self { option.to_owned() } else { option.replacen("--", "--no-", 1) }
    }
}

impl<T: Shown> Shown for Option<T> {
    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), Shown::text)
    }

    fn json(&self) -> Value {
        self.as_ref().map_or(Value::Null, Shown::json)
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn given(matches: &ArgMatches, id: &str) -> Option<GivenValue<Self>> {
        let values = || matches.get_many::<T>(id).into_iter().flatten().cloned().collect();
        GivenValue::new(matches, id, values)
    }

    fn text(&self) -> String {
        let texts: Vec<String> = self.iter().map(Shown::text).collect();
        if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
    }

    fn json(&self) -> Value {
        self.iter().map(Shown::json).collect()
    }
}

/// `path`, as a file below `root` names it: from there, unless it is a bare name for the linker.
pub fn library_from(root: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    if path.as_str().contains('/') { root.join(path) } else { path.to_owned() }
}

/// `path`, as a file below `root` names it: from there, unless it is `-`, a standard stream.
pub fn below(root: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    if path == "-" { path.to_owned() } else { root.join(path) }
}

macro_rules! of_defaults {
    ($($(#[$doc:meta])* $name:ident $option:literal:
        $type:ty => $value:ty = $default:expr;)*) => {
        /// The option and the default of every setting that has one, as help texts show them.
        pub fn defaults() -> Vec<(&'static str, String)> {
            let mut defaults = Vec::new();
            $(
                let default = Defaults::$name();
                let value = default.json();
                if !(value.is_null() || value.is_boolean() || value.is_array()) {
                    defaults.push(($option, default.text()));
                }
            )*
            defaults
        }

        /// The value of a setting by default.
        pub struct Defaults;

        impl Defaults {
            $($(#[$doc])* pub fn $name() -> $value {
                $default
            })*
        }
    };
}

settings!(of_defaults);
