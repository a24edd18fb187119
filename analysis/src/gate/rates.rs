//! How often a gate is right: its false alarms, and the slowdowns that it catches, on recorded
//! processes.
//!
//! Input: configurations with many timed processes, and a threshold relative to a baseline. Output:
//! for a number of processes per side, the share of unchanged configurations that fail, the share
//! that stay undecided, and the share that fail if all of the run's times are longer by a factor.
//! Whole processes are drawn, since the process is the unit of replication, each at most once, and
//! judged by the code that judges a run.

use gpuprof_model::metric::{Catalogue, Class, Direction};
use gpuprof_model::run::{ConfigurationResult, MetricResult, ProcessValue, Status};
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::Layer;
use serde::Serialize;

use crate::gate::budget::Budget;
use crate::gate::judge::{Baseline, JudgeContext, judge};
use crate::metrics::collect;
use crate::stats::median::median;
use crate::stats::random::{SEED, SplitMix, shuffle};
use crate::stats::repeats::Repeats;

/// How often a gate is right with a number of processes a side, in percent of the configurations
/// judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Processes a side.
    pub processes: Repeats,
    /// Configurations.
    pub configurations: usize,
    /// Failures where nothing changed.
    pub false_alarms_percent: f64,
    /// Undecided where nothing changed.
    pub undecided_percent: f64,
    /// Failures of a configuration that became slower, if the others did not.
    pub caught_percent: f64,
    /// Passes of a configuration that became slower, if the others did not.
    pub missed_percent: f64,
}

impl Rates {
    /// The rates of two series together.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let configurations = self.configurations + other.configurations;
        #[expect(clippy::cast_precision_loss, reason = "counts are small")]
        let mean = |a: f64, b: f64| {
            (a * self.configurations as f64 + b * other.configurations as f64)
                / configurations as f64
        };
        Self {
            processes: self.processes,
            configurations,
            false_alarms_percent: mean(self.false_alarms_percent, other.false_alarms_percent),
            undecided_percent: mean(self.undecided_percent, other.undecided_percent),
            caught_percent: mean(self.caught_percent, other.caught_percent),
            missed_percent: mean(self.missed_percent, other.missed_percent),
        }
    }
}

/// How processes are drawn for the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// At random from all of them.
    Random,
    /// In two stretches of neighbours, as two runs are made, so that a drift of the machine counts.
    Stretches,
}

/// The trial that is made of a recording.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'t> {
    /// The metrics that are known.
    pub catalogue: &'t Catalogue,
    /// A threshold relative to the baseline.
    pub threshold: &'t Threshold,
    /// Processes a side.
    pub processes: Repeats,
    /// By how many percent the slower configuration takes longer; 0 to ask for false alarms only.
    pub slowdown_percent: f64,
    /// How often processes are drawn.
    pub draws: usize,
    /// How.
    pub draw: Draw,
}

impl Trial<'_> {
    /// Processes that are drawn for a side; how many of them it takes follows from the first ones.
    fn most(&self) -> usize {
        self.processes.most as usize
    }
}

/// The rates of `trial` on the configurations of one series; `None` where none has enough
/// processes.
pub fn rates(configurations: &[ConfigurationResult], trial: Trial<'_>) -> Option<Rates> {
    let metric = trial.threshold.metric.as_str();
    let enough = |row: &&ConfigurationResult| {
        let noisy = row.metrics.get(metric).filter(|found| found.class == Class::Noisy);
        row.status == Status::Finished
            && noisy.is_some_and(|found| found.processes.len() >= 2 * trial.most())
    };
    let recorded: Vec<&ConfigurationResult> = configurations.iter().filter(enough).collect();
    if recorded.is_empty() || trial.most() == 0 {
        return None;
    }
    let budget = Budget::new(recorded.len(), 0);
    let terms = JudgeContext {
        catalogue: trial.catalogue,
        device: None,
        budget: &budget,
        first_look: None,
    };
    let factor = 1.0 + trial.slowdown_percent / 100.0;
    let mut random = SplitMix(SEED);
    let (mut alarms, mut undecided, mut caught, mut missed) = (0, 0, 0, 0);
    for _ in 0..trial.draws {
        let (mut before, mut after, mut slower) = (Vec::new(), Vec::new(), Vec::new());
        for row in &recorded {
            let found = &row.metrics[metric].processes;
            let [first, second] = drawn(found, trial, &mut random);
            before.push(subset(row, metric, &first, 1.0));
            after.push(subset(row, metric, &second, 1.0));
            slower.push(subset(row, metric, &second, factor));
        }
        let judge = |rows: &[ConfigurationResult], base: &[ConfigurationResult]| {
            let base = Baseline::Held { configurations: base, whole: true, in_rounds: false };
            judge(terms, trial.threshold, Layer::Default, rows, &base)
        };
        let plain = judge(&after, &before);
        alarms += plain.violations.len();
        undecided += plain.undecided.len();
        if trial.slowdown_percent == 0.0 {
            continue;
        }
        // Each is judged by its own processes, at the level of a run with all of them.
        let slow = judge(&slower, &before);
        caught += slow.violations.len();
        missed += recorded.len() - slow.violations.len() - slow.undecided.len();
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let percent = |count: usize| 100.0 * count as f64 / (trial.draws * recorded.len()) as f64;
    Some(Rates {
        processes: trial.processes,
        configurations: recorded.len(),
        false_alarms_percent: percent(alarms),
        undecided_percent: percent(undecided),
        caught_percent: percent(caught),
        missed_percent: percent(missed),
    })
}

/// The positions, among the processes `found`, of those of the baseline and of the run: as many as
/// the first of each side want.
fn drawn(found: &[ProcessValue], trial: Trial<'_>, random: &mut SplitMix) -> [Vec<usize>; 2] {
    let (first, second) = sides(found.len(), trial, random);
    [first, second].map(|mut side| {
        let medians: Vec<f64> = side.iter().map(|&at| found[at].median).collect();
        side.truncate(trial.processes.wanted(&medians) as usize);
        side
    })
}

/// The positions, among `count` processes, of those of the baseline and of the run.
fn sides(count: usize, trial: Trial<'_>, random: &mut SplitMix) -> (Vec<usize>, Vec<usize>) {
    let n = trial.most();
    match trial.draw {
        Draw::Random => {
            let mut all: Vec<usize> = (0..count).collect();
            shuffle(&mut all, random);
            (all[..n].to_vec(), all[n..2 * n].to_vec())
        }
        Draw::Stretches => {
            // Two stretches that do not overlap: their starts after the stretches are removed.
            let room = count - 2 * n;
            let mut starts = [random.below(room + 1), random.below(room + 1)];
            starts.sort_unstable();
            let (early, late) = (starts[0], starts[1] + n);
            let stretch = |start: usize| (start..start + n).collect::<Vec<_>>();
            if random.below(2) == 0 {
                (stretch(early), stretch(late))
            } else {
                (stretch(late), stretch(early))
            }
        }
    }
}

/// `row` as if only the `chosen` processes had run, each slower by `factor`.
fn subset(
    row: &ConfigurationResult,
    metric: &str,
    chosen: &[usize],
    factor: f64,
) -> ConfigurationResult {
    let narrowed = |name: &str| -> Option<(String, MetricResult)> {
        let whole = row.metrics.get(name)?;
        let scale = match whole.direction {
            Direction::Lower | Direction::Neither => factor,
            Direction::Higher => 1.0 / factor,
        };
        let processes: Vec<ProcessValue> = chosen
            .iter()
            .filter_map(|&at| whole.processes.get(at))
            .map(|p| ProcessValue {
                median: p.median * scale,
                p95: p.p95 * scale,
                min: p.min * scale,
                mean: p.mean * scale,
            })
            .collect();
        let value = median(&processes.iter().map(|p| p.median).collect::<Vec<_>>());
        let value = value.ok_or_else(|| "no process was chosen".to_owned());
        Some((
            name.to_owned(),
            MetricResult { value, processes, statistics: None, ..whole.clone() },
        ))
    };
    let names = [metric, "sm_cycles"];
    ConfigurationResult {
        device: row.device.clone(),
        metrics: names.into_iter().filter_map(narrowed).collect(),
        ..collect::unfinished(row.configuration.clone(), Status::Finished)
    }
}
