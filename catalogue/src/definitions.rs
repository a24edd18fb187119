//! Metrics that a file defines by formulas, and directions that it sets.
//!
//! Input: a catalogue, and the definitions or directions of a file. Output: the catalogue with
//! these, or all refusals with the name of the file and of the metric.

use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Definition, DefinitionProblem, Direction};
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
