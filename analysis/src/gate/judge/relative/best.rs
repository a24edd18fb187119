//! The best of both sides measured in rounds, corrected for the selection.
//!
//! Input: both sides' configurations. Output: the decision, and which need more rounds. The first
//! [`CHOOSING`] rounds choose the base's best configuration and [`CHOSEN`] of the head's; the later
//! rounds judge, so that the luck that made a configuration look best does not count in its favour:
//!
//! * It passes if one of the chosen is within the limit of the base's best, each at its share of
//!   the level.
//! * It fails if every configuration of the head is beyond the limit: the union of their questions
//!   has the level of one, and each has that of a failure of the run.

use gpuprof_model::configuration::Configuration;
use gpuprof_model::metric::Metric;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::{Threshold, Tolerance};

use super::verdict::ConfigurationPair;
use crate::compared_pair::Side;
use crate::gate::judge::absolute::better_is_safe;
use crate::sequential::{CHOOSING, CHOSEN, CriticalValues, Decision};

/// The head's configurations against the base's best one, the best first.
pub(super) struct Contest<'r> {
    /// The base's best.
    reference: &'r Configuration,
    /// The head's configurations, of which the first [`CHOSEN`] were chosen.
    contenders: Vec<ConfigurationPair<'r>>,
}

impl<'r> Contest<'r> {
    /// The configurations with a value on either side; none if these are not noisy, so that their
    /// values decide, and if a better value could be beyond the limit, so that one good
    /// configuration is not enough.
    pub(super) fn new(
        threshold: &Threshold,
        tolerance: Tolerance,
        metric: &Metric,
        (ours, theirs): (&'r [ConfigurationResult], &'r [ConfigurationResult]),
        bounds: &'r CriticalValues,
    ) -> Option<Self> {
        let direction = threshold.wanted(metric);
        if !better_is_safe(threshold.comparison, direction) {
            return None;
        }
        let ordered = |rows: &'r [ConfigurationResult]| {
            let with_side =
                |row| Some((row, Side::from_row(row, &metric.name, threshold.statistic).ok()?));
            let mut all: Vec<(&ConfigurationResult, Side)> =
                rows.iter().filter_map(with_side).collect();
            let first = |side: &Side| side.first_processes(CHOOSING).unwrap_or(side.value);
            all.sort_by(|a, b| {
                let (a, b) = (first(&a.1), first(&b.1));
                match (direction.better(a, b), direction.better(b, a)) {
                    (true, _) => std::cmp::Ordering::Less,
                    (_, true) => std::cmp::Ordering::Greater,
                    _ => std::cmp::Ordering::Equal,
                }
            });
            all
        };
        let (heads, bases) = (ordered(ours), ordered(theirs));
        let noisy = |all: &[(&ConfigurationResult, Side)]| {
            !all.is_empty() && all.iter().all(|(_, side)| side.is_noisy())
        };
        if !noisy(&heads) || !noisy(&bases) {
            return None;
        }
        let (reference, before) = bases.into_iter().next()?;
        let contender = |((row, after), place): ((&'r ConfigurationResult, Side), usize)| {
            let pair = (row, before.clone(), after);
            ConfigurationPair::of_the_best(pair, threshold, tolerance, bounds, place < CHOSEN)
        };
        let contenders = heads.into_iter().zip(0..).map(contender).collect();
        Some(Self { reference: &reference.configuration, contenders })
    }

    /// The pair that decides: a chosen pair that passes or is open. If all chosen pairs are beyond
    /// the limit, an open pair decides, and otherwise the best.
    pub(super) fn decider(mut self) -> Option<ConfigurationPair<'r>> {
        let chosen = || self.contenders.iter().take(CHOSEN);
        let within = |held: &ConfigurationPair<'_>| matches!(decision(held), Decision::Within(_));
        let at = chosen()
            .position(within)
            .or_else(|| chosen().position(is_open))
            .or_else(|| self.contenders.iter().position(is_open))
            .unwrap_or(0);
        (at < self.contenders.len()).then(|| self.contenders.swap_remove(at))
    }

    /// The configurations that need more rounds, with their numbers: the undecided candidates until
    /// one passes; the other configurations once all candidates are beyond the limit; and always
    /// the best of the base.
    pub(super) fn wanted(&self) -> Vec<(&'r Configuration, u32)> {
        let chosen = &self.contenders[..self.contenders.len().min(CHOSEN)];
        if chosen.iter().any(|held| matches!(decision(held), Decision::Within(_))) {
            return Vec::new();
        }
        let open = if chosen.iter().any(is_open) { chosen } else { &self.contenders };
        let next_look = |held: &ConfigurationPair<'r>| {
            let look = held.in_rounds.as_ref()?.wanted()?;
            Some((&held.configuration.configuration, look))
        };
        let mut wanted: Vec<(&Configuration, u32)> = open.iter().filter_map(next_look).collect();
        if let Some(most) = wanted.iter().map(|(_, look)| *look).max() {
            wanted.push((self.reference, most));
        }
        wanted
    }
}

fn decision(held: &ConfigurationPair<'_>) -> Decision {
    held.in_rounds.as_ref().map_or(Decision::OPEN, |rounds| rounds.decision)
}

fn is_open(held: &ConfigurationPair<'_>) -> bool {
    decision(held).is_open()
}

#[cfg(test)]
#[path = "best_tests.rs"]
mod tests;
