//! The outcome of one configuration under a limit relative to the baseline, and the reason for a
//! doubt.

use gpuprof_model::comparison::Confidence;
use gpuprof_model::metric::{Class, Direction, Metric};
use gpuprof_model::quantity::{Quantity, Unit};
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::{Comparison, Threshold, Tolerance};
use gpuprof_model::verdict::{Case, Verdict};

use super::pairs::Pair;
use super::rounds::InRounds;
use crate::compared_pair::{Alternative, Evidence, Side, confidence_text};
use crate::sequential::CriticalValues;
use crate::stats::two_sample::BOUND;

/// A configuration on both sides.
pub(super) struct ConfigurationPair<'r> {
    /// The configuration of the run.
    pub configuration: &'r ConfigurationResult,
    /// The baseline's values.
    pub before: Side,
    /// The run's values.
    pub after: Side,
    /// The evidence.
    pub evidence: Evidence,
    /// The value that is just allowed.
    pub limit: f64,
    comparison: Comparison,
    /// The rounds of a noisy metric.
    pub in_rounds: Option<InRounds<'r>>,
    /// Why both sides cannot be compared.
    incomparable: Option<String>,
}

impl<'r> ConfigurationPair<'r> {
    /// A pair with its evidence and limit; with `bounds` the sides were measured in rounds.
    pub(super) fn new(
        (configuration, before, after): Pair<'r>,
        threshold: &Threshold,
        tolerance: Tolerance,
        metric: &Metric,
        bounds: Option<&'r CriticalValues>,
    ) -> Self {
        let class = class(metric, configuration);
        let incomparable = Side::repeat_alike(&before, &after, &metric.name).err();
        let in_rounds = bounds
            .filter(|_| class == Class::Noisy && incomparable.is_none())
            .filter(|_| before.scatters() && after.scatters())
            .map(|bounds| InRounds::new(bounds, threshold, tolerance, (&before, &after)));
        let evidence = match in_rounds {
            Some(_) => Evidence::of_rounds(&before, &after),
            None => Evidence::compare(class, &before, &after),
        };
        let limit = tolerance.limit(before.value, threshold.comparison);
        let comparison = threshold.comparison;
        Self { configuration, before, after, evidence, limit, comparison, in_rounds, incomparable }
    }

    /// A configuration of the run and the best of the base, measured in rounds; `chosen` is one of
    /// the run's best.
    pub(super) fn of_the_best(
        (configuration, before, after): Pair<'r>,
        threshold: &Threshold,
        tolerance: Tolerance,
        bounds: &'r CriticalValues,
        chosen: bool,
    ) -> Self {
        let sides = (&before, &after);
        let in_rounds = InRounds::of_the_best(bounds, threshold, tolerance, sides, chosen);
        let evidence = Evidence::of_rounds(&before, &after);
        let limit = tolerance.limit(before.value, threshold.comparison);
        let (comparison, in_rounds) = (threshold.comparison, Some(in_rounds));
        let incomparable = None;
        Self { configuration, before, after, evidence, limit, comparison, in_rounds, incomparable }
    }

    /// The probability of a difference at least as large in its direction, if there were none; 1 if
    /// it is unknown. One-sided, since a limit is violated in one direction only. If the limit
    /// demands an improvement, the difference is that from the limit.
    pub(super) fn p_value(&self) -> f64 {
        match &self.evidence.difference {
            Some(difference) if self.demands_more() && self.inside() < 0.0 => {
                difference.probability_of(-self.inside())
            }
            Some(difference) => difference.p_value / 2.0,
            None => 1.0,
        }
    }

    /// Its numbers, in `unit`.
    pub(super) fn case(&self, unit: Unit) -> Case {
        let quantity = |value: f64| Quantity::new(value, unit);
        Case {
            configuration: self.configuration.configuration.to_string(),
            value: quantity(self.after.value),
            limit: quantity(self.limit),
            baseline: Some(quantity(self.before.value)),
            percent: self.evidence.percent,
            cycles_percent: self.evidence.cycles.map(|(percent, _)| percent),
            margin_percent: None,
            confidence: self.evidence.confidence,
            interval: None,
            reason: None,
            rounds: None,
        }
    }

    /// About how many rounds would decide it; none if that is not known.
    pub(super) fn rounds_needed(&self) -> Option<u32> {
        self.in_rounds.as_ref()?.rounds_to_decide()
    }

    /// By how much the mean of the processes changed.
    fn change(&self) -> f64 {
        self.evidence.difference.map_or(f64::NAN, |difference| difference.change)
    }

    /// How far inside the limit that change ends; negative beyond it.
    fn inside(&self) -> f64 {
        let beyond = self.before.value + self.change() - self.limit;
        if self.violated_upwards() { -beyond } else { beyond }
    }

    /// Whether the limit is violated by values above it.
    fn violated_upwards(&self) -> bool {
        match self.comparison {
            Comparison::AtMost | Comparison::Below => true,
            Comparison::AtLeast | Comparison::Above => false,
            Comparison::Equal => self.after.value > self.limit,
        }
    }

    /// Whether the baseline itself is beyond the limit, as for `duration <= baseline - 5%`: then it
    /// is not a regression that violates the limit, but an improvement that did not come.
    fn demands_more(&self) -> bool {
        // `< baseline` demands no measurable improvement.
        self.before.value != self.limit && !self.comparison.holds(self.before.value, self.limit)
    }
}

/// The outcome of a value that misses the improvement that its limit demands.
fn short_of_it(
    tolerance: Tolerance,
    held: &ConfigurationPair<'_>,
    confidence: &Confidence,
    level: f64,
) -> (Verdict, Option<String>) {
    if held.p_value() > level {
        let advice = held.evidence.advice(-held.inside(), 1.0 - level);
        let text = confidence_text(confidence);
        let doubt = format!("the noise interval reaches the limit ({text}); {advice}");
        return (Verdict::Inconclusive, Some(doubt));
    }
    match held.evidence.cycles {
        // The clock fell, and the kernel did become better: cycles go the way of times.
        Some((change, _)) if change <= -tolerance.percent.abs() => {
            let doubt = format!("SM cycles do not confirm it: they changed by {change:+.2}%");
            (Verdict::Inconclusive, Some(doubt))
        }
        _ => (Verdict::Fail, None),
    }
}

/// The outcome of `held`; `level` is the p-value up to which a difference between processes that
/// were not measured in rounds is significant.
pub(super) fn verdict(
    threshold: &Threshold,
    tolerance: Tolerance,
    metric: &Metric,
    held: &ConfigurationPair<'_>,
    level: f64,
) -> (Verdict, Option<String>) {
    if let Some(reason) = &held.incomparable {
        return (Verdict::Incomparable, Some(reason.clone()));
    }
    if let Some(in_rounds) = &held.in_rounds {
        return in_rounds.verdict(threshold.direction(metric));
    }
    let significant = held.p_value() <= level;
    let holds = threshold.comparison.holds(held.after.value, held.limit);
    let direction = threshold.direction(metric);
    let better_by_enough =
        direction.better(held.after.value, improvement(tolerance, direction, held));
    let scatters = held.before.scatters() && held.after.scatters();
    if class(metric, held.configuration) == Class::Exact || !scatters {
        return by_value(held, holds, better_by_enough);
    }
    let Some(confidence) = held.evidence.confidence else {
        return (Verdict::Inconclusive, held.evidence.too_few.clone());
    };
    if !holds {
        if held.demands_more() {
            return short_of_it(tolerance, held, &confidence, level);
        }
        let wanted = match direction {
            Direction::Neither => Alternative::Different,
            _ if held.violated_upwards() == (direction == Direction::Lower) => Alternative::Worse,
            _ => Alternative::Better,
        };
        return match held.evidence.sure(direction, wanted, significant) {
            Ok(()) => (Verdict::Fail, None),
            Err(doubt) if significant => (Verdict::Inconclusive, Some(doubt)),
            Err(doubt) => {
                let advice = held.evidence.advice(held.change().abs(), 1.0 - level);
                (Verdict::Inconclusive, Some(format!("{doubt}; {advice}")))
            }
        };
    }
    if better_by_enough && held.evidence.sure(direction, Alternative::Better, significant).is_ok() {
        return (Verdict::Improved, None);
    }
    if !threshold.comparison.holds(worst_value(threshold.comparison, held), held.limit) {
        let advice = held.evidence.advice(held.inside(), BOUND);
        let text = confidence_text(&confidence);
        return (
            Verdict::Inconclusive,
            Some(format!("the noise interval reaches beyond the limit ({text}); {advice}")),
        );
    }
    (Verdict::Pass, None)
}

/// The outcome of one value per side, and why their scatter is unknown, or which limit of an
/// estimate grew.
fn by_value(
    held: &ConfigurationPair<'_>,
    holds: bool,
    better_by_enough: bool,
) -> (Verdict, Option<String>) {
    let (before, after) = (&held.before, &held.after);
    let scatters = before.scatters() && after.scatters();
    let unknown = (!scatters).then(|| Side::unknown_scatter(before, after));
    match (holds, better_by_enough) {
        (false, _) => (Verdict::Fail, unknown.or_else(|| after.grown_limit(before))),
        (true, true) => (Verdict::Improved, unknown),
        (true, false) => (Verdict::Pass, unknown),
    }
}

/// The value that the run is on the right side of with [`BOUND`], as a test of non-inferiority
/// asks: one-sided, since only one side of a limit is wrong.
fn worst_value(comparison: Comparison, held: &ConfigurationPair<'_>) -> f64 {
    let Some(difference) = &held.evidence.difference else { return f64::NAN };
    let reach = difference.reach(BOUND);
    let change = match comparison {
        Comparison::AtMost | Comparison::Below => difference.change + reach,
        Comparison::AtLeast | Comparison::Above | Comparison::Equal => difference.change - reach,
    };
    held.before.value + change
}

/// How `metric` repeats where `configuration` was measured.
fn class(metric: &Metric, configuration: &ConfigurationResult) -> Class {
    configuration.metrics.get(&metric.name).map_or(metric.class, |result| result.class)
}

/// The value beyond which the run is better than the baseline by more than the tolerance.
fn improvement(tolerance: Tolerance, direction: Direction, held: &ConfigurationPair<'_>) -> f64 {
    let mirrored = Tolerance { percent: -tolerance.percent.abs(), ..tolerance };
    match direction {
        Direction::Lower | Direction::Neither => {
            mirrored.limit(held.before.value, Comparison::AtLeast)
        }
        Direction::Higher => Tolerance { percent: tolerance.percent.abs(), ..tolerance }
            .limit(held.before.value, Comparison::AtMost),
    }
}
