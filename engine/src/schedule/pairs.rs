//! Which configurations of two revisions are measured side by side. Pure.
//!
//! Input: for each series of both revisions, the positions of their common configurations. Output:
//! the partner of every configuration, and jobs with partners next to each other. A coin toss
//! decides for each round and configuration which side runs first: this toss makes a test of the
//! paired differences valid, whatever drifts.

use std::collections::BTreeMap;

use gpuprof_analysis::stats::random::{SEED, SplitMix};

use super::Batch;

/// A configuration: the position of its series, and its own in the series.
type At = (usize, usize);

/// The partners of a run; none where only one revision is measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairs {
    /// Of each series of the other revision: its series here, and for each of its configurations
    /// the position here.
    of_base: BTreeMap<usize, (usize, Vec<usize>)>,
    /// The other way round.
    of_head: BTreeMap<usize, usize>,
    partner: BTreeMap<At, At>,
}

impl Pairs {
    /// Joins the series `base` with `head`, which has the configurations of `base` at `positions`.
    pub fn join(&mut self, head: usize, base: usize, positions: Vec<usize>) {
        for (index, &position) in positions.iter().enumerate() {
            self.partner.insert((head, position), (base, index));
            self.partner.insert((base, index), (head, position));
        }
        self.of_head.insert(head, base);
        self.of_base.insert(base, (head, positions));
    }

    /// Whether nothing is paired.
    pub fn is_empty(&self) -> bool {
        self.partner.is_empty()
    }

    /// Every configuration that both have: of this revision, and of the other one.
    pub fn all(&self) -> impl Iterator<Item = (At, At)> + '_ {
        let of_head = |(head, _): &(&At, &At)| self.of_head.contains_key(&head.0);
        self.partner.iter().filter(of_head).map(|(&head, &base)| (head, base))
    }

    /// The same configuration of the other revision.
    pub fn partner(&self, at: At) -> Option<At> {
        self.partner.get(&at).copied()
    }

    /// The series of the other revision that is joined with `head`.
    pub fn base_of(&self, head: usize) -> Option<usize> {
        self.of_head.get(&head).copied()
    }

    /// The series that `base`, of the other revision, is joined with, and the positions there of
    /// its configurations.
    pub fn head_of(&self, base: usize) -> Option<(usize, &[usize])> {
        self.of_base.get(&base).map(|(head, positions)| (*head, positions.as_slice()))
    }

    /// Inserts, next to each of `batches` of this revision, the same batch of the other revision.
    pub fn insert_partners(&self, batches: Vec<Batch>) -> Vec<Batch> {
        let both = |batch: Batch| {
            let partners = batch.configurations.iter();
            let partners = partners.filter_map(|&index| self.partner((batch.series, index)));
            let configurations: Vec<usize> = partners.map(|(_, index)| index).collect();
            let base = self.base_of(batch.series).filter(|_| !configurations.is_empty());
            let Some(series) = base else { return vec![batch] };
            let other = Batch { series, configurations, ..batch.clone() };
            let first = batch.configurations.first().copied().unwrap_or_default();
            let (mut one, two) = match head_first((batch.series, first), batch.repeat) {
                true => (batch, other),
                false => (other, batch),
            };
            one.before_its_partner = true;
            vec![one, two]
        };
        batches.into_iter().flat_map(both).collect()
    }
}

/// The coin of a round: whether this revision goes first.
fn head_first((series, index): At, repeat: u32) -> bool {
    let mut random = SplitMix(SEED);
    for part in [series as u64, index as u64, u64::from(repeat)] {
        random = SplitMix(random.next() ^ part);
    }
    random.next() >> 63 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Interleave, Isolate, batches, schedule};

    /// Series 0 and 1 are of this revision; 2 is 0 of the other one, without configuration 1.
    fn pairs() -> Pairs {
        let mut pairs = Pairs::default();
        pairs.join(0, 2, vec![0, 2]);
        pairs
    }

    #[test]
    fn partners_are_symmetric_and_new_configurations_have_none() {
        let pairs = pairs();
        assert_eq!(pairs.partner((0, 2)), Some((2, 1)));
        assert_eq!(pairs.partner((2, 1)), Some((0, 2)));
        assert_eq!(pairs.partner((0, 1)), None);
        assert_eq!(pairs.partner((1, 0)), None);
        assert_eq!((pairs.base_of(0), pairs.base_of(1)), (Some(2), None));
        assert_eq!(pairs.head_of(2), Some((0, &[0, 2][..])));
    }

    #[test]
    fn partners_are_adjacent_and_alternate_in_order() {
        let pairs = pairs();
        let rounds = 400;
        let all = batches(schedule(&[3, 1], rounds, Interleave::Rounds), Isolate::Configuration);
        let all = pairs.insert_partners(all);
        assert_eq!(all.len(), 6 * rounds as usize);
        let mut head_first = 0;
        for two in all.windows(2).filter(|two| two[0].before_its_partner) {
            let at = |batch: &Batch| (batch.series, batch.configurations[0]);
            assert_eq!(pairs.partner(at(&two[0])), Some(at(&two[1])));
            assert_eq!(two[0].repeat, two[1].repeat);
            head_first += usize::from(two[0].series == 0);
        }
        let count = all.iter().filter(|batch| batch.before_its_partner).count();
        assert_eq!(count, 2 * rounds as usize);
        assert!((340..460).contains(&head_first), "{head_first} of 800");
    }

    #[test]
    fn the_processes_of_a_kernel_are_adjacent_and_keep_one_order() {
        let all = pairs()
            .insert_partners(batches(schedule(&[3, 1], 2, Interleave::None), Isolate::Kernel));
        let told: Vec<_> = all.iter().map(|b| (b.series, b.configurations.clone())).collect();
        assert_eq!(told.len(), 6);
        let both = [(0, vec![0, 1, 2]), (2, vec![0, 1])];
        assert!(
            both.contains(&told[0]) && both.contains(&told[1]) && told[0] != told[1],
            "{told:?}"
        );
        assert_eq!(told[4], (1, vec![0]));
    }
}
