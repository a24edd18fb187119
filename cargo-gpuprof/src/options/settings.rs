//! The settings of a run: options that the configuration file and its presets can give as well.
//!
//! This is the one table of them. A row names the setting, its option, its type and its default;
//! the configuration file's keys, `show-config` and the help text follow from it. An option's own
//! field, with its help, is in [`RunOptions`](super::RunOptions).

use camino::Utf8Path;
use serde_json::Value;

use gpuprof_build::options::BENCH;
use gpuprof_engine::plan::MAX_CONFIGURATIONS;
use gpuprof_model::words::Word;
use types::*;

/// The types of the rows: every user of the rows imports all of them.
pub(crate) mod types {
    pub(crate) use std::num::{NonZeroU32, NonZeroUsize};

    pub(crate) use camino::Utf8PathBuf;

    pub(crate) use crate::options::{
        AheadCount, AppReplayMatch, AppReplayMode, BackendChoice, CacheControl, Checks,
        ClockControl, Color, DeviceSelection, Interleave, Isolate, KeepRuns, MessageFormat,
        Repeats, ReplayMode, Set, TimeBudget,
    };
}

/// Passes the rows to the macro `$to`. A row is `name "--option": TYPE => VALUE = DEFAULT,
/// |options| GIVEN;` where TYPE is a layer's value, VALUE the run's value, and GIVEN the command
/// line's value, if it has one.
macro_rules! settings {
    ($to:ident) => {
        $to! {
            /// Which driver runs the kernels.
            backend "--backend": BackendChoice => BackendChoice = BackendChoice::default(),
                |o| o.backend;
            /// The GPUs that the configurations are spread over; none for the first one.
            devices "--devices": DeviceSelection => Option<DeviceSelection> = None,
                |o| o.devices.clone();
            /// Processes that time each configuration on a GPU.
            repeat "--repeat": Repeats => Repeats = Repeats::DEFAULT,
                |o| o.repeat;
            /// The most rounds of a configuration that is undecided; none for those of
            /// `sequential::Most::DEFAULT`.
            max_repeat "--max-repeat": NonZeroU32 => Option<NonZeroU32> = None,
                |o| o.max_repeat;
            /// How long more rounds may be asked for.
            time_budget "--time-budget": TimeBudget => Option<TimeBudget> = None,
                |o| o.time_budget;
            /// Seconds a process may take.
            timeout "--timeout": NonZeroU32 => u32 = 120,
                |o| o.timeout;
            /// What happens to the L2 cache before each sample.
            cache_control "--cache-control": CacheControl => CacheControl = CacheControl::default(),
                |o| o.cache_control;
            /// What happens to the clocks of the GPU.
            clock_control "--clock-control": ClockControl => ClockControl = ClockControl::default(),
                |o| o.clock_control;
            /// NVML's library, if the default search is not used.
            nvml_path "--nvml-path": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.nvml_path.clone();
            /// Whether a run waits for a GPU on which another one measures.
            wait "--wait": bool => bool = true,
                |o| o.wait();
            /// How hardware counters are collected.
            replay_mode "--replay-mode": ReplayMode => ReplayMode = ReplayMode::default(),
                |o| o.replay_mode;
            /// The unit that gets separate processes.
            isolate "--isolate": Isolate => Isolate = Isolate::default(),
                |o| o.isolate;
            /// Processes that prepare while another one works; none to use as many as change no
            /// result.
            ahead "--ahead": AheadCount => Option<AheadCount> = None,
                |o| o.ahead;
            /// In which order passes run.
            interleave "--interleave": Interleave => Interleave = Interleave::default(),
                |o| o.gate.interleave;
            /// CUPTI's library or its folder, if the default search is not used.
            cupti_path "--cupti-path": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.cupti_path.clone();
            /// Whether outputs are compared with the host reference.
            verify "--verify": bool => bool = true,
                |o| o.verify();
            /// The checks of the emulated driver.
            check "--check": Checks => Checks = Checks::default(),
                |o| o.check;
            /// Sections to show, by the names of sets.
            sets "--set": Vec<Set> => Vec<Set> = Vec::new(),
                |o| (!o.set.is_empty()).then(|| o.set.clone());
            /// Sections to show, by name.
            sections "--section": Vec<String> => Vec<String> = Vec::new(),
                |o| (!o.section.is_empty()).then(|| o.section.clone());
            /// Whether the counters of the rules of advice are collected as well.
            advice "--advice": bool => bool = false,
                |o| o.advice();
            /// The folder of rules of advice, if it is not the default one.
            rules "--rules": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.rules.clone();
            /// The most counter passes that a configuration may need.
            max_passes "--max-passes": NonZeroU32 => Option<NonZeroU32> = None,
                |o| o.max_passes;
            /// How launches of two passes are matched.
            app_replay_match "--app-replay-match":
                AppReplayMatch => AppReplayMatch = AppReplayMatch::default(),
                |o| o.app_replay_match;
            /// How far the launches of two passes may differ.
            app_replay_mode "--app-replay-mode":
                AppReplayMode => AppReplayMode = AppReplayMode::default(),
                |o| o.app_replay_mode;
            /// Configurations to take of each series; none for all.
            sample "--sample": NonZeroUsize => Option<NonZeroUsize> = None,
                |o| o.selection.sample;
            /// The seed of a sample.
            sample_seed "--sample-seed": u64 => u64 = 0,
                |o| o.selection.sample_seed;
            /// Maximum number of configurations in a run.
            max_configs "--max-configs": usize => usize = MAX_CONFIGURATIONS,
                |o| o.selection.max_configs;
            /// The GPU architecture that kernels are compiled for.
            kernel_arch "--kernel-arch": String => String = "sm_80".to_owned(),
                |o| o.kernels.kernel_arch.clone();
            /// The toolchain of the kernels, if the default search is not used.
            kernel_toolchain "--kernel-toolchain": String => Option<String> = None,
                |o| o.kernels.kernel_toolchain.clone();
            /// Whether thresholds decide the exit code.
            gate "--gate": bool => bool = true,
                |o| o.gate.judging.gate();
            /// Whether an entry that cannot be judged ends with exit code 106.
            strict "--strict": bool => bool = false,
                |o| o.gate.judging.strict();
            /// The baseline to compare with: a name or a file.
            baseline "--baseline": String => Option<String> = None,
                |o| o.gate.baseline.clone();
            /// The other revision that is measured too.
            base "--base": String => Option<String> = None,
                |o| o.gate.base.clone();
            /// Whether a baseline of another device is compared with as well.
            across_devices "--across-devices": bool => bool = false,
                |o| o.gate.judging.across_devices();
            /// The metric that decides which configuration is best; none for the headline metric.
            best_by "--best-by": String => Option<String> = None,
                |o| o.view.best_by.clone();
            /// The configuration that the others are compared with, in addition to the best.
            reference "--reference": String => Option<String> = None,
                |o| o.view.reference.clone();
            /// The condition on the rows that are compared and shown.
            filter "--filter": String => Option<String> = None,
                |o| o.view.filter.clone();
            /// Axes and metrics to show; none for all axes and the series' metrics.
            columns "--columns": Vec<String> => Vec<String> = Vec::new(),
                |o| o.view.columns();
            /// The axis or metric to sort by.
            sort "--sort": String => Option<String> = None,
                |o| o.view.sort.clone();
            /// The most rows to show.
            top "--top": NonZeroUsize => Option<NonZeroUsize> = None,
                |o| o.view.top;
            /// The metrics of the marked front.
            pareto "--pareto": Vec<String> => Vec<String> = Vec::new(),
                |o| o.view.pareto();
            /// The contents of standard output.
            message_format "--message-format":
                MessageFormat => MessageFormat = MessageFormat::default(),
                |o| o.output.message_format;
            /// The CSV file that is written as well.
            export_csv "--export-csv": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_csv.clone();
            /// The HTML page that is written as well.
            export_html "--export-html": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_html.clone();
            /// The JSON file that is written as well.
            export_json "--export-json": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_json.clone();
            /// The JUnit file that is written as well.
            export_junit "--export-junit": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_junit.clone();
            /// The Markdown file that is written as well.
            export_markdown "--export-markdown": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_markdown.clone();
            /// The folder into which each chart is written as well.
            export_svg "--export-svg": Utf8PathBuf => Option<Utf8PathBuf> = None,
                |o| o.output.export_svg.clone();
            /// When to colour.
            color "--color": Color => Color = Color::default(),
                |o| o.output.color;
            /// Whether neither progress nor notes are printed.
            quiet "--quiet": bool => bool = false,
                |o| o.output.quiet();
            /// The cargo profile of the harness.
            profile "--profile": String => String = BENCH.to_owned(),
                |o| o.cargo.profile();
            /// The features to activate.
            features "--features": Vec<String> => Vec<String> = Vec::new(),
                |o| o.cargo.features();
            /// Whether all features are activated.
            all_features "--all-features": bool => bool = false,
                |o| o.cargo.all_features();
            /// Whether the default features are activated.
            default_features "--default-features": bool => bool = true,
                |o| o.cargo.default_features();
            /// How many runs are kept below the target folder.
            keep_runs "--keep-runs": KeepRuns => KeepRuns = KeepRuns::default(),
                |o| o.output.keep_runs;
        }
    };
}
pub(crate) use settings;

/// A value of a setting, as people and programs read it.
pub trait Shown {
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
words!(AppReplayMatch, AppReplayMode, Set, MessageFormat, Color);

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

texts!(String, Utf8PathBuf, KeepRuns, DeviceSelection, TimeBudget, Checks);

impl Shown for bool {
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
        $type:ty => $value:ty = $default:expr, |$o:ident| $given:expr;)*) => {
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
