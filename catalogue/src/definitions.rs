//! Metrics that a file defines by formulas, directions that it sets, and counters that it names.
//!
//! Input: a catalogue, and the definitions or directions of a file. Output: the catalogue with
//! these, or all refusals with the name of the file and of the metric; a counter that no chip has
//! with its line.

use std::collections::BTreeSet;

use crate::chips::Chips;
use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Definition, DefinitionProblem, Direction, Origin};
use gpuprof_system::error::{Failure, Result};

/// `catalogue` and the metrics that the file `path` defines.
///
/// # Errors
/// All that are refused, each with its place (exit code 96).
pub fn define(catalogue: &Catalogue, definitions: &[Definition], path: &str) -> Result<Catalogue> {
    catalogue.with_definitions(definitions).map_err(|problems| {
        let message = |(name, problem): (String, DefinitionProblem)| {
            let formula = definitions.iter().find(|d| d.name == name).map_or("", |d| &d.formula);
            refusal(path, &name, formula, problem)
        };
        let messages: Vec<String> = problems.into_iter().map(message).collect();
        Failure::new(ExitCode::Configuration, messages.join("\n"))
    })
}

/// `catalogue` with the `directions` that the file `path` sets for metrics that are known.
///
/// # Errors
/// All that are refused (exit code 96).
pub fn direct<'d>(
    catalogue: &Catalogue,
    directions: impl IntoIterator<Item = (&'d str, Direction)>,
    path: &str,
) -> Result<Catalogue> {
    catalogue.with_directions(directions, path).map_err(|problems| {
        let placed = problems.into_iter().map(|problem| format!("{path}: {problem}"));
        Failure::new(ExitCode::Configuration, placed.collect::<Vec<_>>().join("\n"))
    })
}

/// Whether the metric `name` is a counter of the hardware by its own name.
pub fn is_counter(name: &str) -> bool {
    let found = Catalogue::built_in().find(name);
    found.is_some_and(|metric| metric.origin == Origin::Hardware(metric.name.clone()))
}

/// Refuses those of `counters`, which the file with this path and text names, that no recorded chip
/// has; `knows` is asked about these, since an installed CUPTI may be newer.
///
/// # Errors
/// There are some (exit code 96), each with its line and the nearest names.
pub fn check_counters<'n>(
    counters: impl Iterator<Item = &'n str>,
    file: (&str, &str),
    knows: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let counters: BTreeSet<&str> = counters.collect();
    if counters.is_empty() {
        return Ok(());
    }
    let chips = Chips::shipped();
    let refused = |name: &&str| {
        let problem = chips.validate(name, None).err().filter(|_| !knows(name))?;
        let near = chips.nearest(name, None).filter(|_| problem.is_unknown());
        let near = near.map(|near| format!(": {near}")).unwrap_or_default();
        Some(format!("{}: {problem}{near}", place(file, name)))
    };
    match counters.iter().filter_map(refused).collect::<Vec<_>>() {
        none if none.is_empty() => Ok(()),
        refused => Err(Failure::new(ExitCode::Configuration, refused.join("\n"))),
    }
}

/// The file with this path and text, and the line that has `name`.
pub(crate) fn place((path, text): (&str, &str), name: &str) -> String {
    let on = |written: &str| text.lines().position(|line| line.contains(written));
    // Another name may begin with it.
    let line = on(&format!("\"{name}\"")).or_else(|| on(name));
    line.map_or_else(|| path.to_owned(), |line| format!("{path}:{}", line + 1))
}

fn refusal(path: &str, name: &str, formula: &str, problem: DefinitionProblem) -> String {
    let message = match problem {
        DefinitionProblem::Formula(error) => {
            return error.render(&format!("{path}, metric `{name}`"), formula);
        }
        DefinitionProblem::Name => {
            "a metric's name has letters, digits and single underscores".to_owned()
        }
        DefinitionProblem::Taken => "a metric of this name already exists".to_owned(),
        DefinitionProblem::Differs => {
            "it is already defined with another formula, unit or direction; choose another name"
                .to_owned()
        }
        DefinitionProblem::Operand(message) => message,
        DefinitionProblem::Cycle(way) => on_itself(&way),
    };
    format!("{path}: metric `{name}`: {message}")
}

/// That a metric depends on itself by this `way`.
pub fn on_itself(way: &[String]) -> String {
    format!("it depends on itself: {}", way.join(" → "))
}
