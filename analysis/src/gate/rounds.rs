//! Finds the configurations that need more rounds.
//!
//! Input: the measured part of a series and of its base, if it has one; its thresholds; and the
//! run's error budget. Output: the number of rounds for each configuration that a threshold leaves
//! undecided. The judges are those that judge the run at its end. A stored baseline does not grow,
//! so limits relative to it request no rounds.

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
    /// The configuration.
    pub configuration: Configuration,
    /// How many rounds there should be at the next look.
    pub rounds: u32,
}

/// The configurations of `series` that need more rounds, in the order of the series; none if all
/// are decided or more rounds could not decide. `series` is a series of `run`, which may be
/// measured in rounds with `against`.
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
    let request = |configuration: &Configuration| {
        let rounds = *rounds.get(configuration)?;
        Some(RoundRequest { configuration: configuration.clone(), rounds })
    };
    all.filter_map(request).collect()
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
