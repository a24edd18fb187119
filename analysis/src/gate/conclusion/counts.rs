//! How many configurations a run judged, and how many did not finish.

use std::collections::HashSet;

use gpuprof_model::comparison::Comparison;
use gpuprof_model::metric::Class;
use gpuprof_model::run::{ConfigurationResult, Run, SeriesResult, Status};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::Verdict;

/// Configurations of which a value was compared with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct JudgedCounts {
    /// By any metric.
    pub configurations: usize,
    /// By any metric, relative to the baseline.
    pub relative: usize,
    /// By a noisy one, such as a time, relative to the baseline.
    pub by_time: usize,
}

impl JudgedCounts {
    /// Counts the compared configurations of `run`.
    pub(super) fn count(run: &Run) -> Self {
        let appeared: HashSet<&str> =
            run.comparison.iter().flat_map(|c| &c.appeared).map(String::as_str).collect();
        let nothing = |comparison: &Comparison| {
            comparison.absent.is_some() || comparison.obstacle().is_some()
        };
        let without = run.comparison.as_ref().is_none_or(nothing);
        let unheld: HashSet<&str> =
            run.comparison.iter().flat_map(|c| &c.unheld).map(String::as_str).collect();
        let of_series = |series: &SeriesResult| {
            let without = without || unheld.contains(series.id.to_string().as_str());
            let judgements = series.judgements.iter();
            let compared =
                judgements.filter(|judgement| judgement.verdict != Verdict::Incomparable);
            let asked = compared.filter_map(|judgement| judgement.threshold.parsed.as_ref().ok());
            let held = |asked: &&Threshold| !(without && asked.needs_baseline());
            let asked: Vec<&Threshold> = asked.filter(held).collect();
            let is_new = |row: &ConfigurationResult| {
                appeared.contains(format!("{}/{}", series.id, row.configuration).as_str())
            };
            let rows = series.configurations.iter().filter(|row| row.status == Status::Finished);
            rows.fold(Self::default(), |sum, row| {
                let new = !appeared.is_empty() && is_new(row);
                let classes: Vec<(bool, Class)> =
                    asked.iter().filter_map(|asked| held_by(asked, row, new)).collect();
                let scatters = |(relative, class)| relative && class == Class::Noisy;
                let relative = classes.iter().any(|(relative, _)| *relative);
                Self {
                    configurations: sum.configurations + usize::from(!classes.is_empty()),
                    relative: sum.relative + usize::from(relative),
                    by_time: sum.by_time + usize::from(classes.into_iter().any(scatters)),
                }
            })
        };
        run.series.iter().map(of_series).fold(Self::default(), |a, b| Self {
            configurations: a.configurations + b.configurations,
            relative: a.relative + b.relative,
            by_time: a.by_time + b.by_time,
        })
    }
}

/// Configurations of `run` that did not finish.
pub(super) fn unfinished(run: &Run) -> usize {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let is = |status: &Status| !matches!(status, Status::Finished | Status::Invalid { .. });
    rows.filter(|row| is(&row.status)).count()
}

/// Whether `asked` held `row` against the baseline or against a number, and the class of its metric
/// there; none if it did not. A row that is `new` has no baseline.
fn held_by(asked: &Threshold, row: &ConfigurationResult, new: bool) -> Option<(bool, Class)> {
    let relative = asked.needs_baseline();
    if relative && new || !asked.selector.matches(&row.configuration) {
        return None;
    }
    let found = row.metrics.get(&asked.metric).filter(|found| found.value.is_ok())?;
    Some((relative, found.class))
}
