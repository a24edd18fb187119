//! The gate: the exit code of a judged run.
//!
//! Input: a run with its judgements and comparison. Output: one exit code. Crashes outrank
//! failures, failures outrank doubt. A vanished entry is doubt, never a pass, and so is a series
//! without any measurement, here or in the baseline.

use gpuprof_model::ExitCode;
use gpuprof_model::comparison::Comparison;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::Unverified;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SeriesResult, Status};
use gpuprof_model::verdict::{Judgement, Layer, NotApplicable, Place};
use gpuprof_model::{Threshold, Verdict};

use crate::gate::baseline::{Against, default_thresholds};
use crate::gate::beforehand::{self, Ability};
use crate::gate::budget::Budget;
use crate::gate::conclusion::{self, Measured};
use crate::gate::judge::{self, Baseline, Terms};
use crate::sequential::Most;
use crate::view::columns;

/// How strictly a run is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// Whether missing and undecided results end with exit code 106.
    pub strict: bool,
    /// Whether thresholds have a say at all; not with `--no-gate`.
    pub gated: bool,
}

impl Default for Gate {
    /// Thresholds decide; missing and undecided results do not.
    fn default() -> Self {
        Self { strict: false, gated: true }
    }
}

impl Gate {
    /// What `judgement` contributes to the exit code.
    pub fn of(self, judgement: &Judgement) -> ExitCode {
        if self.gated { judgement.exit_code(self.strict) } else { ExitCode::Success }
    }

    /// The exit code for something requested that is absent: an entry that vanished since the
    /// baseline, or a reference that cannot reject any result.
    pub fn of_vanished(self) -> ExitCode {
        if self.gated { Verdict::Missing.exit_code(self.strict) } else { ExitCode::Success }
    }

    /// The exit code of `run`.
    pub fn exit_code(self, run: &Run) -> ExitCode {
        let mut code = ExitCode::Success;
        for series in &run.series {
            for configuration in &series.configurations {
                code = code.or_worse(match configuration.status {
                    Status::Failed { .. } | Status::Timeout { .. } => ExitCode::ProcessFailed,
                    Status::Finished | Status::Invalid { .. } | Status::Skipped { .. } => {
                        ExitCode::Success
                    }
                });
                if configuration.unverified.is_some_and(Unverified::says_nothing) {
                    code = code.or_worse(self.of_vanished());
                }
            }
            if unmeasured(series).is_some() {
                code = code.or_worse(ExitCode::NoSeries);
            }
            for judgement in &series.judgements {
                code = code.or_worse(self.of(judgement));
            }
        }
        let lost = run.comparison.as_ref().is_some_and(|comparison| {
            comparison.absent.is_some()
                || comparison.obstacle().is_some()
                || !comparison.vanished.is_empty()
                || !comparison.unheld.is_empty()
        });
        if lost { code.or_worse(self.of_vanished()) } else { code }
    }
}

/// Why nothing of `series` was measured, if nothing was: that is not a success, whatever thresholds
/// it has.
pub fn unmeasured(series: &SeriesResult) -> Option<String> {
    let rows = &series.configurations;
    let count = |is: fn(&Status) -> bool| rows.iter().filter(|row| is(&row.status)).count();
    let invalid = count(|status| matches!(status, Status::Invalid { .. }));
    let skipped = count(|status| matches!(status, Status::Skipped { .. }));
    if invalid + skipped < rows.len() {
        return None;
    }
    Some(match (rows.len(), skipped) {
        (0, _) => "no configuration meets its conditions; `cargo gpuprof list` shows them".into(),
        (1, 0) => "its only configuration is invalid".into(),
        (all, 0) => format!("all of its {all} configurations are invalid"),
        (all, _) => format!("of its {all} configurations {invalid} are invalid, {skipped} skipped"),
    })
}

/// A threshold, its origin, and its place where that is a line of the configuration file.
pub type Written = (Threshold, Layer, Option<Place>);

/// The thresholds for `series`, a series of `run`: those of `thresholds` that apply to its device,
/// and with a baseline the default ones, except those that one of `thresholds` replaces.
pub(crate) fn in_force(
    catalogue: &Catalogue,
    series: &SeriesResult,
    thresholds: &[Written],
    run: &Run,
    against: Option<&Against>,
) -> Vec<Written> {
    let mut all: Vec<Written> =
        thresholds.iter().filter(|(threshold, ..)| speaks(threshold, run)).cloned().collect();
    if is_new(series, against) {
        // A new series has no counterpart, which is reported once, as new.
        all.retain(|(threshold, ..)| !threshold.needs_baseline());
    } else if against.is_some() {
        let theirs = against.and_then(|against| against.held(&series.id));
        // Texts of our own making; a test parses them all.
        let defaults = default_thresholds(catalogue, series, theirs).into_iter();
        let defaults = defaults.filter_map(|text| Threshold::parse(&text).ok());
        let kept: Vec<Threshold> =
            defaults.filter(|default| !all.iter().any(|(own, ..)| own.replaces(default))).collect();
        all.extend(kept.into_iter().map(|default| (default, Layer::Default, None)));
    }
    all
}

fn speaks(threshold: &Threshold, run: &Run) -> bool {
    run.provenance.device.as_ref().is_none_or(|device| threshold.speaks_of(&device.name))
}

/// Judges the thresholds in force over `series`, a series of `run`, by the metrics of `catalogue`,
/// within the run's error `budget`, and determines the changes of its columns.
pub fn judge(
    catalogue: &Catalogue,
    series: &mut SeriesResult,
    thresholds: &[Written],
    run: &Run,
    against: Option<&Against>,
    budget: &Budget,
) {
    let silent = thresholds.iter().filter(|(threshold, ..)| !speaks(threshold, run));
    let silent = silent.map(|(threshold, origin, _)| NotApplicable {
        threshold: threshold.text.clone(),
        origin: origin.clone(),
    });
    let silent: Vec<NotApplicable> = silent.collect();
    let first_look = run.provenance.first_look;
    let terms = Terms { catalogue, device: run.provenance.device.as_ref(), budget, first_look };
    let all = in_force(catalogue, series, thresholds, run, against);
    series.not_applicable.extend(silent);
    for (threshold, origin, place) in &all {
        let baseline = against.map_or_else(Baseline::none, |against| {
            against.metric(catalogue, &threshold.metric, &series.id, &run.provenance)
        });
        let rows = &series.configurations;
        let judgement = judge::judge(terms, threshold, origin.clone(), rows, &baseline);
        series.judgements.push(Judgement { place: place.clone(), ..judgement });
    }
    if let Some(against) = against {
        series.changes = against.changes(catalogue, series, &run.provenance, budget);
    }
}

fn is_new(series: &SeriesResult, against: Option<&Against>) -> bool {
    against.is_some_and(|against| {
        against.run.as_ref().is_ok_and(|run| run.series.iter().all(|s| s.id != series.id))
    })
}

/// Judges a stored `run` again against `against`, with the `thresholds` of the command line.
pub fn rejudge(
    catalogue: &Catalogue,
    run: Run,
    thresholds: &[Threshold],
    against: &Against,
) -> Run {
    let thresholds: Vec<Written> =
        thresholds.iter().map(|t| (t.clone(), Layer::CommandLine, None)).collect();
    rejudge_each(catalogue, run, |_| thresholds.clone(), against)
}

/// As [`rejudge`], with the thresholds that `thresholds_of` gives for each series.
pub fn rejudge_each(
    catalogue: &Catalogue,
    mut run: Run,
    thresholds_of: impl Fn(&SeriesResult) -> Vec<Written>,
    against: &Against,
) -> Run {
    run.directed_by(catalogue);
    let written: Vec<Vec<Written>> = run.series.iter().map(&thresholds_of).collect();
    let notes = run.comparison.as_ref().map(|before| before.notes.clone()).unwrap_or_default();
    let budget = Budget::planned(
        catalogue,
        run.series.iter().zip(&written).map(|(series, written)| {
            (series.configurations.len(), written.iter().map(|(t, ..)| t).collect())
        }),
        true,
    );
    for (mut series, thresholds) in std::mem::take(&mut run.series).into_iter().zip(written) {
        series.judgements.clear();
        series.not_applicable.clear();
        series.columns = columns::choose(&series.columns, &series.configurations);
        judge(catalogue, &mut series, &thresholds, &run, Some(against), &budget);
        run.series.push(series);
    }
    let notes = if against.in_rounds { notes } else { Vec::new() };
    run.comparison = Some(Comparison { notes, ..against.comparison(&run) });
    let ability = able(catalogue, &run, against, &budget);
    let measured = Measured {
        base: against.run.as_ref().ok().filter(|_| against.in_rounds),
        stored: !against.in_rounds,
        ability: ability.as_ref(),
        budget: Some(&budget),
        most_rounds: Some(Most::DEFAULT.of_one()),
        seconds: None,
    };
    run.conclusion = conclusion::of(&run, &measured);
    run
}

/// The decisions that the stored baseline `against` allows for `run`, a judged run.
fn able(catalogue: &Catalogue, run: &Run, against: &Against, budget: &Budget) -> Option<Ability> {
    let base = against.run.as_ref().ok().filter(|_| !against.in_rounds)?;
    let repeat = beforehand::fewest_processes(run)?;
    let points = |series: &SeriesResult| -> Vec<Configuration> {
        series.configurations.iter().map(|row| row.configuration.clone()).collect()
    };
    // Those in force by now, the default ones among them.
    let limits = |series: &SeriesResult| -> Vec<Threshold> {
        let texts = series.judgements.iter().map(|judgement| &judgement.threshold);
        texts.filter_map(|text| Threshold::parse(text).ok()).collect()
    };
    let all: Vec<_> = run.series.iter().map(|s| (&s.id, points(s), limits(s))).collect();
    let planned = all.iter().map(|(id, points, own)| (*id, &points[..], own.iter().collect()));
    beforehand::ability(catalogue, planned, base, budget, repeat)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
