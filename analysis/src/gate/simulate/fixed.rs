//! Simulates how often a numeric limit is judged right in a run that adds processes to undecided
//! configurations.
//!
//! Input: the source of the processes' numbers, and by how much their median lies above the limit.
//! Output: the shares. Each simulated configuration is measured like in the engine: the judge of a
//! run decides at each look whether there is another one.

use gpuprof_model::metric::Class;
use gpuprof_model::threshold::Comparison;

use super::{Pool, ProcessSampler, Shares};
use crate::gate::budget::Budget;
use crate::gate::judge::fixed::{LimitTest, Looks, Observation, Sure};
use crate::stats::median::median;
use crate::stats::random::SplitMix;

/// The parameters of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct FixedTrial<'t> {
    /// The source of the numbers.
    pub pool: &'t Pool,
    /// The step in which they are read.
    pub resolution: f64,
    /// How many processes there are at the first look.
    pub first: u32,
    /// The most of a configuration.
    pub most: u32,
    /// How many configurations are simulated.
    pub draws: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// How many processes determine the median of a pool.
const FOR_MEDIAN: usize = 40_001;

impl FixedTrial<'_> {
    /// The outcomes of configurations with a median process that is `above_percent` above a limit
    /// that it must not exceed.
    pub fn simulate(&self, budget: &Budget, above_percent: f64) -> Shares {
        let mut random = SplitMix(self.seed);
        let middle = self.middle(&mut random);
        Shares::count(above_percent, self.draws, || {
            let mut source = ProcessSampler::new(self.pool, &mut random);
            let middle = median(source.recorded).unwrap_or(middle);
            let limited = LimitTest {
                comparison: Comparison::AtMost,
                limit: middle / (1.0 + above_percent / 100.0),
                budget,
                looks: Looks::After(self.first as usize),
                one_of: 1,
            };
            match self.measured(&mut source, &limited) {
                (Sure::Within, took) => (Some(true), took),
                (Sure::Beyond, took) => (Some(false), took),
                (Sure::Open(..), took) => (None, took),
            }
        })
    }

    /// The median process of the pool, if it is not that of a recording.
    fn middle(&self, random: &mut SplitMix) -> f64 {
        median(&self.pool.processes(FOR_MEDIAN, random)).unwrap_or(f64::NAN)
    }

    /// One configuration, measured until it is decided or there are the most processes.
    fn measured(&self, source: &mut ProcessSampler<'_>, limited: &LimitTest<'_>) -> (Sure, u32) {
        let mut values: Vec<f64> = Vec::new();
        let mut until = self.first;
        loop {
            while values.len() < until as usize {
                values.push(source.process(1.0));
            }
            let known = Observation {
                value: median(&values).unwrap_or(f64::NAN),
                processes: values,
                class: Class::Noisy,
                counted_once: false,
                interval: None,
                resolution: self.resolution,
            };
            let sure = limited.decide(&known);
            values = known.processes;
            match sure {
                Sure::Open(_, Some(look)) if look <= self.most => until = look,
                sure => return (sure, until),
            }
        }
    }
}
