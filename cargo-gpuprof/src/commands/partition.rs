//! The slice of a plan that `run`, `list` and `--dry-run` take.
//!
//! Input: the whole plan, and which slice of it. Output: what the slice has of each series.

use crate::options::{Partition, PartitionBy};
use crate::plan::PlannedSeries;
use crate::schedule::partition::{Part, Slices};

/// What a slice has of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// The position of the series in the plan.
    pub series: usize,
    /// The positions of its configurations among those of the plan.
    pub configurations: Vec<usize>,
}

/// The slices of the whole plan.
pub fn slices<'p>(
    planned: impl Iterator<Item = &'p PlannedSeries>,
    partition: Partition,
    by: PartitionBy,
) -> Slices {
    let part = |planned: &PlannedSeries| Part {
        id: planned.series.id.to_string(),
        keys: planned.configurations.iter().map(ToString::to_string).collect(),
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
