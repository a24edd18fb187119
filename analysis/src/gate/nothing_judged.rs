//! Whether a run judged nothing, or compared nothing, although it was to.
//!
//! Input: a judged run. Output: the reason; none if something was judged and, with a baseline,
//! compared, or if nothing was to be.

use std::collections::HashSet;

use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::threshold::{Severity, Threshold};
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::compared_pair::number;

/// The step that a run skipped as a whole, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nothing {
    /// No hard threshold has a verdict for any configuration.
    Judged(String),
    /// No configuration has a counterpart in the baseline.
    Compared(String),
}

impl Nothing {
    /// It in a few words, with the reason.
    pub fn words(&self) -> String {
        match self {
            Self::Judged(reason) => format!("nothing judged: {reason}"),
            Self::Compared(reason) => format!("nothing compared: {reason}"),
        }
    }
}

/// Whether `run` judged or compared nothing; `first` if it makes the baseline itself, so that
/// nothing can be relative to it yet.
pub fn found(run: &Run, first: bool) -> Option<Nothing> {
    let compared = if first { None } else { nothing_compared(run) };
    nothing_judged(run, first).map(Nothing::Judged).or(compared.map(Nothing::Compared))
}

fn nothing_judged(run: &Run, first: bool) -> Option<String> {
    let mut reasons: Vec<(&SeriesResult, String)> = Vec::new();
    for series in &run.series {
        for judgement in series.judgements.iter().filter(|it| it.severity == Severity::Hard) {
            let threshold = judgement.threshold.parsed.as_ref().ok();
            let relative = threshold.is_some_and(Threshold::needs_baseline);
            if first && relative {
                continue;
            }
            if decides(series, judgement, threshold) {
                return None;
            }
            let own = || format!("`{}` has no value to judge", judgement.threshold);
            reasons.push((series, judgement.reason.clone().unwrap_or_else(own)));
        }
    }
    let (of, reason) = reasons.first()?;
    // One reason for all series needs no name.
    let shared = run.series.len() == 1 || reasons.iter().all(|(_, other)| other == reason);
    Some(if shared { reason.clone() } else { format!("{}: {reason}", of.id) })
}

/// Whether `judgement` of `series` decides about at least one configuration.
fn decides(series: &SeriesResult, judgement: &Judgement, threshold: Option<&Threshold>) -> bool {
    match judgement.verdict {
        Verdict::Pass | Verdict::Fail | Verdict::Improved => true,
        Verdict::Incomparable => false,
        // Some configurations may be decided all the same, except by `best`.
        Verdict::Inconclusive | Verdict::Missing | Verdict::Unavailable => threshold
            .filter(|threshold| !threshold.selector.is_best())
            .is_some_and(|threshold| valued(series, threshold) > judgement.undecided.len()),
    }
}

/// How many configurations of `series` have the values that `threshold` compares.
fn valued(series: &SeriesResult, threshold: &Threshold) -> usize {
    let metric = &threshold.metric;
    let held = series.changes.iter().filter(|it| it.metric == *metric && it.baseline.is_some());
    let held: HashSet<&str> = held.map(|change| change.configuration.as_str()).collect();
    let has_value = |row: &&ConfigurationResult| {
        row.status == Status::Finished
            && threshold.selector.matches(&row.configuration)
            && row.metrics.get(metric).is_some_and(|it| number(it, threshold.statistic).is_ok())
            && (!threshold.needs_baseline()
                || held.contains(row.configuration.to_string().as_str()))
    };
    series.configurations.iter().filter(has_value).count()
}

fn nothing_compared(run: &Run) -> Option<String> {
    let comparison = run.comparison.as_ref()?;
    if let Some(obstacle) = comparison.absent.clone().or_else(|| comparison.obstacle()) {
        return Some(obstacle);
    }
    let without = comparison.appeared.iter().chain(&comparison.unheld).map(String::as_str);
    let without: HashSet<&str> = without.collect();
    let has_counterpart = |series: &SeriesResult| {
        let id = series.id.to_string();
        let held = |row: &ConfigurationResult| {
            row.status == Status::Finished
                && row.metrics.iter().any(|(_, metric)| metric.value.is_ok())
                && !without.contains(format!("{id}/{}", row.configuration).as_str())
        };
        !without.contains(id.as_str()) && series.configurations.iter().any(held)
    };
    (!run.series.iter().any(has_counterpart)).then(|| {
        format!(
            "the baseline `{}` has no configuration that was measured here",
            comparison.baseline
        )
    })
}

#[cfg(test)]
#[path = "nothing_judged_tests.rs"]
mod tests;
