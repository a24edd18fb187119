//! A run: every configuration of every series with its metrics, and their sources.
//!
//! Input: pass results. Output: the document that is stored, compared and reported. Values are
//! joined by name. The document has a [`SCHEMA_VERSION`], so that a reader can refuse unknown
//! versions.

mod cost;
mod document;
mod keys;
mod metric_result;
mod metrics;
mod shared;
mod span;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::advice::SeriesAdvice;
use crate::axis::Axis;
use crate::checks::CheckRecord;
use crate::code::{CostlyLine, CountedCode, Sources};
use crate::comparison::{Change, Comparison};
use crate::conclusion::Conclusion;
use crate::configuration::Configuration;
use crate::estimate::Estimate;
use crate::language::Language;
use crate::machine::{Backend, CacheControl, Chip, ClockControl};
use crate::measurement::{
    DeviceName, DeviceRecord, LaunchRecord, OccupancyLimiter, SourceCollection, Timer, Timing,
    Unverified, Verification,
};
use crate::metric::{Catalogue, built_in};
use crate::nvtx_pattern::NvtxPattern;
use crate::over_time::{CountersOverTime, SampledCounter};
use crate::parts::PartResult;
use crate::protocol::{CounterRange, Replay};
use crate::series::SeriesId;
use crate::timeline::Timeline;
use crate::units::Nanoseconds;
use crate::verdict::{Judgement, NotApplicable, Weight};
use crate::words::word_or_default;

pub use cost::SeriesCost;
pub use metric_result::{MetricResult, ProcessValue, Statistics};
use metrics::Directions;
pub use metrics::Metrics;
pub use shared::SharedRows;
pub use span::{MOST_SPANS, Span, Spent};

/// The version of the run document. Version 1 repeated in every row what is now said once for a
/// series; it is read as before.
pub const SCHEMA_VERSION: u32 = 2;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The name of the run's folder.
    pub id: String,
    /// The origin of the run.
    pub provenance: Provenance,
    /// Its series, in the order planned.
    #[cfg_attr(test, schemars(with = "Vec<document::SeriesDocument<'static>>"))]
    pub series: Vec<SeriesResult>,
    /// The comparison with a baseline, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The conclusion; none if nothing was to be judged, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// The advice on its series. It follows from all fields above: `report` derives it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<SeriesAdvice>,
}

/// The data for repeating a run or comparing it with another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Provenance {
    /// The version of `cargo-gpuprof`.
    pub tool_version: String,
    /// When the run started, RFC 3339, UTC.
    pub started: String,
    /// The driver that ran the kernels.
    pub backend: Backend,
    /// The device of the first finished pass.
    pub device: Option<DeviceRecord>,
    /// The emulated chips of a run on several, each with the device of its first finished pass.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chips: BTreeMap<Chip, DeviceRecord>,
    /// The devices over which the configurations were spread, if several: all of one model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceName>,
    /// What happened to the L2 cache before each sample.
    #[serde(deserialize_with = "word_or_default")]
    pub cache_control: CacheControl,
    /// What happened to the clocks.
    #[serde(deserialize_with = "word_or_default")]
    pub clock_control: ClockControl,
    /// The timer of the samples: CUDA events if they timed any of them. None on the emulated
    /// driver, and in older documents: their timer was CUDA events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<Timer>,
    /// How the hardware counters were collected; none if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_mode: Option<Replay>,
    /// The extent of the counters of series functions, if `--range` gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_range: Option<CounterRange>,
    /// Which NVTX ranges of series functions were measured, if `--nvtx` said so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nvtx: Vec<NvtxPattern>,
    /// The option or the line of a file by which no result was compared with a reference; none if
    /// results were compared, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_verified: Option<String>,
    /// The option or the line of a file by which thresholds do not decide the exit code; none if
    /// they do, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_gated: Option<String>,
    /// Whether missing and undecided results end with exit code 106 even next to judged ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Whether times are from one process with few samples, and nothing was judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The cargo profile of the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The architecture the kernels were compiled for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_arch: Option<String>,
    /// In which order the passes ran, such as `rounds, seed 1`; none for one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How many processes had timed each configuration at the first look at those with numeric
    /// limits; configurations that were still open then got more. None if each was measured as
    /// often as requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_look: Option<u32>,
    /// How long measuring took, in seconds, for each process of a configuration that took times,
    /// its part of the counters and of all waiting included; none on the emulated driver, of a
    /// resumed run, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_per_process: Option<f64>,
    /// SHA-256 of the PTX of each kernel package.
    pub ptx_sha256: BTreeMap<String, String>,
    /// SHA-256 of each file that buffers were filled from, by package and path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_sha256: BTreeMap<String, String>,
    /// The toolchain that built the kernels, as `rustc --version` says it.
    pub kernel_toolchain: Option<String>,
    /// The ptxas that reported registers without a GPU, and its architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembler: Option<String>,
    /// The git revision of the workspace, with `-dirty` where it has changes.
    pub git_revision: Option<String>,
    /// The source lines that its kernels' counts are of; none of an archive, and in older
    /// documents.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
    /// The formulas of the workspace's own metrics, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub formulas: BTreeMap<String, String>,
    /// The workspace's own rules of advice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleFile>,
    /// The slice of a plan that it is, or the slices that it was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceRecord>,
    /// The slices of its plan that a merged run lacks; none if it lacks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_slices: Option<MissingSlices>,
    /// The spans of its time, in the order of their ends; none in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// The costs of its series, in its order; none in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<SeriesCost>,
}

impl Provenance {
    /// The device of the series `id`: that of its chip in a run on several.
    pub fn device_of(&self, id: &SeriesId) -> Option<&DeviceRecord> {
        match id.chip {
            Some(chip) => self.chips.get(&chip),
            None => self.device.as_ref(),
        }
    }

    /// Takes note of the timer of `timing`.
    pub fn note_timer(&mut self, timing: &Timing) {
        self.timer = match self.timer {
            Some(Timer::Events) => Some(Timer::Events),
            Some(Timer::Device) | None => Some(timing.timer),
        };
    }
}

/// A file of rules of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleFile {
    /// Its original path, for messages.
    pub path: String,
    /// Its TOML.
    pub text: String,
}

/// A slice of a plan that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SliceRecord {
    /// Which slice, from 1.
    pub slice: u32,
    /// Of how many.
    pub of: u32,
    /// The id of its run.
    pub run: String,
    /// The machine that it began on.
    pub host: String,
    /// The variables of the scheduler or the CI that identify the job.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scheduler: BTreeMap<String, String>,
    /// Its share of each series of the merged run; empty in its own run, and in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<SlicePart>,
}

/// The slices that a merged run lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingSlices {
    /// Their numbers, in order: slices that are not there, or not measured to their end.
    pub numbers: Vec<u32>,
    /// How many slices the plan has.
    pub of: u32,
    /// Whether `--partial` accepts that they are missing.
    pub accepted: bool,
}

impl fmt::Display for MissingSlices {
    /// Such as `slices 2, 3 of 5 are missing or partial`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self.numbers.len() {
            1 => write!(f, "slice {numbers} of {} is missing or partial", self.of),
            _ => write!(f, "slices {numbers} of {} are missing or partial", self.of),
        }
    }
}

/// The part of a series that a machine measured for a slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlicePart {
    /// The series.
    pub series: String,
    /// The positions of its configurations in the run, as ranges: the first and the last of each.
    pub configurations: Vec<(u32, u32)>,
    /// The machine; empty for what was not measured.
    pub host: String,
}

/// One series of a run. Its serde form has the common data of its rows once.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesResult {
    /// Its name.
    pub id: SeriesId,
    /// The annotated function's file.
    pub file: String,
    /// The annotated function's line.
    pub line: u32,
    /// The kernel's language; none of a series function, and in older documents.
    pub language: Option<Language>,
    /// The axes that were swept, each with the values that occur.
    pub axes: Vec<Axis>,
    /// The axes among them that say nothing new: derived ones, and those zipped with an earlier
    /// one.
    pub dependent_axes: Vec<String>,
    /// The metrics to show, in order.
    pub columns: Vec<String>,
    /// Sections, one table each.
    pub sections: Vec<SectionColumns>,
    /// Its configurations, in series order.
    pub configurations: Vec<ConfigurationResult>,
    /// The thresholds of its annotation; none in older documents.
    pub thresholds: Vec<String>,
    /// Its judged thresholds.
    pub judgements: Vec<Judgement>,
    /// Thresholds that apply to other devices than this run's.
    pub not_applicable: Vec<NotApplicable>,
    /// The metrics shown, compared with the baseline's; empty without one.
    pub changes: Vec<Change>,
}

impl SeriesResult {
    /// A series called `id` of which nothing else is known.
    pub fn named(id: &SeriesId) -> Self {
        Self {
            id: id.clone(),
            file: String::new(),
            line: 0,
            language: None,
            axes: Vec::new(),
            dependent_axes: Vec::new(),
            columns: Vec::new(),
            sections: Vec::new(),
            configurations: Vec::new(),
            thresholds: Vec::new(),
            judgements: Vec::new(),
            not_applicable: Vec::new(),
            changes: Vec::new(),
        }
    }
}

/// Metrics that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SectionColumns {
    /// Its name.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// A metric that must be above zero somewhere for the section to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Its metrics, in order.
    pub columns: Vec<SectionColumn>,
    /// Tables of one configuration each, for reports that have room for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<SectionTable>,
    /// Counters that are sampled over the time of a launch, on a GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sampled: Vec<SampledCounter>,
}

impl SectionColumns {
    /// Every metric that it needs a value of.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        let columns = self.columns.iter();
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        columns
            .flat_map(|column| column.largest_of.values().chain([&column.name]))
            .chain(&self.needs)
            .chain(cells.filter(|name| !name.is_empty()))
    }
}

/// A table of metrics at one configuration, such as the traffic of L2 by source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SectionTable {
    /// Its heading.
    pub title: String,
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<SectionRow>,
}

/// A row of a [`SectionTable`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SectionRow {
    /// The subject of the row.
    pub label: String,
    /// A metric for each column; empty where there is none.
    pub cells: Vec<String>,
}

/// One metric of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SectionColumn {
    /// Its label.
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
        /// The error.
        reason: String,
    },
    /// A pass ran out of time and was killed.
    Timeout {
        /// The limit it ran into.
        reason: String,
    },
    /// The run ended before this configuration.
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

    /// How much the end weighs.
    pub fn weight(&self) -> Weight {
        match self {
            Self::Finished => Weight::Fine,
            Self::Invalid { .. } | Self::Skipped { .. } => Weight::Doubtful,
            Self::Failed { .. } | Self::Timeout { .. } => Weight::Bad,
        }
    }

    /// Whether a process failed or reached its time limit.
    pub fn is_failure(&self) -> bool {
        self.weight() == Weight::Bad
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
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationResult {
    /// The point of the series.
    pub configuration: Configuration,
    /// The UUID of the device that all of its passes ran on, if the run had several.
    pub device: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Its metrics by name.
    pub metrics: Metrics,
    /// The samples of each process that timed it.
    pub timings: Vec<Timing>,
    /// Its estimated time; none on a GPU, with `--no-estimate`, and in older documents.
    pub estimate: Option<Estimate>,
    /// The limit of its theoretical occupancy.
    pub occupancy_limiter: Option<OccupancyLimiter>,
    /// The launches of its measured range.
    pub launches: Vec<LaunchRecord>,
    /// One call of its closure; none of a single launch, if nothing observed it, and in older
    /// documents.
    pub timeline: Option<Timeline>,
    /// The metrics of parts of that range; none in older documents.
    pub parts: Vec<PartResult>,
    /// The source lines with the costliest accesses; none in older documents.
    pub costly: Vec<CostlyLine>,
    /// The code of its kernels and its counts line by line; none in older documents.
    pub code: Vec<CountedCode>,
    /// How they were collected on a GPU; none if the emulated driver counted.
    pub source: Option<SourceCollection>,
    /// Counters over the time of a launch; none if they were not asked for.
    pub over_time: Option<CountersOverTime>,
    /// The bytes of the kernel's buffers; none of a series function, and in older documents.
    pub buffer_bytes: Option<u64>,
    /// A hash of the kernel's arguments before the launch; none of a series function, and in older
    /// documents.
    pub inputs: Option<u32>,
    /// Nanoseconds of the longest set-up that a process made for the series; none without one.
    pub setup_ns: Option<Nanoseconds>,
    /// Whether `verify` ran and agreed.
    pub verified: bool,
    /// The largest error that `verify` found in any process, in units of the tolerance: at most 1;
    /// none if nothing was verified and if a function of the user compared.
    pub largest_error: Option<f64>,
    /// The elements that `verify` compared, and how closely; none if nothing was verified, and in
    /// older documents.
    pub verification: Option<Verification>,
    /// Why nothing was verified, though no difference was found.
    pub unverified: Option<Unverified>,
    /// The checks of the emulated driver; none on a GPU, and in older documents.
    pub checks: Option<CheckRecord>,
    /// How it failed next to others, if it was measured again alone after that.
    pub retried: Option<String>,
    /// The failures of processes that were started again; empty in older documents.
    pub failed_attempts: Vec<String>,
}

impl ConfigurationResult {
    /// Whether it finished after failures.
    pub fn is_flaky(&self) -> bool {
        self.status == Status::Finished && !self.failed_attempts.is_empty()
    }
}

impl Run {
    /// Takes note of the timer of its samples.
    pub fn note_timers(&mut self) {
        let rows = self.series.iter().flat_map(|series| &series.configurations);
        rows.flat_map(|row| &row.timings).for_each(|timing| self.provenance.note_timer(timing));
    }

    /// A run that is not judged.
    pub fn unjudged(
        id: impl Into<String>,
        provenance: Provenance,
        series: Vec<SeriesResult>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            id: id.into(),
            provenance,
            series,
            comparison: None,
            conclusion: None,
            advice: Vec::new(),
        }
    }

    /// The id of the other side of a run `id` that measures two.
    pub fn base_id(id: &str) -> String {
        format!("{id}/base")
    }

    /// Whether this is the other side of the run `head`, and was timed in rounds next to it.
    pub fn was_measured_beside(&self, head: &Self) -> bool {
        self.id == Self::base_id(&head.id)
            && self.provenance.device.as_ref().is_some_and(|device| !device.emulated)
    }

    /// Gives every built-in metric the direction of `catalogue`: a stored run has the direction at
    /// the time of the run. A direction that a file set then stays, unless another file has set it
    /// since.
    pub fn directed_by(&mut self, catalogue: &Catalogue) {
        let mut known = Directions::new(|name| {
            let metric = catalogue.find(name).filter(|_| built_in(name).is_some())?;
            Some((metric.direction, metric.direction_set.is_some()))
        });
        let mut shared = SharedRows::default();
        for row in self.series.iter_mut().flat_map(|series| &mut series.configurations) {
            if row.metrics.turn(&mut known) {
                shared.keep_once(&mut row.metrics, &mut row.code);
            }
        }
    }
}
