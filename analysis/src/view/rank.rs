//! The best configuration of a series, and the configurations that are indistinguishable from it.
//!
//! Input: the configurations of a series and a metric. Output: which one is best, and which differ
//! from it by no more than the noise. Equal values of an exact metric tie. A noisy one ties if its
//! processes do not differ significantly from those of the best (Welch, one-sided). The same
//! processes chose the best, so that any of the configurations could have been compared with any
//! other: all ordered pairs share the level of 1 % (Bonferroni). So the set contains all of 500
//! equal configurations in 99 of 100 series.

use gpuprof_model::metric::Class;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Statistic;

use crate::compared_pair::{Evidence, Side};
use crate::stats::two_sample::SIGNIFICANCE;
use crate::view::best;

/// The rank of a configuration in its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// It has the best value; of several equal ones the first.
    Best,
    /// It is indistinguishable from the best.
    Tied,
    /// It is worse, or has no value.
    Other,
}

impl Rank {
    /// The word for it; empty for the rest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Tied => "tied",
            Self::Other => "",
        }
    }
}

/// The ranks of configurations by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// One a configuration, in their order.
    pub ranks: Vec<Rank>,
    /// Whether there are too few processes to find ties.
    pub unknown: bool,
}

impl Ranking {
    /// The positions of the ties with the best.
    pub fn tied(&self) -> impl Iterator<Item = usize> {
        self.ranks.iter().enumerate().filter(|(_, rank)| **rank == Rank::Tied).map(|(at, _)| at)
    }
}

/// Ranks `configurations` by `metric`; `None` where none has a value.
pub fn ranking(configurations: &[ConfigurationResult], metric: &str) -> Option<Ranking> {
    let best = best::best(configurations, metric)?;
    let class = best::result(&configurations[best], metric)?.class;
    let top = Side::from_row(&configurations[best], metric, Statistic::Median).ok()?;
    let mut ranks = vec![Rank::Other; configurations.len()];
    ranks[best] = Rank::Best;
    let mut unknown = false;
    let mut compared: Vec<(usize, f64)> = Vec::new();
    for (at, row) in configurations.iter().enumerate().filter(|(at, _)| *at != best) {
        let Ok(side) = Side::from_row(row, metric, Statistic::Median) else { continue };
        if side.value == top.value {
            ranks[at] = Rank::Tied;
        }
        if class == Class::Exact {
            continue;
        }
        let evidence = Evidence::compare(class, &top, &side);
        match evidence.confidence {
            Some(confidence) => compared.push((at, confidence.p_value / 2.0)),
            None => unknown = true,
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
    let pairs = (compared.len() * (compared.len() + 1)) as f64;
    for (at, _) in compared.iter().filter(|(_, p)| *p > SIGNIFICANCE / pairs) {
        ranks[*at] = Rank::Tied;
    }
    Some(Ranking { ranks, unknown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::finished;
    use crate::fixture::{failed, gpu_pass, point, rows};
    use crate::stats::random::SplitMix;

    fn timed(block: u64, medians: &[f64]) -> ConfigurationResult {
        let passes: Vec<_> =
            medians.iter().map(|&m| gpu_pass(block, 1 << 20, &[m - 32.0, m, m + 32.0])).collect();
        finished(point(block, 1 << 20), &passes)
    }

    fn words(configurations: &[ConfigurationResult], metric: &str) -> Vec<&'static str> {
        let ranks = ranking(configurations, metric).unwrap().ranks;
        ranks.into_iter().map(Rank::word).collect()
    }

    #[test]
    fn rows_within_the_noise_tie_and_worse_rows_do_not() {
        let all = [
            timed(64, &[10_000.0, 10_100.0, 9_950.0, 10_050.0, 10_020.0]),
            timed(128, &[10_030.0, 9_990.0, 10_090.0, 10_010.0, 9_940.0]),
            timed(256, &[10_500.0, 10_590.0, 10_550.0, 10_480.0, 10_510.0]),
            failed(512),
        ];
        assert_eq!(words(&all, "duration"), ["tied", "best", "", ""]);
        assert_eq!(words(&all, "throughput"), ["tied", "best", "", ""]);
        assert!(!ranking(&all, "duration").unwrap().unknown);
    }

    #[test]
    fn equal_configurations_nearly_always_tie() {
        let mut random = SplitMix(5);
        let mut uniform = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        // Twelve uniforms have a variance of 1.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let template = timed(64, &[100_000.0; 7]);
        let mut left_out = 0;
        for _ in 0..100 {
            let rows: Vec<ConfigurationResult> = (0..100)
                .map(|_| {
                    let mut row = template.clone();
                    row.metrics.retain(|name, _| name == "duration");
                    let duration = row.metrics.get_mut("duration").unwrap();
                    for process in &mut duration.processes {
                        process.median = 100_000.0 + 1000.0 * normal();
                    }
                    let medians: Vec<f64> = duration.processes.iter().map(|p| p.median).collect();
                    duration.value = Ok(crate::stats::median::median(&medians).unwrap());
                    row
                })
                .collect();
            let ranks = ranking(&rows, "duration").unwrap().ranks;
            left_out += u32::from(ranks.contains(&Rank::Other));
        }
        assert!(left_out <= 3, "{left_out} of 100 series");
    }

    #[test]
    fn exact_metrics_tie_only_if_equal() {
        assert_eq!(words(&rows("registers", &[8.0, 9.0, 8.0]), "registers"), ["best", "", "tied"]);
        assert_eq!(ranking(&rows("registers", &[]), "registers"), None);
    }

    #[test]
    fn too_few_processes_give_no_ties() {
        let found = ranking(&[timed(64, &[100.0]), timed(128, &[101.0])], "duration").unwrap();
        assert_eq!(found.ranks, [Rank::Best, Rank::Other]);
        assert!(found.unknown);
    }
}
