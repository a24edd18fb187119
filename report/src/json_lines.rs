//! JSON lines: one object a line with a `"reason"`, as cargo's own `--message-format json` has it.
//!
//! Input: events, or a whole run. Output: one line for each event, written at once, so that readers
//! of a pipe never see half of one. The order is `run-started`, then for each series its
//! `configuration-finished`, `threshold-judged` and `series-finished`, then `run-finished`. If
//! passes run in rounds, configurations of all series finish in the order of the last round.
//! Readers must ignore unknown reasons and fields.

use std::borrow::Cow;
use std::io::{self, Write};

use gpuprof_model::advice::SeriesAdvice;
use gpuprof_model::checks::CheckRecord;
use gpuprof_model::conclusion::Conclusion;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::exit_code::ExitCode;
use gpuprof_model::measurement::{OccupancyLimiter, Unverified, Verification};
use gpuprof_model::run::{ConfigurationResult, Metrics, Provenance, Run, SeriesResult};
use gpuprof_model::series::SeriesId;
use gpuprof_model::verdict::Judgement;
use serde::{Serialize, Serializer};

use super::{Report, Summary};
use gpuprof_analysis::gate::conclusion;
use gpuprof_analysis::view::View;
use gpuprof_analysis::view::best;
use gpuprof_analysis::view::by_device::{DeviceRows, parts};
use gpuprof_analysis::view::columns;
use gpuprof_analysis::view::rank::{Ranking, ranking};
use gpuprof_system::json_text;

/// The version of the lines; each can be read alone.
pub const LINES_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Event<'r> {
    /// Before the first pass.
    RunStarted(RunStarted<'r>),
    /// A configuration ended, well or not.
    ConfigurationFinished(ConfigurationFinished<'r>),
    /// A configuration of the other side ended, if a run measures two: with a separate reason, so
    /// that readers do not take it for one of this side.
    BaseConfigurationFinished(ConfigurationFinished<'r>),
    /// A threshold was judged.
    ThresholdJudged(ThresholdJudged<'r>),
    /// Every configuration of a series ended and its thresholds are judged.
    SeriesFinished(SeriesFinished<'r>),
    /// The last line.
    RunFinished(Box<RunFinished<'r>>),
}

/// What is known before the first pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunStarted<'r> {
    /// [`LINES_VERSION`] of the writer.
    pub schema_version: u32,
    /// The name of the run's folder.
    pub id: &'r str,
    /// Its provenance; the device may not be known yet.
    pub provenance: &'r Provenance,
    /// How many series are planned.
    pub series: usize,
    /// How many configurations are planned.
    pub configurations: usize,
}

/// One configuration: how it ended and its metrics. Samples are in the run document only.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigurationFinished<'r> {
    /// The series it belongs to: package, target and kernel.
    pub series: &'r SeriesId,
    /// Its side, if the run measures two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<LineSide>,
    /// Its canonical text, `block=64,n=1048576`.
    pub configuration: String,
    /// Its axis values by axis name, as text.
    #[serde(serialize_with = "axes")]
    pub axes: &'r Configuration,
    /// The UUID of the device that measured it, in a run that had several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<&'r str>,
    /// `finished`, `invalid`, `failed`, `timeout` or `skipped`.
    pub status: &'static str,
    /// Why it did not finish.
    pub status_reason: Option<&'r str>,
    /// Every metric by name: its `value` or why it is `unavailable`.
    pub metrics: &'r Metrics,
    /// The limiter of its theoretical occupancy.
    pub occupancy_limiter: Option<OccupancyLimiter>,
    /// A hash of the kernel's arguments before the launch, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<u32>,
    /// Whether `verify` ran and agreed.
    pub verified: bool,
    /// The largest error that it found, in units of the tolerance, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_error: Option<f64>,
    /// The compared data, and the tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<&'r Verification>,
    /// Why a comparison that found no difference verified nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unverified: Option<Unverified>,
    /// The checks of the emulated driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckRecord>,
    /// How it failed next to others, if it was measured again alone after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retried: Option<&'r str>,
    /// The failures of processes that were started again.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub failed_attempts: &'r [String],
}

/// A side of a run that measures two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineSide {
    /// This revision.
    Head,
    /// The other one.
    Base,
}

/// One judged threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThresholdJudged<'r> {
    /// The series that it was judged on.
    pub series: &'r SeriesId,
    /// The verdict with the value that decided.
    pub judgement: &'r Judgement,
}

/// The end of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesFinished<'r> {
    /// The series.
    pub series: &'r SeriesId,
    /// The annotated function's file.
    pub file: &'r str,
    /// The annotated function's line.
    pub line: u32,
    /// How many configurations it has.
    pub configurations: usize,
    /// The metric on which its configurations are compared with the best one, if there is one.
    pub headline: Option<&'r str>,
    /// The best configuration by that metric; none if several devices measured the series.
    pub best: Option<String>,
    /// The configurations that are indistinguishable from the best, or that have the same exact
    /// value.
    pub indistinguishable: Vec<String>,
    /// The same for each device, if several measured the series: their rows are not compared with
    /// each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_device: Vec<BestOfDevice<'r>>,
}

/// What is best among the configurations that one device measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestOfDevice<'r> {
    /// The UUID of the device.
    pub device: Option<&'r str>,
    /// The best configuration.
    pub best: Option<String>,
    /// The configurations that are indistinguishable from it.
    pub indistinguishable: Vec<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFinished<'r> {
    /// The name of the run's folder.
    pub id: &'r str,
    /// Its provenance, with the device.
    pub provenance: &'r Provenance,
    /// Configurations by status and thresholds by verdict.
    pub summary: Summary,
    /// The conclusion of the run; none if nothing was to be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Cow<'r, Conclusion>>,
    /// The run's advice, as in the run document: only on the first measurements.
    #[serde(skip_serializing_if = "<[SeriesAdvice]>::is_empty")]
    pub advice: &'r [SeriesAdvice],
    /// The exit code of the process, if it is known.
    pub exit_code: Option<ExitCode>,
}

impl<'r> Event<'r> {
    /// The run `id` starts with so many series and configurations planned.
    pub fn run_started(
        id: &'r str,
        provenance: &'r Provenance,
        series: usize,
        configurations: usize,
    ) -> Self {
        let schema_version = LINES_VERSION;
        Self::RunStarted(RunStarted { schema_version, id, provenance, series, configurations })
    }

    /// A configuration of `series` ended, on a `side` where the run measures two.
    pub fn configuration_finished(
        series: &'r SeriesId,
        result: &'r ConfigurationResult,
        side: Option<LineSide>,
    ) -> Self {
        let finished = ConfigurationFinished {
            series,
            side,
            configuration: result.configuration.to_string(),
            axes: &result.configuration,
            device: result.device.as_deref(),
            status: result.status.word(),
            status_reason: result.status.reason(),
            metrics: &result.metrics,
            occupancy_limiter: result.occupancy_limiter,
            inputs: result.inputs,
            verified: result.verified,
            largest_error: result.largest_error,
            verification: result.verification.as_ref(),
            unverified: result.unverified,
            checks: result.checks,
            retried: result.retried.as_deref(),
            failed_attempts: &result.failed_attempts,
        };
        match side {
            Some(LineSide::Base) => Self::BaseConfigurationFinished(finished),
            Some(LineSide::Head) | None => Self::ConfigurationFinished(finished),
        }
    }

    /// A threshold of `series` was judged.
    pub fn threshold_judged(series: &'r SeriesId, judgement: &'r Judgement) -> Self {
        Self::ThresholdJudged(ThresholdJudged { series, judgement })
    }

    /// A series ended; `view` says by which metric a configuration is best, and among which rows.
    pub fn series_finished(series: &'r SeriesResult, view: &'r View) -> Self {
        let mut by_device: Vec<BestOfDevice<'_>> =
            parts(series).iter().map(|part| best_of(part, view)).collect();
        let headline = match &view.best_by {
            Some(metric) => {
                by_device.iter().any(|part| part.best.is_some()).then_some(metric.as_str())
            }
            None => columns::headline(series),
        };
        let (best, indistinguishable) = match by_device.pop() {
            Some(whole) if by_device.is_empty() => (whole.best, whole.indistinguishable),
            last => {
                by_device.extend(last);
                (None, Vec::new())
            }
        };
        Self::SeriesFinished(SeriesFinished {
            series: &series.id,
            file: &series.file,
            line: series.line,
            configurations: series.configurations.len(),
            headline,
            best,
            indistinguishable,
            by_device,
        })
    }

    /// The run ended.
    pub fn run_finished(run: &'r Run, exit_code: Option<ExitCode>) -> Self {
        Self::RunFinished(Box::new(RunFinished {
            id: &run.id,
            provenance: &run.provenance,
            summary: Summary::count(run),
            conclusion: conclusion::stored_or_new(run),
            advice: &run.advice,
            exit_code,
        }))
    }

    /// Writes the event as one line and flushes it.
    ///
    /// # Errors
    /// `out` could not be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = Vec::new();
        json_text::line(&mut line, self)?;
        out.write_all(&line)?;
        out.flush()
    }
}

/// What is best in `part`.
fn best_of<'r>(part: &DeviceRows<'r>, view: &View) -> BestOfDevice<'r> {
    let viewed = view.apply(&part.series);
    let rows = &viewed.series.configurations;
    let key = |row: usize| rows[row].configuration.to_string();
    let best_by = view.headline(&viewed.series);
    let best = best_by.and_then(|metric| best::best(rows, metric)).map(key);
    let ranking = best_by.and_then(|metric| ranking(rows, metric));
    let indistinguishable = ranking.iter().flat_map(Ranking::tied).map(key).collect();
    BestOfDevice { device: part.device, best, indistinguishable }
}

fn axes<S: Serializer>(configuration: &Configuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(configuration.0.iter().map(|(axis, value)| (axis, value)))
}

/// All events of a run that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonLines {
    /// The exit code in the last line.
    pub exit_code: Option<ExitCode>,
}

impl Report for JsonLines {
    fn takes_view(&self) -> bool {
        true
    }

    fn write_as(&self, view: &View, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let configurations = run.series.iter().map(|series| series.configurations.len()).sum();
        Event::run_started(&run.id, &run.provenance, run.series.len(), configurations)
            .write(out)?;
        for series in &run.series {
            for part in parts(series) {
                let viewed = view.apply(&part.series);
                for &row in &viewed.shown {
                    let result = &viewed.series.configurations[row];
                    Event::configuration_finished(&series.id, result, None).write(out)?;
                }
            }
            for judgement in &series.judgements {
                Event::threshold_judged(&series.id, judgement).write(out)?;
            }
            Event::series_finished(series, view).write(out)?;
        }
        Event::run_finished(run, self.exit_code).write(out)
    }
}
