//! One slice of a plan.
//!
//! Input: the whole plan, which every slice makes for itself, which slice is wanted, and a stored
//! run with the cost of each series, if one is named. Output: the slice's part of each series, and
//! the outline of the whole for its manifest. `run` and `list` divide in the same way.

mod costs;
mod slice;

use crate::plan::{Checked, PlannedSeries};
use crate::schedule::partition::{Part, Partition, PartitionBy, Slices};
use crate::store::baselines::Baselines;
use crate::store::manifest::{OutlineSeries, ranges};
use camino::Utf8Path;
use gpuprof_analysis::gate::applied_thresholds::ConfiguredThreshold;
use gpuprof_system::error::Result;
use gpuprof_system::sha256::sha256;

use costs::Costs;
pub use slice::Slice;

/// The requested slice of a plan, and the division of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The slice.
    pub partition: Partition,
    /// The unit that is dealt out.
    pub by: PartitionBy,
    /// The name of the run with the costs that balance the slices.
    pub costs: Option<String>,
}

/// A slice's part of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// The position of the series in the plan.
    pub series: usize,
    /// The positions of its configurations among those of the plan.
    pub configurations: Vec<usize>,
}

/// A divided plan.
#[derive(Debug)]
pub struct Division {
    partition: Partition,
    costs: Option<Costs>,
    slices: Slices,
    /// The part of the wanted slice.
    own: Vec<Own>,
}

impl Division {
    /// Divides the series `planned`, of a workspace with this root and folder of runs, as `cut`
    /// says. Without costs every configuration counts as much as any other.
    ///
    /// # Errors
    /// A run with costs that is not there, has none, or balances nothing (exit code 2).
    pub fn new(
        cut: &Cut,
        planned: &[&PlannedSeries],
        (root, stored): (&Utf8Path, &Utf8Path),
    ) -> Result<Self> {
        let partition = cut.partition;
        let read = |name: &String| {
            Costs::read(name, partition.method, &Baselines::new(root, stored), stored, planned)
        };
        let costs = cut.costs.as_ref().map(read).transpose()?;
        let part = |planned: &&PlannedSeries| Part {
            // The hash of a part must not depend on other harnesses.
            id: planned.series.id.full_key(),
            keys: planned.configurations.iter().map(ToString::to_string).collect(),
            each: costs.as_ref().map_or(1, |costs| costs.of_each(planned)),
        };
        let parts: Vec<Part> = planned.iter().map(part).collect();
        let slices = Slices::new(&parts, partition.method, cut.by, partition.slices());
        let own = |series| {
            let configurations = slices.own(series, partition.position())?;
            Some(Own { series, configurations })
        };
        let own = (0..planned.len()).filter_map(own).collect();
        Ok(Self { partition, costs, slices, own })
    }

    /// The estimated time of the slice in words, if the costs of `planned` are known.
    pub fn describe_time(&self, planned: &[&PlannedSeries]) -> Option<String> {
        let costs = self.costs.as_ref()?;
        let here = |own: &Own| costs.total(planned[own.series], own.configurations.len());
        let here = self.own.iter().map(here).fold(0, u64::saturating_add);
        let all = |planned: &&PlannedSeries| costs.total(planned, planned.configurations.len());
        let all = planned.iter().map(all).fold(0, u64::saturating_add);
        let seconds = |microseconds: u64| {
            let tenths = microseconds.div_ceil(100_000);
            format!("{}.{} s", tenths / 10, tenths % 10)
        };
        let Partition { slice, of, .. } = self.partition;
        Some(format!(
            "slice {slice} of {of} takes about {} of {}, the time of all passes in {}",
            seconds(here),
            seconds(all),
            costs.name
        ))
    }

    /// Reduces `all`, which have the same order as the plan, to the part of the slice; `planned`
    /// gives the planned series of each.
    pub fn take<T>(&self, all: Vec<T>, planned: fn(&mut T) -> &mut PlannedSeries) -> Vec<T> {
        let mut own = self.own.iter().peekable();
        let here = |(at, mut one): (usize, T)| {
            let own = own.next_if(|own| own.series == at)?;
            let all = &mut planned(&mut one).configurations;
            *all = own.configurations.iter().map(|&index| all[index].clone()).collect();
            Some(one)
        };
        all.into_iter().enumerate().filter_map(here).collect()
    }

    /// The outline of all series of the plan.
    pub fn outline(&self, checked: &[Checked]) -> Vec<OutlineSeries> {
        checked.iter().enumerate().map(|(at, checked)| self.outline_series(at, checked)).collect()
    }

    fn outline_series(&self, at: usize, checked: &Checked) -> OutlineSeries {
        let lines = |all: Vec<String>| sha256(all.join("\n").as_bytes());
        let threshold = |own: &ConfiguredThreshold| {
            let origin = serde_json::to_string(&own.origin).unwrap_or_default();
            format!("{origin} {}", own.threshold.text)
        };
        let Checked { planned, thresholds, .. } = checked;
        let people = |slice: usize| u32::try_from(slice + 1).unwrap_or(u32::MAX);
        let slices: Vec<u32> = self.slices.of_series(at).into_iter().map(people).collect();
        OutlineSeries {
            id: planned.series.id.to_string(),
            configurations: checked.count(),
            keys: lines(planned.configurations.iter().map(ToString::to_string).collect()),
            thresholds: lines(thresholds.iter().map(threshold).collect()),
            slices: ranges(&slices),
            cost: self.costs.as_ref().map(|costs| costs.of_each(planned)),
        }
    }
}

/// The message about a slice without configurations.
pub fn describe_empty(partition: Partition) -> String {
    let Partition { slice, of, .. } = partition;
    format!("slice {slice} of {of} has no configurations")
}
