//! What each series of a run costs, for whoever divides the next one into slices.
//!
//! Input: how long passes had a device. Output: of each series how many configurations were watched
//! from their first pass to their last, and how long those took together. What a run that is
//! resumed has in its journal was watched by nobody.

use std::collections::BTreeMap;

use gpuprof_model::run::SeriesCost;

use super::inputs::Checked;
use gpuprof_engine::execute::Stretch;
use gpuprof_engine::passes::At;
use gpuprof_engine::schedule::Pairs;

/// Of each configuration how long its passes took so far, in microseconds, and whether the first
/// one is among them.
#[derive(Debug, Default)]
pub(super) struct Costs {
    of: BTreeMap<At, (u64, bool)>,
}

impl Costs {
    /// What processes of a device did; only their passes cost.
    pub(super) fn hear(&mut self, stretches: &[Stretch]) {
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

    /// What the series `checked` cost, of which those of the other revision are joined with this
    /// one's by `pairs`: both are measured wherever one is.
    pub(super) fn of_series(self, checked: &[Checked], pairs: &Pairs) -> Vec<SeriesCost> {
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
