//! Limits that are numbers, or percent of a device's peak.
//!
//! Input: a threshold with such a limit, the configurations of a series and the device. Output: the
//! judgement.

use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::{Catalogue, Class, Direction, Metric};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, MetricResult, Status};
use gpuprof_model::threshold::{Comparison, Limit, Selector, Statistic, Threshold};
use gpuprof_model::verdict::{Judgement, Verdict, Violation};

use crate::gate::change::number;
use crate::gate::judge::reference::{margin_percent, none_has};
use crate::gate::judge::terms::Terms;

/// Judges `threshold` into `blank`, a judgement that says nothing yet.
pub(super) fn judge(
    terms: Terms<'_>,
    blank: Judgement,
    threshold: &Threshold,
    configurations: &[ConfigurationResult],
) -> Judgement {
    let decision = decide(terms.catalogue, threshold, configurations, terms.device);
    let Decision { verdict, decider, limit, reason, violations } =
        decision.unwrap_or_else(|undecided| undecided);
    let margin = |d: Candidate<'_>| margin_percent(threshold.comparison, d.value, limit?.value);
    let interval = |c: &Candidate<'_>| {
        let samples = c.result.statistics.as_ref().filter(|_| c.result.class == Class::Noisy)?;
        samples.interval.filter(|_| threshold.statistic == Statistic::Median)
    };
    let violation = |c: &Candidate<'_>| {
        Some(Violation {
            configuration: c.configuration.configuration.to_string(),
            value: Quantity::new(c.value, c.result.unit),
            limit: limit?,
            baseline: None,
            margin_percent: margin(*c),
            confidence: None,
            interval: interval(c),
        })
    };
    Judgement {
        verdict,
        value: decider.map(|d| Quantity::new(d.value, d.result.unit)),
        limit,
        margin_percent: decider.and_then(margin),
        interval: decider.as_ref().and_then(interval),
        source: decider.map(|d| d.result.source),
        configuration: decider.map(|d| d.configuration.configuration.to_string()),
        reason,
        violations: violations.iter().filter_map(violation).collect(),
        ..blank
    }
}

struct Decision<'r> {
    verdict: Verdict,
    decider: Option<Candidate<'r>>,
    limit: Option<Quantity>,
    reason: Option<String>,
    violations: Vec<Candidate<'r>>,
}

impl Decision<'_> {
    fn without_value(verdict: Verdict, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self { verdict, decider: None, limit: None, reason, violations: Vec::new() }
    }
}

/// A selected configuration with a value.
#[derive(Clone, Copy)]
struct Candidate<'r> {
    configuration: &'r ConfigurationResult,
    result: &'r MetricResult,
    value: f64,
}

/// What a threshold's selector finds.
#[derive(Default)]
struct Selection<'r> {
    candidates: Vec<Candidate<'r>>,
    unfinished: Vec<&'r ConfigurationResult>,
    unavailable: Vec<(&'r ConfigurationResult, &'r str)>,
    unstable: Vec<(&'r ConfigurationResult, &'r str)>,
    invalid: Vec<&'r ConfigurationResult>,
}

fn decide<'r>(
    catalogue: &Catalogue,
    threshold: &Threshold,
    configurations: &'r [ConfigurationResult],
    device: Option<&DeviceRecord>,
) -> Result<Decision<'r>, Decision<'r>> {
    let undecided = |verdict, reason| Decision::without_value(verdict, reason);
    let metric = catalogue
        .find(&threshold.metric)
        .ok_or_else(|| undecided(Verdict::Missing, catalogue.unknown(&threshold.metric)))?;
    threshold.check(&metric).map_err(|error| undecided(Verdict::Incomparable, error.message))?;
    let selection = select(threshold, configurations);
    if selection.candidates.is_empty() {
        return Err(nothing_to_judge(threshold, &selection));
    }
    let limit = limit(threshold, &metric, device)
        .map_err(|reason| undecided(Verdict::Unavailable, reason))?;
    let holds = |value: f64| threshold.comparison.holds(value, limit.value);
    let mut decision = match threshold.selector {
        Selector::Best => best(threshold.comparison, threshold.wanted(&metric), &selection, holds),
        Selector::Every | Selector::Where(_) => worst_offender(&selection, limit.value, holds),
    };
    decision.limit = Some(limit);
    Ok(decision)
}

fn select<'r>(threshold: &Threshold, configurations: &'r [ConfigurationResult]) -> Selection<'r> {
    let mut selection = Selection::default();
    let matching = |c: &&ConfigurationResult| threshold.selector.matches(&c.configuration);
    for configuration in configurations.iter().filter(matching) {
        match (&configuration.status, configuration.metrics.get(&threshold.metric)) {
            (Status::Invalid { .. }, _) => selection.invalid.push(configuration),
            (Status::Finished, Some(result)) => match number(result, threshold.statistic) {
                Ok(value) => selection.candidates.push(Candidate { configuration, result, value }),
                Err(reason) if result.unstable => selection.unstable.push((configuration, reason)),
                Err(reason) => selection.unavailable.push((configuration, reason)),
            },
            (Status::Finished, None) => {
                selection.unavailable.push((configuration, "the run does not contain it"));
            }
            (Status::Failed { .. } | Status::Timeout { .. } | Status::Skipped { .. }, _) => {
                selection.unfinished.push(configuration);
            }
        }
    }
    selection
}

fn limit(
    threshold: &Threshold,
    metric: &Metric,
    device: Option<&DeviceRecord>,
) -> Result<Quantity, String> {
    let percent = match threshold.limit {
        Limit::Absolute(quantity) => return Ok(Quantity::new(quantity.value, metric.unit)),
        Limit::PercentOfPeak(percent) => percent,
        Limit::Baseline(_) => return Err("the limit refers to a baseline".to_owned()),
    };
    let peak = device.and_then(|device| device.dram_peak_bytes_per_second);
    match peak.filter(|peak| peak.is_finite() && *peak > 0.0) {
        Some(peak) => Ok(Quantity::new(peak * percent / 100.0, Unit::BytesPerSecond)),
        None => Err("the peak DRAM bandwidth of this device is not known".to_owned()),
    }
}

fn best<'r>(
    comparison: Comparison,
    direction: Direction,
    selection: &Selection<'r>,
    holds: impl Fn(f64) -> bool,
) -> Decision<'r> {
    let better = |a: Candidate<'r>, b: Candidate<'r>| {
        if direction.better(b.value, a.value) { b } else { a }
    };
    let best = selection.candidates.iter().copied().reduce(better);
    let better_is_safe = matches!(
        (comparison, direction),
        (Comparison::AtLeast | Comparison::Above, Direction::Higher)
            | (Comparison::AtMost | Comparison::Below, Direction::Lower)
    );
    match best {
        Some(best) if !holds(best.value) => {
            Decision { violations: vec![best], ..decided(Verdict::Fail, best) }
        }
        Some(best) if better_is_safe => decided(Verdict::Pass, best),
        Some(best) => incomplete(selection).unwrap_or_else(|| decided(Verdict::Pass, best)),
        None => Decision::without_value(Verdict::Missing, "no configuration has a value"),
    }
}

fn worst_offender<'r>(
    selection: &Selection<'r>,
    limit: f64,
    holds: impl Fn(f64) -> bool,
) -> Decision<'r> {
    let distance = |candidate: &Candidate<'r>| (candidate.value - limit).abs();
    let all = selection.candidates.iter().copied();
    let mut violations: Vec<Candidate<'r>> = all.clone().filter(|c| !holds(c.value)).collect();
    // Stable: of equals the first stays first.
    violations.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    if let Some(&worst) = violations.first() {
        return Decision { violations, ..decided(Verdict::Fail, worst) };
    }
    let closest = |a: Candidate<'r>, b| if distance(&b) < distance(&a) { b } else { a };
    match (incomplete(selection), all.reduce(closest)) {
        (Some(incomplete), _) => incomplete,
        (None, Some(closest)) => decided(Verdict::Pass, closest),
        (None, None) => Decision::without_value(Verdict::Missing, "no configuration has a value"),
    }
}

fn decided(verdict: Verdict, decider: Candidate<'_>) -> Decision<'_> {
    Decision { verdict, decider: Some(decider), limit: None, reason: None, violations: Vec::new() }
}

/// What stands in the way of a pass: configurations without a value that the threshold speaks of.
fn incomplete<'r>(selection: &Selection<'r>) -> Option<Decision<'r>> {
    if let Some(first) = selection.unfinished.first() {
        let reason = match selection.unfinished.len() {
            1 => format!("{} {}", key(first), first.status.word()),
            n => {
                format!("{} {}, and {} more did not finish", key(first), first.status.word(), n - 1)
            }
        };
        return Some(Decision::without_value(Verdict::Missing, reason));
    }
    let without = |verdict, all: &[(&'r ConfigurationResult, &'r str)]| {
        let (first, why) = all.first()?;
        Some(Decision::without_value(verdict, format!("{}: {why}", key(first))))
    };
    without(Verdict::Unavailable, &selection.unavailable)
        .or_else(|| without(Verdict::Inconclusive, &selection.unstable))
}

fn nothing_to_judge<'r>(threshold: &Threshold, selection: &Selection<'r>) -> Decision<'r> {
    if let Some((first, why)) = selection.unavailable.first() {
        let alike = selection.unavailable.iter().all(|(_, other)| other == why);
        let reason = if alike { (*why).to_owned() } else { format!("{}: {why}", key(first)) };
        return Decision::without_value(Verdict::Unavailable, reason);
    }
    if let Some(unfinished) = incomplete(selection) {
        return unfinished;
    }
    let reason = match (selection.invalid.as_slice(), &threshold.selector) {
        ([one], _) => format!("{} is invalid{}", key(one), why(one)),
        ([first, ..], _) => {
            format!("every configuration is invalid, such as {}{}", key(first), why(first))
        }
        ([], Selector::Where(pairs)) => none_has(pairs),
        ([], _) => "the series has no configuration".to_owned(),
    };
    Decision::without_value(Verdict::Missing, reason)
}

fn key(result: &ConfigurationResult) -> String {
    match result.configuration.0.as_slice() {
        [] => "the configuration".to_owned(),
        _ => result.configuration.to_string(),
    }
}

fn why(result: &ConfigurationResult) -> String {
    result.status.reason().map(|reason| format!(": {reason}")).unwrap_or_default()
}
