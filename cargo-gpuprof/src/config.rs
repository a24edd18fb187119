//! `.config/gpuprof.toml` at the workspace root.
//!
//! Input: the file's text. Output: typed settings, or an error with the file, the line and
//! what is wrong there. Unknown keys are errors, so that a misspelt threshold cannot pass unseen.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;

use camino::Utf8Path;
use gpuprof_catalogue::chips::is_installed;
use gpuprof_catalogue::definitions::{check_counters, define, direct, is_counter};
use gpuprof_model::metric::{Catalogue, Definition, Formula};
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::threshold::WrittenThreshold;
use gpuprof_model::{ExitCode, SeriesId};
use serde::Deserialize;

use crate::options::types::*;
use crate::options::{ConfigFile, settings};
use gpuprof_system::error::{Failure, Result};

mod metrics;
mod not_settings;
mod written_threshold;

pub use metrics::{MetricDefinition, Metrics};
pub use not_settings::elsewhere;
pub use written_threshold::Written;

/// The path of the file, below the workspace root.
pub const DEFAULT_PATH: &str = ".config/gpuprof.toml";

macro_rules! config {
    ($($(#[$doc:meta])* $name:ident $option:literal:
        $type:ty => $value:ty = $default:expr;)*) => {
        /// Settings of a workspace. Command-line options win over them.
        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct Config {
            /// Thresholds for every series.
            pub thresholds: Vec<Written>,
            /// Metrics to show, instead of the annotated ones, and metrics defined by formulas.
            pub metrics: Metrics,
            $($(#[$doc])* pub $name: Option<$type>,)*
            /// Settings of the series with a key that contains the table's name.
            pub series: BTreeMap<String, SeriesConfig>,
            /// Settings by the name that `--preset` takes; they win over those outside. A preset
            /// holds none.
            pub preset: BTreeMap<String, Config>,
            /// The file they are written in, as messages and verdicts name it.
            #[serde(skip)]
            pub path: Utf8PathBuf,
        }

        /// The keys that a setting, or something else in the file, has.
        pub(crate) const KEYS: &[&str] = &["thresholds", "metrics", $(stringify!($name),)* "series", "preset"];
    };
}

settings!(config);

/// Settings of some series.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SeriesConfig {
    /// Thresholds for these series.
    pub thresholds: Vec<Written>,
    /// Metrics to show for these series.
    pub metrics: Vec<String>,
    /// Clauses over the annotated axes, as `--series` takes them.
    pub axes: Vec<String>,
}

impl Config {
    /// Reads `file` of the workspace at `root`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn chosen(
        root: &Utf8Path,
        file: &ConfigFile,
        catalogue: &Catalogue,
    ) -> Result<(Self, Catalogue)> {
        match file {
            ConfigFile::None => Ok((Self::default(), catalogue.clone())),
            ConfigFile::Usual => Self::load(root, None, catalogue),
            ConfigFile::At(path) => Self::load(root, Some(path), catalogue),
        }
    }

    /// Reads the file at `explicit`, or the default one of `root` if it exists, and returns it with
    /// the metrics of `catalogue` and its own.
    ///
    /// # Errors
    /// A named file that does not exist, or an invalid one (exit code 96).
    pub fn load(
        root: &Utf8Path,
        explicit: Option<&Utf8Path>,
        catalogue: &Catalogue,
    ) -> Result<(Self, Catalogue)> {
        let path = explicit.map_or_else(|| root.join(DEFAULT_PATH), Utf8PathBuf::from);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let config = Self::parse(&text, path.strip_prefix(root).unwrap_or(&path))?;
                let catalogue = config.define(catalogue)?;
                config.check_counters(&text)?;
                Ok((config, catalogue))
            }
            Err(error) if error.kind() == ErrorKind::NotFound && explicit.is_none() => {
                Ok((Self::default(), catalogue.clone()))
            }
            Err(error) => {
                Err(Failure::new(ExitCode::Configuration, format!("cannot read {path}: {error}")))
            }
        }
    }

    /// `catalogue` and the metrics that the file defines, with the directions that it sets.
    ///
    /// # Errors
    /// All definitions and directions that are refused, each with its place (exit code 96).
    pub fn define(&self, catalogue: &Catalogue) -> Result<Catalogue> {
        let path = self.path.as_str();
        let mut catalogue = define(catalogue, &self.definitions(), path)?;
        let presets = self.preset.values().map(|preset| &preset.metrics);
        for metrics in std::iter::once(&self.metrics).chain(presets) {
            let directions = metrics.directions().map_err(|name| {
                let message = "without a formula it can have a `direction` alone";
                Failure::new(ExitCode::Configuration, format!("{path}: metric `{name}`: {message}"))
            })?;
            catalogue = direct(&catalogue, directions, path)?;
        }
        Ok(catalogue)
    }

    /// The metrics that the file and its presets define.
    fn definitions(&self) -> Vec<Definition> {
        let presets = self.preset.values().flat_map(|preset| preset.metrics.definitions());
        self.metrics.definitions().into_iter().chain(presets).collect()
    }

    /// Checks the counters in the formulas of the file with this `text`.
    ///
    /// # Errors
    /// A counter that no chip has (exit code 96).
    fn check_counters(&self, text: &str) -> Result<()> {
        let definitions = self.definitions();
        let formulas = definitions.iter().filter_map(|it| Formula::parse(&it.formula).ok());
        let formulas: Vec<Formula> = formulas.collect();
        let counters = formulas.iter().flat_map(Formula::names).filter(|name| is_counter(name));
        let knows = |name: &str| is_installed(None, name);
        check_counters(counters, (self.path.as_str(), text), &knows)
    }

    /// Parses the file's text; `path` names it in errors. The definitions of metrics are read here
    /// and checked by [`Self::define`].
    ///
    /// # Errors
    /// Anything wrong in it (exit code 96).
    pub fn parse(text: &str, path: &Utf8Path) -> Result<Self> {
        let wrong = |message: String| Failure::new(ExitCode::Configuration, message);
        let keys: Vec<String> = KEYS.iter().map(|key| key.replace('_', "-")).collect();
        let mut config: Self = toml::from_str(text).map_err(|error| {
            let mut message =
                format!("{path} is not a valid configuration\n{}", error.to_string().trim_end());
            if let Some(key) = error.span().and_then(|span| key_at(text, span))
                && !keys.iter().any(|known| known == key)
            {
                let help = elsewhere(key)
                    .map(str::to_owned)
                    .or_else(|| did_you_mean(key, keys.iter().map(String::as_str)));
                message.extend(help.map(|help| format!("\nhelp: {help}")));
            }
            wrong(message)
        })?;
        config.written().for_each(|written| written.locate(text));
        config.check(path)?;
        for (name, preset) in &config.preset {
            preset.check(path)?;
            if !preset.preset.is_empty() {
                return Err(wrong(format!("{path}: `preset.{name}` must not contain presets")));
            }
        }
        path.clone_into(&mut config.path);
        Ok(config)
    }

    /// Every threshold, those of series and presets as well.
    fn written(&mut self) -> Box<dyn Iterator<Item = &mut Written> + '_> {
        let own = self.series.values_mut().flat_map(|series| &mut series.thresholds);
        let presets = self.preset.values_mut().flat_map(Self::written);
        Box::new(self.thresholds.iter_mut().chain(own).chain(presets))
    }

    fn check(&self, path: &Utf8Path) -> Result<()> {
        let wrong = |message: String| Failure::new(ExitCode::Configuration, message);
        let all = self.series.values().flat_map(|s| &s.thresholds).chain(&self.thresholds);
        for Written { threshold: WrittenThreshold { text, parsed }, line, .. } in all {
            let place = format!("{path}:{line}");
            parsed.as_ref().map_err(|e| wrong(e.render(&place, text)))?;
        }
        Ok(())
    }

    /// The settings of the series tables with a name that a key of the series `id` contains.
    pub fn for_series<'c>(&'c self, id: &'c SeriesId) -> impl Iterator<Item = &'c SeriesConfig> {
        self.series.iter().filter(|(name, _)| id.key_contains(name)).map(|(_, s)| s)
    }
}

/// The key at `span` of a TOML document; none where a value stands there.
fn key_at(text: &str, span: Range<usize>) -> Option<&str> {
    let (key, rest) = (text.get(span.clone())?, text.get(span.end..)?);
    rest.trim_start_matches([' ', '\t', '"'])
        .starts_with(['=', '.', ']'])
        .then(|| key.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let failure = Config::parse(text, DEFAULT_PATH.into()).unwrap_err();
        assert_eq!(failure.code, ExitCode::Configuration);
        failure.message
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = Config::parse(
            "thresholds = [\"bank_conflicts == 0\"]\nrepeat = 5\n[series.\"saxpy::\"]\nmetrics = [\"duration\"]\n",
            DEFAULT_PATH.into(),
        )
        .unwrap();
        assert_eq!(config.repeat, Some(Repeats::exactly(5)));
        assert_eq!(config.for_series(&SeriesId::new("saxpy", "kernels", "saxpy")).count(), 1);
        assert_eq!(config.for_series(&SeriesId::new("reduce", "kernels", "reduce")).count(), 0);
    }

    #[test]
    fn an_unknown_key_is_an_error_at_its_line_with_the_nearest_key() {
        let text = error("repeat = 3\nthreshold = [\"duration < 5 us\"]\n");
        assert!(text.starts_with(".config/gpuprof.toml is not a valid configuration\n"), "{text}");
        assert!(text.contains("line 2") && text.contains("threshold = ["), "{text}");
        assert!(text.ends_with("help: the key is `thresholds`"), "{text}");
    }

    #[test]
    fn an_option_that_is_not_a_setting_is_refused_with_its_place() {
        let text = error("thresholts = [\"duration < 5 us\"]\n");
        assert!(text.ends_with("help: did you mean `thresholds`?"), "{text}");
        let text = error("package = [\"saxpy\"]\n");
        assert!(text.ends_with("help: what is built is chosen on the command line"), "{text}");
        let text = error("[preset.ci]\ntarget-dir = \"t\"\n");
        assert!(text.ends_with("`build.target-dir` in .cargo/config.toml"), "{text}");
    }

    #[test]
    fn a_malformed_threshold_has_its_caret() {
        let text = error("thresholds = [\"duration < 5 uss\"]");
        assert!(
            text.contains(
                "--> .config/gpuprof.toml:1\n   |\n   | duration < 5 uss\n   |              ^^^"
            ),
            "{text}"
        );
    }

    #[test]
    fn thresholds_keep_their_line_numbers() {
        let text = "thresholds = [\n  \"bank_conflicts == 0\",\n  \"registers <= 32\",\n]\n\
                    [series.saxpy]\nthresholds = [\"duration < 5 us\"]\n\
                    [preset.ci]\nthresholds = [\"waves >= 1\"]\n";
        let config = Config::parse(text, DEFAULT_PATH.into()).unwrap();
        let lines = |all: &[Written]| all.iter().map(|w| w.line).collect::<Vec<_>>();
        assert_eq!(lines(&config.thresholds), [2, 3]);
        assert_eq!(lines(&config.series["saxpy"].thresholds), [6]);
        assert_eq!(lines(&config.preset["ci"].thresholds), [8]);
        let wrong = text.replace("waves >= 1", "waves => 1");
        assert!(error(&wrong).contains("--> .config/gpuprof.toml:8\n"), "{}", error(&wrong));
    }

    #[test]
    fn sets_sections_and_passes_are_settings() {
        let text = "sets = [\"basic\", \"memory\"]\nsections = [\"Occupancy\"]\nmax-passes = 4\n";
        let config = Config::parse(text, DEFAULT_PATH.into()).unwrap();
        assert_eq!(config.sets, Some(vec![Set::Basic, Set::Memory]));
        assert_eq!(config.max_passes.map(Into::into), Some(4));
        assert!(error("sets = [\"basics\"]").contains("unknown variant `basics`"));
    }

    #[test]
    fn presets_are_checked_like_the_rest() {
        let text =
            "repeat = 3\n[preset.ci]\nstrict = true\nbaseline = \"main\"\ninterleave = \"none\"\n";
        let config = Config::parse(text, DEFAULT_PATH.into()).unwrap();
        assert_eq!(config.preset["ci"].baseline.as_deref(), Some("main"));
        assert_eq!(config.preset["ci"].interleave, Some(Interleave::None));
        let zero = error("[preset.ci]\ntimeout = 0");
        assert!(zero.contains("line 2") && zero.contains("expected a nonzero u32"), "{zero}");
        assert_eq!(
            error("[preset.ci.preset.x]"),
            ".config/gpuprof.toml: `preset.ci` must not contain presets"
        );
        assert!(error("[preset.ci]\nthresholds = [\"duration < 5 uss\"]").contains("unknown unit"));
    }

    #[test]
    fn values_out_of_bounds_are_refused_with_their_line() {
        for key in ["timeout", "max-passes", "sample", "top"] {
            let text = error(&format!("strict = true\n{key} = 0"));
            assert!(text.contains("line 2") && text.contains("expected a nonzero"), "{text}");
        }
        assert!(error("ahead = 5").contains("expected a number of processes, at most 4"));
        assert!(error("strict = true\nrepeat = 0").contains("repeat = 0"));
        assert!(error("repeat = \"0..3\"").contains("it must be at least 1"));
    }

    #[test]
    fn repeats_are_a_number_or_a_range() {
        let of = |text: &str| Config::parse(text, DEFAULT_PATH.into()).unwrap().repeat;
        assert_eq!(of("repeat = 5"), Some(Repeats::exactly(5)));
        assert_eq!(of("repeat = \"5..8\""), Some(Repeats { least: 5, most: 8 }));
        let text = error("repeat = [5]");
        assert!(text.contains("expected a process count, or a range such as \"7..10\""), "{text}");
    }
}
