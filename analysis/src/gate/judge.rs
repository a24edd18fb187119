//! Judging: one verdict for one threshold over the configurations of a series.
//!
//! Input: a threshold, the configurations it may apply to, and the device. Output: a [`Judgement`]
//! with the value and configuration that decided. Invariant: a pass needs every value in the
//! threshold's scope. The rules:
//!
//! * `best` takes the best value, by the metric's direction, among finished configurations. A
//!   missing one could only have been better, so it prevents a pass only if better values could
//!   violate the limit (`best duration >= …`, `==`).
//! * `every` and `where` are decided by the worst offender: the violating value farthest from the
//!   limit. Without one, a configuration that did not finish makes the verdict `missing`, a value
//!   that this machine cannot provide makes it `unavailable`; else it is a pass, with the value
//!   closest to the limit.
//! * A noisy value meets or violates a fixed limit if its processes show it surely (`fixed`): with
//!   `every`, each at 5 % for a pass, and all noisy questions of the run within 1 % for failures;
//!   with `best`, some configuration at 5 % shared by all of them, or none at all. Otherwise the
//!   verdict is `inconclusive`. If such a run adds processes to open configurations, the first look
//!   has a part of both levels, and the later looks have the rest.
//! * An estimate meets or violates a fixed limit if its whole interval does; a limit inside the
//!   interval makes the verdict `inconclusive`.
//! * If no finished configuration has a value, the verdict is `unavailable` whatever happened to
//!   the others, since the machine cannot provide the metric.
//! * A value that is `unstable`, since the GPU was slowed down during the measurement, counts as
//!   noise: if nothing else decides, the verdict is `inconclusive`.
//! * A limit relative to the baseline has separate rules, in `relative`.
//! * Configurations with an `invalid` launch cannot exist on the device and are left out; if that
//!   leaves nothing, the verdict is `missing`.

mod absolute;
mod context;
pub(in crate::gate) mod fixed;
mod reference;
mod relative;

use gpuprof_model::code::{AccessCost, CostlyLine, costliest};
use gpuprof_model::configuration::Configuration;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::{Limit, Threshold};
use gpuprof_model::verdict::{Judgement, Layer, Verdict};

pub use context::JudgeContext;
use fixed::Looks;
pub use reference::Baseline;

/// Judges `threshold`, written in `origin`, over the `configurations` of one series. `baseline` is
/// the reference of relative limits.
pub fn judge(
    terms: JudgeContext<'_>,
    threshold: &Threshold,
    origin: impl Into<Layer>,
    configurations: &[ConfigurationResult],
    baseline: &Baseline<'_>,
) -> Judgement {
    let blank = Judgement {
        threshold: threshold.clone().into(),
        origin: origin.into(),
        place: None,
        severity: threshold.severity,
        verdict: Verdict::Missing,
        value: None,
        limit: None,
        baseline: None,
        margin_percent: None,
        confidence: None,
        interval: None,
        source: None,
        configuration: None,
        costly: None,
        reason: None,
        violations: Vec::new(),
        improved: Vec::new(),
        undecided: Vec::new(),
    };
    let judged = match threshold.limit {
        Limit::Baseline(tolerance) => {
            relative::judge(terms, blank, threshold, tolerance, configurations, baseline)
        }
        Limit::Absolute(_) | Limit::PercentOfPeak(_) => {
            let looks = plan_looks(terms, baseline);
            absolute::judge(terms, blank, threshold, configurations, looks)
        }
    };
    let costs = AccessCost::of_derived(&threshold.metric, terms.catalogue);
    Judgement { costly: costly_line(&judged, &costs, configurations), ..judged }
}

/// The line with most of these `costs` of a metric, if `judged` is a violation of a threshold on
/// it, in the configuration that decided.
pub fn costly_line(
    judged: &Judgement,
    costs: &[AccessCost],
    configurations: &[ConfigurationResult],
) -> Option<CostlyLine> {
    let key = judged.configuration.as_deref().filter(|_| judged.verdict == Verdict::Fail)?;
    let mut rows = configurations.iter().filter(|_| !costs.is_empty());
    let row = rows.find(|row| row.configuration.to_string() == key)?;
    costliest(&row.costly, costs).cloned()
}

/// The `configurations` that `threshold` leaves undecided and that may be measured further, with
/// the number of rounds for each.
pub fn wanted<'r>(
    terms: JudgeContext<'r>,
    threshold: &Threshold,
    configurations: &'r [ConfigurationResult],
    baseline: &Baseline<'r>,
) -> Vec<(&'r Configuration, u32)> {
    match threshold.limit {
        Limit::Baseline(tolerance) => {
            relative::wanted(terms, threshold, tolerance, configurations, baseline)
        }
        Limit::Absolute(_) | Limit::PercentOfPeak(_) => {
            absolute::wanted(terms, threshold, configurations, plan_looks(terms, baseline))
        }
    }
}

fn plan_looks(terms: JudgeContext<'_>, baseline: &Baseline<'_>) -> Looks {
    match baseline {
        Baseline::Held { in_rounds: true, .. } => Looks::InRounds,
        Baseline::Held { in_rounds: false, .. }
        | Baseline::Absent(_)
        | Baseline::Incomparable(_) => {
            terms.first_look.map_or(Looks::Once, |first| Looks::After(first as usize))
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "judge/fixed_tests.rs"]
mod fixed_tests;

#[cfg(test)]
#[path = "judge/estimated_tests.rs"]
mod estimated_tests;
