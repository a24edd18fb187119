//! One rule at one configuration.
//!
//! Input: a rule, a configuration and its neighbours. Output: a piece of advice, or none. A rule
//! speaks where its condition holds with every input as far off as its noise may have moved it.

use std::collections::BTreeMap;

use gpuprof_model::advice::{Advice, Certainty, Gain};
use gpuprof_model::run::ConfigurationResult;

use super::context::AdviceContext;
use super::neighbours::Neighbours;
use super::rule::{EstimateScope, Expectation, Rule, Unit};
use super::values::{Reading, reading};

/// Below this many percent, nothing is worth advice.
const LEAST_PERCENT: f64 = 1.0;

/// A neighbour follows advice where a value differs by at least this part of it.
const FOLLOWED: f64 = 0.05;

/// Values by their names in a rule.
type Bound<'r> = BTreeMap<&'r str, f64>;

/// The findings of `rule` for the configuration at `at`.
pub(super) fn apply(
    rule: &Rule,
    at: usize,
    neighbours: &Neighbours<'_>,
    terms: &AdviceContext<'_>,
) -> Option<Advice> {
    let row = neighbours.row(at);
    let read = read(rule, row, terms);
    let values = bound(rule, &read, None);
    if !speaks(rule, &read, &values) {
        return None;
    }
    let gain = match gain(rule, row, &values, terms) {
        Some(Gain::Time { percent } | Gain::Use { percent }) if percent < LEAST_PERCENT => {
            return None;
        }
        gain => gain,
    };
    let tried = rule.tried_by.as_ref();
    if tried.is_some_and(|tried| in_vain(rule, tried, at, neighbours, terms)) {
        return None;
    }
    let filled = |name: &str| values.get(name).copied();
    let remedies: Vec<String> = rule
        .remedies(neighbours.language())
        .map(|remedy| remedy.filled(filled))
        .collect::<Option<_>>()?;
    let is_moved =
        |metric: &str| row.metrics.get(metric).is_some_and(|it| it.perturbation.is_some());
    let moved = read.iter().any(|(_, metric, _)| is_moved(metric));
    let remedy = (!remedies.is_empty()).then(|| remedies.join(" "));
    Some(Advice {
        rule: rule.id.clone(),
        name: rule.name.clone(),
        message: rule.message.filled(filled)?,
        remedy,
        gain,
        certainty: if moved { rule.certainty.max(Certainty::Likely) } else { rule.certainty },
        configurations: Vec::new(),
        metrics: read.iter().map(|(_, metric, _)| (*metric).to_owned()).collect(),
    })
}

/// The inputs that have values: names, metrics and readings.
fn read<'r>(
    rule: &'r Rule,
    row: &ConfigurationResult,
    terms: &AdviceContext<'_>,
) -> Vec<(&'r str, &'r str, Reading)> {
    let one = |input: &'r super::rule::Input| {
        let mut metrics = input.metrics.iter();
        let found = metrics.find_map(|metric| Some((&**metric, reading(row, terms, metric)?)));
        found.map(|(metric, reading)| (&*input.name, metric, reading))
    };
    rule.inputs.iter().filter_map(one).collect()
}

/// All names that have values; the input at `moved` has the given other value.
fn bound<'r>(
    rule: &'r Rule,
    read: &[(&'r str, &'r str, Reading)],
    moved: Option<(usize, f64)>,
) -> Bound<'r> {
    let mut values: Bound<'r> =
        read.iter().map(|(name, _, reading)| (*name, reading.value)).collect();
    if let Some((at, value)) = moved {
        values.insert(read[at].0, value);
    }
    for (name, formula) in &rule.lets {
        let value = formula.evaluate(|name| values.get(name).copied());
        if let Some(value) = value.ok().filter(|value| value.is_finite()) {
            values.insert(name, value);
        }
    }
    values
}

fn speaks<'r>(rule: &'r Rule, read: &[(&'r str, &'r str, Reading)], values: &Bound<'r>) -> bool {
    let holds = |values: &Bound<'_>| rule.when.holds(&|name| values.get(name).copied()) == Ok(true);
    let silenced = |values: &Bound<'_>| {
        let unless = rule.unless.as_ref();
        unless.is_some_and(|it| it.holds(&|name| values.get(name).copied()) == Ok(true))
    };
    if !holds(values) || silenced(values) {
        return false;
    }
    let noisy = read.iter().enumerate().filter(|(_, (_, _, r))| r.low != r.high);
    let mut moved = noisy.flat_map(|(at, (_, _, r))| [(at, r.low), (at, r.high)]);
    moved.all(|moved| holds(&bound(rule, read, Some(moved))))
}

/// The first estimate with values for all inputs, within the possible.
fn gain(
    rule: &Rule,
    row: &ConfigurationResult,
    values: &Bound<'_>,
    terms: &AdviceContext<'_>,
) -> Option<Gain> {
    rule.estimates.iter().find_map(|estimate| {
        let percent = estimate.percent.evaluate(|name| values.get(name).copied()).ok()?;
        let percent = Some(percent).filter(|percent| percent.is_finite())?.clamp(0.0, 100.0);
        Some(match estimate.of {
            EstimateScope::Time => Gain::Time { percent: percent.min(room(rule, row, terms)) },
            EstimateScope::Use => Gain::Use { percent },
        })
    })
}

/// The most of the launch's time that can go away, in percent: a unit that the remedy takes no work
/// off needs at least as long as it would at its peak.
fn room(rule: &Rule, row: &ConfigurationResult, terms: &AdviceContext<'_>) -> f64 {
    let others = Unit::ALL.iter().filter(|(unit, ..)| !rule.relieves.contains(unit));
    let busy = others.filter_map(|(.., metric)| reading(row, terms, metric));
    let busiest = busy.map(|reading| reading.value).fold(0.0, f64::max);
    (100.0 - busiest).clamp(0.0, 100.0)
}

/// Whether neighbours follow the advice, and none of them is faster.
fn in_vain(
    rule: &Rule,
    tried: &Expectation,
    at: usize,
    neighbours: &Neighbours<'_>,
    terms: &AdviceContext<'_>,
) -> bool {
    let value_of = |at: usize| {
        let values = bound(rule, &read(rule, neighbours.row(at), terms), None);
        values.get(&*tried.name).copied()
    };
    let Some(own) = value_of(at) else { return false };
    let step = own.abs() * FOLLOWED;
    let follows = |other: f64| match tried.higher {
        true => other > own + step,
        false => other < own - step,
    };
    let others = neighbours.of_same_work(at).filter(|other| value_of(*other).is_some_and(follows));
    let followers: Vec<usize> = others.collect();
    !followers.is_empty() && !followers.iter().any(|&other| neighbours.is_faster(other, at))
}
