//! The baseline of a run: which of its series and configurations the run is compared with.
//!
//! Input: a baseline, or why there is none, and the intended scope of the run. Output: for each
//! series the reference of its thresholds, the changes of its columns, and vanished and new
//! entries. Joined by name, never by position: [`Against::name_as`] gives a series of both sides
//! one name.

use std::collections::BTreeSet;

use gpuprof_model::Filters;
use gpuprof_model::comparison::{Change, Comparison, Mismatch, Outcome};
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Provenance, Run, SeriesResult, Status};
use gpuprof_model::series::{Listed, SeriesId};
use gpuprof_model::threshold::Statistic;
use serde::{Deserialize, Serialize};

use crate::code;
use crate::compared_pair::{self, Side};
use crate::gate::budget::Budget;
use crate::gate::by_key::ByKey;
use crate::gate::default_thresholds::{compared, has};
use crate::gate::fingerprint;
use crate::gate::judge::Baseline;
use crate::view::columns::TOTALS;

/// The loss of a run that does not verify a configuration that the baseline verified.
const VERIFICATION: &str = "verification by its reference";

/// The part of its baseline that a run was to cover.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// Whether all configurations were selected of each series that was.
    pub whole: bool,
    /// The filters of the run.
    #[serde(flatten)]
    pub filters: Filters,
    /// Packages that exist and were not selected.
    pub other_packages: BTreeSet<String>,
    /// The bench targets that were selected; all where it is empty.
    pub targets: Vec<String>,
}

impl Scope {
    /// The scope of a run without filters.
    pub fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// Whether all of the series was selected. A filter on configurations selects a part
    /// of a series.
    fn holds(&self, id: &SeriesId) -> bool {
        // Filters know no chips.
        let of_every_chip = SeriesId { chip: None, ..id.clone() };
        self.whole
            && self.filters.take_whole(&of_every_chip.keys())
            && !self.other_packages.contains(&id.package)
            && (self.targets.is_empty() || self.targets.contains(&id.target))
    }
}

/// A baseline that a run is compared with.
#[derive(Debug, Clone)]
pub struct Against {
    /// The requested name or file.
    pub name: String,
    /// Its run, or why it is unavailable.
    pub run: Result<Run, String>,
    /// Whether it may come from another device.
    pub across_devices: bool,
    /// Whether it was measured next to the run, in rounds: then the process number `n` of one side
    /// and that of the other are neighbours in time.
    pub in_rounds: bool,
    /// The part of it that the run was to cover.
    pub scope: Scope,
}

impl Against {
    /// Gives the series of the baseline that are among `ours` the ids they have there.
    pub fn name_as<'s>(&mut self, ours: impl IntoIterator<Item = impl Into<Listed<'s>>>) {
        if let Ok(run) = &mut self.run {
            run.name_as(ours, !self.scope.targets.is_empty());
        }
    }

    /// The reference for the thresholds of `series`, of a run with this `provenance`. The device of
    /// a run is that of the first configuration that finished, so it is not compared before.
    pub fn series(&self, series: &SeriesResult, provenance: &Provenance) -> Baseline<'_> {
        let id = &series.id;
        let run = match &self.run {
            Ok(run) => run,
            Err(reason) => return Baseline::Absent(reason.clone()),
        };
        let mut mismatches =
            fingerprint::mismatches(&run.provenance, provenance, self.across_devices);
        mismatches.extend(fingerprint::extent(run, series));
        let obstacle = obstacle(&mismatches).filter(|_| any_finished(series));
        if let Some(obstacle) = obstacle {
            return Baseline::Incomparable(obstacle);
        }
        match self.find_series(id) {
            Some(series) => Baseline::Held {
                configurations: &series.configurations,
                whole: self.scope.holds(id),
                in_rounds: self.in_rounds,
            },
            None => Baseline::Absent(format!("the baseline `{}` has no series {id}", self.name)),
        }
    }

    /// The series `id` of the baseline, whether it may be compared or not.
    pub fn find_series(&self, id: &SeriesId) -> Option<&SeriesResult> {
        self.run.as_ref().ok()?.series.iter().find(|series| series.id == *id)
    }

    /// The changes of the columns of `series` and its baseline; entries of the baseline alone come
    /// last.
    pub fn changes(
        &self,
        series: &SeriesResult,
        provenance: &Provenance,
        budget: &Budget,
    ) -> Vec<Change> {
        let baseline = self.series(series, provenance);
        let columns = compared(series, self.find_series(&series.id));
        let theirs = match &baseline {
            Baseline::Held { configurations, .. } => *configurations,
            Baseline::Incomparable(_) | Baseline::Absent(_) => return Vec::new(),
        };
        let bounds = Some(&budget.relative).filter(|_| self.in_rounds);
        let (before, after) = (ByKey::new(theirs), ByKey::new(&series.configurations));
        let alike = |rows, metric: &str| Side::correlation(rows, metric, Statistic::Median);
        let columns: Vec<_> = columns
            .iter()
            .map(|m| (m, (bounds, (alike(theirs, m), alike(&series.configurations, m)))))
            .collect();
        let mut changes: Vec<Change> = Vec::new();
        for row in &series.configurations {
            let before = before.get(row);
            let columns = columns.iter();
            changes.extend(
                columns
                    .filter_map(|(m, terms)| compared_pair::change(m, before, Some(row), *terms)),
            );
        }
        if self.scope.holds(&series.id) {
            for row in theirs.iter().filter(|row| !after.has(row)) {
                changes.extend(
                    columns
                        .iter()
                        .filter_map(|(m, terms)| compared_pair::change(m, Some(row), None, *terms)),
                );
            }
        }
        changes
    }

    /// Compares the whole of `run`, and names the lines that changed most in its thresholds on
    /// metrics of `catalogue`.
    pub fn compare(&self, run: &mut Run, catalogue: &Catalogue) -> Comparison {
        if let Ok(baseline) = &self.run {
            code::name_grown_lines(baseline, run, catalogue);
        }
        self.comparison(run)
    }

    /// The comparison of the whole of `run`.
    pub fn comparison(&self, run: &Run) -> Comparison {
        let mut comparison = Comparison { baseline: self.name.clone(), ..Comparison::default() };
        let baseline = match &self.run {
            Ok(baseline) => baseline,
            Err(reason) => return Comparison { absent: Some(reason.clone()), ..comparison },
        };
        comparison.run = Some(baseline.id.clone());
        comparison.git_revision.clone_from(&baseline.provenance.git_revision);
        comparison.mismatches = self.mismatches(baseline, run);
        if comparison.obstacle().is_some() {
            return comparison;
        }
        if baseline.series.is_empty() && !run.series.is_empty() {
            let absent = format!("the baseline `{}` holds no series", self.name);
            return Comparison { absent: Some(absent), ..comparison };
        }
        if self.holds_nothing_of(baseline, run) {
            let absent = format!("the baseline `{}` holds none of the selected series", self.name);
            return Comparison { absent: Some(absent), ..comparison };
        }
        for theirs in baseline.series.iter().filter(|series| self.scope.holds(&series.id)) {
            match run.series.iter().find(|series| series.id == theirs.id) {
                // The series of another slice is named here, without its configurations.
                None if theirs.configurations.is_empty() => {}
                None => comparison.vanished.push(theirs.id.to_string()),
                Some(ours) => {
                    comparison.vanished.extend(only_in(theirs, ours));
                    // Failed configurations give their own reasons for missing values.
                    if !all_failed(ours) {
                        comparison.vanished.extend(lost_metrics(theirs, ours));
                    }
                }
            }
        }
        for ours in &run.series {
            let Some(theirs) = baseline.series.iter().find(|series| series.id == ours.id) else {
                comparison.appeared.push(ours.id.to_string());
                continue;
            };
            comparison.vanished.extend(lost_verification(theirs, ours));
            comparison.weaker.extend(crate::gate::weakened_checks::of_series(theirs, ours));
            comparison.appeared.extend(only_in(ours, theirs));
            let unheld = any_finished(ours) && !any_finished(theirs);
            comparison.unheld.extend(unheld.then(|| ours.id.to_string()));
        }
        comparison.weaker.extend(other_formulas(baseline, run));
        comparison.code = code::changes(baseline, run);
        comparison
    }

    fn mismatches(&self, baseline: &Run, run: &Run) -> Vec<Mismatch> {
        let (before, after) = (&baseline.provenance, &run.provenance);
        let mut mismatches = fingerprint::mismatches(before, after, self.across_devices);
        mismatches.extend(fingerprint::moved(baseline, run));
        mismatches.extend(fingerprint::reset(baseline, run));
        let extents = run.series.iter().filter_map(|ours| fingerprint::extent(baseline, ours));
        mismatches.extend(extents);
        mismatches
    }

    /// Whether a filter took nothing of `baseline` and leaves nothing to compare with, so that
    /// missing entries cannot be determined either.
    fn holds_nothing_of(&self, baseline: &Run, run: &Run) -> bool {
        let measured = |id: &SeriesId| run.series.iter().any(|ours| ours.id == *id);
        let mut theirs = baseline.series.iter().map(|series| &series.id);
        !run.series.is_empty() && !theirs.any(|id| self.scope.holds(id) || measured(id))
    }
}

/// The workspace's own metrics that are other quantities than in `baseline`.
fn other_formulas(baseline: &Run, run: &Run) -> Vec<String> {
    let (before, here) = (&baseline.provenance.formulas, &run.provenance.formulas);
    let other = here.iter().filter_map(|(name, formula)| {
        let old = before.get(name).filter(|old| *old != formula)?;
        Some(format!("`{name}` is `{formula}`, and `{old}` in the baseline"))
    });
    other.collect()
}

fn obstacle(mismatches: &[Mismatch]) -> Option<String> {
    let texts: Vec<String> =
        mismatches.iter().filter(|m| m.matters).map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Keys of the configurations that `one` has and `other` has not.
fn only_in<'r>(
    one: &'r SeriesResult,
    other: &'r SeriesResult,
) -> impl Iterator<Item = String> + 'r {
    let there = ByKey::new(&other.configurations);
    let alone = move |row: &&ConfigurationResult| !there.has(row);
    one.configurations.iter().filter(alone).map(|row| format!("{}/{}", one.id, row.configuration))
}

/// Whether no configuration of `series` finished, and some failed: the run ends with that.
fn all_failed(series: &SeriesResult) -> bool {
    series.configurations.iter().any(|row| row.status.is_failure()) && !any_finished(series)
}

/// Whether a configuration of `series` finished.
pub fn any_finished(series: &SeriesResult) -> bool {
    series.configurations.iter().any(|row| row.status == Status::Finished)
}

/// Columns of the baseline that no configuration of the run has a value of any more, and totals of
/// an emulated one, which every emulated run has.
fn lost_metrics<'r>(
    theirs: &'r SeriesResult,
    ours: &'r SeriesResult,
) -> impl Iterator<Item = String> + 'r {
    let lost = move |name: &&str| has(theirs, name) && !has(ours, name);
    let shown = theirs.columns.iter().map(String::as_str);
    let mut values = theirs.configurations.iter().flat_map(|row| &row.metrics);
    let emulated = values.any(|(_, result)| result.source == Source::Emulated);
    let unshown = |total: &&str| theirs.columns.iter().all(|column| column != total);
    let totals = TOTALS.into_iter().filter(unshown).filter(move |_| emulated);
    shown.chain(totals).filter(lost).map(|name| format!("{}: {name}", ours.id))
}

/// The configurations that the baseline verified by a reference and the run did not, though it
/// finished both: a wrong result may be the faster one. If these are all that it verified, the
/// series is named once.
fn lost_verification(theirs: &SeriesResult, ours: &SeriesResult) -> Vec<String> {
    let before = ByKey::new(&theirs.configurations);
    let finished = ours.configurations.iter().filter(|row| row.status == Status::Finished);
    let known = finished.filter(|row| before.get(row).is_some_and(|theirs| theirs.verified));
    let (kept, lost): (Vec<_>, Vec<_>) = known.partition(|row| row.verified);
    if kept.is_empty() && !lost.is_empty() {
        return vec![format!("{}: {VERIFICATION}", ours.id)];
    }
    lost.iter().map(|row| format!("{}/{}: {VERIFICATION}", ours.id, row.configuration)).collect()
}

/// How many changes have each outcome, in the order of [`Outcome`]'s variants.
pub fn count(changes: &[Change]) -> Vec<(Outcome, usize)> {
    let all = [
        Outcome::Worse,
        Outcome::Better,
        Outcome::Changed,
        Outcome::Same,
        Outcome::Inconclusive,
        Outcome::Missing,
        Outcome::New,
        Outcome::Incomparable,
    ];
    let count_of = |outcome| (outcome, changes.iter().filter(|c| c.outcome == outcome).count());
    all.map(count_of).into_iter().filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
#[path = "baseline_tests.rs"]
mod tests;
