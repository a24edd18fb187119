//! Predicts, before any measurement, the power of a run against a stored baseline.
//!
//! Input: the plan. Output: a line on standard error, and a warning where the baseline has too few
//! processes to decide 99 % of unchanged runs: its side cannot grow, so waiting would not help.

use gpuprof_analysis::gate::prediction::{Ability, ability, fewest_processes};
use gpuprof_analysis::stats::two_sample::MIN_PROCESSES;
use gpuprof_model::run::Run;

use crate::commands::run::measure::results::budget;
use crate::commands::run::prepare::prepared::Plan;
use gpuprof_system::console;

/// Reports the decisions that the stored baseline of `plan` allows; nothing if the run has none, or
/// takes no times.
pub(in crate::commands) fn tell(plan: &Plan) {
    let Some((name, found)) = able(plan, plan.repeat.least) else { return };
    let text = sentence(name, &found);
    match found.keeps_promise() {
        true => plan.inputs.notes().say(text),
        false => console::warn(text),
    }
}

/// The same for `run`, which has been measured.
pub(in crate::commands) fn once_measured(plan: &Plan, run: &Run) -> Option<Ability> {
    able(plan, fewest_processes(run)?).map(|(_, ability)| ability)
}

/// The decisions that the stored baseline of `plan` allows with so many processes here; with its
/// name.
fn able(plan: &Plan, repeat: u32) -> Option<(&str, Ability)> {
    let against = plan.inputs.against.as_ref()?;
    let base = against.run.as_ref().ok().filter(|_| !plan.devices.emulated)?;
    let limits = plan.limits();
    let heads = plan.both.heads().iter().map(|head| &head.planned).zip(&limits);
    let heads = heads.map(|(head, own)| (&head.series.id, &head.configurations[..], &own[..]));
    let found = ability(&plan.catalogue, heads, base, &budget(plan), repeat)?;
    Some((&against.name, found))
}

/// With fewer processes than these a forecast is marked as rough.
const FEW: usize = 7;

/// The text of `ability` for the baseline called `name`.
fn sentence(name: &str, ability: &Ability) -> String {
    let Ability { questions, hopeless, processes, repeat, .. } = ability;
    let anew = match ability.needed {
        Some(count) => format!("record a new baseline with --repeat {count}, and run with it"),
        None => "no --repeat up to 50 is enough".to_owned(),
    };
    let remedy = format!("--base REV measures both sides here until they are decided; else {anew}");
    if *hopeless > 0 {
        return format!(
            "the baseline `{name}` cannot decide {hopeless} of {questions} comparisons, which will \
             be inconclusive: a difference needs {MIN_PROCESSES} processes a side, and there are \
             {processes} in the baseline and {repeat} here; {remedy}"
        );
    }
    let decides = 100.0 * ability.decides;
    let catches = ability
        .catches_percent
        .map(|percent| format!("; one configuration that is {percent:.1}% worse fails in 95%"));
    let mut text = format!(
        "the baseline `{name}` has {processes} processes a configuration, this run {repeat}: about \
         {decides:.0}% of runs in which nothing changed decide all of {questions} comparisons{}",
        catches.unwrap_or_default(),
    );
    if *processes < FEW {
        text.push_str("; so few processes know little of the noise, and it may be 15% fewer runs");
    }
    if !ability.keeps_promise() {
        text.push_str(&format!(" (noisiest: {}). {remedy}", ability.noisiest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ability() -> Ability {
        Ability {
            questions: 48,
            hopeless: 0,
            processes: 7,
            repeat: 7,
            decides: 0.997,
            catches_percent: Some(3.24),
            noisiest: "block=64".into(),
            needed: Some(5),
        }
    }

    #[test]
    fn a_good_baseline_names_the_slowdown_it_catches() {
        assert_eq!(
            sentence("main", &ability()),
            "the baseline `main` has 7 processes a configuration, this run 7: about 100% of runs in \
             which nothing changed decide all of 48 comparisons; one configuration that is 3.2% \
             worse fails in 95%"
        );
    }

    #[test]
    fn a_weak_baseline_is_reported_with_the_remedy() {
        let weak = Ability { decides: 0.61, needed: Some(14), ..ability() };
        assert!(
            sentence("main", &weak).ends_with(
                "(noisiest: block=64). --base REV measures both sides here until they are decided; \
                 else record a new baseline with --repeat 14, and run with it"
            ),
            "{}",
            sentence("main", &weak)
        );
        let never = Ability { needed: None, ..weak };
        assert!(sentence("main", &never).ends_with("else no --repeat up to 50 is enough"));
    }

    #[test]
    fn a_forecast_from_few_processes_is_reported_to_be_rough() {
        let few = Ability { processes: 4, ..ability() };
        let text = sentence("main", &few);
        assert!(
            text.ends_with(
                "in 95%; so few processes know little of the noise, and it may be \
                                15% fewer runs"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_baseline_that_decides_nothing_is_reported() {
        let none = Ability { hopeless: 40, processes: 2, needed: None, ..ability() };
        assert!(
            sentence("old", &none).starts_with(
                "the baseline `old` cannot decide 40 of 48 comparisons, which will be \
                 inconclusive: a difference needs 3 processes a side, and there are 2 in the \
                 baseline and 7 here; --base REV"
            ),
            "{}",
            sentence("old", &none)
        );
    }
}
