//! How often a run that is measured in rounds is right: simulated with the code that decides it.
//!
//! Input: the source of the processes' numbers, a limit relative to the base, and how many
//! questions share the run's budget. Output: the share of configurations that fail, pass and stay
//! open, and the rounds that they take; and from these the outcome of a whole run. Configurations
//! are independent of each other, so that the cost does not grow with the run's size.

mod fixed;

use gpuprof_model::clock::{Middle, STEP_NS};
use gpuprof_model::threshold::{Comparison, Tolerance};
use serde::Serialize;
use statrs::distribution::{Binomial, Discrete};

use crate::sequential::{CriticalValues, Decision, Most, Question, Rounds};
use crate::stats::random::SplitMix;

pub use fixed::FixedTrial;

/// The source of the number of a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Pool {
    /// A normal noise of so many percent (standard deviation) between processes.
    Normal(f64),
    /// Like [`Self::Normal`], with a `share` of the processes `percent` higher: two memory
    /// placements, or processes that something slows down.
    Mixed {
        /// The noise of each process in percent.
        noise: f64,
        /// The share of processes that lie higher.
        share: f64,
        /// By how much, in percent.
        percent: f64,
    },
    /// A normal noise in which neighbouring processes correlate.
    Correlated {
        /// The noise in percent.
        noise: f64,
        /// The correlation of neighbours.
        rho: f64,
    },
    /// The processes of recorded configurations: each simulated one draws from those of one.
    Recorded(Vec<Vec<f64>>),
    /// A short kernel, read off a clock at random phases.
    Short {
        /// Its duration in nanoseconds.
        ns: f64,
        /// The normal noise between processes in percent.
        noise: f64,
        /// The samples of a process.
        samples: u32,
    },
}

impl Pool {
    /// The numbers of `count` consecutive processes of one configuration.
    pub fn processes(&self, count: usize, random: &mut SplitMix) -> Vec<f64> {
        let mut source = ProcessSampler::new(self, random);
        (0..count).map(|_| source.process(1.0)).collect()
    }
}

/// The parameters of a simulation.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'t> {
    /// The source of the numbers.
    pub pool: &'t Pool,
    /// How far above the base the head may lie, in percent.
    pub limit_percent: f64,
    /// The share of the head's processes that a slowdown makes slower.
    pub share: f64,
    /// How finely numbers are known, as in [`Question::resolution`].
    pub resolution: f64,
    /// The most rounds of a configuration.
    pub most: u32,
    /// How many configurations are simulated.
    pub draws: u32,
    /// The seed of the random numbers.
    pub seed: u64,
}

/// The outcomes of the simulated configurations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shares {
    /// By how many percent they were slower.
    pub slower_percent: f64,
    /// How many there were.
    pub configurations: u32,
    /// The share of them that failed.
    pub fail: f64,
    /// The share that passed.
    pub pass: f64,
    /// The share that was open after the most rounds.
    pub undecided: f64,
    /// The rounds that one took, on average: processes a side.
    pub rounds: f64,
}

impl Shares {
    /// The shares of `draws` configurations. Of each, `simulate` returns whether it passes, if it
    /// is decided, and its rounds.
    fn count(
        slower_percent: f64,
        draws: u32,
        mut simulate: impl FnMut() -> (Option<bool>, u32),
    ) -> Self {
        let (mut fail, mut pass, mut rounds) = (0_u32, 0_u32, 0_u64);
        for _ in 0..draws {
            let (passes, took) = simulate();
            fail += u32::from(passes == Some(false));
            pass += u32::from(passes == Some(true));
            rounds += u64::from(took);
        }
        let share = |count: u32| f64::from(count) / f64::from(draws);
        #[expect(clippy::cast_precision_loss, reason = "rounds are counted")]
        let rounds = rounds as f64 / f64::from(draws);
        let (undecided, configurations) = (share(draws - fail - pass), draws);
        let (fail, pass) = (share(fail), share(pass));
        Self { slower_percent, configurations, fail, pass, undecided, rounds }
    }

    /// The probability that a `share` of configurations meets at least one of `count`.
    pub fn of_run(share: f64, count: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
        let count = count as f64;
        1.0 - (1.0 - share).powf(count)
    }

    /// The probability that something stays undecided in a run of `count` configurations of which
    /// each is open after the most rounds of all with the share `common`, and after those of a few
    /// with the share `single`.
    pub fn run_undecided(common: f64, single: f64, count: usize) -> f64 {
        let Ok(open) = Binomial::new(common, count as u64) else { return f64::NAN };
        let decided = |few: usize| {
            let each = 1.0 - if common > 0.0 { (single / common).min(1.0) } else { 0.0 };
            open.pmf(few as u64) * each.powi(i32::try_from(few).unwrap_or(i32::MAX))
        };
        1.0 - (0..=Most::few(count).min(count)).map(decided).sum::<f64>().min(1.0)
    }

    /// The upper end of the interval of [`Self::fail`] with 95 %, one-sided (Wilson, *JASA* 22,
    /// 1927): no failure among so many proves little.
    pub fn fail_at_most(&self) -> f64 {
        let (n, z) = (f64::from(self.configurations), 1.644_853_626_951_472_7_f64);
        let center = self.fail + z * z / (2.0 * n);
        let reach = z * (self.fail * (1.0 - self.fail) / n + z * z / (4.0 * n * n)).sqrt();
        (center + reach) / (1.0 + z * z / n)
    }
}

impl Trial<'_> {
    /// The outcomes of configurations that are `slower_percent` slower, by `bounds`.
    pub fn simulate(&self, bounds: &CriticalValues, slower_percent: f64) -> Shares {
        let mut random = SplitMix(self.seed);
        Shares::count(slower_percent, self.draws, || {
            let mut source = ProcessSampler::new(self.pool, &mut random);
            let question = Question {
                comparison: Comparison::AtMost,
                tolerance: Tolerance { percent: self.limit_percent, floor: None },
                resolution: self.resolution,
            };
            let factor = 1.0 + slower_percent / 100.0;
            let mut measured = Rounds::default();
            let mut decision = Decision::OPEN;
            // Most are decided early, and the rest are measured to the end at once.
            for most in STAGES.map(|stage| stage.min(self.most)) {
                source.fill(&mut measured, most, (factor, self.share));
                decision = bounds.decide(&question, &measured);
                if !decision.is_open() {
                    break;
                }
            }
            match decision {
                Decision::Within(at) => (Some(true), at),
                Decision::Beyond(at) | Decision::SlowSubpopulation(at) => (Some(false), at),
                Decision::Open { .. } => (None, measured.count()),
            }
        })
    }
}

/// How many rounds are simulated at once.
const STAGES: [u32; 4] = [15, 29, 80, u32::MAX];

/// The processes of one configuration.
struct ProcessSampler<'s> {
    pool: &'s Pool,
    random: &'s mut SplitMix,
    /// The recorded configuration that is drawn from.
    recorded: &'s [f64],
    /// The deviation of the last process, in standard deviations.
    last: f64,
}

impl<'s> ProcessSampler<'s> {
    fn new(pool: &'s Pool, random: &'s mut SplitMix) -> Self {
        let recorded = match pool {
            Pool::Recorded(all) if !all.is_empty() => &*all[random.below(all.len())],
            _ => &[],
        };
        let last = random.normal();
        Self { pool, random, recorded, last }
    }

    /// Adds rounds until there are `most`: two neighbours, and a coin says which is the head. A
    /// share of the head's processes takes `factor` times as long.
    fn fill(&mut self, rounds: &mut Rounds, most: u32, (factor, share): (f64, f64)) {
        for _ in rounds.count()..most {
            let head_first = self.random.next() >> 63 == 0;
            let slower = share >= 1.0 || self.random.uniform() < share;
            let factor = if slower { factor } else { 1.0 };
            let first = self.process(if head_first { factor } else { 1.0 });
            let second = self.process(if head_first { 1.0 } else { factor });
            let (base, head) = if head_first { (second, first) } else { (first, second) };
            rounds.base.push(base);
            rounds.head.push(head);
        }
    }

    /// The number of the next process of a kernel that takes `factor` times as long.
    fn process(&mut self, factor: f64) -> f64 {
        let noisy = |percent: f64, deviation: f64| factor * (1.0 + percent / 100.0 * deviation);
        match *self.pool {
            Pool::Normal(noise) => CENTER * noisy(noise, self.random.normal()),
            Pool::Mixed { noise, share, percent } => {
                let higher = self.random.uniform() < share;
                let value = CENTER * noisy(noise, self.random.normal());
                if higher { value * (1.0 + percent / 100.0) } else { value }
            }
            Pool::Correlated { noise, rho } => {
                self.last = rho * self.last + (1.0 - rho * rho).sqrt() * self.random.normal();
                CENTER * noisy(noise, self.last)
            }
            Pool::Short { ns, noise, samples } => {
                let steps = ns / STEP_NS * noisy(noise, self.random.normal());
                let mut read = |_| STEP_NS * (steps + self.random.uniform()).floor();
                let samples: Vec<f64> = (0..samples).map(&mut read).collect();
                Middle::locate(&samples, STEP_NS).map_or(f64::NAN, |middle| middle.value)
            }
            Pool::Recorded(_) if self.recorded.is_empty() => CENTER * factor,
            Pool::Recorded(_) => self.recorded[self.random.below(self.recorded.len())] * factor,
        }
    }
}

/// The time of a process without a recording.
const CENTER: f64 = 100_000.0;

#[cfg(test)]
#[path = "simulate_tests.rs"]
mod tests;
