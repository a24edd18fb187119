//! Whether a configuration meets a limit that is a number, surely.
//!
//! Input: the number of each process, and the limit. Output: within, beyond, or open. An exact
//! metric has one number, which decides; so does a noisy one of fewer than three processes, of
//! whose noise nothing is known. Rounds are decided by the sign test of their looks, other
//! processes by Student's t.

use gpuprof_model::metric::Class;
use gpuprof_model::threshold::Comparison;

use crate::gate::budget::Budget;
use crate::sequential::{CHOOSING, CHOSEN, Decision, LOOKS, next_look};
use crate::stats::median::median;
use crate::stats::one_sample::Distance;
use crate::stats::two_sample::BOUND;

/// What a configuration comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sure {
    /// It meets the limit.
    Within,
    /// It violates it.
    Beyond,
    /// Neither is sure: why, and up to how many rounds it is to be measured, where more could tell.
    Open(String, Option<u32>),
}

/// What is known of a configuration.
pub(super) struct Known<'k> {
    /// The number that is shown.
    pub value: f64,
    /// That of each process.
    pub processes: &'k [f64],
    /// Whether it is exact.
    pub class: Class,
    /// The step in which it is read.
    pub resolution: f64,
}

/// A limit, and how surely it must be met or violated.
#[derive(Clone, Copy)]
pub(super) struct Limited<'b> {
    /// On which side a number is to lie.
    pub comparison: Comparison,
    /// The limit.
    pub limit: f64,
    /// The error budget of the run.
    pub budget: &'b Budget,
    /// Whether processes were measured in rounds.
    pub in_rounds: bool,
    /// Of how many configurations one suffices: each may be wrong so many times less often.
    pub one_of: usize,
}

impl Limited<'_> {
    /// What a configuration comes to.
    pub(super) fn judge(&self, known: &Known<'_>) -> Sure {
        let by_value = || match self.comparison.holds(known.value, self.limit) {
            true => Sure::Within,
            false => Sure::Beyond,
        };
        if known.class == Class::Exact {
            return by_value();
        }
        if self.in_rounds {
            return self.in_rounds(known.processes, 1.0);
        }
        let distance = Distance::of(known.processes, self.limit, known.resolution);
        distance.map_or_else(by_value, |distance| self.by_processes(&distance, known))
    }

    fn by_processes(&self, distance: &Distance, known: &Known<'_>) -> Sure {
        #[expect(clippy::cast_precision_loss, reason = "configurations are counted")]
        let pass = (1.0 - BOUND) / self.one_of as f64;
        let fail = self.budget.significance_fixed();
        let (above, below) = (distance.probability_above(), distance.probability_below());
        let upwards = matches!(self.comparison, Comparison::AtMost | Comparison::Below);
        let (beyond, within) = if upwards { (above, below) } else { (below, above) };
        if within <= pass {
            return Sure::Within;
        }
        if beyond <= fail {
            return Sure::Beyond;
        }
        let outside = (distance.above > 0.0) == upwards;
        let level = if outside { fail } else { pass };
        let told = |amount: f64| match distance.relative {
            true => format!("{:.2}%", 100.0 * amount.abs().exp_m1()),
            false => format!("{:.4}", amount.abs()),
        };
        let advice = match distance.processes_needed(level) {
            Some(count) => format!("--repeat {count} would decide"),
            None => "no --repeat would decide: the limit is too close for this noise".to_owned(),
        };
        let side = if outside { "beyond" } else { "inside" };
        let text = format!(
            "{} processes do not decide: their mean is {} {side} the limit, and the noise reaches \
             {}; {advice}",
            known.processes.len(),
            told(distance.above),
            told(distance.reach(level)),
        );
        Sure::Open(text, None)
    }

    /// What rounds come to; a pass is one at a `share` of its usual level.
    pub(super) fn in_rounds(&self, processes: &[f64], share: f64) -> Sure {
        let decision =
            self.budget.fixed.decide_fixed(self.comparison, self.limit, processes, share);
        match decision {
            Decision::Within(_) => Sure::Within,
            Decision::Beyond(_) | Decision::SlowSubpopulation(_) => Sure::Beyond,
            Decision::Open { .. } => {
                let count = u32::try_from(processes.len()).unwrap_or(u32::MAX);
                let met = processes.iter().filter(|v| self.comparison.holds(**v, self.limit));
                let text = format!(
                    "{count} processes do not decide: {} of them meet the limit",
                    met.count()
                );
                Sure::Open(text, next_look(count))
            }
        }
    }

    /// What the best of several configurations come to that were measured in rounds: the first
    /// processes choose [`CHOSEN`] of them, and the others judge these, so that the choice does not
    /// flatter them. Each comes with its place among `all`; `better` says which of two is.
    pub(super) fn best_in_rounds(
        &self,
        all: &[&[f64]],
        better: impl Fn(f64, f64) -> bool,
    ) -> Vec<(usize, Sure)> {
        let first = |values: &&[f64]| median(&values[..values.len().min(CHOOSING)]);
        let mut order: Vec<(usize, f64)> =
            all.iter().enumerate().filter_map(|(at, values)| Some((at, first(values)?))).collect();
        order.sort_by(|a, b| match (better(a.1, b.1), better(b.1, a.1)) {
            (true, _) => std::cmp::Ordering::Less,
            (_, true) => std::cmp::Ordering::Greater,
            _ => std::cmp::Ordering::Equal,
        });
        order.truncate(CHOSEN);
        let [first_look, ..] = LOOKS;
        let choosing = u32::try_from(CHOOSING).unwrap_or(u32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let share = 1.0 / CHOSEN as f64;
        let judged = |(at, _): (usize, f64)| {
            let rest = all[at].get(CHOOSING..).unwrap_or_default();
            let sure = match self.in_rounds(rest, share) {
                Sure::Open(text, look) => {
                    let look = if rest.is_empty() { Some(first_look) } else { look };
                    Sure::Open(text, look.map(|look| look + choosing))
                }
                sure => sure,
            };
            (at, sure)
        };
        order.into_iter().map(judged).collect()
    }
}
