//! The forecast of runs in rounds on this machine.
//!
//! Input: recorded processes, how many configurations a run has, and the most rounds; one slower
//! configuration is assumed to be among the few that get the higher number. Output: how often such
//! a run fails or stays undecided without a change, how often it catches slowdowns of several
//! sizes, the processes that it takes, and the smallest limit that it can keep.

use gpuprof_model::metric::Class;
use gpuprof_model::run::{Run, Status};
use gpuprof_model::threshold::Statistic;
use serde::Serialize;

use crate::compared_pair::resolution;
use crate::gate::default_time_limit::DEFAULT_PERCENT;
use crate::gate::simulate::{Pool, Shares, Trial};
use crate::sequential::{CriticalValues, Most};
use crate::stats::random::SEED;

/// By how many percent the simulated configurations are slower.
const SLOWER: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0];

/// The limits of which the smallest that can be kept is proposed.
const LIMITS: [f64; 9] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0];

/// How many configurations are simulated where nothing changed, and of each slowdown.
const UNCHANGED: u32 = 20_000;
const CHANGED: u32 = 1_000;

/// The largest share of runs that may stay undecided where nothing changed.
const UNDECIDED: f64 = 0.01;

/// The share of slowdowns that is to be caught.
const CAUGHT: f64 = 0.95;

/// The forecast of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// Configurations of a run, in all its series.
    pub configurations: usize,
    /// Configurations that were recorded.
    pub recorded: usize,
    /// The most rounds of one.
    pub most_rounds: u32,
    /// How far above the base the default gate lets a duration lie, in percent.
    pub limit_percent: f64,
    /// The shares of the outcomes for one slowdown each, the first of 0 %.
    pub shares: Vec<Shares>,
    /// The share of runs that fail where nothing changed.
    pub run_fails: f64,
    /// The share of runs in which something stays undecided where nothing changed.
    pub run_undecided: f64,
    /// The smallest limit, in percent, with which at most 1 % of runs stay undecided; none where
    /// none of up to 10 % does.
    pub proposed_percent: Option<f64>,
    /// The smallest of the slowdowns that the proposed limit catches with 95 %.
    pub proposed_catches: Option<f64>,
    /// The time of such a run with the proposed limit, or else with that of the default gate; none
    /// if the recording does not contain the time of a process.
    pub time: Option<Time>,
}

/// The time of a run, by the wall time of the recorded processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// Seconds for each process of a configuration.
    pub seconds_per_process: f64,
    /// Seconds of a run in which nothing changed.
    pub unchanged: f64,
    /// Seconds of such a run with one configuration that is measured in the most rounds.
    pub with_one_in_doubt: f64,
    /// A time budget, in seconds, at which such a run does not end undecided for lack of time.
    pub proposed_budget: u64,
}

/// The factor between the time of a run and the proposed budget: a machine has busier hours.
const MARGIN: f64 = 1.2;

impl Time {
    /// Of so many `configurations`, that take `rounds` on average and `most` at most.
    fn new(seconds_per_process: f64, configurations: usize, rounds: f64, most: u32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
        let unchanged = 2.0 * seconds_per_process * rounds * configurations as f64;
        let more = 2.0 * seconds_per_process * (f64::from(most) - rounds).max(0.0);
        let with_one_in_doubt = unchanged + more;
        // Whole minutes, or tens of seconds of less than two.
        let step = if MARGIN * with_one_in_doubt <= 120.0 { 10.0 } else { 60.0 };
        let steps = (MARGIN * with_one_in_doubt / step).ceil().max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0")]
        let proposed_budget = (steps * step) as u64;
        Self { seconds_per_process, unchanged, with_one_in_doubt, proposed_budget }
    }
}

/// The forecast for runs of so many `configurations`, from those of `run`; none if none has a
/// duration of at least `least` processes.
pub fn forecast(run: &Run, configurations: usize, most: Most, least: usize) -> Option<Forecast> {
    let recorded = recorded(run, least);
    if recorded.is_empty() {
        return None;
    }
    let count = recorded.len();
    let resolution = coarsest(run);
    let pool = Pool::Recorded(recorded);
    let bounds = CriticalValues::new(configurations, most.single_limit());
    let limit_percent = f64::from(DEFAULT_PERCENT);
    let simulated = |limit_percent, slower: f64, most| {
        let draws = if slower == 0.0 { UNCHANGED } else { CHANGED };
        let (pool, share, seed) = (&pool, 1.0, SEED);
        Trial { pool, limit_percent, share, resolution, most, draws, seed }
            .simulate(&bounds, slower)
    };
    let simulate = |limit_percent, slower| simulated(limit_percent, slower, most.single_limit());
    let shares: Vec<Shares> =
        SLOWER.into_iter().map(|slower| simulate(limit_percent, slower)).collect();
    let undecided = |limit, found: &Shares| {
        let common = simulated(limit, 0.0, most.common_limit()).undecided;
        Shares::run_undecided(common, found.undecided, configurations)
    };
    let keeps = |limit: &f64| undecided(*limit, &simulate(*limit, 0.0)) <= UNDECIDED;
    let proposed_percent = LIMITS.into_iter().find(keeps);
    let catches =
        |limit: f64| SLOWER.into_iter().find(|&slower| simulate(limit, slower).fail >= CAUGHT);
    let unchanged = shares[0];
    let rounds = proposed_percent.map_or(unchanged.rounds, |limit| simulate(limit, 0.0).rounds);
    let seconds = run.provenance.seconds_per_process;
    Some(Forecast {
        time: seconds
            .map(|seconds| Time::new(seconds, configurations, rounds, most.single_limit())),
        configurations,
        recorded: count,
        most_rounds: most.single_limit(),
        limit_percent,
        run_fails: Shares::of_run(unchanged.fail, configurations),
        run_undecided: undecided(limit_percent, &unchanged),
        shares,
        proposed_percent,
        proposed_catches: proposed_percent.and_then(catches),
    })
}

/// The process medians of each configuration with durations from at least `least` processes.
pub fn recorded(run: &Run, least: usize) -> Vec<Vec<f64>> {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let process_medians = |row: &gpuprof_model::run::ConfigurationResult| {
        let found = row.metrics.get("duration").filter(|_| row.status == Status::Finished)?;
        let medians: Vec<f64> = found.processes.iter().map(|p| p.median).collect();
        (found.class == Class::Noisy && medians.len() >= least).then_some(medians)
    };
    rows.filter_map(process_medians).collect()
}

/// How finely the duration is known of which least is known.
fn coarsest(run: &Run) -> f64 {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let clock_step = |row: &gpuprof_model::run::ConfigurationResult| {
        let value = *row.metrics.get("duration")?.value.as_ref().ok()?;
        Some(resolution(row, "duration", value, Statistic::Median))
    };
    rows.filter_map(clock_step).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, finished, gpu_pass, point, series};
    use crate::stats::random::SplitMix;

    /// A run of one configuration in 20 processes with a noise of ±`percent`.
    fn noisy(percent: f64) -> Run {
        let mut random = SplitMix(3);
        let mut share = || (random.next() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        let medians = (0..20).map(|_| 100_000.0 * (1.0 + 2.0 * share() * percent / 100.0));
        let passes: Vec<_> = medians.map(|m| gpu_pass(64, 1 << 20, &[m])).collect();
        fixture::run("r", vec![series(vec![finished(point(64, 1 << 20), &passes)])])
    }

    #[test]
    fn a_quiet_machine_gets_a_smaller_limit() {
        let of = |percent| forecast(&noisy(percent), 50, Most::exactly(57), 6).unwrap();
        let (quiet, loud) = (of(0.3), of(3.0));
        assert_eq!(quiet.proposed_percent, Some(0.5), "{quiet:?}");
        assert!(loud.proposed_percent >= Some(2.0), "{loud:?}");
        assert!(loud.shares[0].rounds > quiet.shares[0].rounds);
        assert_eq!((quiet.recorded, quiet.configurations), (1, 50));
        assert!(quiet.run_fails <= 0.01 && quiet.run_undecided <= 0.01, "{quiet:?}");
        assert!(quiet.shares[3].fail >= 0.95 && quiet.shares[1].pass >= 0.95, "{quiet:?}");
    }

    #[test]
    fn the_time_budget_follows_from_how_long_processes_took() {
        let mut run = noisy(0.3);
        assert_eq!(forecast(&run, 50, Most::exactly(57), 6).unwrap().time, None);
        run.provenance.seconds_per_process = Some(0.5);
        let found = forecast(&run, 50, Most::exactly(57), 6).unwrap();
        let (time, rounds) = (found.time.unwrap(), found.shares[0].rounds);
        // Two sides of 50 configurations, of which one continues to 57 rounds.
        assert!(time.unchanged >= 2.0 * 0.5 * 15.0 * 50.0 && rounds >= 15.0, "{time:?}");
        assert!(time.with_one_in_doubt - time.unchanged > 40.0, "{time:?}");
        assert!(time.proposed_budget as f64 >= 1.2 * time.with_one_in_doubt, "{time:?}");
        assert!((time.proposed_budget as f64) < 1.2 * time.with_one_in_doubt + 60.0, "{time:?}");
        assert!(time.proposed_budget.is_multiple_of(60));
        let few = Time::new(0.1, 2, 6.0, 57);
        assert_eq!(few.proposed_budget, 20, "{few:?}");
    }

    #[test]
    fn five_processes_are_too_few() {
        let mut run = noisy(1.0);
        let duration = run.series[0].configurations[0].metrics.get_mut("duration").unwrap();
        duration.processes.truncate(5);
        assert_eq!(forecast(&run, 50, Most::exactly(57), 6), None);
    }
}
