//! Judges the thresholds in force over each series of a run.
//!
//! Input: a run, the thresholds of its series as written, and the other side of the comparison.
//! Output: the same run with its judgements, comparison and conclusion.

use gpuprof_model::Threshold;
use gpuprof_model::comparison::Comparison;
use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SeriesResult};
use gpuprof_model::verdict::{Judgement, Layer, NotApplicable};

use crate::gate::applied_thresholds::{Counterpart, applies_to, in_force, plan};
use crate::gate::baseline::Against;
use crate::gate::budget::Budget;
use crate::gate::conclusion::{self, MeasurementContext};
use crate::gate::judge::{self, Baseline, JudgeContext};
use crate::gate::prediction::{self, Ability};
use crate::sequential::Most;
use crate::view::columns;

pub use crate::gate::applied_thresholds::ConfiguredThreshold;

/// Judges the thresholds in force over `series`, a series of `run`, by the metrics of `catalogue`,
/// within the run's error `budget`, and determines the changes of its columns.
pub fn judge(
    catalogue: &Catalogue,
    series: &mut SeriesResult,
    thresholds: &[ConfiguredThreshold],
    run: &Run,
    against: Option<&Against>,
    budget: &Budget,
) {
    let device = run.provenance.device_of(&series.id);
    let silent = thresholds.iter().filter(|own| !applies_to(&own.threshold, device));
    let silent = silent.map(|own| NotApplicable {
        threshold: own.threshold.text.clone(),
        origin: own.origin.clone(),
    });
    let silent: Vec<NotApplicable> = silent.collect();
    let first_look = run.provenance.first_look;
    let terms = JudgeContext { catalogue, device, budget, first_look };
    let all = in_force(catalogue, series, thresholds, run, against);
    series.not_applicable.extend(silent);
    for ConfiguredThreshold { threshold, origin, place } in all {
        let baseline =
            against.map_or_else(Baseline::none, |against| against.series(series, &run.provenance));
        let rows = &series.configurations;
        let judgement = judge::judge(terms, &threshold, origin, rows, &baseline);
        series.judgements.push(Judgement { place, ..judgement });
    }
    if let Some(against) = against {
        series.changes = against.changes(series, &run.provenance, budget);
    }
}

/// Judges every series of `run` by the thresholds `written` for it, within the error budget of a
/// plan with `counts` configurations of each. All three have the same order.
///
/// Returns the limits of each series, and the budget.
pub fn judge_all(
    catalogue: &Catalogue,
    run: &mut Run,
    written: &[Vec<ConfiguredThreshold>],
    counts: impl Iterator<Item = usize>,
    against: Option<&Against>,
) -> (Vec<Vec<Threshold>>, Budget) {
    let provenance = &run.provenance;
    let limits = |(series, written): (&SeriesResult, &Vec<ConfiguredThreshold>)| {
        let counterpart = Counterpart::find(&series.id, against);
        let device = provenance.device_of(&series.id);
        plan(written.iter().map(|own| &own.threshold), device, counterpart)
    };
    let limits: Vec<Vec<Threshold>> = run.series.iter().zip(written).map(limits).collect();
    let budget = Budget::planned(catalogue, counts.zip(&limits));
    for (mut series, thresholds) in std::mem::take(&mut run.series).into_iter().zip(written) {
        judge(catalogue, &mut series, thresholds, run, against, &budget);
        run.series.push(series);
    }
    (limits, budget)
}

/// Judges a stored `run` again against `against`, with the `thresholds` of the command line.
pub fn rejudge(
    catalogue: &Catalogue,
    run: Run,
    thresholds: &[Threshold],
    against: &Against,
) -> Run {
    let thresholds: Vec<ConfiguredThreshold> = thresholds
        .iter()
        .map(|t| ConfiguredThreshold::new(t.clone(), Layer::CommandLine))
        .collect();
    rejudge_each(catalogue, run, |_| thresholds.clone(), against)
}

/// Like [`rejudge`], with the thresholds that `thresholds_of` gives for each series.
pub fn rejudge_each(
    catalogue: &Catalogue,
    mut run: Run,
    thresholds_of: impl Fn(&SeriesResult) -> Vec<ConfiguredThreshold>,
    against: &Against,
) -> Run {
    run.directed_by(catalogue);
    let written: Vec<Vec<ConfiguredThreshold>> = run.series.iter().map(&thresholds_of).collect();
    let notes = run.comparison.as_ref().map(|before| before.notes.clone()).unwrap_or_default();
    for series in &mut run.series {
        series.judgements.clear();
        series.not_applicable.clear();
        series.columns = columns::choose(&series.columns, &series.configurations);
    }
    let counts: Vec<usize> = run.series.iter().map(|series| series.configurations.len()).collect();
    let (limits, budget) =
        judge_all(catalogue, &mut run, &written, counts.into_iter(), Some(against));
    let notes = if against.in_rounds { notes } else { Vec::new() };
    run.comparison = Some(Comparison { notes, ..against.compare(&mut run, catalogue) });
    let ability = able(catalogue, &run, &limits, against, &budget);
    let measured = MeasurementContext {
        base: against.run.as_ref().ok().filter(|_| against.in_rounds),
        stored: !against.in_rounds,
        ability: ability.as_ref(),
        budget: Some(&budget),
        most_rounds: Some(Most::DEFAULT.single_limit()),
        ..MeasurementContext::default()
    };
    run.conclusion = conclusion::conclude(&run, &measured);
    run
}

/// The decisions that the stored baseline `against` allows for `run`, a judged run with these
/// `limits` of each series.
fn able(
    catalogue: &Catalogue,
    run: &Run,
    limits: &[Vec<Threshold>],
    against: &Against,
    budget: &Budget,
) -> Option<Ability> {
    let base = against.run.as_ref().ok().filter(|_| !against.in_rounds)?;
    let repeat = prediction::fewest_processes(run)?;
    let points = |series: &SeriesResult| -> Vec<Configuration> {
        series.configurations.iter().map(|row| row.configuration.clone()).collect()
    };
    let all: Vec<_> = run.series.iter().map(|series| (&series.id, points(series))).collect();
    let planned = all.iter().zip(limits).map(|((id, points), own)| (*id, &points[..], &own[..]));
    prediction::ability(catalogue, planned, base, budget, repeat)
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
