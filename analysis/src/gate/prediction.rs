//! The decisions that a stored baseline allows, computed before anything is measured, since the
//! baseline cannot grow.
//!
//! Input: the baseline, the thresholds of every planned series, the run's error budget, and how
//! many processes the run will have. Output: the probability that an unchanged run is decided, the
//! slowdown that would be caught, and how many processes per side the decision would take. The run
//! is assumed to scatter like the baseline; both are judged by the rules of `judge/relative`, so
//! the figures are those of Welch's test. They are estimates: the fewer processes the baseline has,
//! the less is known of its noise. On average over baselines of one configuration, the share of
//! decided runs is at most 13 percentage points too high with 4 to 10 processes, if about half of
//! the runs are decided or fewer (`docs/scripts/forecast-of-baselines.py`).

use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::{Catalogue, Class};
use gpuprof_model::run::{ConfigurationResult, Run, Status};
use gpuprof_model::series::SeriesId;
use gpuprof_model::threshold::{Comparison, Limit, Threshold};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::compared_pair::{self, Side, resolution};
use crate::gate::budget::Budget;
use crate::gate::by_key::ByKey;
use crate::stats::two_sample::{self, BOUND, LEAST_INDEPENDENT, MIN_PROCESSES};

/// The most processes a side that are ever advised.
const MOST_ADVISED: u32 = 50;

/// The share of unchanged runs that should be decided, and of slowdowns that should be caught.
const DECIDED: f64 = 0.99;
const CAUGHT: f64 = 0.95;

/// A planned series: its name, its configurations, and the thresholds that it will be judged by.
pub type Planned<'p> = (&'p SeriesId, &'p [Configuration], &'p [Threshold]);

/// The decisions that a stored baseline allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Ability {
    /// How many comparisons of noisy values the run will make.
    pub questions: usize,
    /// How many of them have fewer than [`MIN_PROCESSES`] processes on a side, so that nothing can
    /// ever decide them.
    pub hopeless: usize,
    /// The fewest processes that the baseline has of any of them.
    pub processes: usize,
    /// How many processes the run will have.
    pub repeat: u32,
    /// The probability that a run in which nothing changed is decided, all of it.
    pub decides: f64,
    /// The smallest change, in percent, that fails with 95 % wherever it is; none if some question
    /// is hopeless.
    pub catches_percent: Option<f64>,
    /// The configuration that scatters most for its limit.
    pub noisiest: String,
    /// How many processes a side would decide 99 % of the runs in which nothing changed; none where
    /// even fifty would not.
    pub needed: Option<u32>,
}

impl Ability {
    /// Whether nearly every run in which nothing changed is decided.
    pub fn keeps_promise(&self) -> bool {
        self.hopeless == 0 && self.decides >= DECIDED
    }
}

/// The power of a comparison of the `planned` series with `base` within `budget`, with `repeat`
/// processes of each configuration in the run; none if nothing noisy is compared with it.
pub fn ability<'p>(
    catalogue: &Catalogue,
    planned: impl IntoIterator<Item = Planned<'p>>,
    base: &Run,
    budget: &Budget,
    repeat: u32,
) -> Option<Ability> {
    let level = budget.significance();
    let mut questions: Vec<Question> = Vec::new();
    for (id, configurations, thresholds) in planned {
        let Some(theirs) = base.series.iter().find(|series| series.id == *id) else { continue };
        let by_key = ByKey::new(&theirs.configurations);
        for threshold in thresholds {
            let rows = configurations.iter().filter(|c| threshold.selector.matches(c));
            let name = catalogue.find(&threshold.metric).map(|metric| metric.name.to_string());
            let alike = name.and_then(|name| {
                Side::correlation(&theirs.configurations, &name, threshold.statistic)
            });
            let question_of = |row| {
                let question = Question::from_baseline(catalogue, threshold, by_key.at(row)?)?;
                Some(Question { alike, ..question })
            };
            questions.extend(rows.filter_map(question_of));
        }
    }
    let noisiest = questions.iter().max_by(|a, b| a.noise().total_cmp(&b.noise()))?;
    let with = |base: Option<u32>, head: u32| {
        let pass_probability = |q: &Question| q.passes(base.unwrap_or(q.processes), head);
        questions.iter().map(pass_probability).product::<f64>()
    };
    let hopeless = questions.iter().filter(|q| q.error(q.processes, repeat).is_none()).count();
    let catches = questions.iter().map(|q| q.catches(q.processes, repeat, level));
    let catches: Option<f64> =
        catches.collect::<Option<Vec<_>>>().map(|all| all.into_iter().fold(0.0, f64::max));
    Some(Ability {
        questions: questions.len(),
        hopeless,
        processes: usize::try_from(questions.iter().map(|q| q.processes).min()?).ok()?,
        repeat,
        decides: with(None, repeat),
        catches_percent: catches.map(|share| 100.0 * share),
        noisiest: noisiest.configuration.clone(),
        needed: (3..=MOST_ADVISED).find(|&count| with(Some(count), count) >= DECIDED),
    })
}

/// The fewest processes that timed any finished configuration of `run`.
pub fn fewest_processes(run: &Run) -> Option<u32> {
    let rows = run.series.iter().flat_map(|series| &series.configurations);
    let timed = rows.filter(|row| row.status == Status::Finished).map(compared_pair::timed_by);
    u32::try_from(timed.min()?).ok()
}

/// The smallest change that is significant at `level` with 95 %, if so many `processes` a side
/// scatter by `scatter` and no change is allowed; none if they are too few.
pub(super) fn smallest_caught(scatter: f64, processes: u32, level: f64) -> Option<f64> {
    let (configuration, scatter) = (String::new(), Some(scatter));
    let question = Question { configuration, processes, scatter, allowed: 0.0, alike: None };
    question.catches(processes, processes, level)
}

/// One configuration under one limit.
struct Question {
    configuration: String,
    /// How many processes of the baseline there are.
    processes: u32,
    /// The standard deviation between them, as a share of their mean; none if one alone ran.
    scatter: Option<f64>,
    /// How far the limit is from the baseline, as a share of it.
    allowed: f64,
    /// The correlation of neighbouring processes of the series.
    alike: Option<f64>,
}

impl Question {
    /// Of a `row` of the baseline; none if it asks nothing of noisy processes, or demands an
    /// improvement.
    fn from_baseline(
        catalogue: &Catalogue,
        threshold: &Threshold,
        row: &ConfigurationResult,
    ) -> Option<Self> {
        let Limit::Baseline(tolerance) = threshold.limit else { return None };
        let metric = catalogue.find(&threshold.metric)?;
        let result = row.metrics.get(&metric.name).filter(|_| row.status == Status::Finished)?;
        let value = compared_pair::number(result, threshold.statistic)
            .ok()
            .filter(|value| *value != 0.0)?;
        let values = compared_pair::processes(result, threshold.statistic);
        let asks = result.class == Class::Noisy
            && !values.is_empty()
            && !compared_pair::is_counted_once(row, result);
        let room = tolerance.limit(value, threshold.comparison) - value;
        let allowed = match threshold.comparison {
            Comparison::AtMost | Comparison::Below => room / value.abs(),
            Comparison::AtLeast | Comparison::Above => -room / value.abs(),
            Comparison::Equal => return None,
        };
        if !asks || allowed < 0.0 || threshold.selector.is_best() {
            return None;
        }
        let step = resolution(row, &metric.name, value, threshold.statistic) / 12.0_f64.sqrt();
        let scatter = (values.len() > 1)
            .then(|| statistical::standard_deviation(&values, None).max(step) / value.abs());
        let processes = u32::try_from(values.len()).ok()?;
        let configuration = row.configuration.to_string();
        Some(Self { configuration, processes, scatter, allowed, alike: None })
    }

    /// How much it scatters for its limit.
    fn noise(&self) -> f64 {
        self.scatter.map_or(f64::INFINITY, |scatter| scatter / self.allowed.max(f64::MIN_POSITIVE))
    }

    /// How many independent processes so many are equivalent to.
    fn independent(&self, processes: u32) -> f64 {
        two_sample::independent(f64::from(processes), self.alike)
    }

    /// The error of a difference between so many processes a side, and its law; none if they are
    /// too few.
    fn error(&self, base: u32, head: u32) -> Option<(f64, StudentsT)> {
        let least = u32::try_from(MIN_PROCESSES).ok()?;
        if base < least || head < least {
            return None;
        }
        // The run's processes are assumed to correlate like the baseline's.
        let of_side = |count| self.independent(count).max(LEAST_INDEPENDENT);
        let (a, b) = (of_side(base), of_side(head));
        // Welch and Satterthwaite's, for two sides with equal scatter.
        let freedom =
            (1.0 / a + 1.0 / b).powi(2) / (1.0 / (a * a * (a - 1.0)) + 1.0 / (b * b * (b - 1.0)));
        Some((self.scatter? * (1.0 / a + 1.0 / b).sqrt(), StudentsT::new(0.0, 1.0, freedom).ok()?))
    }

    /// The probability that it passes where nothing changed.
    fn passes(&self, base: u32, head: u32) -> f64 {
        let Some((error, law)) = self.error(base, head) else { return 0.0 };
        if self.independent(base.min(head)) < LEAST_INDEPENDENT {
            return 0.0;
        }
        if error == 0.0 {
            return 1.0;
        }
        law.cdf(self.allowed / error - law.inverse_cdf(BOUND))
    }

    /// The change, as a share, that fails with 95 %: it lies beyond the limit, and is significant.
    fn catches(&self, base: u32, head: u32, level: f64) -> Option<f64> {
        let (error, law) = self.error(base, head)?;
        let significant = error * law.inverse_cdf(1.0 - level);
        Some(self.allowed.max(significant) + error * law.inverse_cdf(CAUGHT))
    }
}

#[cfg(test)]
#[path = "prediction_tests.rs"]
mod tests;
