//! Limits relative to a baseline.
//!
//! Input: a threshold with a limit relative to the baseline, and both sides' configurations.
//! Output: the judgement. The rules:
//!
//! * An exact metric fails if its value violates the limit, and that is all.
//! * A noisy metric that was measured in rounds is decided by them (`crate::sequential`).
//! * Against a stored baseline it fails if its value violates the limit **and** the difference is
//!   significant between processes (Welch, one-sided, at 1 % shared by all such questions of the
//!   run) **and** SM cycles, if both sides measured them, are worse too. It passes if the change
//!   lies inside the limit with 95 %, as in a test of non-inferiority (one-sided). Anything else is
//!   `inconclusive`, and the reason says how many processes would decide.
//! * A metric that is exact on one side and noisy on the other is `incomparable`, and so are
//!   estimates of different models or chips, and an estimate and a measurement. Estimates of the
//!   same model and chip are exact.
//! * A limit that the baseline itself violates, such as `baseline - 5%` of a duration, demands an
//!   improvement: then the difference from the limit must be as significant, not the one from the
//!   baseline.
//! * A value that is better than the baseline by more than the tolerance, as surely, is `improved`.
//! * `every` and `where`: one failure fails; then a configuration that is in the baseline and not
//!   in the run, whose launch is refused now, or that has no value in the baseline, is `missing`;
//!   then one doubt makes `inconclusive`. A new configuration has no counterpart and is left out.
//!   `best` compares the best of the run with the best of the baseline; in rounds, by rounds that
//!   did not choose them (`best`).

mod best;
mod pairs;
mod rounds;
mod verdict;

use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::Metric;
use gpuprof_model::quantity::Quantity;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::{Selector, Threshold, Tolerance};
use gpuprof_model::verdict::{Case, Judgement, Verdict};

use crate::compared_pair::defined_anew;
use crate::gate::judge::context::JudgeContext;
use crate::gate::judge::reference::{Baseline, margin_percent, none_has};
use crate::sequential::CriticalValues;
use best::Contest;
use pairs::Lacks;
use verdict::ConfigurationPair;

/// Judges `threshold` into `blank`, a judgement that says nothing yet.
pub(super) fn judge(
    terms: JudgeContext<'_>,
    blank: Judgement,
    threshold: &Threshold,
    tolerance: Tolerance,
    configurations: &[ConfigurationResult],
    baseline: &Baseline<'_>,
) -> Judgement {
    let without =
        |verdict, reason: String| Judgement { verdict, reason: Some(reason), ..blank.clone() };
    let (theirs, whole, in_rounds) = match baseline {
        Baseline::Absent(reason) => return without(Verdict::Missing, reason.clone()),
        Baseline::Incomparable(reason) => return without(Verdict::Incomparable, reason.clone()),
        Baseline::Held { configurations, whole, in_rounds } => {
            (*configurations, *whole, *in_rounds)
        }
    };
    let Some(metric) = terms.catalogue.find(&threshold.metric) else {
        return without(Verdict::Missing, terms.catalogue.unknown(&threshold.metric));
    };
    if let Err(error) = threshold.check(&metric) {
        return without(Verdict::Incomparable, error.message);
    }
    let holding = |rows: &[ConfigurationResult]| {
        rows.iter().position(|row| row.metrics.contains_key(&threshold.metric))
    };
    if let (Some(before), Some(after)) = (holding(theirs), holding(configurations))
        && let Some(reason) =
            defined_anew(&threshold.metric, &theirs[before], &configurations[after])
    {
        return without(Verdict::Incomparable, reason);
    }
    let mut lacks = Lacks::default();
    let bounds = Some(&terms.budget.relative).filter(|_| in_rounds);
    let sides = (configurations, theirs);
    let held = match threshold.selector {
        Selector::Best => best_of_both(threshold, tolerance, &metric, sides, bounds, &mut lacks),
        Selector::Every | Selector::Where(_) => {
            pairs::every(threshold, configurations, theirs, whole, &mut lacks)
                .into_iter()
                .map(|pair| ConfigurationPair::new(pair, threshold, tolerance, &metric, bounds))
                .collect()
        }
    };
    let mut judgement = decide(terms, &blank, threshold, tolerance, &metric, &held);
    if judgement.verdict == Verdict::Fail {
        return judgement;
    }
    if let Some((verdict, reason)) = lacks.first() {
        return Judgement { verdict, reason: Some(reason), ..blank };
    }
    if held.is_empty() {
        judgement.reason = Some(reason_without_pairs(&threshold.selector, configurations));
    }
    judgement
}

/// Why no configuration of the run was compared with one of the baseline.
fn reason_without_pairs(selector: &Selector, configurations: &[ConfigurationResult]) -> String {
    let is_selected = |row: &ConfigurationResult| selector.matches(&row.configuration);
    match selector {
        Selector::Where(pairs) if !configurations.iter().any(is_selected) => none_has(pairs),
        Selector::Best | Selector::Every | Selector::Where(_) => {
            "nothing of the run is in the baseline".to_owned()
        }
    }
}

/// The best of the run against the best of the base, by rounds where `bounds` are given.
fn best_of_both<'r>(
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    sides: (&'r [ConfigurationResult], &'r [ConfigurationResult]),
    bounds: Option<&'r CriticalValues>,
    lacks: &mut Lacks,
) -> Vec<ConfigurationPair<'r>> {
    let Some(pair) = pairs::best(threshold, metric, sides.0, sides.1, lacks) else {
        return Vec::new();
    };
    let contest =
        bounds.and_then(|bounds| Contest::new(threshold, tolerance, metric, sides, bounds));
    match contest {
        Some(contest) => contest.decider().into_iter().collect(),
        None => vec![ConfigurationPair::new(pair, threshold, tolerance, metric, None)],
    }
}

/// The `configurations` measured in rounds that a limit leaves undecided, with the number of rounds
/// for each.
pub(super) fn wanted<'r>(
    terms: JudgeContext<'r>,
    threshold: &Threshold,
    tolerance: Tolerance,
    configurations: &'r [ConfigurationResult],
    baseline: &Baseline<'r>,
) -> Vec<(&'r Configuration, u32)> {
    let Baseline::Held { configurations: theirs, in_rounds, .. } = *baseline else {
        return Vec::new();
    };
    let Some(metric) = terms.catalogue.find(&threshold.metric).filter(|_| in_rounds) else {
        return Vec::new();
    };
    let bounds = &terms.budget.relative;
    if threshold.selector.is_best() {
        let sides = (configurations, theirs);
        let contest = Contest::new(threshold, tolerance, &metric, sides, bounds);
        return contest.map_or_else(Vec::new, |contest| contest.wanted());
    }
    let open = |pair| {
        let held = ConfigurationPair::new(pair, threshold, tolerance, &metric, Some(bounds));
        Some((&held.configuration.configuration, held.in_rounds?.wanted()?))
    };
    pairs::every(threshold, configurations, theirs, false, &mut Lacks::default())
        .into_iter()
        .filter_map(open)
        .collect()
}

fn decide(
    terms: JudgeContext<'_>,
    blank: &Judgement,
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    held: &[ConfigurationPair<'_>],
) -> Judgement {
    let level = terms.budget.significance();
    let margin =
        |h: &ConfigurationPair<'_>| margin_percent(threshold.comparison, h.after.value, h.limit);
    let mut judged: Vec<(&ConfigurationPair<'_>, Verdict, Option<String>)> = held
        .iter()
        .map(|h| {
            let (verdict, reason) = verdict::verdict(threshold, tolerance, metric, h, level);
            (h, verdict, reason)
        })
        .collect();
    // The worst first; stable, so that of equals the first configuration decides.
    let order = |h: &ConfigurationPair<'_>| margin(h).unwrap_or(f64::NEG_INFINITY);
    judged.sort_by(|a, b| order(a.0).total_cmp(&order(b.0)));
    let first = |wanted: Verdict| judged.iter().find(|(_, verdict, _)| *verdict == wanted);
    let improved = judged.iter().rev().find(|(_, verdict, _)| *verdict == Verdict::Improved);
    let decider = first(Verdict::Fail)
        .or_else(|| first(Verdict::Incomparable))
        .or_else(|| first(Verdict::Inconclusive))
        .or(improved)
        .or_else(|| judged.first());
    let Some((decider, verdict, reason)) = decider else { return blank.clone() };
    let quantity = |value: f64| Quantity::new(value, metric.unit);
    let case = |(h, verdict, reason): &(&ConfigurationPair<'_>, Verdict, Option<String>)| {
        let rounds = h.rounds_needed().filter(|_| *verdict == Verdict::Inconclusive);
        Case { margin_percent: margin(h), reason: reason.clone(), rounds, ..h.case(metric.unit) }
    };
    let all = |wanted: Verdict| -> Vec<Case> {
        judged.iter().filter(|(_, verdict, _)| *verdict == wanted).map(case).collect()
    };
    let (mut improved, undecided) = (all(Verdict::Improved), all(Verdict::Inconclusive));
    improved.reverse();
    let source = decider.configuration.metrics.get(&metric.name).map(|result| result.source);
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
        violations: all(Verdict::Fail),
        improved,
        undecided,
        ..blank.clone()
    }
}

#[cfg(test)]
#[path = "relative_tests.rs"]
mod tests;
