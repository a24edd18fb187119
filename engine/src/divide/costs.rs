//! The cost of each series in a stored run, by which slices are balanced.

use std::collections::HashMap;

use camino::Utf8Path;
use gpuprof_system::error::{Failure, Result};

use crate::plan::PlannedSeries;
use crate::schedule::partition::Method;
use crate::store::baselines::Baselines;

/// The cost of a configuration of each series, in microseconds of a device, from a stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Costs {
    /// The run's name.
    pub(super) name: String,
    of_series: HashMap<String, u64>,
    /// The cost of a series that the run does not have.
    mean: u64,
}

impl Costs {
    /// The costs in the run called `name`, for slices by `method` of `planned`.
    ///
    /// # Errors
    /// Nothing has the name, or it has no costs; a method that balances nothing (exit code 2).
    pub(super) fn read(
        name: &str,
        method: Method,
        baselines: &Baselines,
        stored: &Utf8Path,
        planned: &[&PlannedSeries],
    ) -> Result<Self> {
        if method == Method::Hash {
            return Err(Failure::usage(
                "--partition-costs balances slice:M/N; hash:M/N assigns series by their names \
                 and ignores costs",
            ));
        }
        if name == "latest" {
            return Err(Failure::usage(
                "--partition-costs latest may name another run when the next slice begins; name a \
                 baseline, a file, or the id of a run",
            ));
        }
        let mut run = baselines.stored(stored, name)?;
        run.name_as(planned.iter().map(|planned| &planned.series), false);
        let all = &run.provenance.costs;
        if all.is_empty() {
            return Err(Failure::usage(format!(
                "--partition-costs {name}: the run has no times of its series: an \
                 older gpuprof made it, or none of them was measured without an interruption"
            )));
        }
        let (count, took) = all.iter().fold((0_u64, 0_u64), |(count, took), cost| {
            (count.saturating_add(cost.configurations), took.saturating_add(cost.microseconds))
        });
        let of_series = all.iter().map(|cost| (cost.series.clone(), cost.of_each())).collect();
        Ok(Self { name: name.to_owned(), of_series, mean: (took / count.max(1)).max(1) })
    }

    /// The cost of a configuration of `planned`, in microseconds.
    pub(super) fn of_each(&self, planned: &PlannedSeries) -> u64 {
        self.of_series.get(&planned.series.id.to_string()).copied().unwrap_or(self.mean)
    }

    /// The cost of `count` configurations of `planned`, in microseconds.
    pub(super) fn total(&self, planned: &PlannedSeries, count: usize) -> u64 {
        self.of_each(planned).saturating_mul(u64::try_from(count).unwrap_or(u64::MAX))
    }
}
