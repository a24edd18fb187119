//! The key `metrics`: names to show, or a table of metrics that the user defines.
//!
//! Input: `metrics = ["duration"]`, or `[metrics]` with `show = ["duration"]` and a table for
//! each new metric: `[metrics.my_ratio]` with `formula`, `unit` and `direction`. Output: the
//! names, and the definitions, which a catalogue is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use gpuprof_model::ExitCode;
use gpuprof_model::metric::{Catalogue, Definition, DefinitionProblem, Direction};
use gpuprof_model::quantity::Unit;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::{Failure, Result};

/// What the key `metrics` says. As a list it is that of the names to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// Metrics to show.
    pub show: Vec<String>,
    /// Metrics by formulas.
    pub defined: BTreeMap<String, MetricDefinition>,
}

/// A metric by a formula.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricDefinition {
    /// The formula: `+ - * /`, parentheses, numbers and metrics.
    pub formula: String,
    /// The base unit of its values: count, ratio, %, ns, B, B/s, FLOP/s or Hz.
    #[serde(default = "ratio")]
    pub unit: Unit,
    /// Which way is better.
    #[serde(default = "higher")]
    pub direction: Direction,
    /// What it is, in one line.
    pub description: Option<String>,
}

fn ratio() -> Unit {
    Unit::Ratio
}

fn higher() -> Direction {
    Direction::Higher
}

impl Metrics {
    /// The definitions.
    pub fn definitions(&self) -> Vec<Definition> {
        let definition = |(name, metric): (&String, &MetricDefinition)| Definition {
            name: name.clone(),
            formula: metric.formula.clone(),
            unit: metric.unit,
            direction: metric.direction,
            description: metric.description.clone(),
        };
        self.defined.iter().map(definition).collect()
    }
}

impl Deref for Metrics {
    type Target = Vec<String>;

    fn deref(&self) -> &Vec<String> {
        &self.show
    }
}

impl<'m> IntoIterator for &'m Metrics {
    type Item = &'m String;
    type IntoIter = std::slice::Iter<'m, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.show.iter()
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Metrics;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of metrics, or a table of new ones")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut names: A,
            ) -> std::result::Result<Metrics, A::Error> {
                let mut metrics = Metrics::default();
                while let Some(name) = names.next_element()? {
                    metrics.show.push(name);
                }
                Ok(metrics)
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut table: A,
            ) -> std::result::Result<Metrics, A::Error> {
                let mut metrics = Metrics::default();
                while let Some(key) = table.next_key::<String>()? {
                    if key == "show" {
                        metrics.show = table.next_value()?;
                    } else {
                        metrics.defined.insert(key, table.next_value()?);
                    }
                }
                Ok(metrics)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

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

fn refusal(path: &str, name: &str, formula: &str, problem: DefinitionProblem) -> String {
    let message = match problem {
        DefinitionProblem::Formula(error) => {
            return error.render(&format!("{path}, metric `{name}`"), formula);
        }
        DefinitionProblem::Name => {
            "a metric's name has letters, digits and single underscores".to_owned()
        }
        DefinitionProblem::Taken => "there is a metric of this name already".to_owned(),
        DefinitionProblem::Differs => {
            "it is defined already, with another formula, unit or direction; choose another name"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<(Config, Catalogue)> {
        let config = Config::parse(text, "gpuprof.toml".into())?;
        let catalogue = config.define(&Catalogue::built_in())?;
        Ok((config, catalogue))
    }

    #[test]
    fn a_table_defines_metrics_and_may_say_what_to_show() {
        let (config, catalogue) = parse(
            "[metrics]\nshow = [\"m_bytes_an_instruction\"]\n[metrics.m_bytes_an_instruction]\n\
             formula = \"bytes / smsp__inst_executed.sum\"\nunit = \"B\"\ndirection = \"higher\"\n",
        )
        .unwrap();
        assert_eq!(config.metrics.show, ["m_bytes_an_instruction"]);
        let metric = catalogue.find("m_bytes_an_instruction").unwrap();
        assert_eq!((metric.unit, metric.direction), (Unit::Bytes, Direction::Higher));
        assert_eq!(parse("metrics = [\"duration\"]").unwrap().0.metrics.show, ["duration"]);
    }

    #[test]
    fn what_is_wrong_with_a_definition_is_told_with_its_place() {
        let error = |text: &str| {
            let failure = parse(text).unwrap_err();
            assert_eq!(failure.code, ExitCode::Configuration);
            failure.message
        };
        assert_eq!(
            error("[metrics.m_x]\nformula = \"duraton / 2\""),
            "gpuprof.toml: metric `m_x`: no metric is called `duraton`: did you mean `duration`?"
        );
        assert_eq!(
            error("[metrics.m_a]\nformula = \"m_b\"\n[metrics.m_b]\nformula = \"2 * m_a\""),
            "gpuprof.toml: metric `m_a`: it depends on itself: m_a → m_b → m_a"
        );
        assert_eq!(
            error("[metrics.m_c]\nformula = \"1 +\""),
            "expected a number or a metric\n  --> gpuprof.toml, metric `m_c`\n   |\n   | 1 +\n   |    ^"
        );
        assert_eq!(
            error(
                "[metrics.m_e]\nformula = \"duraton / byts\"\n[metrics.m_f]\nformula = \"m_e + flosp\"\n\
                 [metrics.duration]\nformula = \"1\""
            ),
            "gpuprof.toml: metric `duration`: there is a metric of this name already\n\
             gpuprof.toml: metric `m_e`: no metric is called `duraton`: did you mean `duration`?\n\
             gpuprof.toml: metric `m_e`: no metric is called `byts`: did you mean `bytes`?\n\
             gpuprof.toml: metric `m_f`: no metric is called `flosp`: did you mean `flops`?"
        );
        // A preset would be heard by nobody: what a metric is does not depend on who asks.
        assert_eq!(
            error(
                "[metrics.m_g]\nformula = \"1\"\n[preset.ci.metrics.m_g]\nformula = \"2\"\n\
                 [preset.night.metrics.m_g]\nformula = \"1\"\nunit = \"B\""
            ),
            "gpuprof.toml: metric `m_g`: it is defined already, with another formula, unit or direction; choose another \
             name\ngpuprof.toml: metric `m_g`: it is defined already, with another formula, unit or direction; choose \
             another name"
        );
        let text = error("[metrics.m_d]\nformule = \"1\"");
        assert!(text.contains("line 2") && text.contains("unknown field `formule`"), "{text}");
    }
}
