//! A run: every configuration of every series with its metrics, and where they came from.
//!
//! Input: pass results. Output: the document that is stored, compared and reported. Values are
//! joined by name. The document carries [`SCHEMA_VERSION`], so that a reader can refuse what it
//! does not know.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::comparison::{Change, Comparison, Interval};
use crate::configuration::Configuration;
use crate::measurement::{
    DeviceName, DeviceRecord, LaunchRecord, OccupancyLimiter, Source, Timing,
};
use crate::metric::{Catalogue, Class, Direction, built_in};
use crate::quantity::Unit;
use crate::series::SeriesId;
use crate::verdict::{Judgement, NotApplicable};

/// The version of the run document.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The name of the run's folder.
    pub id: String,
    /// What produced it.
    pub provenance: Provenance,
    /// Its series, in the order planned.
    pub series: Vec<SeriesResult>,
    /// What it was compared with, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// What must be known to repeat a run or to compare it with another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Provenance {
    /// The version of `cargo-gpuprof`.
    pub tool_version: String,
    /// When the run started, RFC 3339, UTC.
    pub started: String,
    /// The backend: `cuda` or `emulator`.
    pub backend: String,
    /// The device of the first finished pass.
    pub device: Option<DeviceRecord>,
    /// Where the configurations were spread over several devices: all of them, of one model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceName>,
    /// `all` or `none`, as `--cache-control` has it.
    pub cache_control: String,
    /// `none`: clocks are measured and never changed.
    pub clock_control: String,
    /// How the hardware counters were collected: `application`, `range` or `kernel`; none where
    /// none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_mode: Option<String>,
    /// The cargo profile of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The architecture the kernels were compiled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_arch: Option<String>,
    /// In which order the passes ran, such as `rounds, seed 1`; none for one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// SHA-256 of the PTX of each kernel package.
    pub ptx_sha256: BTreeMap<String, String>,
    /// The toolchain that built the kernels, as `rustc --version` says it.
    pub kernel_toolchain: Option<String>,
    /// The git revision of the workspace, with `-dirty` where it has changes.
    pub git_revision: Option<String>,
}

/// One series of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesResult {
    /// What it is called.
    pub id: SeriesId,
    /// The annotated function's file.
    pub file: String,
    /// The annotated function's line.
    pub line: u32,
    /// The axes that were swept, each with the values that occur.
    pub axes: Vec<Axis>,
    /// The axes among them that say nothing new: derived ones, and those zipped with an earlier
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependent_axes: Vec<String>,
    /// The metrics to show, in order.
    pub columns: Vec<String>,
    /// Sections, each a table of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionColumns>,
    /// Its configurations, in series order.
    pub configurations: Vec<ConfigurationResult>,
    /// Its judged thresholds.
    pub judgements: Vec<Judgement>,
    /// Thresholds that speak of other devices than this run's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_applicable: Vec<NotApplicable>,
    /// The metrics shown, held against the baseline's; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Metrics that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SectionColumns {
    /// What it is called.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A metric that must be above zero somewhere for the section to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Its metrics, in order.
    pub columns: Vec<SectionColumn>,
}

impl SectionColumns {
    /// Every metric that it needs a value of.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let columns = self.columns.iter();
        columns
            .flat_map(|column| column.largest_of.values().chain([&column.name]))
            .chain(&self.needs)
    }
}

/// One metric of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SectionColumn {
    /// What it is called there.
    pub label: String,
    /// The metric.
    pub name: String,
    /// Metrics by labels: the column shows the label of the largest in place of the metric's value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub largest_of: BTreeMap<String, String>,
}

/// How a configuration ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "status")]
pub enum Status {
    /// Every pass ran to its end.
    Finished,
    /// The launch was refused.
    Invalid {
        /// Why.
        reason: String,
    },
    /// A pass went wrong.
    Failed {
        /// What went wrong.
        reason: String,
    },
    /// A pass ran out of time and was killed.
    Timeout {
        /// The limit it ran into.
        reason: String,
    },
    /// The run was interrupted before this configuration.
    Skipped {
        /// By what.
        reason: String,
    },
}

impl Status {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Invalid { .. } => "invalid",
            Self::Failed { .. } => "failed",
            Self::Timeout { .. } => "timeout",
            Self::Skipped { .. } => "skipped",
        }
    }

    /// Why it did not finish.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Finished => None,
            Self::Invalid { reason }
            | Self::Failed { reason }
            | Self::Timeout { reason }
            | Self::Skipped { reason } => Some(reason),
        }
    }
}

/// One configuration of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigurationResult {
    /// The point of the series.
    pub configuration: Configuration,
    /// The UUID of the device that all of its passes ran on, where the run had several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Its metrics by name.
    pub metrics: BTreeMap<String, MetricResult>,
    /// The samples of each process that timed it.
    pub timings: Vec<Timing>,
    /// What limits its theoretical occupancy.
    pub occupancy_limiter: Option<OccupancyLimiter>,
    /// The launches of its measured range.
    pub launches: Vec<LaunchRecord>,
    /// Whether `verify` ran and agreed.
    pub verified: bool,
    /// The largest error that `verify` found in any process, in units of the tolerance: at most 1;
    /// none where nothing was verified and where a function of the user's compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
}

impl Run {
    /// Gives every metric that is built in the direction that `catalogue` has it in: that of a
    /// stored run is the one that was known when it was made. What a file set then stays, unless
    /// another has set it since.
    pub fn directed_by(&mut self, catalogue: &Catalogue) {
        let mut known: BTreeMap<String, Option<(Direction, bool)>> = BTreeMap::new();
        let direction = |name: &str| {
            let metric = catalogue.find(name).filter(|_| built_in(name).is_some())?;
            Some((metric.direction, metric.direction_set.is_some()))
        };
        let rows = self.series.iter_mut().flat_map(|series| &mut series.configurations);
        for (name, result) in rows.flat_map(|row| &mut row.metrics) {
            if !known.contains_key(name) {
                known.insert(name.clone(), direction(name));
            }
            let Some(Some((direction, set))) = known.get(name) else { continue };
            if *set || !result.direction_set {
                (result.direction, result.direction_set) = (*direction, *set);
            }
        }
    }
}

/// One metric of one configuration.
///
/// Its serde form has one of `"value": NUMBER`, `"unavailable": REASON` and `"unstable": REASON`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(into = "MetricDocument", try_from = "MetricDocument")]
pub struct MetricResult {
    /// The value (the median, where there are samples), or why there is none.
    pub value: Result<f64, String>,
    /// Whether there is none because the device would not hold still: it was measured, and the
    /// measurement says nothing of the kernel.
    pub unstable: bool,
    /// The base unit of the value and of the statistics.
    pub unit: Unit,
    /// Whether lower or higher is better, or neither.
    pub direction: Direction,
    /// Whether a section or a configuration file set that direction, in place of the one that is
    /// built in.
    pub direction_set: bool,
    /// Whether it is a deterministic count.
    pub class: Class,
    /// Where it came from.
    pub source: Source,
    /// Over the samples, where there are any.
    pub statistics: Option<Statistics>,
    /// Of a noisy metric: each process' own, in the order the processes ran.
    pub processes: Vec<ProcessValue>,
}

/// A noisy metric in one process: the statistics of its samples, all the same where there is but
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessValue {
    /// The middle sample.
    pub median: f64,
    /// The 95th percentile (nearest rank).
    pub p95: f64,
    /// The smallest sample.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
}

/// The serde form of [`MetricResult`].
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct MetricDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unavailable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unstable: Option<String>,
    unit: Unit,
    direction: Direction,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    direction_set: bool,
    class: Class,
    source: Source,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    processes: Vec<ProcessValue>,
}

impl From<MetricResult> for MetricDocument {
    fn from(metric: MetricResult) -> Self {
        let (value, unavailable, unstable) = match (metric.value, metric.unstable) {
            (Ok(value), _) => (Some(value), None, None),
            (Err(reason), false) => (None, Some(reason), None),
            (Err(reason), true) => (None, None, Some(reason)),
        };
        Self {
            value,
            unavailable,
            unstable,
            unit: metric.unit,
            direction: metric.direction,
            direction_set: metric.direction_set,
            class: metric.class,
            source: metric.source,
            statistics: metric.statistics,
            processes: metric.processes,
        }
    }
}

impl TryFrom<MetricDocument> for MetricResult {
    type Error = &'static str;

    fn try_from(document: MetricDocument) -> Result<Self, Self::Error> {
        let MetricDocument { value, unavailable, unstable, .. } = document;
        let (value, unstable) = match (value, unavailable, unstable) {
            (Some(value), None, None) => (Ok(value), false),
            (None, Some(reason), None) => (Err(reason), false),
            (None, None, Some(reason)) => (Err(reason), true),
            _ => {
                return Err(
                    "a metric needs either a `value` or the reason it is `unavailable` or `unstable`",
                );
            }
        };
        Ok(Self {
            value,
            unstable,
            unit: document.unit,
            direction: document.direction,
            direction_set: document.direction_set,
            class: document.class,
            source: document.source,
            statistics: document.statistics,
            processes: document.processes,
        })
    }
}

/// Descriptive statistics over all samples of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Statistics {
    /// How many samples.
    pub count: usize,
    /// How many processes they come from.
    pub processes: usize,
    /// The middle sample.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The 95th percentile (nearest rank).
    pub p95: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The sample standard deviation; 0 for one sample.
    pub standard_deviation: f64,
    /// (largest − smallest median of a process) / median of those medians, in percent; `None` for
    /// one process.
    pub process_spread_percent: Option<f64>,
    /// The median absolute deviation from the median, not scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_absolute_deviation: Option<f64>,
    /// Where the median of process medians lies, by order statistics; `None` for one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The standard deviation within a process (robust: 1.4826 times the median absolute
    /// deviation), in percent of the median of process medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_percent: Option<f64>,
    /// The standard deviation between processes that the one within does not explain, in percent of
    /// the median of process medians; `None` for one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_percent: Option<f64>,
    /// The correlation of neighbouring samples (lag 1), the median over processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocorrelation: Option<f64>,
    /// How far the samples drift from the first half of a process to the second, in percent of
    /// their median, where a trend is significant: the largest over processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_percent: Option<f64>,
    /// Samples far from the median of their process.
    #[serde(default)]
    pub outliers: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(value: Result<f64, String>) -> MetricResult {
        MetricResult {
            value,
            unstable: false,
            unit: Unit::Bytes,
            direction: Direction::Lower,
            direction_set: false,
            class: Class::Exact,
            source: Source::Declared,
            statistics: None,
            processes: Vec::new(),
        }
    }

    #[test]
    fn a_metric_is_written_with_its_value_or_its_reason() {
        let written = |m: &MetricResult| serde_json::to_string(m).unwrap();
        let rest = r#""unit":"B","direction":"lower","class":"exact","source":"declared"}"#;
        let unstable = MetricResult { unstable: true, ..metric(Err("too hot".into())) };
        for (metric, head) in [
            (metric(Ok(12.0)), r#"{"value":12.0,"#),
            (metric(Err("not here".into())), r#"{"unavailable":"not here","#),
            (unstable, r#"{"unstable":"too hot","#),
        ] {
            assert_eq!(written(&metric), format!("{head}{rest}"));
            assert_eq!(serde_json::from_str::<MetricResult>(&written(&metric)).unwrap(), metric);
        }
        for bad in [
            r#"{"value":null,"#,
            r#"{"value":1.0,"unavailable":"both","#,
            "{",
            r#"{"unstable":"a","unavailable":"b","#,
        ] {
            let error = serde_json::from_str::<MetricResult>(&format!("{bad}{rest}")).unwrap_err();
            assert!(error.to_string().contains("either a `value`"), "{error}");
        }
    }
}
