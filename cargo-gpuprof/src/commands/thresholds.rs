//! The thresholds of a series, from every layer, checked before anything runs.

use gpuprof_model::metric;
use gpuprof_model::protocol::SeriesDescription;
use gpuprof_model::suggest::did_you_mean;
use gpuprof_model::threshold::Selector;
use gpuprof_model::{ExitCode, ParseError, Threshold};

use crate::config::Config;
use crate::error::{Failure, Result};

/// A threshold and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The threshold.
    pub threshold: Threshold,
    /// `attribute`, the configuration file or `--threshold`.
    pub origin: String,
}

/// All thresholds of `series`: the attribute's, the configuration file's, the command line's.
///
/// # Errors
/// A threshold that does not parse, names an unknown metric or axis, or has a limit in a unit the
/// metric does not have, with its place.
pub fn of(
    series: &SeriesDescription,
    config: &Config,
    command_line: &[String],
) -> Result<Vec<Placed>> {
    let key = series.id.to_string();
    let attribute = format!("the attribute at {}:{}", series.file, series.line);
    let file = config.path.as_str();
    let from_config =
        config.thresholds.iter().chain(config.for_series(&key).flat_map(|s| &s.thresholds));
    let all = series
        .thresholds
        .iter()
        .map(|t| (t, "attribute", attribute.as_str(), ExitCode::Usage))
        .chain(from_config.map(|t| (t, file, file, ExitCode::Configuration)))
        .chain(command_line.iter().map(|t| (t, "--threshold", "--threshold", ExitCode::Usage)));
    all.map(|(text, origin, place, code)| {
        let threshold =
            check(text, series).map_err(|e| Failure::new(code, e.render(place, text)))?;
        Ok(Placed { threshold, origin: origin.to_owned() })
    })
    .collect()
}

fn check(text: &str, series: &SeriesDescription) -> Result<Threshold, ParseError> {
    let threshold = Threshold::parse(text)?;
    let Some(metric) = metric::find(&threshold.metric) else {
        let message = metric::unknown(&threshold.metric);
        return Err(ParseError::new(message, threshold.metric_span.clone()));
    };
    threshold.check(metric)?;
    if let Selector::Where(pairs) = &threshold.selector {
        for (axis, _) in pairs {
            if series.axes.iter().all(|own| &own.name != axis) {
                let start = text.find(axis.as_str()).unwrap_or(0);
                let names = series.axes.iter().map(|a| a.name.as_str());
                let mut error = ParseError::new(
                    format!("{} has no axis `{axis}`", series.id),
                    start..start + axis.len(),
                );
                error.help = did_you_mean(axis, names);
                return Err(error);
            }
        }
    }
    Ok(threshold)
}

/// The metrics to show: the command line's, else the configuration file's, else the annotation's.
///
/// # Errors
/// A name that no metric has.
pub fn columns(
    series: &SeriesDescription,
    config: &Config,
    command_line: &[String],
) -> Result<Vec<String>> {
    let key = series.id.to_string();
    let own: Vec<&String> = config.for_series(&key).flat_map(|s| &s.metrics).collect();
    let (asked, place, code): (Vec<&String>, String, ExitCode) = if !command_line.is_empty() {
        (command_line.iter().collect(), "--metrics".into(), ExitCode::Usage)
    } else if !own.is_empty() {
        (own, config.path.to_string(), ExitCode::Configuration)
    } else if !config.metrics.is_empty() {
        (config.metrics.iter().collect(), config.path.to_string(), ExitCode::Configuration)
    } else {
        (
            series.metrics.iter().collect(),
            format!("the attribute at {}:{}", series.file, series.line),
            ExitCode::Usage,
        )
    };
    match asked.iter().find(|name| metric::find(name).is_none()) {
        Some(name) => Err(Failure::new(code, format!("{}\n  --> {place}", metric::unknown(name)))),
        None => Ok(asked.into_iter().cloned().collect()),
    }
}
