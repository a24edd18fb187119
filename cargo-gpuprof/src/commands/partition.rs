//! The slice of a plan that `run`, `list` and `--dry-run` take.
//!
//! Input: the whole plan, which slice of it, and what its series cost in a stored run, where one is
//! named. Output: what the slice has of each series.

use std::collections::HashMap;

use camino::Utf8Path;

use crate::options::{Method, Partition, PartitionBy, PartitionOptions};
use gpuprof_engine::plan::PlannedSeries;
use gpuprof_engine::schedule::partition::{Part, Slices};
use gpuprof_engine::store::baseline::Baselines;
use gpuprof_system::error::{Failure, Result};

/// What a configuration of each series costs, in microseconds of a device, as a stored run tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    /// What the run was called.
    name: String,
    of_series: HashMap<String, u64>,
    /// That of a series which the run does not have.
    mean: u64,
}

impl Costs {
    /// The costs that `options` name, of a workspace at `root`.
    ///
    /// # Errors
    /// Nothing has the name, or it has no costs; a method that balances nothing (exit code 2).
    pub fn read(
        options: &PartitionOptions,
        root: &Utf8Path,
        target_directory: &Utf8Path,
    ) -> Result<Option<Self>> {
        let Some(name) = &options.partition_costs else { return Ok(None) };
        if options.partition.is_some_and(|partition| partition.method == Method::Hash) {
            return Err(Failure::usage(
                "--partition-costs balances slice:M/N; hash:M/N keeps every series where its name \
                 puts it",
            ));
        }
        if name == "latest" {
            return Err(Failure::usage(
                "--partition-costs latest may be another run by the time that the next slice \
                 begins; name a baseline, a file, or the id of a run",
            ));
        }
        let run = Baselines::new(root, target_directory).stored(target_directory, name)?;
        let all = &run.provenance.costs;
        if all.is_empty() {
            return Err(Failure::usage(format!(
                "--partition-costs {name}: that run does not know how long its series took: an \
                 older gpuprof made it, or none of them was measured without an interruption"
            )));
        }
        let (count, took) = all.iter().fold((0_u64, 0_u64), |(count, took), cost| {
            (count.saturating_add(cost.configurations), took.saturating_add(cost.microseconds))
        });
        let of_series = all.iter().map(|cost| (cost.series.clone(), cost.of_each())).collect();
        Ok(Some(Self { name: name.clone(), of_series, mean: (took / count.max(1)).max(1) }))
    }

    /// What a configuration of the series `id` costs, in microseconds.
    pub fn of_each(&self, id: &str) -> u64 {
        self.of_series.get(id).copied().unwrap_or(self.mean)
    }

    /// How long the passes of the slice take that has what is `own` of `planned`, in words.
    pub fn told<'p>(
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
            "slice {slice} of {of} has about {} of {} that the passes of the plan took in {}",
            seconds(here),
            seconds(all),
            self.name
        )
    }
}

/// What a slice has of a series.
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
        let id = planned.series.id.to_string();
        let each = costs.map_or(1, |costs| costs.of_each(&id));
        let keys = planned.configurations.iter().map(ToString::to_string).collect();
        Part { id, keys, each }
    };
    let parts: Vec<Part> = planned.map(part).collect();
    Slices::new(&parts, partition.method, by, partition.slices())
}

/// What `partition` has of the plan with `count` series that is divided into `slices`.
pub fn own(slices: &Slices, count: usize, partition: Partition) -> Vec<Own> {
    let own = |series| {
        let configurations = slices.own(series, partition.position())?;
        Some(Own { series, configurations })
    };
    (0..count).filter_map(own).collect()
}

/// Leaves of `planned` what is `own`.
pub fn keep(planned: &mut PlannedSeries, own: &Own) {
    let all = std::mem::take(&mut planned.configurations);
    let mut positions = own.configurations.iter().peekable();
    let here =
        all.into_iter().enumerate().filter(|(at, _)| positions.next_if(|p| *p == at).is_some());
    planned.configurations = here.map(|(_, configuration)| configuration).collect();
}

/// That there is nothing in a slice.
pub fn empty(partition: Partition) -> String {
    let Partition { slice, of, .. } = partition;
    format!("slice {slice} of {of} has no configurations")
}
