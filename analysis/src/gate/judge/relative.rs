//! Limits relative to a baseline.
//!
//! Input: a threshold whose limit refers to the baseline, and both sides' configurations. Goes
//! out: the judgement. The rules:
//!
//! * An exact metric fails where its value violates the limit, and that is all.
//! * A noisy metric fails where its value violates the limit **and** the difference is significant
//!   between processes (Welch, one-sided at 1 %, corrected by Holm over the configurations of the
//!   threshold) **and** SM cycles, where both sides measured them, are worse too. It passes where
//!   the change lies inside the limit with 95 %, as a test of non-inferiority asks (one-sided).
//!   Anything else is `inconclusive`, and the reason says how many processes would tell.
//! * A limit that the baseline itself violates, such as `baseline - 5%` of a duration, demands an
//!   improvement: there the difference from the limit must be as significant, not the one from the
//!   baseline.
//! * What is better than the baseline by more than the tolerance, as surely, is `improved`.
//! * `every` and `where`: one failure fails; then a configuration that is in the baseline and not
//!   in the run, whose launch is refused now, or that has no value in the baseline, is `missing`;
//!   then one doubt makes `inconclusive`. A configuration that is new has nothing to be held
//!   against and is left out. `best` compares the best of the run with the best of the baseline.

mod pairs;
mod verdict;

use gpuprof_model::metric::{Catalogue, Metric};
use gpuprof_model::quantity::Quantity;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::{Limit, Selector, Threshold, Tolerance};
use gpuprof_model::verdict::{Judgement, Verdict, Violation};

use crate::gate::change::defined_anew;
use crate::gate::judge::reference::{Baseline, margin_percent, none_has};
use crate::stats::two_sample::{self, SIGNIFICANCE};
use pairs::Lacks;
use verdict::Held;

/// Judges `threshold` into `blank`, a judgement that says nothing yet.
pub(super) fn judge(
    catalogue: &Catalogue,
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
    let Some(metric) = catalogue.find(&threshold.metric) else {
        return without(Verdict::Missing, catalogue.unknown(&threshold.metric));
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
    let pairs = match threshold.selector {
        Selector::Best => pairs::best(threshold, &metric, configurations, theirs, &mut lacks)
            .into_iter()
            .collect(),
        _ => pairs::every(threshold, configurations, theirs, whole, &mut lacks),
    };
    let held: Vec<Held<'_>> =
        pairs.into_iter().map(|pair| Held::new(pair, threshold, tolerance, &metric)).collect();
    let mut judgement = decide(&blank, threshold, tolerance, &metric, &held);
    if judgement.verdict == Verdict::Fail {
        return judgement;
    }
    if let Some((verdict, reason)) = lacks.first() {
        return Judgement { verdict, reason: Some(reason), ..blank };
    }
    if held.is_empty() {
        let speaks_of = |row: &ConfigurationResult| threshold.selector.matches(&row.configuration);
        judgement.reason = Some(match &threshold.selector {
            Selector::Where(pairs) if !configurations.iter().any(speaks_of) => none_has(pairs),
            _ => "nothing of the run is in the baseline".to_owned(),
        });
    }
    judgement
}

/// The verdict of each configuration of a run under a `threshold` relative to the baseline, in the
/// order of the run; those without a value on both sides are left out. Empty for any other
/// threshold.
pub fn verdicts(
    catalogue: &Catalogue,
    threshold: &Threshold,
    configurations: &[ConfigurationResult],
    baseline: &[ConfigurationResult],
) -> Vec<Verdict> {
    let (Limit::Baseline(tolerance), Some(metric)) =
        (threshold.limit, catalogue.find(&threshold.metric))
    else {
        return Vec::new();
    };
    let mut lacks = Lacks::default();
    let held: Vec<Held<'_>> = pairs::every(threshold, configurations, baseline, true, &mut lacks)
        .into_iter()
        .map(|pair| Held::new(pair, threshold, tolerance, &metric))
        .collect();
    let one =
        |(held, significant)| verdict::verdict(threshold, tolerance, &metric, held, significant).0;
    held.iter().zip(significance(&held)).map(one).collect()
}

/// Which differences are significant among all of a threshold, and up to which p-value.
fn significance(held: &[Held<'_>]) -> Vec<(bool, f64)> {
    let p_values: Vec<f64> = held.iter().map(Held::p_value).collect();
    two_sample::significant(&p_values, SIGNIFICANCE)
}

fn decide(
    blank: &Judgement,
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    held: &[Held<'_>],
) -> Judgement {
    let significant = significance(held);
    let margin = |h: &Held<'_>| margin_percent(threshold.comparison, h.after.value, h.limit);
    let mut judged: Vec<(&Held<'_>, Verdict, Option<String>)> = held
        .iter()
        .zip(significant)
        .map(|(h, significant)| {
            let (verdict, reason) = verdict::verdict(threshold, tolerance, metric, h, significant);
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
            interval: None,
        })
    };
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
        violations: judged.iter().filter_map(violation).collect(),
        ..blank.clone()
    }
}

#[cfg(test)]
#[path = "relative_tests.rs"]
mod tests;
