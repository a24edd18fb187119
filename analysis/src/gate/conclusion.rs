//! The conclusion: the outcome of a judged run as a whole.
//!
//! Input: a run with its judgements, changes and comparison, and the circumstances of its
//! measurement. Output: one sentence and the lists behind it, which every format shows. Invariant:
//! a slowdown in the sentence was simulated with the code that judges (`sensitivity`), or for a
//! stored baseline computed by the test that judges it. Stored runs without a conclusion get one
//! from their judgements.

mod counts;
mod cut;
mod findings;
mod headline;
mod measurement_context;
mod processes;
mod sensitivity;

use std::borrow::Cow;

use gpuprof_model::ExitCode;
use gpuprof_model::conclusion::{Conclusion, Cost, Ending};
use gpuprof_model::run::Run;

use crate::gate::nothing_judged::{self, Nothing};
use crate::gate::outcome::Gate;
use crate::sequential::FAIL_BUDGET;
use counts::{JudgedCounts, unfinished};
use findings::Findings;
use headline::Parts;

pub use cut::{Cut, ListedFinding, cut};
pub use measurement_context::MeasurementContext;

/// The conclusion of `run`; none if it has no threshold and no comparison.
pub fn conclude(run: &Run, measured: &MeasurementContext<'_>) -> Option<Conclusion> {
    let any = run.series.iter().any(|series| !series.judgements.is_empty());
    if !any && run.comparison.is_none() {
        return None;
    }
    let Findings { failed, improved, undecided } = findings::collect(run);
    let mut judged = JudgedCounts::count(run);
    // A threshold of another version of the tool may name a metric that this one does not know.
    let cases = [&failed, &undecided].map(|list| findings::configurations(list));
    judged.configurations = cases.into_iter().fold(judged.configurations, usize::max);
    let in_rounds = measured.base.filter(|_| judged.by_time > 0);
    let known = in_rounds.zip(measured.budget).map(|(base, budget)| {
        sensitivity::estimate(run, base, budget, measured.most_rounds.unwrap_or(u32::MAX))
    });
    let stored = (judged.by_time > 0 && measured.stored).then_some(measured.ability).flatten();
    let known = known.or_else(|| {
        stored.map(|ability| sensitivity::of_stored(ability, findings::scattered(&undecided)))
    });
    let unknown = (judged.by_time > 0 && measured.stored).then(|| UNKNOWN.to_owned());
    let (sensitivity, sensitivity_unknown) = match known {
        Some(Ok(sensitivity)) => (Some(sensitivity), None),
        Some(Err(reason)) => (None, Some(reason)),
        None => (None, unknown),
    };
    let mut conclusion = Conclusion {
        sentence: String::new(),
        ending: Ending::Holds,
        judged: judged.configurations,
        false_alarms: in_rounds.map(|_| FAIL_BUDGET),
        sensitivity,
        sensitivity_unknown,
        cost: Cost {
            seconds: measured.seconds,
            processes: match measured.base {
                Some(base) => processes::processes_per_side(run, base),
                None => processes::processes_after_looks(run),
            },
        },
        failed,
        improved,
        undecided,
    };
    let nothing = nothing_judged::found(run, false);
    conclusion.ending = ending(run, &conclusion, measured.slice, nothing.as_ref());
    let parts = Parts { run, conclusion: &conclusion, judged, measured, nothing: nothing.as_ref() };
    conclusion.sentence = parts.sentence();
    Some(conclusion)
}

/// Why nothing is said of slowdowns where nothing of a stored baseline is compared by its noise.
const UNKNOWN: &str = "the baseline has no times of several processes; `--base` measures both \
                       sides together";

/// The conclusion that `run` holds, or that of its judgements where it was stored without one.
pub fn stored_or_new(run: &Run) -> Option<Cow<'_, Conclusion>> {
    match &run.conclusion {
        Some(conclusion) => Some(Cow::Borrowed(conclusion)),
        None => conclude(run, &MeasurementContext::default()).map(Cow::Owned),
    }
}

/// The kind of end, from the exit code of the same run under `--strict`: whatever could end such a
/// run with another code than 0 keeps the sentence from saying that everything holds.
fn ending(run: &Run, conclusion: &Conclusion, slice: bool, nothing: Option<&Nothing>) -> Ending {
    let strict = Gate { strict: true, slice, ..Gate::default() };
    match strict.exit_code_with(run, nothing) {
        _ if unfinished(run) > 0 => Ending::Unfinished,
        ExitCode::ThresholdFailed => match conclusion.failed.iter().any(findings::is_regression) {
            true => Ending::Regression,
            false => Ending::Violation,
        },
        _ if conclusion.judged == 0 || matches!(nothing, Some(Nothing::Compared(_))) => {
            Ending::NothingJudged
        }
        ExitCode::Success => Ending::Holds,
        _ => Ending::Undecided,
    }
}

#[cfg(test)]
#[path = "conclusion_tests.rs"]
mod tests;
