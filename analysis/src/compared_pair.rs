//! A pair: one metric of one configuration on both sides.
//!
//! Input: the metric's entries in the baseline and in the run. Output: the change and how sure it
//! is. Exact metrics differ or do not; noisy ones are compared process by process, and where both
//! sides measured the SM clock a change of time must show in cycles as well, since a clock that
//! fell is not a regression of the kernel.

use gpuprof_model::clock::STEP_NS;
use gpuprof_model::comparison::{Change, Confidence, Interval, Outcome};
use gpuprof_model::estimate::Estimate as TimeEstimate;
use gpuprof_model::measurement::Source;
use gpuprof_model::metric::{Class, Direction, Perturbation, built_in};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, MetricResult, ProcessValue, Status};
use gpuprof_model::threshold::{Comparison, Statistic, Tolerance};

use crate::estimates::{different_models, grown_limit};
use crate::sequential::{CriticalValues, Estimate, LOOKS, Question, Rounds};
use crate::stats::median::median;
use crate::stats::repeats::Repeats;
use crate::stats::two_sample::{self, Difference, LEVEL, MIN_PROCESSES, SIGNIFICANCE};

/// A change of a noisy metric under this many percent is not reported, at any certainty.
pub const MINIMUM_PERCENT: f64 = 0.5;

/// One side: the headline value and that of each process.
#[derive(Debug, Clone)]
pub struct Side {
    /// The value that is shown.
    pub value: f64,
    processes: Vec<f64>,
    cycles: Vec<f64>,
    /// The correlation of neighbouring processes over all configurations of the series.
    alike: Option<f64>,
    /// How finely its values are known.
    resolution: f64,
    class: Class,
    /// Whether one process counted it and several took times.
    counted_once: bool,
    /// Why patching may have moved its value, if it may.
    perturbation: Option<Perturbation>,
    /// The estimate that it comes from, if it was not measured.
    estimate: Option<TimeEstimate>,
}

/// Why nothing is sure of a counter that is not exact.
const COUNTED_ONCE: &str =
    "one value a side: one process of a run collects the counters, so their noise is not known";

/// Why nothing is sure of processes that drift together.
const ALIKE: &str = "neighbouring processes are so alike that they count as fewer than two; `--base` \
                     measures both sides next to each other";

/// The evidence from two sides of a noisy metric.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// (run − baseline) / |baseline| in percent; none if the baseline is 0.
    pub percent: Option<f64>,
    /// How sure; none for exact metrics and with too few processes.
    pub confidence: Option<Confidence>,
    /// The change in SM cycles and its p-value.
    pub cycles: Option<(f64, f64)>,
    /// Why there is no confidence.
    pub too_few: Option<String>,
    /// The difference behind the confidence.
    pub difference: Option<Difference>,
}

/// The number that `statistic` names; the value itself if there are no samples.
///
/// # Errors
/// Why there is none.
pub fn number(result: &MetricResult, statistic: Statistic) -> Result<f64, &str> {
    let value = *result.value.as_ref().map_err(String::as_str)?;
    if result.source == Source::Estimated && statistic != Statistic::Median {
        return Err("an estimate is one number, without p95, min and mean");
    }
    let number = match (statistic, &result.statistics) {
        (Statistic::Median, _) => value,
        (Statistic::P95, Some(samples)) => samples.p95,
        (Statistic::Min, Some(samples)) => samples.min,
        (Statistic::Mean, Some(samples)) => samples.mean,
        // A document may leave them out, but has the values of processes.
        (Statistic::Min, None) => {
            processes(result, statistic).into_iter().reduce(f64::min).unwrap_or(value)
        }
        (Statistic::P95 | Statistic::Mean, None) => {
            median(&processes(result, statistic)).unwrap_or(value)
        }
    };
    if number.is_finite() { Ok(number) } else { Err("the value is not a finite number") }
}

/// The number that `statistic` names, of each process.
pub fn processes(result: &MetricResult, statistic: Statistic) -> Vec<f64> {
    let statistic_of = |p: &ProcessValue| match statistic {
        Statistic::Median => p.median,
        Statistic::P95 => p.p95,
        Statistic::Min => p.min,
        Statistic::Mean => p.mean,
    };
    result.processes.iter().map(statistic_of).collect()
}

/// Whether one of several processes of `row` collected `result`, so that its scatter is unknown, or
/// patching may have moved it, which no other process shows.
pub fn is_counted_once(row: &ConfigurationResult, result: &MetricResult) -> bool {
    result.processes.len() == 1 && (timed_by(row) > 1 || result.perturbation.is_some())
}

/// How many processes timed `row`; a baseline may hold their durations without the samples.
pub fn timed_by(row: &ConfigurationResult) -> usize {
    let durations = row.metrics.get("duration").map_or(0, |duration| duration.processes.len());
    row.timings.len().max(durations)
}

impl Side {
    /// The side of `metric` in a finished configuration.
    ///
    /// # Errors
    /// Why it has no value.
    pub fn from_row<'r>(
        row: &'r ConfigurationResult,
        metric: &str,
        statistic: Statistic,
    ) -> Result<Self, &'r str> {
        if row.status != Status::Finished {
            return Err(row.status.word());
        }
        let result = row.metrics.get(metric).ok_or("the run does not contain it")?;
        let cycles = row.metrics.get("sm_cycles").filter(|_| depends_on_time(row, metric));
        let value = number(result, statistic)?;
        Ok(Self {
            value,
            counted_once: is_counted_once(row, result),
            resolution: resolution(row, metric, value, statistic),
            processes: processes(result, statistic),
            alike: None,
            cycles: cycles.into_iter().flat_map(|c| &c.processes).map(|p| p.median).collect(),
            class: result.class,
            perturbation: result.perturbation,
            estimate: row.estimate.clone().filter(|_| result.source == Source::Estimated),
        })
    }

    /// That neither side of `metric` is estimated, or both are by the same model of the same chip.
    ///
    /// # Errors
    /// A sentence that names the estimated and the measured side.
    fn estimated_alike(baseline: &Self, run: &Self, metric: &str) -> Result<(), String> {
        let word = |side: &Self| if side.estimate.is_some() { "estimated" } else { "measured" };
        match (&baseline.estimate, &run.estimate) {
            (None, None) => Ok(()),
            (Some(before), Some(after)) => different_models(before, after).map_or(Ok(()), Err),
            _ => Err(format!(
                "`{metric}` is {} in the baseline and {} here",
                word(baseline),
                word(run)
            )),
        }
    }

    /// A sentence that names the limit whose time grew most since the `baseline`.
    pub fn grown_limit(&self, baseline: &Self) -> Option<String> {
        grown_limit(baseline.estimate.as_ref()?, self.estimate.as_ref()?)
    }

    /// That both sides of `metric` are exact, or both noisy, and estimated by the same method.
    ///
    /// # Errors
    /// A sentence that names the exact and the noisy side.
    pub fn repeat_alike(baseline: &Self, run: &Self, metric: &str) -> Result<(), String> {
        Self::estimated_alike(baseline, run, metric)?;
        let word = |side: &Self| side.class.name();
        let (before, after) = (word(baseline), word(run));
        // A kernel that starts or stops to diverge changes the class.
        let moved = baseline.perturbation.or(run.perturbation).is_some();
        if before == after || moved {
            return Ok(());
        }
        Err(format!(
            "`{metric}` is {before} in the baseline and {after} here, so one number stands against \
             many; measure both sides alike"
        ))
    }

    /// The side, with the correlation `alike` of neighbouring processes of its run.
    #[must_use]
    pub fn with_correlation(self, alike: Option<f64>) -> Self {
        Self { alike, ..self }
    }

    /// The correlation of neighbours among the processes of `rows`.
    pub fn correlation<'r>(
        rows: impl IntoIterator<Item = &'r ConfigurationResult>,
        metric: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        let finished = rows.into_iter().filter(|row| row.status == Status::Finished);
        let noisy = finished.filter_map(|row| row.metrics.get(metric));
        let each = noisy.filter(|result| result.class == Class::Noisy);
        let each: Vec<Vec<f64>> = each.map(|result| processes(result, statistic)).collect();
        two_sample::alike(each.iter().map(Vec::as_slice))
    }

    /// Whether the processes of this side show the scatter of its values: those of a counter that
    /// one of many processes collected do not.
    pub fn scatters(&self) -> bool {
        !self.counted_once
    }

    /// Why two sides do not show the scatter of their values.
    pub fn unknown_scatter(base: &Self, head: &Self) -> String {
        match head.perturbation.or(base.perturbation) {
            Some(perturbation) => format!("one value a side: {}", perturbation.reason()),
            None => COUNTED_ONCE.to_owned(),
        }
    }

    /// Whether it is noisy, and its processes show its scatter.
    pub fn is_noisy(&self) -> bool {
        self.class == Class::Noisy && self.scatters()
    }

    /// The middle of its first processes; none if it has none.
    pub fn first_processes(&self, count: usize) -> Option<f64> {
        median(&self.processes[..self.processes.len().min(count)])
    }

    /// The rounds of two sides that were measured in rounds.
    pub fn rounds(base: &Self, head: &Self) -> Rounds {
        Rounds { base: base.processes.clone(), head: head.processes.clone() }
    }

    /// The question for rounds of two sides.
    pub fn question(
        base: &Self,
        head: &Self,
        comparison: Comparison,
        tolerance: Tolerance,
    ) -> Question {
        Question { comparison, tolerance, resolution: base.resolution.max(head.resolution) }
    }
}

/// How finely a process of `row` resolves the `statistic` of `metric`, which is `value`: 0 for a
/// continuum, and of what is made of a duration the share that the clock resolves of that.
///
/// The readings of one duration lie on one or two steps of the clock, by chance, so the middle of n
/// readings is finer than a step: if all are on one step, at most 3 / n of such readings are on
/// another one, at 95 % (the rule of three: Hanley & Lippman-Hand, *JAMA* 249, 1983). The smallest
/// of them is only known to a step.
pub fn resolution(
    row: &ConfigurationResult,
    metric: &str,
    value: f64,
    statistic: Statistic,
) -> f64 {
    if metric == "energy" {
        let read = row.metrics.get(metric).and_then(|energy| energy.statistics.as_ref());
        return read.and_then(|read| read.step).unwrap_or(0.0);
    }
    let duration = row.metrics.get("duration").filter(|_| depends_on_time(row, metric));
    let Some(duration) = duration else { return 0.0 };
    // A document without a step has plain medians.
    let read = duration.statistics.as_ref().and_then(|read| Some((read.step?, read)));
    let resolution = match (statistic, read) {
        (Statistic::Median | Statistic::Mean, Some((step, read))) => {
            #[expect(clippy::cast_precision_loss, reason = "samples are counted")]
            let samples = read.count as f64 / read.processes.max(1) as f64;
            step * (6.0 / samples).min(1.0)
        }
        (Statistic::Median | Statistic::Mean, None) => STEP_NS,
        (Statistic::Min | Statistic::P95, read) => 1.5 * read.map_or(STEP_NS, |read| read.0),
    };
    match duration.value {
        _ if metric == "duration" => resolution,
        Ok(duration) if duration > 0.0 => value.abs() * resolution / duration,
        _ => 0.0,
    }
}

/// Whether `metric` is a duration or derived from one, so that cycles can confirm it: a derived
/// metric has statistics over samples only if it depends on the duration. The row decides, since a
/// stored run does not contain its formulas.
pub(crate) fn depends_on_time(row: &ConfigurationResult, metric: &str) -> bool {
    let derived = |result: &MetricResult| {
        result.source == Source::Derived && result.statistics.is_some() && metric != "sm_cycles"
    };
    metric == "duration" || row.metrics.get(metric).is_some_and(derived)
}

impl Evidence {
    /// The comparison of `baseline` and `run`.
    pub fn compare(class: Class, baseline: &Side, run: &Side) -> Self {
        let percent = percent(baseline.value, run.value);
        if class == Class::Exact {
            return Self {
                percent,
                confidence: None,
                cycles: None,
                too_few: None,
                difference: None,
            };
        }
        let resolution = baseline.resolution.max(run.resolution);
        let (before, after) =
            ((&*baseline.processes, baseline.alike), (&*run.processes, run.alike));
        let Some(difference) = two_sample::welch_of_runs(before, after, resolution) else {
            let (theirs, ours) = (baseline.processes.len(), run.processes.len());
            let too_few = match baseline.scatters() && run.scatters() {
                true if theirs.min(ours) >= MIN_PROCESSES => ALIKE.to_owned(),
                true => format!(
                    "a difference needs {MIN_PROCESSES} processes a side; the baseline has {theirs}, \
                     this run {ours} (--repeat {} for both)",
                    Repeats::DEFAULT.least
                ),
                false => Side::unknown_scatter(baseline, run),
            };
            let too_few = Some(too_few);
            return Self { percent, confidence: None, cycles: None, too_few, difference: None };
        };
        let center = statistical::mean(&baseline.processes).abs();
        let share = |value: f64| if center > 0.0 { 100.0 * value / center } else { 0.0 };
        let reach = difference.reach(0.5 + LEVEL / 2.0);
        let confidence = Confidence {
            percent: Interval {
                low: share(difference.change - reach),
                high: share(difference.change + reach),
                level: LEVEL,
            },
            p_value: difference.p_value,
            baseline_processes: baseline.processes.len(),
            processes: run.processes.len(),
        };
        let (before, after) = ((&*baseline.cycles, baseline.alike), (&*run.cycles, run.alike));
        let cycles = two_sample::welch_of_runs(before, after, 0.0).and_then(|cycles| {
            let change = 100.0 * cycles.change / statistical::mean(&baseline.cycles);
            change.is_finite().then_some((change, cycles.p_value))
        });
        let difference = Some(difference);
        Self { percent, confidence: Some(confidence), cycles, too_few: None, difference }
    }

    /// The evidence from the rounds of both sides.
    pub fn of_rounds(base: &Side, head: &Side) -> Self {
        let estimate = Estimate::from_rounds(&Side::rounds(base, head));
        let (baseline_processes, processes) = (base.processes.len(), head.processes.len());
        let sure = estimate.filter(|_| base.scatters() && head.scatters());
        let confidence = sure.map(|Estimate { interval, p_value, .. }| Confidence {
            percent: Interval {
                low: 100.0 * interval.low,
                high: 100.0 * interval.high,
                level: interval.level,
            },
            p_value,
            baseline_processes,
            processes,
        });
        let cycles = Rounds { base: base.cycles.clone(), head: head.cycles.clone() };
        let changed = |estimate: Estimate| 100.0 * estimate.change;
        Self {
            percent: estimate.map(changed).or_else(|| percent(base.value, head.value)),
            confidence,
            cycles: Estimate::from_rounds(&cycles).map(|found| (changed(found), found.p_value)),
            too_few: None,
            difference: None,
        }
    }

    /// The remedy if the noise reaches farther than `distance` with this `probability`.
    pub fn advice(&self, distance: f64, probability: f64) -> String {
        let needed = self.difference.and_then(|d| d.processes_needed(distance, probability));
        match needed {
            Some(processes) => {
                format!("--repeat {processes} for both the run and its baseline would decide")
            }
            None => {
                "no --repeat up to 50 would decide: the limit is too tight for this noise".into()
            }
        }
    }

    /// Whether the run is surely worse (or better, for `wanted`) in time, and why cycles contradict
    /// it.
    ///
    /// `significant` says whether the p-value passes the caller's test over several p-values.
    ///
    /// # Errors
    /// The contradiction, for people.
    pub fn sure(
        &self,
        direction: Direction,
        wanted: Alternative,
        significant: bool,
    ) -> Result<(), String> {
        if let Some(too_few) = &self.too_few {
            return Err(too_few.clone());
        }
        let Some(confidence) = self.confidence else { return Ok(()) };
        let rises = (direction == Direction::Lower) == (wanted == Alternative::Worse);
        // Of the change itself: percent of nothing say nothing.
        let rose = self.difference.is_some_and(|difference| difference.change > 0.0);
        let as_wanted = wanted == Alternative::Different || rose == rises;
        if !significant || !as_wanted {
            let interval = &confidence.percent;
            let alone = as_wanted && (interval.low > 0.0 || interval.high < 0.0);
            let why = match alone {
                true => "the difference is sure enough alone, and not among all that are judged",
                false => "the difference is within the noise",
            };
            return Err(format!("{why} ({})", confidence_text(&confidence)));
        }
        match self.cycles {
            Some((change, p))
                if p / 2.0 > SIGNIFICANCE
                    || wanted != Alternative::Different
                        && (change > 0.0) != (wanted == Alternative::Worse) =>
            {
                Err(format!(
                    "SM cycles do not confirm it: they changed by {change:+.2}% (p {p:.3})"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The direction of a tested difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternative {
    /// The run is worse.
    Worse,
    /// The run is better.
    Better,
    /// The run is different, and neither is better.
    Different,
}

/// "95% interval -0.30% … +0.52%, p 0.412, 5 and 5 processes".
pub fn confidence_text(confidence: &Confidence) -> String {
    let Confidence { percent, p_value, baseline_processes, processes } = confidence;
    let p = if *p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p {p_value:.3}") };
    format!(
        "{:.0}% interval {:+.2}% … {:+.2}%, {p}, {baseline_processes} and {processes} processes",
        100.0 * percent.level,
        percent.low,
        percent.high
    )
}

/// (`value` − `baseline`) / |`baseline`| in percent; none if the baseline is 0 and the value not.
pub fn percent(baseline: f64, value: f64) -> Option<f64> {
    if value == baseline {
        return Some(0.0);
    }
    let percent = 100.0 * (value - baseline) / baseline.abs();
    percent.is_finite().then_some(percent)
}

/// The change of `metric` of a configuration in both runs, or in one of them; with `bounds` they
/// were measured in rounds.
pub fn change(
    metric: &str,
    baseline: Option<&ConfigurationResult>,
    run: Option<&ConfigurationResult>,
    (bounds, alike): (Option<&CriticalValues>, (Option<f64>, Option<f64>)),
) -> Option<Change> {
    let row = run.or(baseline)?;
    let described = |row: Option<&ConfigurationResult>| {
        row.and_then(|row| row.metrics.get(metric)).map(|m| (m.unit, m.class, m.direction))
    };
    let side = |row: Option<&ConfigurationResult>, alike| {
        row.and_then(|row| {
            Some(Side::from_row(row, metric, Statistic::Median).ok()?.with_correlation(alike))
        })
    };
    let (before, after) = (side(baseline, alike.0), side(run, alike.1));
    if before.is_none() && after.is_none() {
        return None;
    }
    let (unit, class, direction) = described(run).or_else(|| described(baseline))?;
    let quantity = |side: &Option<Side>| side.as_ref().map(|s| Quantity::new(s.value, unit));
    let mut change = Change {
        configuration: row.configuration.to_string(),
        metric: metric.to_owned(),
        baseline: quantity(&before),
        value: quantity(&after),
        percent: None,
        confidence: None,
        cycles_percent: None,
        outcome: if before.is_none() { Outcome::New } else { Outcome::Missing },
        reason: None,
    };
    if let Some(reason) = baseline.zip(run).and_then(|(b, r)| defined_anew(metric, b, r)) {
        (change.outcome, change.reason) = (Outcome::Incomparable, Some(reason));
    } else if let (Some(before), Some(after)) = (&before, &after) {
        if let Err(reason) = Side::estimated_alike(before, after, metric) {
            return Some(Change { outcome: Outcome::Incomparable, reason: Some(reason), ..change });
        }
        let bounds = bounds.filter(|_| (before.class, after.class) == (Class::Noisy, Class::Noisy));
        let evidence = match bounds {
            Some(_) => Evidence::of_rounds(before, after),
            None => Evidence::compare(class, before, after),
        };
        (change.outcome, change.reason) = match bounds {
            Some(bounds) => outcome_of_rounds(bounds, direction, before, after),
            None => outcome(class, direction, before, after, &evidence),
        };
        // Between two units of the GPU there is no distance.
        change.percent = evidence.percent.filter(|_| unit != Unit::GpuUnit);
        change.confidence = evidence.confidence;
        change.cycles_percent = evidence.cycles.map(|(percent, _)| percent);
    } else if before.is_some() {
        let row = run.map(|row| Side::from_row(row, metric, Statistic::Median));
        change.reason = row.and_then(Result::err).map(str::to_owned);
    }
    Some(change)
}

/// The reason if `metric` was defined differently in the baseline, by its unit or direction:
/// numbers of another unit are not comparable, and with another direction the better one is
/// undefined. A stored run has today's directions, unless a file set them for the run.
pub fn defined_anew(
    metric: &str,
    baseline: &ConfigurationResult,
    run: &ConfigurationResult,
) -> Option<String> {
    let (before, after) = (baseline.metrics.get(metric)?, run.metrics.get(metric)?);
    let set = before.direction_set || after.direction_set;
    let of_today = built_in(metric).is_some() && before.unit == after.unit;
    if of_today && set && before.direction != after.direction {
        return Some(format!(
            "`{metric}` has another direction: {} in the baseline, {} here",
            before.direction.words(),
            after.direction.words()
        ));
    }
    let value_class = |result: &MetricResult| {
        let unit = match result.unit.symbol() {
            "" => "a plain number",
            symbol => symbol,
        };
        match built_in(metric) {
            Some(_) => unit.to_owned(),
            None => format!("{unit} of which {}", result.direction.words()),
        }
    };
    let (before, after) = (value_class(before), value_class(after));
    (before != after).then(|| {
        format!("`{metric}` has a new definition: in the baseline it is {before}, here {after}")
    })
}

/// The outcome by rounds: a change that is surely larger than [`MINIMUM_PERCENT`].
fn outcome_of_rounds(
    bounds: &CriticalValues,
    direction: Direction,
    base: &Side,
    head: &Side,
) -> (Outcome, Option<String>) {
    if !(base.scatters() && head.scatters()) {
        return (Outcome::Inconclusive, Some(Side::unknown_scatter(base, head)));
    }
    let rounds = Side::rounds(base, head);
    let [first, ..] = LOOKS;
    if rounds.count() < first {
        let count = rounds.count();
        let reason = format!("a difference needs {first} rounds; there are {count}");
        return (Outcome::Inconclusive, Some(reason));
    }
    let beyond = |comparison, percent| {
        let tolerance = Tolerance { percent, floor: None };
        bounds.surely_beyond(&Side::question(base, head, comparison, tolerance), &rounds)
    };
    let rose = beyond(Comparison::AtMost, MINIMUM_PERCENT);
    let fell = beyond(Comparison::AtLeast, -MINIMUM_PERCENT);
    match (rose, fell, direction) {
        (false, false, _) => (Outcome::Same, None),
        (_, _, Direction::Neither) => (Outcome::Changed, Some(direction.words().to_owned())),
        (true, _, Direction::Lower) | (false, true, Direction::Higher) => (Outcome::Worse, None),
        (true, _, Direction::Higher) | (false, true, Direction::Lower) => (Outcome::Better, None),
    }
}

fn outcome(
    class: Class,
    direction: Direction,
    before: &Side,
    after: &Side,
    evidence: &Evidence,
) -> (Outcome, Option<String>) {
    let neither = (direction == Direction::Neither).then(|| direction.words().to_owned());
    let (wanted, told) = match direction {
        Direction::Neither => (Alternative::Different, Outcome::Changed),
        _ if direction.better(after.value, before.value) => (Alternative::Better, Outcome::Better),
        _ => (Alternative::Worse, Outcome::Worse),
    };
    if class == Class::Exact {
        let same = after.value == before.value;
        let why = neither.or_else(|| after.grown_limit(before));
        return if same { (Outcome::Same, None) } else { (told, why) };
    }
    if evidence.too_few.is_some() {
        return (Outcome::Inconclusive, evidence.too_few.clone());
    }
    let p = evidence.confidence.map_or(1.0, |confidence| confidence.p_value);
    let large = evidence.percent.is_none_or(|percent| percent.abs() >= MINIMUM_PERCENT);
    match evidence.sure(direction, wanted, p <= SIGNIFICANCE) {
        Ok(()) if large => (told, neither),
        Err(reason) if large && p <= SIGNIFICANCE => (Outcome::Inconclusive, Some(reason)),
        _ => (Outcome::Same, None),
    }
}

#[cfg(test)]
#[path = "compared_pair_tests.rs"]
mod tests;
