//! The verdict on a merged run.
//!
//! Input: the union of slices, and the other side of the comparison. Output: the same run, judged
//! as if one process had measured it: each threshold as it was when the slices were measured,
//! within the error budget of the whole plan. Verdicts of slices are never added up.

use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_analysis::gate::baseline::Against;
use gpuprof_analysis::gate::conclusion::{self, MeasurementContext};
use gpuprof_analysis::gate::run::judge_all;
use gpuprof_analysis::sequential::Most;
use gpuprof_model::comparison::Comparison;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::Run;
use gpuprof_system::error::Result;

use super::merged_run::Union;
use crate::store::manifest::{OwnSeries, OwnThreshold};

impl Union {
    /// The run, judged.
    ///
    /// # Errors
    /// A threshold that this version does not understand (exit code 96).
    pub fn judge(self, catalogue: &Catalogue, against: Option<&Against>) -> Result<Run> {
        let Self { mut run, plan, own, notes, .. } = self;
        let written = |own: &OwnSeries| own.thresholds.iter().map(OwnThreshold::parse).collect();
        let written = own.iter().map(written).collect::<Result<Vec<Vec<ConfiguredThreshold>>>>()?;
        let counts = own.iter().map(|own| plan.series[own.position].configurations);
        let (_, budget) = judge_all(catalogue, &mut run, &written, counts, against);
        let compared = against.map(|against| against.compare(&mut run, catalogue));
        run.comparison = compared.map(|comparison| Comparison { notes, ..comparison });
        let in_rounds = against.filter(|against| against.in_rounds);
        // It is a number only where one was given.
        let given = plan.settings.get("max-repeat").and_then(|text| text.parse().ok());
        let most = given.map_or(Most::DEFAULT, Most::exactly).single_limit();
        let measured = MeasurementContext {
            base: in_rounds.and_then(|against| against.run.as_ref().ok()),
            stored: plan.base.is_none(),
            budget: Some(&budget),
            most_rounds: in_rounds.map(|_| most),
            ..MeasurementContext::default()
        };
        run.conclusion = conclusion::conclude(&run, &measured);
        Ok(run)
    }
}
