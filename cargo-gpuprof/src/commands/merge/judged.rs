//! The verdict on a merged run.
//!
//! Input: the union of slices, and the other side of the comparison. Output: the same run, judged
//! as if one process had measured it: each threshold as it was when the slices were measured,
//! within the error budget of the whole plan. Verdicts of slices are never added up.

use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::conclusion::{self, MeasurementContext};
use gpuprof_analysis::gate::run::{ConfiguredThreshold, judge_all};
use gpuprof_analysis::sequential::Most;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;
use gpuprof_model::{ExitCode, Threshold};

use super::union::Union;
use gpuprof_engine::store::manifest::{Outline, OwnSeries, OwnThreshold};
use gpuprof_system::error::{Failure, Result};

/// Judges the results of `union` for `plan`, with its series `own` in the same order.
///
/// # Errors
/// A threshold that this version does not understand (exit code 96).
pub(super) fn run(
    union: Union,
    (plan, own): (&Outline, &[OwnSeries]),
    catalogue: &Catalogue,
    against: Option<&Against>,
) -> Result<Run> {
    let Union { mut run, positions, .. } = union;
    let written = own.iter().map(written).collect::<Result<Vec<Vec<ConfiguredThreshold>>>>()?;
    let counts = positions.iter().map(|&position| plan.series[position].configurations);
    let (_, budget) = judge_all(catalogue, &mut run, &written, counts, against);
    run.comparison = against.map(|against| against.compare(&mut run, catalogue));
    let in_rounds = against.filter(|against| against.in_rounds);
    // It is a number only where one was given.
    let given = plan.settings.get("max-repeat").and_then(|text| text.parse().ok());
    let most = given.map_or(Most::DEFAULT, Most::exactly).single_limit();
    let measured = MeasurementContext {
        base: in_rounds.and_then(|against| against.run.as_ref().ok()),
        stored: plan.base.is_none(),
        ability: None,
        budget: Some(&budget),
        most_rounds: in_rounds.map(|_| most),
        slice: false,
        seconds: None,
    };
    run.conclusion = conclusion::conclude(&run, &measured);
    Ok(run)
}

fn written(own: &OwnSeries) -> Result<Vec<ConfiguredThreshold>> {
    let one = |own: &OwnThreshold| -> Result<ConfiguredThreshold> {
        let threshold = Threshold::parse(&own.text).map_err(|e| {
            Failure::new(ExitCode::Configuration, e.render("manifest.json", &own.text))
        })?;
        Ok((threshold, own.origin.clone(), own.place.clone()))
    };
    own.thresholds.iter().map(one).collect()
}
