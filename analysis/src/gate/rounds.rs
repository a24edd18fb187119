//! Which configurations need more rounds.
//!
//! Input: a series as far as it is measured, with that of the base where there is one, its
//! thresholds, and the run's error budget. Output: up to how many rounds each configuration is to
//! be measured that a threshold leaves open. It asks the same judges that judge the run in the
//! end. A baseline that was stored does not grow, so limits relative to it ask for nothing.

use std::collections::HashMap;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{Run, SeriesResult};

use crate::gate::applied_thresholds::{ConfiguredThreshold, in_force};
use crate::gate::baseline::Against;
use crate::gate::budget::Budget;
use crate::gate::judge::{self, Baseline, JudgeContext};

/// A configuration that needs more rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRequest {
    /// Which.
    pub configuration: Configuration,
    /// How many rounds there should be at the next look.
    pub rounds: u32,
}

/// Which configurations of `series`, a series of `run` that may be measured in rounds with
/// `against`, need more rounds, in the order of the series; none if all are decided and if more
/// rounds could not decide.
pub fn wanted(
    catalogue: &Catalogue,
    series: &SeriesResult,
    thresholds: &[ConfiguredThreshold],
    run: &Run,
    against: Option<&Against>,
    budget: &Budget,
) -> Vec<RoundRequest> {
    let device = run.provenance.device_of(&series.id);
    let first_look = run.provenance.first_look;
    let terms = JudgeContext { catalogue, device, budget, first_look };
    let mut rounds: HashMap<&Configuration, u32> = HashMap::new();
    for ConfiguredThreshold { threshold, .. } in
        in_force(catalogue, series, thresholds, run, against)
    {
        let baseline =
            against.map_or_else(Baseline::none, |against| against.series(series, &run.provenance));
        let rows = &series.configurations;
        for (configuration, look) in judge::wanted(terms, &threshold, rows, &baseline) {
            rounds.entry(configuration).and_modify(|most| *most = look.max(*most)).or_insert(look);
        }
    }
    let all = series.configurations.iter().map(|row| &row.configuration);
    let of = |configuration: &Configuration| {
        let rounds = *rounds.get(configuration)?;
        Some(RoundRequest { configuration: configuration.clone(), rounds })
    };
    all.filter_map(of).collect()
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
