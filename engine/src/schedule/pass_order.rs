//! The order of passes. Pure.
//!
//! Input: the number of configurations of each series, the number of times each is timed, and the
//! requested order. Output: every pass once. In rounds, a slow drift of the machine (heat, clocks,
//! load) affects every configuration equally, and the random order inside a round keeps it from
//! picking the winner. The order depends on a fixed seed, so a resumed run continues in the same
//! one.

use std::collections::BTreeMap;

use gpuprof_analysis::stats::random::{SEED, SplitMix, shuffle};

use crate::schedule::{Isolate, MOST_TOGETHER};

gpuprof_model::words! {
    /// The order of the passes of a sweep.
    pub enum Interleave = Rounds {
        /// In rounds: every configuration once in random order, then all again, so that machine
        /// drift does not pick the winner.
        Rounds = "rounds",
        /// All passes of one configuration, then the next.
        None = "none",
    }
}

/// One timed pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// The position of its series.
    pub series: usize,
    /// The position of its configuration in the series.
    pub configuration: usize,
    /// The number of the repetition, from 0.
    pub repeat: u32,
}

/// Every pass of series with these `counts` of configurations, in order.
pub fn schedule(counts: &[usize], repeats: u32, order: Interleave) -> Vec<Step> {
    let points: Vec<(usize, usize)> = counts
        .iter()
        .enumerate()
        .flat_map(|(series, &count)| (0..count).map(move |configuration| (series, configuration)))
        .collect();
    let step =
        |&(series, configuration): &(usize, usize), repeat| Step { series, configuration, repeat };
    match order {
        Interleave::None => {
            points.iter().flat_map(|point| (0..repeats).map(|r| step(point, r))).collect()
        }
        Interleave::Rounds => {
            let mut random = SplitMix(SEED);
            let round = |repeat| {
                let mut round: Vec<Step> = points.iter().map(|point| step(point, repeat)).collect();
                shuffle(&mut round, &mut random);
                round
            };
            (0..repeats).flat_map(round).collect()
        }
    }
}

/// The timed passes that one process makes: one repetition of one or more configurations of a
/// series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The position of the series.
    pub series: usize,
    /// The number of the repetition, from 0.
    pub repeat: u32,
    /// The positions of the configurations, in order.
    pub configurations: Vec<usize>,
    /// Whether the next batch is the same one of the other revision. Nothing may run between the
    /// two.
    pub before_its_partner: bool,
}

/// The processes of `steps`, in the order of their first: the configurations of a series that are
/// timed in one process run in the order of their steps.
pub fn batches(steps: impl IntoIterator<Item = Step>, isolate: Isolate) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut open: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for Step { series, configuration, repeat } in steps {
        let last = open.get(&(series, repeat)).map(|&at| &mut batches[at].configurations);
        match last.filter(|last| last.len() < isolate.most_together()) {
            Some(last) => last.push(configuration),
            None => {
                open.insert((series, repeat), batches.len());
                let configurations = vec![configuration];
                batches.push(Batch { series, repeat, configurations, before_its_partner: false });
            }
        }
    }
    batches
}

/// The provenance's text for the order; `ahead` is the number of processes that prepare while
/// another one takes times, and `paired` says whether two sides are measured. The text does not
/// mention separate processes for each configuration.
pub fn described(
    order: Interleave,
    isolate: Isolate,
    ahead: usize,
    paired: bool,
) -> Option<String> {
    let order = match order {
        Interleave::Rounds => Some(format!("rounds, seed {SEED}")),
        Interleave::None => None,
    };
    let isolate = match isolate {
        Isolate::Configuration => None,
        Isolate::Auto => Some(format!("up to {MOST_TOGETHER} configurations a process")),
        Isolate::Kernel => Some("one process a kernel".to_owned()),
    };
    let ahead = (ahead > 0).then(|| format!("{ahead} ahead of times"));
    let paired = paired.then(|| {
        format!("base and head next to each other, a coin of seed {SEED} says which goes first")
    });
    let parts: Vec<String> = [order, isolate, ahead, paired].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_interleaving_each_configuration_finishes_before_the_next() {
        let steps = schedule(&[2, 1], 2, Interleave::None);
        let told: Vec<_> = steps.iter().map(|s| (s.series, s.configuration, s.repeat)).collect();
        assert_eq!(told, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]);
    }

    proptest! {
        #[test]
        fn every_pass_runs_once_whatever_the_order(
            counts in prop::collection::vec(0..9_usize, 0..4), repeats in 0..5_u32,
        ) {
            let mut plain = schedule(&counts, repeats, Interleave::None);
            let mut rounds = schedule(&counts, repeats, Interleave::Rounds);
            plain.sort();
            rounds.sort();
            prop_assert_eq!(&plain, &rounds);
            prop_assert_eq!(plain.len(), counts.iter().sum::<usize>() * repeats as usize);
        }

        #[test]
        fn a_round_ends_before_the_next_begins(
            counts in prop::collection::vec(1..9_usize, 1..4), repeats in 1..5_u32,
        ) {
            let rounds = schedule(&counts, repeats, Interleave::Rounds);
            prop_assert!(rounds.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat));
            prop_assert_eq!(rounds, schedule(&counts, repeats, Interleave::Rounds));
        }
    }

    #[test]
    fn a_process_of_a_kernel_times_all_its_configurations_in_an_order_of_its_own() {
        let batches = batches(schedule(&[12, 0, 1], 3, Interleave::Rounds), Isolate::Kernel);
        assert_eq!(batches.len(), 6);
        for batch in &batches {
            let mut all = batch.configurations.clone();
            all.sort_unstable();
            assert_eq!(all, (0..[12, 0, 1][batch.series]).collect::<Vec<_>>());
        }
        let of_first: Vec<_> = batches.iter().filter(|b| b.series == 0).collect();
        assert_eq!(of_first.iter().map(|b| b.repeat).collect::<Vec<_>>(), [0, 1, 2]);
        assert_ne!(of_first[0].configurations, of_first[1].configurations);
    }

    #[test]
    fn by_default_up_to_16_configurations_share_a_process() {
        let batches = batches(schedule(&[20, 2], 2, Interleave::Rounds), Isolate::Auto);
        let mut sizes: Vec<_> =
            batches.iter().map(|b| (b.repeat, b.series, b.configurations.len())).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [(0, 0, 4), (0, 0, 16), (0, 1, 2), (1, 0, 4), (1, 0, 16), (1, 1, 2)]);
    }

    #[test]
    fn per_configuration_isolation_times_one_per_process() {
        let batches = batches(schedule(&[2], 1, Interleave::None), Isolate::Configuration);
        let told: Vec<_> = batches.iter().map(|b| b.configurations.clone()).collect();
        assert_eq!(told, [[0], [1]]);
    }

    #[test]
    fn every_round_is_shuffled_differently() {
        let steps = schedule(&[40], 2, Interleave::Rounds);
        let order = |r: usize| -> Vec<usize> {
            steps[40 * r..40 * (r + 1)].iter().map(|s| s.configuration).collect()
        };
        assert_ne!(order(0), order(1));
        assert_ne!(order(0), (0..40).collect::<Vec<_>>());
    }
}
