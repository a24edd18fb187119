//! The slice of a plan that `run`, `list` and `--dry-run` take.
//!
//! Input: the whole plan, the slice, and the cost of its series in a stored run, if one is named.
//! Output: the slice's part of each series.

use std::collections::HashMap;

use camino::Utf8Path;

use crate::options::{Method, Partition, PartitionBy};
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::schedule::partition::{Part, Slices};
use gpuprof_engine::store::baseline::Baselines;
use gpuprof_system::error::{Failure, Result};

/// The cost of a configuration of each series, in microseconds of a device, from a stored run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    /// The run's name.
    name: String,
    of_series: HashMap<String, u64>,
    /// That of a series which the run does not have.
    mean: u64,
}

impl Costs {
    /// The costs in the run called `named`, of a workspace at `root`, for slices by `method` of
    /// `planned`.
    ///
    /// # Errors
    /// Nothing has the name, or it has no costs; a method that balances nothing (exit code 2).
    pub fn read<'p>(
        named: Option<&str>,
        method: Method,
        (root, target_directory): (&Utf8Path, &Utf8Path),
        planned: impl Iterator<Item = &'p PlannedSeries>,
    ) -> Result<Option<Self>> {
        let Some(name) = named else { return Ok(None) };
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
        let mut run = Baselines::new(root, target_directory).stored(target_directory, name)?;
        run.name_as(planned.map(|planned| &planned.series), false);
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
        Ok(Some(Self { name: name.to_owned(), of_series, mean: (took / count.max(1)).max(1) }))
    }

    /// The cost of a configuration of the series `id`, in microseconds.
    pub fn of_each(&self, id: &str) -> u64 {
        self.of_series.get(id).copied().unwrap_or(self.mean)
    }

    /// The estimated time of the slice that has the `own` part of `planned`, in words.
    pub fn describe_slice<'p>(
        &self,
        partition: Partition,
        own: &[Own],
        planned: impl Iterator<Item = &'p PlannedSeries>,
    ) -> String {
        let mut own = own.iter().peekable();
        let (mut here, mut all) = (0_u64, 0_u64);
        for (at, planned) in planned.enumerate() {
            let each = self.of_each(&planned.series.id.to_string());
            let cost = |count: usize| each.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX));
            let here_of_it = own.next_if(|own| own.series == at);
            let count = here_of_it.map_or(0, |own| own.configurations.len());
            here = here.saturating_add(cost(count));
            all = all.saturating_add(cost(planned.configurations.len()));
        }
        let seconds = |microseconds: u64| {
            let tenths = microseconds.div_ceil(100_000);
            format!("{}.{} s", tenths / 10, tenths % 10)
        };
        let Partition { slice, of, .. } = partition;
        format!(
            "slice {slice} of {of} takes about {} of {}, the time of all passes in {}",
            seconds(here),
            seconds(all),
            self.name
        )
    }
}

/// A slice's part of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// The position of the series in the plan.
    pub series: usize,
    /// The positions of its configurations among those of the plan.
    pub configurations: Vec<usize>,
}

/// The slices of the whole plan; without `costs` every configuration counts as much as any other.
pub fn slices<'p>(
    planned: impl Iterator<Item = &'p PlannedSeries>,
    partition: Partition,
    by: PartitionBy,
    costs: Option<&Costs>,
) -> Slices {
    let part = |planned: &PlannedSeries| {
        let each = costs.map_or(1, |costs| costs.of_each(&planned.series.id.to_string()));
        // The hash of a part must not depend on other harnesses.
        let id = planned.series.id.full_key();
        let keys = planned.configurations.iter().map(ToString::to_string).collect();
        Part { id, keys, each }
    };
    let parts: Vec<Part> = planned.map(part).collect();
    Slices::new(&parts, partition.method, by, partition.slices())
}

/// The part of each of `count` series that belongs to `partition`, one of `slices`.
pub fn own(slices: &Slices, count: usize, partition: Partition) -> Vec<Own> {
    let own = |series| {
        let configurations = slices.own(series, partition.position())?;
        Some(Own { series, configurations })
    };
    (0..count).filter_map(own).collect()
}

/// Reduces `planned` to its `own` configurations.
pub fn keep(planned: &mut PlannedSeries, own: &Own) {
    let all = std::mem::take(&mut planned.configurations);
    let mut positions = own.configurations.iter().peekable();
    let here =
        all.into_iter().enumerate().filter(|(at, _)| positions.next_if(|p| *p == at).is_some());
    planned.configurations = here.map(|(_, configuration)| configuration).collect();
}

/// The message about a slice without configurations.
pub fn empty(partition: Partition) -> String {
    let Partition { slice, of, .. } = partition;
    format!("slice {slice} of {of} has no configurations")
}
