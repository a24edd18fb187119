//! The thresholds of a series, from every layer, checked before anything runs.
//!
//! The layers are the attribute, the configuration file, the preset and the command line. A
//! threshold replaces one of an earlier layer that says the same thing with another limit: same
//! device, selector, metric, statistic and comparison, and both relative to the baseline or
//! neither. What does not collide is added.

use gpuprof_model::each_once::each_once;
use gpuprof_model::metric::{Catalogue, group};
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::run::SeriesResult;
use gpuprof_model::threshold::WrittenThreshold;
use gpuprof_model::verdict::{FileLine, Layer};
use gpuprof_model::{ExitCode, ParseError, SeriesId, Space, Threshold};

use super::settings::Layers;
use crate::config::{Config, DEFAULT_PATH, Written};
use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_analysis::view;
use gpuprof_catalogue::chips::{BREAKDOWN, Chips};
use gpuprof_system::error::{Failure, Result};

/// A threshold, whether it is judged or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The threshold.
    pub own: ConfiguredThreshold,
    /// The origin of the threshold of a later layer that replaces it.
    pub replaced_by: Option<Layer>,
}

/// The properties of a series that its thresholds depend on.
#[derive(Debug, Clone)]
pub struct Annotated<'s> {
    /// The series' name.
    pub id: &'s SeriesId,
    /// The position of the annotation, as `file:line`.
    pub place: String,
    /// The thresholds of the annotation.
    pub thresholds: Vec<WrittenThreshold>,
    /// The axes.
    pub axes: Vec<&'s str>,
    /// The axes with their values: those of the run, then those of the annotation; none if they are
    /// not known.
    pub spaces: Vec<&'s Space>,
}

impl<'s> From<&'s SeriesDescription> for Annotated<'s> {
    fn from(series: &'s SeriesDescription) -> Self {
        Self {
            id: &series.id,
            place: format!("{}:{}", series.file, series.line),
            thresholds: WrittenThreshold::all(&series.thresholds),
            axes: series.space.names().collect(),
            spaces: vec![&series.space],
        }
    }
}

impl<'s> Annotated<'s> {
    /// A stored `series`, without thresholds of its annotation.
    fn of_stored(series: &'s SeriesResult) -> Self {
        Self {
            id: &series.id,
            place: format!("{}:{}", series.file, series.line),
            thresholds: Vec::new(),
            axes: view::types(series).into_iter().map(|(axis, _)| axis).collect(),
            spaces: Vec::new(),
        }
    }
}

/// The thresholds of `series` that are judged.
///
/// # Errors
/// A threshold that does not parse, names an unknown metric or axis, or has a limit in a unit the
/// metric does not have, with its place.
pub fn collect(
    catalogue: &Catalogue,
    series: &Annotated<'_>,
    layers: &Layers,
    command_line: &[WrittenThreshold],
) -> Result<Vec<ConfiguredThreshold>> {
    let all = with_replaced(catalogue, series, layers, command_line)?.into_iter();
    Ok(all.filter(|placed| placed.replaced_by.is_none()).map(|placed| placed.own).collect())
}

/// All thresholds of `series` in layer order, including replaced ones.
///
/// # Errors
/// As [`collect`].
pub fn with_replaced(
    catalogue: &Catalogue,
    series: &Annotated<'_>,
    layers: &Layers,
    command_line: &[WrittenThreshold],
) -> Result<Vec<Placed>> {
    let attribute = format!("the attribute at {}", series.place);
    let mut written: Vec<(&WrittenThreshold, Layer, Option<FileLine>)> = Vec::new();
    written.extend(series.thresholds.iter().map(|own| (own, Layer::Attribute, None)));
    for (config, origin) in layers.configs() {
        let own = config.for_series(series.id).flat_map(|s| &s.thresholds);
        for Written { threshold, line, .. } in config.thresholds.iter().chain(own) {
            let place = FileLine { file: layers.file(), line: *line };
            written.push((threshold, Layer::Configuration(origin.clone()), Some(place)));
        }
    }
    written.extend(command_line.iter().map(|given| (given, Layer::CommandLine, None)));
    let mut all: Vec<Placed> = Vec::new();
    let mut wrong: Option<Failure> = None;
    for (condition, origin, place) in written {
        // The compiler has compared those of the annotation with its axes.
        let spaces = if origin == Layer::Attribute { &[] } else { &series.spaces[..] };
        let threshold = match check(catalogue, condition, (series, spaces)) {
            Ok(threshold) => threshold,
            Err(error) => {
                let (code, at) = match &place {
                    Some(place) => (ExitCode::Configuration, place.to_string()),
                    None if origin == Layer::Attribute => (ExitCode::Usage, attribute.clone()),
                    None => (ExitCode::Usage, origin.to_string()),
                };
                let message = error.render(&at, &condition.text);
                match &mut wrong {
                    Some(first) => first.message = format!("{}\n{message}", first.message),
                    None => wrong = Some(Failure::new(code, message)),
                }
                continue;
            }
        };
        for earlier in all.iter_mut().filter(|p| p.own.origin != origin && p.replaced_by.is_none())
        {
            if threshold.supersedes(&earlier.own.threshold) {
                earlier.replaced_by = Some(origin.clone());
            }
        }
        let own = ConfiguredThreshold { threshold, origin, place };
        all.push(Placed { own, replaced_by: None });
    }
    wrong.map_or(Ok(all), Err)
}

/// The thresholds of a stored `series`: the thresholds of the original run, those of the current
/// configuration file, and `given` on the command line. A later one replaces an earlier one with
/// the same subject: the attribute's, the stored configuration file's, the current one's, the
/// stored command line's, `given`.
///
/// # Errors
/// A stored threshold that this version does not understand, and one of the configuration file that
/// does not fit the series (exit code 96).
pub fn of_stored(
    catalogue: &Catalogue,
    series: &SeriesResult,
    layers: &Layers,
    given: &[Threshold],
) -> Result<Vec<ConfiguredThreshold>> {
    let stored = stored(series)?;
    let step = |is: fn(&Layer) -> bool| -> Vec<ConfiguredThreshold> {
        stored.iter().filter(|own| is(&own.origin)).cloned().collect()
    };
    let today = collect(catalogue, &Annotated::of_stored(series), layers, &[])?;
    let given = given.iter().cloned();
    let steps = [
        step(|origin| *origin == Layer::Attribute),
        step(|origin| matches!(origin, Layer::Configuration(_))),
        today,
        step(|origin| *origin == Layer::CommandLine),
        given.map(|own| ConfiguredThreshold::new(own, Layer::CommandLine)).collect(),
    ];
    let mut all: Vec<ConfiguredThreshold> = Vec::new();
    for step in steps {
        let is_replaced = |earlier: &ConfiguredThreshold| {
            step.iter().any(|later| later.threshold.supersedes(&earlier.threshold))
        };
        all.retain(|earlier| !is_replaced(earlier));
        all.extend(step);
    }
    Ok(all)
}

/// What `series` was judged by, but for the default thresholds, which come with each baseline.
fn stored(series: &SeriesResult) -> Result<Vec<ConfiguredThreshold>> {
    let judged = series.judgements.iter();
    let judged = judged.map(|j| (j.threshold.clone(), &j.origin, j.place.clone()));
    let silent = series.not_applicable.iter();
    let silent = silent.map(|n| (n.threshold.clone().into(), &n.origin, None));
    let written = judged.chain(silent).filter(|(_, origin, _)| **origin != Layer::Default);
    let parsed = written.map(|(written, origin, place)| {
        let WrittenThreshold { text, parsed } = written;
        let threshold = parsed.map_err(|error| {
            let source = format!("the stored thresholds of {}", series.id);
            Failure::new(ExitCode::Configuration, error.render(&source, &text))
        })?;
        Ok(ConfiguredThreshold { threshold, origin: origin.clone(), place })
    });
    parsed.collect()
}

fn check(
    catalogue: &Catalogue,
    condition: &WrittenThreshold,
    (series, spaces): (&Annotated<'_>, &[&Space]),
) -> Result<Threshold, ParseError> {
    let threshold = condition.parsed.clone()?;
    threshold.metric_of(catalogue)?;
    let advice = format!("; [series.\"KEY\"] in {DEFAULT_PATH} applies to chosen series only");
    threshold.check_axes(&series.id.to_string(), &series.axes, &advice)?;
    threshold.check_selector(spaces)?;
    Ok(threshold)
}

/// The metrics to show: the command line's, else the configuration file's, else the annotation's.
/// Breakdowns are not expanded: their contents depend on the chip ([`Chips::expanded`]).
///
/// # Errors
/// Every name that no metric has.
pub fn columns(
    catalogue: &Catalogue,
    series: &SeriesDescription,
    layers: &Layers,
    command_line: &[String],
) -> Result<Vec<String>> {
    // The last layer that names any wins; within a layer the series' own table does.
    let of_layer = |config: &Config| -> Vec<String> {
        let own: Vec<String> =
            config.for_series(&series.id).flat_map(|s| &s.metrics).cloned().collect();
        if own.is_empty() { config.metrics.show.clone() } else { own }
    };
    let configured = layers.configs().map(|(config, _)| of_layer(config)).rfind(|m| !m.is_empty());
    let (asked, place, code) = match configured {
        _ if !command_line.is_empty() => {
            (command_line.to_vec(), "--metrics".to_owned(), ExitCode::Usage)
        }
        Some(metrics) => (metrics, layers.file(), ExitCode::Configuration),
        None => {
            let place = format!("the attribute at {}:{}", series.file, series.line);
            (series.metrics.clone(), place, ExitCode::Usage)
        }
    };
    let asked = without_groups(asked);
    let (breakdowns, metrics): (Vec<_>, Vec<_>) =
        asked.iter().map(String::as_str).partition(|name| name.starts_with(BREAKDOWN));
    if !breakdowns.is_empty() {
        let known = Chips::shipped().on_any(&breakdowns);
        known.map_err(|message| Failure::new(code, format!("{message}\n  --> {place}")))?;
    }
    match catalogue.all_unknown(metrics) {
        Some(message) => Err(Failure::new(code, format!("{message}\n  --> {place}"))),
        None => Ok(asked),
    }
}

/// `names` with the metrics of a group in its place, each once.
fn without_groups(names: Vec<String>) -> Vec<String> {
    let metrics = |name: String| match group(&name) {
        Some(metrics) => metrics.iter().map(|metric| (*metric).to_owned()).collect(),
        None => vec![name],
    };
    each_once(names.into_iter().flat_map(metrics))
}

#[cfg(test)]
#[path = "thresholds_tests.rs"]
mod tests;
