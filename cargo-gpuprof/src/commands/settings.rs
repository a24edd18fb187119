//! Settings: the values that a run uses, and the layers that set them.
//!
//! Input: the configuration file, the preset and the command line. Output: each setting with its
//! origin, for `show-config`. Later layers win: default < configuration file < preset < command
//! line.

use std::collections::BTreeMap;
use std::{fmt, io};

use camino::Utf8Path;
use clap::{Arg, Args};
use gpuprof_model::run::{Provenance, SectionColumns};
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::{ExitCode, SeriesId};

use crate::config::{Config, DEFAULT_PATH};
use crate::options::types::*;
use crate::options::{
    BuildOptions, CargoRequest, Defaults, Given, GivenValue, RunOptions, Shown, below,
    library_from, settings,
};
use gpuprof_analysis::gate::outcome::Gate;
use gpuprof_catalogue::sections::Sections;
use gpuprof_engine::store::baselines::is_path;
use gpuprof_system::console::Notes;
use gpuprof_system::error::{Failure, Result};

/// The configuration file and the preset that was asked for.
#[derive(Debug, Default)]
pub struct Layers {
    file: Config,
    preset: Option<(String, Config)>,
}

impl Layers {
    /// The layers of `config` with `preset`.
    ///
    /// # Errors
    /// No preset has that name (exit code 96).
    pub fn new(config: &Config, preset: Option<&str>) -> Result<Self> {
        let preset = preset.map(|name| {
            let found = config.preset.get(name).cloned().ok_or_else(|| {
                let near = did_you_mean(name, config.preset.keys().map(String::as_str));
                let table = format!("add a table [preset.{name}]");
                let message = match config.path.as_str() {
                    "" => format!(
                        "no configuration file is read, so there is no preset `{name}`: {table} to \
                         {DEFAULT_PATH}"
                    ),
                    path => format!("{path} has no preset `{name}`: {}", near.unwrap_or(table)),
                };
                Failure::new(ExitCode::Configuration, message)
            })?;
            Ok((name.to_owned(), found))
        });
        Ok(Self { file: config.clone(), preset: preset.transpose()? })
    }

    /// The layers with their origins, the one with the highest priority last.
    pub fn configs(&self) -> impl DoubleEndedIterator<Item = (&Config, String)> {
        let preset = self.preset.iter().map(|(name, config)| (config, format!("preset {name}")));
        std::iter::once((&self.file, self.file())).chain(preset)
    }

    /// The note on tables `[series."TEXT"]` with a text that no series' key contains: their
    /// thresholds are judged nowhere.
    pub fn tables_of_no_series(&self, ids: &[&SeriesId]) -> Vec<String> {
        let kernels = ids.iter().filter_map(|id| id.kernel.rsplit("::").next());
        let near = |text: &str| did_you_mean(text, kernels.clone());
        let tables = self.configs().flat_map(|(config, origin)| {
            config.series.keys().map(move |text| (text, origin.clone()))
        });
        tables
            .filter(|(text, _)| !ids.iter().any(|id| id.key_contains(text)))
            .map(|(text, origin)| {
                let near = near(text).unwrap_or_else(|| "`cargo gpuprof list` names them".into());
                format!("{origin}: no series matches [series.\"{text}\"]: {near}")
            })
            .collect()
    }

    /// The name of the configuration file.
    pub fn file(&self) -> String {
        self.file.path.to_string()
    }
}

/// The layer that said a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// None did.
    Default,
    /// The configuration file, or a preset of it, by its name in messages.
    Configuration(String),
    /// The command line, by this option, or the environment, by this variable.
    CommandLine(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Configuration(text) | Self::CommandLine(text) => text,
        })
    }
}

/// A value and the layer that said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The layer.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// The value, if a layer said one.
    pub fn given(&self) -> Option<&T> {
        (self.origin != Origin::Default).then_some(&self.value)
    }
}

impl Setting<bool> {
    /// The layer that turned the switch `key` off, if one did.
    pub fn turned_off(&self, key: &str) -> Option<String> {
        (!self.value).then(|| match &self.origin {
            Origin::Configuration(file) => format!("`{key} = false` in {file}"),
            option => option.to_string(),
        })
    }
}

impl<T: Shown> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  [{}]", self.value.text(), self.origin)
    }
}

macro_rules! of_a_run {
    ($($(#[$doc:meta])* $name:ident $option:literal:
        $type:ty => $value:ty = $default:expr;)*) => {
        /// The settings of a run.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Settings {
            $($(#[$doc])* pub $name: Setting<$value>,)*
        }

        impl Settings {
            /// The settings of the command line, `given`, over `layers`.
            pub fn new(given: Given, layers: &Layers) -> Self {
                let mut all = Self {
                    $($name: resolve(
                        layers, given.$name, $option, |c| c.$name.clone(), Defaults::$name(),
                    ),)*
                };
                // Two lists with the same patterns select the same ranges.
                all.nvtx.value.sort();
                all.nvtx.value.dedup();
                all
            }

            /// Every setting with its key.
            pub fn all(&self) -> Vec<(String, &dyn ShownSetting)> {
                vec![$((stringify!($name).replace('_', "-"), &self.$name)),*]
            }
        }
    };
}

settings!(of_a_run);

/// The value of a setting, as text.
fn text_of(setting: &dyn ShownSetting) -> String {
    match &setting.json()["value"] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A list of settings, each with its key.
macro_rules! keyed {
    ($($name:ident),*) => {
        vec![$((stringify!($name).replace('_', "-"), $name as &dyn ShownSetting)),*]
    };
}

impl Settings {
    /// The settings that decide how results are checked, and whether times are estimated.
    pub fn of_checks(&self) -> BTreeMap<String, String> {
        let Self { verify, check, estimate, .. } = self;
        let all = keyed![verify, check, estimate].into_iter();
        all.map(|(key, setting)| (key, text_of(setting))).collect()
    }

    /// The settings for the counters of sections and the permitted differences of passes, by
    /// option.
    pub fn of_collection(&self) -> BTreeMap<String, String> {
        let Self { sets, sections, app_replay_match, app_replay_mode, .. } = self;
        let sets = sets.value.iter().map(ToString::to_string).collect::<Vec<_>>();
        let texts = [
            ("--set", sets.join(",")),
            ("--section", sections.value.join(",")),
            ("--app-replay-match", text_of(app_replay_match)),
            ("--app-replay-mode", text_of(app_replay_mode)),
        ];
        texts.map(|(option, text)| (option.to_owned(), text)).into()
    }

    /// The settings that change what is measured, or how, as text.
    pub fn texts_of_measurement(&self) -> BTreeMap<String, String> {
        let all = self.of_measurement().into_iter();
        all.map(|(key, setting)| (key, text_of(setting))).collect()
    }

    /// The settings that change what is measured, or how, with their keys: all slices of a plan
    /// share them. A run's provenance and its journal have their values and effects. A new setting
    /// does not compile before it is said here which of the two kinds it is.
    #[rustfmt::skip]
    fn of_measurement(&self) -> Vec<(String, &dyn ShownSetting)> {
        let Self {
            backend, chip, repeat, max_repeat, cache_control, clock_control, replay_mode, range,
            nvtx, isolate, ahead, interleave, verify, check, estimate, sets, sections,
            app_replay_match,
            app_replay_mode, sample, sample_seed, kernel_arch, profile,
            // By their effects: the devices, the toolchain and the hashes of build results.
            devices: _, expect_device: _, kernel_toolchain: _, features: _, all_features: _,
            default_features: _, bench: _,
            // Paths of libraries, time limits, retention and judging.
            nvml_path: _, cupti_path: _, timeout: _, time_budget: _, wait: _, fail_fast: _,
            retries: _, advice: _, rules: _, max_passes: _, max_configs: _, gate: _, strict: _,
            baseline: _, base: _, across_devices: _, keep_runs: _,
            // What is shown and written.
            best_by: _, reference: _, filter: _, columns: _, sort: _, top: _, pareto: _,
            message_format: _, export_csv: _, export_html: _, export_json: _, export_junit: _,
            export_markdown: _, export_svg: _, color: _, quiet: _,
        } = self;
        keyed![
            backend, chip, repeat, max_repeat, cache_control, clock_control, replay_mode, range,
            nvtx, isolate, ahead, interleave, verify, check, estimate, sets, sections,
            app_replay_match,
            app_replay_mode, sample, sample_seed, kernel_arch, profile
        ]
    }
}

/// A setting of any type.
pub trait ShownSetting {
    /// The value and its layer, for people.
    fn text(&self) -> String;

    /// The value, for programs.
    fn json(&self) -> serde_json::Value;
}

impl<T: Shown> ShownSetting for Setting<T> {
    fn text(&self) -> String {
        self.to_string()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({ "value": self.value.json(), "origin": self.origin.to_string() })
    }
}

impl Settings {
    /// How to build the packages of the request `cargo`.
    pub fn build_options(&self, cargo: CargoRequest) -> BuildOptions {
        BuildOptions {
            cargo: CargoRequest { bench: self.bench.value.clone(), ..cargo },
            in_each_bench: self.bench.on_command_line(),
            profile: self.profile.value.clone(),
            features: self.features.value.clone(),
            all_features: self.all_features.value,
            default_features: self.default_features.value,
            kernel_arch: self.kernel_arch.value.clone(),
            quiet: self.quiet.value,
            colour: self.color.value.shows_on(&io::stderr()),
        }
    }

    /// The rules of the exit code.
    pub fn gate(&self) -> Gate {
        Gate { strict: self.strict.value, gated: self.gate.value, ..Gate::default() }
    }

    /// Judges strictly, as the slices of a merge were to be, unless the command line says
    /// otherwise.
    pub fn make_strict(&mut self) {
        self.strict.value |= !self.strict.on_command_line();
    }

    /// Records the rules of the exit code in `provenance`, for reports on the stored run.
    pub fn record_gate(&self, provenance: &mut Provenance) {
        provenance.not_gated = self.gate.turned_off("gate");
        provenance.strict = self.strict.value;
    }

    /// The sections that are asked for, as they are on `chip`.
    ///
    /// # Errors
    /// A section that is not there (exit code 2, or 96 for the configuration file).
    pub fn choose_sections(
        &self,
        sections: &Sections,
        chip: Option<&str>,
    ) -> Result<Vec<SectionColumns>> {
        let chosen = sections.choose(&self.sets.value, &self.sections.value, chip);
        chosen.map_err(|failure| self.sections.blamed(failure))
    }

    /// The progress messages.
    pub fn notes(&self) -> Notes {
        Notes::new(self.quiet.value)
    }

    /// CUPTI's library or its folder; a path in the configuration file is relative to the
    /// workspace's `root`.
    pub fn cupti_path(&self, root: &Utf8Path) -> Option<Utf8PathBuf> {
        library(&self.cupti_path, root)
    }

    /// As [`Settings::cupti_path`], of NVML.
    pub fn nvml_path(&self, root: &Utf8Path) -> Option<Utf8PathBuf> {
        library(&self.nvml_path, root)
    }

    /// The other revision that is measured too, unless the command line names a baseline; a path in
    /// the configuration file is relative to the workspace's `root`.
    pub fn base_of(&self, root: &Utf8Path) -> Option<String> {
        let text = self.base.value.as_ref()?;
        if self.base.on_command_line() {
            return Some(text.clone());
        }
        let relative = text.starts_with('.') || text.ends_with(".tar.zst");
        let written = if relative { root.join(text).into_string() } else { text.clone() };
        (!self.baseline.on_command_line()).then_some(written)
    }

    /// The file of the export `setting`; a path in the configuration file is relative to the
    /// workspace's `root`.
    pub fn export(setting: &Setting<Option<Utf8PathBuf>>, root: &Utf8Path) -> Option<Utf8PathBuf> {
        let path = setting.value.as_deref()?;
        Some(if setting.on_command_line() { path.to_owned() } else { below(root, path) })
    }

    /// The name of the baseline; a path in the configuration file is relative to the workspace's
    /// `root`.
    pub fn baseline_of(&self, root: &Utf8Path) -> Option<String> {
        let text = self.baseline.value.as_ref()?;
        let written = !self.baseline.on_command_line() && is_path(text);
        Some(if written { root.join(text).into_string() } else { text.clone() })
    }
}

fn library(setting: &Setting<Option<Utf8PathBuf>>, root: &Utf8Path) -> Option<Utf8PathBuf> {
    let path = setting.value.as_deref()?;
    Some(if setting.on_command_line() { path.to_owned() } else { library_from(root, path) })
}

impl<T> Setting<T> {
    /// Whether the command line or the environment says it.
    pub fn on_command_line(&self) -> bool {
        matches!(self.origin, Origin::CommandLine(_))
    }

    /// `failure` as an error of the configuration file, if the value comes from there.
    pub fn blamed(&self, failure: Failure) -> Failure {
        if self.on_command_line() {
            return failure;
        }
        Failure::new(ExitCode::Configuration, format!("{}: {}", self.origin, failure.message))
    }
}

/// The value of `option` if it is `given`, else of the last layer that has one.
fn resolve<T: Shown, V: From<T>>(
    layers: &Layers,
    given: Option<GivenValue<T>>,
    option: &str,
    of: impl Fn(&Config) -> Option<T>,
    default: V,
) -> Setting<V> {
    if let Some(GivenValue { value, by_variable }) = given {
        let variable = by_variable.then(|| variable(option)).flatten();
        let origin = Origin::CommandLine(variable.unwrap_or_else(|| value.flag(option)));
        return Setting { value: value.into(), origin };
    }
    let configured =
        layers.configs().rev().find_map(|(config, origin)| Some((of(config)?, origin)));
    match configured {
        Some((value, origin)) => {
            Setting { value: value.into(), origin: Origin::Configuration(origin) }
        }
        None => Setting { value: default, origin: Origin::Default },
    }
}

/// The environment variable that sets `option`.
fn variable(option: &str) -> Option<String> {
    let id = option.trim_start_matches('-').replace('-', "_");
    let run = RunOptions::augment_args(clap::Command::new("run"));
    let named = |it: &&Arg| it.get_id() == &id || it.get_id() == &format!("{id}_by_environment");
    let variable = run.get_arguments().filter(named).find_map(Arg::get_env)?;
    Some(variable.to_string_lossy().into_owned())
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
