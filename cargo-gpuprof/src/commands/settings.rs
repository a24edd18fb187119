//! Settings: what a run uses, and which layer said so.
//!
//! Input: the configuration file, the preset and the command line. Output: each setting with
//! its origin, so that `show-config` can tell where it came from. Later layers win: default <
//! configuration file < preset < command line.

use std::fmt;

use camino::Utf8Path;
use gpuprof_model::ExitCode;
use gpuprof_model::suggest::did_you_mean;

use crate::config::{Config, DEFAULT_PATH};
use crate::error::{Failure, Result};
use crate::options::DeviceSelection;
use crate::options::Interleave;
use crate::options::KeepRuns;
use crate::options::Repeats;
use crate::options::{RunOptions, Set};
use crate::store::baseline::is_path;

/// Seconds a process may take, where nothing says otherwise.
const DEFAULT_TIMEOUT: u32 = 120;

/// The configuration file and the preset that was asked for.
#[derive(Debug)]
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
                let near = did_you_mean(name, config.preset.keys().map(String::as_str))
                    .unwrap_or_else(|| format!("add a table [preset.{name}]"));
                let path = if config.path.as_str().is_empty() {
                    DEFAULT_PATH
                } else {
                    config.path.as_str()
                };
                let message = format!("{path} has no preset `{name}`: {near}");
                Failure::new(ExitCode::Configuration, message)
            })?;
            Ok((name.to_owned(), found))
        });
        Ok(Self { file: config.clone(), preset: preset.transpose()? })
    }

    /// The layers with their origins, the one that wins last.
    pub fn configs(&self) -> impl DoubleEndedIterator<Item = (&Config, String)> {
        let preset = self.preset.iter().map(|(name, config)| (config, format!("preset {name}")));
        std::iter::once((&self.file, self.file())).chain(preset)
    }

    /// The preset, where one was asked for.
    pub fn preset(&self) -> Option<&Config> {
        self.preset.as_ref().map(|(_, config)| config)
    }

    /// What to tell of tables `[series."TEXT"]` whose text no series' key holds: their thresholds
    /// are judged nowhere.
    pub fn tables_of_no_series(&self, keys: &[String]) -> Vec<String> {
        let kernels = keys.iter().filter_map(|key| key.rsplit("::").next());
        let near = |text: &str| did_you_mean(text, kernels.clone());
        let tables = self.configs().flat_map(|(config, origin)| {
            config.series.keys().map(move |text| (text, origin.clone()))
        });
        tables
            .filter(|(text, _)| keys.iter().all(|key| !key.contains(text.as_str())))
            .map(|(text, origin)| {
                let near = near(text).unwrap_or_else(|| "`cargo gpuprof list` names them".into());
                format!("{origin}: no series is meant by [series.\"{text}\"]: {near}")
            })
            .collect()
    }

    /// What the configuration file is called.
    pub fn file(&self) -> String {
        self.file.path.to_string()
    }
}

/// A value and the layer that said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// `default`, `.config/gpuprof.toml`, `preset ci` or the option.
    pub origin: String,
}

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  [{}]", self.value, self.origin)
    }
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Processes that time each configuration.
    pub repeat: Setting<Repeats>,
    /// Seconds a process may take.
    pub timeout: Setting<u32>,
    /// Whether what cannot be judged ends with exit code 106.
    pub strict: Setting<bool>,
    /// The baseline to compare with.
    pub baseline: Setting<Option<String>>,
    /// In which order passes run.
    pub interleave: Setting<Interleave>,
    /// The GPUs that the configurations are spread over; none for the first one.
    pub devices: Setting<Option<DeviceSelection>>,
    /// Sections to show, by the names of sets.
    pub sets: Setting<Vec<Set>>,
    /// Sections to show, by name.
    pub sections: Setting<Vec<String>>,
    /// The most counter passes that a configuration may need.
    pub max_passes: Setting<Option<u32>>,
    /// How many runs are kept.
    pub keep_runs: Setting<KeepRuns>,
}

impl Settings {
    /// The settings of `options` over `layers`.
    pub fn new(options: &RunOptions, layers: &Layers) -> Self {
        let strict = match (options.strict, options.no_strict) {
            (true, _) => Some((true, "--strict")),
            (false, true) => Some((false, "--no-strict")),
            (false, false) => None,
        };
        let (baseline, interleave) = (options.gate.baseline.clone(), options.gate.interleave);
        Self {
            repeat: resolve(
                layers,
                options.repeat.map(|repeat| (repeat, "--repeat")),
                |c| c.repeat,
                Repeats::DEFAULT,
            ),
            timeout: resolve(
                layers,
                options.timeout.map(|n| (n.into(), "--timeout")),
                |c| c.timeout,
                DEFAULT_TIMEOUT,
            ),
            strict: resolve(layers, strict, |c| c.strict, false),
            baseline: resolve(
                layers,
                baseline.map(|name| (Some(name), "--baseline")),
                |c| c.baseline.clone().map(Some),
                None,
            ),
            interleave: resolve(
                layers,
                interleave.map(|order| (order, "--interleave")),
                |c| c.interleave,
                Interleave::default(),
            ),
            devices: resolve(
                layers,
                options.devices.clone().map(|asked| (Some(asked), "--devices")),
                |c| c.devices.clone().map(Some),
                None,
            ),
            sets: resolve(layers, given(&options.set, "--set"), |c| c.sets.clone(), Vec::new()),
            sections: resolve(
                layers,
                given(&options.section, "--section"),
                |c| c.sections.clone(),
                Vec::new(),
            ),
            max_passes: resolve(
                layers,
                options.max_passes.map(|most| (Some(most.into()), "--max-passes")),
                |c| c.max_passes.map(Some),
                None,
            ),
            keep_runs: resolve(
                layers,
                options.output.keep_runs.map(|keep| (keep, "--keep-runs")),
                |c| c.keep_runs,
                KeepRuns::default(),
            ),
        }
    }
}

impl Settings {
    /// What the baseline is called; a file that the configuration file names lies below the
    /// workspace's `root`, wherever the command is given.
    pub fn baseline_of(&self, root: &Utf8Path) -> Option<String> {
        let text = self.baseline.value.as_ref()?;
        let written = !self.baseline.on_command_line() && is_path(text);
        Some(if written { root.join(text).into_string() } else { text.clone() })
    }
}

/// The values of an option that takes several, where it was given.
fn given<'o, T: Clone>(values: &[T], option: &'o str) -> Option<(Vec<T>, &'o str)> {
    (!values.is_empty()).then(|| (values.to_vec(), option))
}

impl<T> Setting<T> {
    /// Whether the command line says it.
    pub fn on_command_line(&self) -> bool {
        self.origin.starts_with("--")
    }

    /// `failure` as one of the configuration file's, where the value was written there.
    pub fn blamed(&self, failure: Failure) -> Failure {
        if self.on_command_line() {
            return failure;
        }
        Failure::new(ExitCode::Configuration, format!("{}: {}", self.origin, failure.message))
    }
}

fn resolve<T>(
    layers: &Layers,
    command_line: Option<(T, &str)>,
    of: impl Fn(&Config) -> Option<T>,
    default: T,
) -> Setting<T> {
    if let Some((value, option)) = command_line {
        return Setting { value, origin: option.to_owned() };
    }
    let configured =
        layers.configs().rev().find_map(|(config, origin)| Some((of(config)?, origin)));
    match configured {
        Some((value, origin)) => Setting { value, origin },
        None => Setting { value: default, origin: "default".to_owned() },
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
