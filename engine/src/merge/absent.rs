//! The unmeasured part of a plan.
//!
//! Input: the slices of a plan, each once. Output: the missing slices, and the partially measured
//! ones with their series.

use crate::store::manifest::Outline;
use crate::store::slices::StoredSlice;
use gpuprof_model::run::MissingSlices;

/// How many series a line names.
const NAMED: usize = 5;

/// The unmeasured part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Absent {
    /// The slices that nothing is known of.
    pub(super) missing: Vec<u32>,
    /// Those that are not whole, with how much of them is measured, and is to be.
    pub(super) partial: Vec<(u32, usize, usize)>,
}

impl Absent {
    /// What `slices` lack of their `plan`.
    pub(super) fn find(plan: &Outline, slices: &[StoredSlice]) -> Self {
        let there = |number: &u32| slices.iter().any(|slice| slice.manifest.slice == *number);
        let partial = slices.iter().filter(|slice| !slice.is_whole());
        Self {
            missing: (1..=plan.slices).filter(|number| !there(number)).collect(),
            partial: partial.map(|s| (s.manifest.slice, s.measured(), s.planned())).collect(),
        }
    }

    /// Whether everything is measured.
    pub fn is_none(&self) -> bool {
        self.missing.is_empty() && self.partial.is_empty()
    }

    /// The slices that a run of `of` slices lacks, `accepted` by `--partial` or not; none if
    /// everything is measured.
    pub(super) fn record(&self, of: u32, accepted: bool) -> Option<MissingSlices> {
        let numbers = self.numbers();
        (!numbers.is_empty()).then_some(MissingSlices { numbers, of, accepted })
    }

    /// The numbers of the slices to submit again, such as `3,7`.
    pub fn again(&self) -> String {
        list(&self.numbers())
    }

    fn numbers(&self) -> Vec<u32> {
        let partial = self.partial.iter().map(|(number, ..)| *number);
        let mut all: Vec<u32> = self.missing.iter().copied().chain(partial).collect();
        all.sort_unstable();
        all
    }

    /// Why the merged run is not kept as the baseline `name`; none if everything is measured. A
    /// later run is not compared with anything that the baseline lacks, so `--partial`, which
    /// concerns this run only, does not keep it either.
    pub fn no_baseline(&self, name: &str) -> Option<String> {
        let again = self.again();
        (!self.is_none()).then(|| {
            format!(
                "the plan is not measured to its end (slices {again}); measure them and merge \
                 again, or `cargo gpuprof baseline accept {name}` keeps what is there"
            )
        })
    }

    /// What is missing, a line each.
    pub(super) fn lines(&self, plan: &Outline) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.missing.is_empty() {
            let missing = list(&self.missing);
            lines.push(format!("missing slices: {missing} (of {})", plan.slices));
            lines.extend(self.missing.iter().take(NAMED).map(|&slice| series(plan, slice)));
            if let Some(more) = self.missing.len().checked_sub(NAMED).filter(|&more| more > 0) {
                lines.push(format!("  and {more} more"));
            }
        }
        for (number, measured, planned) in &self.partial {
            lines.push(format!(
                "partial slice {number}: {measured} of {planned} configurations are measured"
            ));
        }
        if !self.is_none() {
            let again = self.again();
            lines.push(format!(
                "to measure what is missing, run slices {again} again with --resume=auto (`merge \
                 --missing` prints this list alone); --partial accepts the run as it is"
            ));
        }
        lines
    }
}

/// The series that `slice` has.
fn series(plan: &Outline, slice: u32) -> String {
    let ids: Vec<&str> =
        plan.series.iter().filter(|series| series.is_in(slice)).map(|s| &*s.id).collect();
    let named = ids.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match ids.len().checked_sub(NAMED) {
        _ if ids.is_empty() => format!("  slice {slice} has no configurations"),
        Some(more) if more > 0 => format!("  slice {slice}: {named} and {more} more"),
        _ => format!("  slice {slice}: {named}"),
    }
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
