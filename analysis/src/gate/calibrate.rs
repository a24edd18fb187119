//! Calibration: the noise of a machine, from one build compared with itself.
//!
//! Input: a run with many processes per configuration. Output: for each noisy metric the noise
//! between processes, how often the gate would have raised a false alarm, and the tolerance that it
//! can keep; and for the default gate on time how often it is right with several `--repeat`.
//!
//! The smallest change that a gate sees with 95 % is `(t₀.₉₉ + t₀.₉₅) s √(2/n)` for n processes a
//! side (Cohen, *Statistical Power Analysis*, 1988, section 2.4, with Student's t for the normal).

use gpuprof_model::Threshold;
use gpuprof_model::each_once::each_once;
use gpuprof_model::metric::{Catalogue, Class, Direction};
use gpuprof_model::run::{ConfigurationResult, MetricResult, Run, Status};
use gpuprof_model::threshold::Statistic;
use serde::Serialize;

use crate::compared_pair::resolution;
use crate::gate::default_time_limit::default_gate;
use crate::gate::prediction::smallest_caught;
use crate::gate::rates::{Draw, Rates, Trial, rates};
use crate::stats::median::median;
use crate::stats::repeats::{Repeats, noise_percent};
use crate::stats::two_sample::{MIN_PROCESSES, SIGNIFICANCE};

/// How often processes are drawn of each configuration of a small run.
const DRAWS: usize = 200;

/// How often they are drawn in all, so that calibration takes no longer for many configurations:
/// a share of 10 % is then known to ±0.4 points (standard errors 0.2).
const DRAWS_IN_ALL: usize = 25_000;

/// How often processes are drawn of each of `configurations`.
pub fn draws(configurations: usize) -> usize {
    (DRAWS_IN_ALL / configurations.max(1)).clamp(1, DRAWS)
}

/// The fewest processes a configuration needs.
pub const MIN_SPLIT: usize = 2 * MIN_PROCESSES;

/// The numbers of processes a side that the default gate is rated with.
const RATED: [Repeats; 6] = [
    Repeats::exactly(3),
    Repeats::exactly(5),
    Repeats::exactly(7),
    Repeats::DEFAULT,
    Repeats::exactly(10),
    Repeats::exactly(15),
];

/// The slowdown, in percent, that the default gate is rated by.
pub const SLOWDOWN_PERCENT: f64 = 3.0;

/// How often the default gate on time is right on the processes of `run`, for several `--repeat`.
pub fn rate_default_gate(catalogue: &Catalogue, run: &Run) -> Vec<Rates> {
    let threshold = default_gate();
    let draws = draws(run.series.iter().map(|series| series.configurations.len()).sum());
    let rates_with = |processes| {
        let draw = Draw::Random;
        let slowdown_percent = SLOWDOWN_PERCENT;
        let threshold = &threshold;
        let trial = Trial { catalogue, threshold, processes, slowdown_percent, draws, draw };
        rated(run, trial)
    };
    RATED.into_iter().filter_map(rates_with).collect()
}

/// The rates over all series of `run`.
fn rated(run: &Run, trial: Trial<'_>) -> Option<Rates> {
    let all: Vec<Rates> =
        run.series.iter().filter_map(|series| rates(&series.configurations, trial)).collect();
    all.into_iter().reduce(Rates::joined)
}

/// The calibration of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibrated {
    /// The metric.
    pub metric: String,
    /// Configurations that had enough processes.
    pub configurations: usize,
    /// The fewest processes of one.
    pub processes: usize,
    /// The standard deviation between processes in percent of their mean: the median over
    /// configurations, and the largest.
    pub noise_percent: (f64, f64),
    /// The smallest change seen with 95 % at this many processes on either side, in percent: of the
    /// noisiest configuration, and at least the largest step in which a value is read.
    pub visible_percent: f64,
    /// Failures of the proposed threshold where nothing changed, in percent of configurations.
    pub false_alarms_percent: f64,
    /// The threshold that this machine can keep.
    pub proposed: String,
}

/// Calibrates every noisy metric that `run` shows; none if no configuration has enough processes.
pub fn calibrate(catalogue: &Catalogue, run: &Run) -> Vec<Calibrated> {
    let names = each_once(run.series.iter().flat_map(|series| &series.columns));
    names.into_iter().filter_map(|name| metric(catalogue, run, name)).collect()
}

/// A configuration with enough processes.
struct Measured {
    direction: Direction,
    /// The value of each process.
    values: Vec<f64>,
    /// The step in which they are read, in percent of their median.
    step_percent: f64,
}

fn metric(catalogue: &Catalogue, run: &Run, name: &str) -> Option<Calibrated> {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let of_row = |row: &ConfigurationResult| -> Option<Measured> {
        let finished = row.status == Status::Finished;
        let result: &MetricResult = row.metrics.get(name).filter(|_| finished)?;
        let values: Vec<f64> = result.processes.iter().map(|p| p.median).collect();
        let enough = result.class == Class::Noisy && values.len() >= MIN_SPLIT;
        let center = median(&values)?;
        let step_percent = 100.0 * resolution(row, name, center, Statistic::Median) / center.abs();
        enough.then_some(Measured { direction: result.direction, values, step_percent })
    };
    let measured: Vec<Measured> = rows.filter_map(of_row).collect();
    let direction = measured.first()?.direction;
    let mut noise: Vec<f64> = measured.iter().map(|row| noise_percent(&row.values)).collect();
    noise.sort_by(f64::total_cmp);
    let processes = measured.iter().map(|row| row.values.len()).min()?;
    let largest = *noise.last()?;
    // No gate sees less than a step of the clock.
    let step_percent = measured.iter().map(|row| row.step_percent).fold(0.0, f64::max);
    let visible_percent = visible(largest, processes).max(step_percent);
    // Half percents read well, and no gate should ask for less than one.
    let tolerance = (2.0 * visible_percent).ceil().max(1.0) / 2.0;
    let proposed = match direction {
        Direction::Lower => format!("every {name} <= baseline + {tolerance}%"),
        Direction::Higher => format!("every {name} >= baseline - {tolerance}%"),
        // A metric that cannot get worse needs no gate.
        Direction::Neither => return None,
    };
    let threshold = Threshold::parse(&proposed).ok()?;
    let (draws, draw) = (draws(measured.len()), Draw::Random);
    let trial = Trial {
        catalogue,
        threshold: &threshold,
        processes: Repeats::exactly(u32::try_from(processes / 2).unwrap_or(u32::MAX)),
        slowdown_percent: 0.0,
        draws,
        draw,
    };
    let false_alarms_percent = rated(run, trial)?.false_alarms_percent;
    Some(Calibrated {
        metric: name.to_owned(),
        configurations: measured.len(),
        processes,
        noise_percent: (median(&noise)?, largest),
        visible_percent,
        false_alarms_percent,
        proposed,
    })
}

/// The change, in percent, that a gate with half of `processes` on either side sees with 95 %.
fn visible(noise_percent: f64, processes: usize) -> f64 {
    let side = u32::try_from(processes / 2).unwrap_or(u32::MAX);
    smallest_caught(noise_percent, side, SIGNIFICANCE).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::finished;
    use crate::fixture::{self, gpu_pass, point, series};

    fn run(medians: &[f64]) -> Run {
        let passes: Vec<_> = medians.iter().map(|&m| gpu_pass(64, 1 << 20, &[m])).collect();
        fixture::run("r", vec![series(vec![finished(point(64, 1 << 20), &passes)])])
    }

    fn noisy(percent: f64) -> Run {
        let wave = |i: u32| f64::from(i * 7 % 12) / 12.0 - 0.5;
        run(&(0..12).map(|i| 100_000.0 * (1.0 + percent / 100.0 * wave(i))).collect::<Vec<_>>())
    }

    #[test]
    fn a_noisier_machine_gets_a_wider_tolerance_at_the_same_alarm_rate() {
        let of = |percent| {
            let all = calibrate(&Catalogue::built_in(), &noisy(percent));
            all.into_iter().find(|c| c.metric == "duration").unwrap()
        };
        let (quiet, loud) = (of(0.1), of(20.0));
        assert_eq!(quiet.proposed, "every duration <= baseline + 0.5%");
        assert!(loud.visible_percent > 100.0 * quiet.visible_percent, "{loud:?}");
        for found in [quiet, loud] {
            assert_eq!((found.configurations, found.processes), (1, 12));
            assert!(found.false_alarms_percent <= 1.0, "{found:?}");
            gpuprof_model::Threshold::parse(&found.proposed).unwrap();
        }
    }

    #[test]
    fn rates_are_bounded_from_below_and_exact_metrics_left_out() {
        let all = calibrate(&Catalogue::built_in(), &noisy(1.0));
        let names: Vec<&str> = all.iter().map(|c| c.metric.as_str()).collect();
        assert_eq!(names, ["duration", "throughput", "flop_rate"]);
        assert!(all[1].proposed.starts_with("every throughput >= baseline - "));
    }

    #[test]
    fn proposed_limits_are_at_least_a_clock_step() {
        let all = calibrate(&Catalogue::built_in(), &run(&[992.0; 12]));
        // A step of 32 ns is 3.2 %.
        assert_eq!(all[0].proposed, "every duration <= baseline + 3.5%");
    }

    #[test]
    fn the_number_of_draws_is_bounded_in_total() {
        assert_eq!([draws(0), draws(34), draws(125), draws(12_500)], [200, 200, 200, 2]);
        assert_eq!(draws(1_000_000), 1);
    }

    #[test]
    fn five_processes_are_too_few_for_a_proposal() {
        assert_eq!(calibrate(&Catalogue::built_in(), &run(&[1000.0; 5])), []);
        assert_eq!(calibrate(&Catalogue::built_in(), &run(&[1000.0; 6])).len(), 3);
    }

    #[test]
    fn the_visible_change_follows_its_formula() {
        // n = 6 a side: t(0.99, 10) = 2.7638, t(0.95, 10) = 1.8125.
        let expected = (2.763_77 + 1.812_46) * 2.0 * (2.0_f64 / 6.0).sqrt();
        assert!((visible(2.0, 12) - expected).abs() < 1e-3);
    }
}
