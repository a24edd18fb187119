//! The cost of each series of a run, for dividing the next one into slices.
//!
//! Input: the time that passes had a device. Output: for each series the number of configurations
//! that were observed from their first pass to their last, and their total time. Configurations in
//! the journal of a resumed run were not observed.

use std::collections::BTreeMap;

use gpuprof_model::run::SeriesCost;

use super::At;
use crate::execute::Stretch;
use crate::plan::Checked;
use crate::schedule::Pairs;

/// Of each configuration how long its passes took so far, in microseconds, and whether the first
/// one is among them.
#[derive(Debug, Default)]
pub struct Costs {
    of: BTreeMap<At, (u64, bool)>,
}

impl Costs {
    /// The activity of a device's processes; only their passes cost.
    pub fn hear(&mut self, stretches: &[Stretch]) {
        for stretch in stretches {
            let Some(pass) = &stretch.pass else { continue };
            let took = stretch.end.saturating_duration_since(stretch.begin).as_micros();
            let of_each = took / pass.configurations.len().max(1) as u128;
            for &index in &pass.configurations {
                let (so_far, from_the_first) = self.of.entry((pass.series, index)).or_default();
                *so_far = so_far.saturating_add(u64::try_from(of_each).unwrap_or(u64::MAX));
                *from_the_first |= pass.is_first;
            }
        }
    }

    /// The cost of the series `checked`; `pairs` joins those of the other revision with this one's:
    /// both are measured on the same machine.
    pub fn of_series(self, checked: &[Checked], pairs: &Pairs) -> Vec<SeriesCost> {
        let mut all: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for ((series, _), (took, from_the_first)) in self.of {
            if !from_the_first {
                continue;
            }
            let head = pairs.head_of(series).map(|(head, _)| head);
            let (configurations, microseconds) = all.entry(head.unwrap_or(series)).or_default();
            *configurations += u64::from(head.is_none());
            *microseconds = microseconds.saturating_add(took);
        }
        let cost = |(series, (configurations, microseconds)): (usize, (u64, u64))| SeriesCost {
            series: checked[series].planned.series.id.to_string(),
            configurations,
            microseconds,
        };
        all.into_iter().map(cost).collect()
    }
}
