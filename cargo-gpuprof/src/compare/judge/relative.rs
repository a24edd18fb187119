//! Limits relative to a baseline.
//!
//! Comes in: a threshold whose limit refers to the baseline, and both sides' configurations. Goes out:
//! the judgement. The rules:
//!
//! * An exact metric fails where its value violates the limit, and that is all.
//! * A noisy metric fails where its value violates the limit **and** the difference is significant
//!   between processes (Welch at 1 %, corrected by Holm over the configurations of the threshold) **and**
//!   SM cycles, where both sides measured them, are worse too. It passes where the 95 % interval of the
//!   change stays inside the limit. Anything else is `inconclusive`: more processes, or a wider limit,
//!   would tell.
//! * What is better than the baseline by more than the tolerance, as surely, is `improved`.
//! * `every` and `where`: one failure fails; then a configuration that is in the baseline and not in
//!   the run, or the other way without a value, is `missing`; then one doubt makes `inconclusive`.
//!   A configuration that is new has nothing to be held against and is left out. `best` compares the
//!   best of the run with the best of the baseline.

use gpuprof_model::comparison::Confidence;
use gpuprof_model::metric::{self, Class, Direction, Metric};
use gpuprof_model::quantity::Quantity;
use gpuprof_model::run::{ConfigurationResult, Status};
use gpuprof_model::threshold::{Comparison, Selector, Threshold, Tolerance};
use gpuprof_model::verdict::{Judgement, Verdict, Violation};

use super::{Baseline, margin_percent};
use crate::compare::pair::{Evidence, Side, Wanted, confidence_text};
use crate::compare::two_sample;

/// A configuration on both sides.
struct Held<'r> {
    configuration: &'r ConfigurationResult,
    before: Side,
    after: Side,
    evidence: Evidence,
    limit: f64,
}

/// Judges `threshold` into `blank`, a judgement that says nothing yet.
pub(super) fn judge(
    blank: Judgement,
    threshold: &Threshold,
    tolerance: Tolerance,
    configurations: &[ConfigurationResult],
    baseline: &Baseline<'_>,
) -> Judgement {
    let without =
        |verdict, reason: String| Judgement { verdict, reason: Some(reason), ..blank.clone() };
    let (theirs, whole) = match baseline {
        Baseline::Absent(reason) => return without(Verdict::Missing, reason.clone()),
        Baseline::Incomparable(reason) => return without(Verdict::Incomparable, reason.clone()),
        Baseline::Held { configurations, whole } => (*configurations, *whole),
    };
    let Some(metric) = metric::find(&threshold.metric) else {
        return without(Verdict::Missing, metric::unknown(&threshold.metric));
    };
    if let Err(error) = threshold.check(metric) {
        return without(Verdict::Incomparable, error.message);
    }
    let mut lacks = Lacks::default();
    let pairs = match threshold.selector {
        Selector::Best => {
            best(threshold, metric, configurations, theirs, &mut lacks).into_iter().collect()
        }
        _ => every(threshold, configurations, theirs, whole, &mut lacks),
    };
    let held: Vec<Held<'_>> = pairs
        .into_iter()
        .map(|(configuration, before, after)| Held {
            configuration,
            evidence: Evidence::of(metric.name, class(metric, configuration), &before, &after),
            limit: tolerance.limit(before.value, threshold.comparison),
            before,
            after,
        })
        .collect();
    let mut judgement = decide(&blank, threshold, tolerance, metric, &held);
    if judgement.verdict == Verdict::Fail {
        return judgement;
    }
    if let Some((verdict, reason)) = lacks.first() {
        return Judgement { verdict, reason: Some(reason), ..blank };
    }
    if held.is_empty() {
        judgement.reason = Some("nothing of the run is in the baseline".to_owned());
    }
    judgement
}

/// What keeps a pass from being one.
#[derive(Default)]
struct Lacks {
    missing: Vec<String>,
    unavailable: Vec<String>,
    unstable: Vec<String>,
}

impl Lacks {
    fn first(&self) -> Option<(Verdict, String)> {
        let told = |all: &[String]| match all {
            [one] => one.clone(),
            [first, more @ ..] => format!("{first}, and {} more", more.len()),
            [] => String::new(),
        };
        if !self.missing.is_empty() {
            return Some((Verdict::Missing, told(&self.missing)));
        }
        if !self.unavailable.is_empty() {
            return Some((Verdict::Unavailable, told(&self.unavailable)));
        }
        (!self.unstable.is_empty()).then(|| (Verdict::Inconclusive, told(&self.unstable)))
    }
}

fn is_unstable(row: &ConfigurationResult, metric: &str) -> bool {
    row.metrics.get(metric).is_some_and(|result| result.unstable)
}

type Pair<'r> = (&'r ConfigurationResult, Side, Side);

fn every<'r>(
    threshold: &Threshold,
    ours: &'r [ConfigurationResult],
    theirs: &'r [ConfigurationResult],
    whole: bool,
    lacks: &mut Lacks,
) -> Vec<Pair<'r>> {
    let speaks_of = |row: &&ConfigurationResult| threshold.selector.matches(&row.configuration);
    let mut pairs = Vec::new();
    for row in ours.iter().filter(speaks_of) {
        if matches!(row.status, Status::Invalid { .. }) {
            continue;
        }
        let key = &row.configuration;
        let Some(before) = theirs.iter().find(|other| other.configuration == *key) else {
            continue;
        };
        let side = |row| Side::of(row, &threshold.metric, threshold.statistic);
        match (side(before), side(row)) {
            (Ok(before), Ok(after)) => pairs.push((row, before, after)),
            (_, Err(why)) if is_unstable(row, &threshold.metric) => {
                lacks.unstable.push(format!("{key}: {why}"));
            }
            (_, Err(why)) if row.status == Status::Finished => {
                lacks.unavailable.push(format!("{key}: {why}"));
            }
            (_, Err(why)) => lacks.missing.push(format!("{key} {why}")),
            (Err(why), Ok(_)) => {
                lacks.missing.push(format!("{key} has no value in the baseline: {why}"))
            }
        }
    }
    if whole {
        let here =
            |row: &ConfigurationResult| ours.iter().any(|o| o.configuration == row.configuration);
        let gone = theirs.iter().filter(speaks_of).filter(|row| !here(row));
        lacks.missing.extend(
            gone.map(|row| format!("{} is in the baseline and not in this run", row.configuration)),
        );
    }
    pairs
}

fn best<'r>(
    threshold: &Threshold,
    metric: &Metric,
    ours: &'r [ConfigurationResult],
    theirs: &'r [ConfigurationResult],
    lacks: &mut Lacks,
) -> Option<Pair<'r>> {
    let best = |rows: &'r [ConfigurationResult]| {
        let sides = rows.iter().filter_map(|row| {
            Side::of(row, &threshold.metric, threshold.statistic).ok().map(|side| (row, side))
        });
        sides.reduce(|a, b| if metric.direction.better(b.1.value, a.1.value) { b } else { a })
    };
    match (best(theirs), best(ours)) {
        (Some((_, before)), Some((row, after))) => Some((row, before, after)),
        (_, None) => {
            let why = ours.iter().find_map(|row| {
                Side::of(row, &threshold.metric, threshold.statistic).err().map(str::to_owned)
            });
            let unstable = ours.iter().any(|row| is_unstable(row, &threshold.metric));
            let list = if unstable { &mut lacks.unstable } else { &mut lacks.unavailable };
            list.push(why.unwrap_or_else(|| "the series has no configuration".into()));
            None
        }
        (None, Some(_)) => {
            lacks.missing.push(format!("the baseline has no `{}`", metric.name));
            None
        }
    }
}

/// How `metric` repeats where `configuration` was measured.
fn class(metric: &Metric, configuration: &ConfigurationResult) -> Class {
    configuration.metrics.get(metric.name).map_or(metric.class, |result| result.class)
}

/// What one configuration comes to, and why where it is in doubt.
fn verdict(
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    held: &Held<'_>,
    significant: bool,
) -> (Verdict, Option<String>) {
    let holds = threshold.comparison.holds(held.after.value, held.limit);
    let better_by_enough =
        metric.direction.better(held.after.value, improvement(tolerance, metric, held));
    if class(metric, held.configuration) == Class::Exact {
        return match (holds, better_by_enough) {
            (false, _) => (Verdict::Fail, None),
            (true, true) => (Verdict::Improved, None),
            (true, false) => (Verdict::Pass, None),
        };
    }
    if !holds {
        return match held.evidence.sure(metric.direction, Wanted::Worse, significant) {
            Ok(()) => (Verdict::Fail, None),
            Err(doubt) => (Verdict::Inconclusive, Some(doubt)),
        };
    }
    let Some(confidence) = held.evidence.confidence else {
        return (Verdict::Inconclusive, held.evidence.too_few.clone());
    };
    if better_by_enough && held.evidence.sure(metric.direction, Wanted::Better, significant).is_ok()
    {
        return (Verdict::Improved, None);
    }
    if !threshold.comparison.holds(worst_value(threshold.comparison, held, &confidence), held.limit)
    {
        let text = confidence_text(&confidence);
        return (
            Verdict::Inconclusive,
            Some(format!(
                "the noise reaches beyond the limit ({text}); more processes (--repeat) would tell"
            )),
        );
    }
    (Verdict::Pass, None)
}

/// The value at the end of the interval that violates the limit first.
fn worst_value(comparison: Comparison, held: &Held<'_>, confidence: &Confidence) -> f64 {
    let percent = match comparison {
        Comparison::AtMost | Comparison::Below => confidence.percent.high,
        Comparison::AtLeast | Comparison::Above | Comparison::Equal => confidence.percent.low,
    };
    held.before.value + held.before.value.abs() * percent / 100.0
}

/// The value beyond which the run is better than the baseline by more than the tolerance.
fn improvement(tolerance: Tolerance, metric: &Metric, held: &Held<'_>) -> f64 {
    let mirrored = Tolerance { percent: -tolerance.percent.abs(), ..tolerance };
    match metric.direction {
        Direction::Lower => mirrored.limit(held.before.value, Comparison::AtLeast),
        Direction::Higher => Tolerance { percent: tolerance.percent.abs(), ..tolerance }
            .limit(held.before.value, Comparison::AtMost),
    }
}

fn decide(
    blank: &Judgement,
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    held: &[Held<'_>],
) -> Judgement {
    let p_value = |h: &Held<'_>| h.evidence.confidence.map_or(1.0, |c| c.p_value);
    let significant = two_sample::significant(&held.iter().map(p_value).collect::<Vec<_>>());
    let margin = |h: &Held<'_>| margin_percent(threshold.comparison, h.after.value, h.limit);
    let mut judged: Vec<(&Held<'_>, Verdict, Option<String>)> = held
        .iter()
        .zip(significant)
        .map(|(h, significant)| {
            let (verdict, reason) = verdict(threshold, tolerance, metric, h, significant);
            (h, verdict, reason)
        })
        .collect();
    // The worst first; stable, so that of equals the first configuration decides.
    let order = |h: &Held<'_>| margin(h).unwrap_or(f64::NEG_INFINITY);
    judged.sort_by(|a, b| order(a.0).total_cmp(&order(b.0)));
    let first = |wanted: Verdict| judged.iter().find(|(_, verdict, _)| *verdict == wanted);
    let improved = judged.iter().rev().find(|(_, verdict, _)| *verdict == Verdict::Improved);
    let decider = first(Verdict::Fail)
        .or_else(|| first(Verdict::Inconclusive))
        .or(improved)
        .or_else(|| judged.first());
    let Some((decider, verdict, reason)) = decider else { return blank.clone() };
    let quantity = |value: f64| Quantity::new(value, metric.unit);
    let violation = |(h, verdict, _): &(&Held<'_>, Verdict, Option<String>)| {
        (*verdict == Verdict::Fail).then(|| Violation {
            configuration: h.configuration.configuration.to_string(),
            value: quantity(h.after.value),
            limit: quantity(h.limit),
            baseline: Some(quantity(h.before.value)),
            margin_percent: margin(h),
            confidence: h.evidence.confidence,
        })
    };
    let source = decider.configuration.metrics.get(metric.name).map(|result| result.source);
    Judgement {
        verdict: *verdict,
        value: Some(quantity(decider.after.value)),
        limit: Some(quantity(decider.limit)),
        baseline: Some(quantity(decider.before.value)),
        margin_percent: margin(decider),
        confidence: decider.evidence.confidence,
        source,
        configuration: Some(decider.configuration.configuration.to_string()),
        reason: reason.clone(),
        violations: judged.iter().filter_map(violation).collect(),
        ..blank.clone()
    }
}

#[cfg(test)]
#[path = "relative_tests.rs"]
mod tests;
