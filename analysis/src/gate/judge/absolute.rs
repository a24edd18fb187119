//! Limits that are numbers, or percent of a device's peak.
//!
//! Input: a threshold with such a limit, the configurations of a series and the device. Output: the
//! judgement.

use std::sync::Arc;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::measurement::DeviceRecord;
use gpuprof_model::metric::{Class, Direction, Metric};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::{ConfigurationResult, MetricResult, Status};
use gpuprof_model::threshold::{Comparison, Limit, Selector, Statistic, Threshold};
use gpuprof_model::verdict::{Case, Judgement, Verdict};

use crate::compared_pair::{is_counted_once, number, processes, resolution};
use crate::gate::judge::context::JudgeContext;
use crate::gate::judge::fixed::{LimitTest, Looks, Observation, Sure};
use crate::gate::judge::reference::{margin_percent, none_has};

/// Judges `threshold` into `blank`, a judgement that says nothing yet.
pub(super) fn judge(
    terms: JudgeContext<'_>,
    blank: Judgement,
    threshold: &Threshold,
    configurations: &[ConfigurationResult],
    looks: Looks,
) -> Judgement {
    let decision = decide(terms, threshold, configurations, looks);
    let Decision { verdict, decider, limit, reason, violations, open } =
        decision.unwrap_or_else(|undecided| undecided);
    // Between two units of the GPU there is no distance.
    let number = limit.filter(|limit| limit.unit != Unit::GpuUnit);
    let margin = |d: Candidate<'_>| margin_percent(threshold.comparison, d.value, number?.value);
    let between_processes = |c: &Candidate<'_>| {
        let samples = c.result.statistics.as_ref().filter(|_| c.result.class == Class::Noisy)?;
        samples.interval.filter(|_| threshold.statistic == Statistic::Median)
    };
    let interval = |c: &Candidate<'_>| c.result.interval.or_else(|| between_processes(c));
    let case = |(c, sure): &JudgedCandidate<'_>| {
        Some(Case {
            configuration: c.configuration.configuration.to_string(),
            value: Quantity::new(c.value, c.result.unit),
            limit: limit?,
            baseline: None,
            percent: None,
            cycles_percent: None,
            margin_percent: margin(*c),
            confidence: None,
            interval: interval(c),
            reason: Some(open_reason(sure.clone())).filter(|text| !text.is_empty()),
            rounds: None,
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
        reason: reason.or_else(|| Some(decider?.result.perturbation?.reason().to_owned())),
        violations: violations.iter().filter_map(case).collect(),
        undecided: open.iter().filter_map(case).collect(),
        ..blank
    }
}

struct Decision<'r> {
    verdict: Verdict,
    decider: Option<Candidate<'r>>,
    limit: Option<Quantity>,
    reason: Option<String>,
    violations: Vec<JudgedCandidate<'r>>,
    /// The cases of `every` and `where` that are neither within the limit nor beyond it.
    open: Vec<JudgedCandidate<'r>>,
}

impl Decision<'_> {
    fn without_value(verdict: Verdict, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        let (violations, open) = (Vec::new(), Vec::new());
        Self { verdict, decider: None, limit: None, reason, violations, open }
    }
}

/// A selected configuration with a value.
#[derive(Clone, Copy)]
struct Candidate<'r> {
    configuration: &'r ConfigurationResult,
    result: &'r MetricResult,
    value: f64,
}

impl Candidate<'_> {
    fn observation(&self, threshold: &Threshold) -> Observation {
        Observation {
            value: self.value,
            processes: processes(self.result, threshold.statistic),
            class: self.result.class,
            counted_once: is_counted_once(self.configuration, self.result),
            resolution: resolution(
                self.configuration,
                &threshold.metric,
                self.value,
                threshold.statistic,
            ),
            interval: self.result.interval,
        }
    }
}

/// A candidate with its outcome.
type JudgedCandidate<'r> = (Candidate<'r>, Sure);

/// The configurations that a threshold's selector finds.
#[derive(Default)]
struct Selection<'r> {
    candidates: Vec<Candidate<'r>>,
    unfinished: Vec<&'r ConfigurationResult>,
    unavailable: Vec<(&'r ConfigurationResult, &'r str)>,
    unstable: Vec<(&'r ConfigurationResult, &'r str)>,
    invalid: Vec<&'r ConfigurationResult>,
}

/// The `configurations` that a limit leaves undecided and that may be measured further, with the
/// number of rounds for each.
pub(super) fn wanted<'r>(
    terms: JudgeContext<'r>,
    threshold: &Threshold,
    configurations: &'r [ConfigurationResult],
    looks: Looks,
) -> Vec<(&'r Configuration, u32)> {
    let asked = resolve(terms, threshold, configurations, looks);
    let Ok(ThresholdQuery { metric, selection, limited }) = asked else { return Vec::new() };
    let judged = selection.judged(threshold, &limited, &metric);
    if looks == Looks::Once
        || judged.iter().any(|(_, sure)| *sure == Sure::Within) && limited.one_of > 1
    {
        return Vec::new();
    }
    let open = |(candidate, sure): JudgedCandidate<'r>| match sure {
        Sure::Open(_, look) => Some((&candidate.configuration.configuration, look?)),
        Sure::Within | Sure::Beyond => None,
    };
    judged.into_iter().filter_map(open).collect()
}

/// A threshold that can be judged.
struct ThresholdQuery<'r> {
    metric: Arc<Metric>,
    selection: Selection<'r>,
    limited: LimitTest<'r>,
}

fn resolve<'r>(
    terms: JudgeContext<'r>,
    threshold: &Threshold,
    configurations: &'r [ConfigurationResult],
    looks: Looks,
) -> Result<ThresholdQuery<'r>, Decision<'r>> {
    let catalogue = terms.catalogue;
    let undecided = |verdict, reason| Decision::without_value(verdict, reason);
    let metric = catalogue
        .find(&threshold.metric)
        .ok_or_else(|| undecided(Verdict::Missing, catalogue.unknown(&threshold.metric)))?;
    threshold.check(&metric).map_err(|error| undecided(Verdict::Incomparable, error.message))?;
    let selection = select(threshold, configurations);
    if selection.candidates.is_empty() {
        return Err(nothing_to_judge(threshold, &selection));
    }
    let limit = limit(threshold, &metric, terms.device)
        .map_err(|reason| undecided(Verdict::Unavailable, reason))?;
    let one_suffices = threshold.selector.is_best()
        && better_is_safe(threshold.comparison, threshold.wanted(&metric));
    let limited = LimitTest {
        comparison: threshold.comparison,
        limit: limit.value,
        budget: terms.budget,
        looks,
        one_of: if one_suffices { selection.candidates.len() } else { 1 },
    };
    Ok(ThresholdQuery { metric, selection, limited })
}

fn decide<'r>(
    terms: JudgeContext<'r>,
    threshold: &Threshold,
    configurations: &'r [ConfigurationResult],
    looks: Looks,
) -> Result<Decision<'r>, Decision<'r>> {
    let ThresholdQuery { metric, selection, limited } =
        resolve(terms, threshold, configurations, looks)?;
    let direction = threshold.wanted(&metric);
    let judged = selection.judged(threshold, &limited, &metric);
    let mut decision = match threshold.selector {
        Selector::Best => best(threshold.comparison, direction, &selection, judged),
        Selector::Every | Selector::Where(_) => worst_offender(&selection, limited.limit, judged),
    };
    decision.limit = Some(Quantity::new(limited.limit, metric.unit));
    Ok(decision)
}

impl<'r> Selection<'r> {
    /// The candidates with their outcomes; for the best at several looks only the chosen ones.
    fn judged(
        &self,
        threshold: &Threshold,
        limited: &LimitTest<'_>,
        metric: &Metric,
    ) -> Vec<JudgedCandidate<'r>> {
        let noisy = self.candidates.iter().all(|c| c.result.class == Class::Noisy);
        let known: Vec<Observation> =
            self.candidates.iter().map(|c| c.observation(threshold)).collect();
        let with = |judge: &dyn Fn(&Observation) -> Sure| -> Vec<JudgedCandidate<'r>> {
            let all = self.candidates.iter().zip(&known);
            all.map(|(candidate, known)| (*candidate, judge(known))).collect()
        };
        if limited.looks == Looks::Once || limited.one_of == 1 || !noisy {
            return with(&|known| limited.judge(known));
        }
        if let Looks::After(_) = limited.looks {
            let first = with(&|known| limited.at_first(known));
            let met = first.iter().any(|(_, sure)| *sure == Sure::Within);
            if met || first.iter().all(|(_, sure)| *sure == Sure::Beyond) {
                return first;
            }
        }
        let all: Vec<&[f64]> = known.iter().map(|known| known.processes.as_slice()).collect();
        let direction = threshold.wanted(metric);
        let chosen = limited.best_of_looks(&all, |a, b| direction.better(a, b));
        if chosen.iter().any(|(_, sure)| *sure == Sure::Within) {
            return chosen.into_iter().map(|(at, sure)| (self.candidates[at], sure)).collect();
        }
        // None is best enough only where each alone is surely beyond the limit. The others are
        // measured further once those chosen are.
        let alone: Vec<Sure> = known.iter().map(|known| limited.judge(known)).collect();
        let given_up =
            chosen.iter().all(|(at, sure)| *sure == Sure::Beyond || alone[*at] == Sure::Beyond);
        let candidate_outcome = |(at, candidate): (usize, &Candidate<'r>)| {
            let chosen = chosen.iter().find(|(chosen, _)| *chosen == at);
            let sure = match (&alone[at], chosen) {
                (Sure::Beyond, _) => Sure::Beyond,
                (_, Some((_, sure))) => sure.clone(),
                (Sure::Open(text, look), None) => {
                    Sure::Open(text.clone(), look.filter(|_| given_up))
                }
                (Sure::Within, None) => Sure::Open(String::new(), None),
            };
            (*candidate, sure)
        };
        self.candidates.iter().enumerate().map(candidate_outcome).collect()
    }
}

/// Why it is open; nothing where it is not.
fn open_reason(sure: Sure) -> String {
    match sure {
        Sure::Open(text, _) => text,
        Sure::Within | Sure::Beyond => String::new(),
    }
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
    let peak = device.and_then(|device| device.dram_peak_bytes_per_second).map(|peak| peak.0);
    match peak.filter(|peak| peak.is_finite() && *peak > 0.0) {
        Some(peak) => Ok(Quantity::new(peak * percent / 100.0, Unit::BytesPerSecond)),
        None => Err("the peak DRAM bandwidth of this device is not known".to_owned()),
    }
}

/// Whether a value that is better than one within the limit is within it as well.
pub(super) fn better_is_safe(comparison: Comparison, direction: Direction) -> bool {
    matches!(
        (comparison, direction),
        (Comparison::AtLeast | Comparison::Above, Direction::Higher)
            | (Comparison::AtMost | Comparison::Below, Direction::Lower)
    )
}

fn best<'r>(
    comparison: Comparison,
    direction: Direction,
    selection: &Selection<'r>,
    judged: Vec<JudgedCandidate<'r>>,
) -> Decision<'r> {
    let best_that = |wanted: &dyn Fn(&Sure) -> bool| {
        let all = judged.iter().filter(|(_, sure)| wanted(sure));
        all.reduce(|a, b| if direction.better(b.0.value, a.0.value) { b } else { a })
    };
    let failed = |best: &JudgedCandidate<'r>| Decision {
        violations: vec![best.clone()],
        ..decided(Verdict::Fail, best.0)
    };
    let (within, beyond) =
        (best_that(&|sure| *sure == Sure::Within), best_that(&|sure| *sure == Sure::Beyond));
    let open = best_that(&|sure| matches!(sure, Sure::Open(..)));
    if better_is_safe(comparison, direction) {
        return match (within, open, beyond) {
            (Some(best), ..) => decided(Verdict::Pass, best.0),
            (None, Some(best), _) => in_doubt(best),
            (None, None, Some(best)) => failed(best),
            (None, None, None) => {
                Decision::without_value(Verdict::Missing, "no configuration has a value")
            }
        };
    }
    // One that is not there could only have been better, and better values could violate the limit.
    match best_that(&|_| true) {
        Some(best) if best.1 == Sure::Beyond => failed(best),
        Some(best) if best.1 == Sure::Within => {
            incomplete(selection).unwrap_or_else(|| decided(Verdict::Pass, best.0))
        }
        Some(best) => incomplete(selection).unwrap_or_else(|| in_doubt(best)),
        None => Decision::without_value(Verdict::Missing, "no configuration has a value"),
    }
}

/// Neither within its limit nor beyond it.
fn in_doubt<'r>((candidate, sure): &JudgedCandidate<'r>) -> Decision<'r> {
    let reason = Some(open_reason(sure.clone()));
    Decision { reason, ..decided(Verdict::Inconclusive, *candidate) }
}

fn worst_offender<'r>(
    selection: &Selection<'r>,
    limit: f64,
    judged: Vec<JudgedCandidate<'r>>,
) -> Decision<'r> {
    let distance = |candidate: &Candidate<'r>| (candidate.value - limit).abs();
    let all_that = |wanted: fn(&Sure) -> bool| -> Vec<JudgedCandidate<'r>> {
        judged.iter().filter(|(_, sure)| wanted(sure)).cloned().collect()
    };
    let open = all_that(|sure| matches!(sure, Sure::Open(..)));
    let mut violations = all_that(|sure| *sure == Sure::Beyond);
    // Stable: of equals the first stays first.
    violations.sort_by(|a, b| distance(&b.0).total_cmp(&distance(&a.0)));
    if let Some(&(worst, _)) = violations.first() {
        return Decision { violations, open, ..decided(Verdict::Fail, worst) };
    }
    let closest =
        |a: &'_ JudgedCandidate<'r>, b: &'_ JudgedCandidate<'r>| distance(&b.0) < distance(&a.0);
    let nearest = |all: &[JudgedCandidate<'r>]| {
        all.iter().cloned().reduce(|a, b| if closest(&a, &b) { b } else { a })
    };
    match (incomplete(selection), nearest(&open), nearest(&judged)) {
        (Some(incomplete), ..) => Decision { open, ..incomplete },
        (None, Some(doubt), _) => Decision { open, ..in_doubt(&doubt) },
        (None, None, Some((closest, _))) => decided(Verdict::Pass, closest),
        (None, None, None) => {
            Decision::without_value(Verdict::Missing, "no configuration has a value")
        }
    }
}

fn decided(verdict: Verdict, decider: Candidate<'_>) -> Decision<'_> {
    let (violations, open) = (Vec::new(), Vec::new());
    Decision { verdict, decider: Some(decider), limit: None, reason: None, violations, open }
}

/// The obstacles to a pass: configurations in the threshold's scope without a value.
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
        ([], Selector::Best | Selector::Every) => "the series has no configuration".to_owned(),
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
