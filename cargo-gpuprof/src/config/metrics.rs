//! The key `metrics`: names to show, or a table of metrics that the user defines.
//!
//! Input: `metrics = ["duration"]`, or `[metrics]` with `show = ["duration"]` and a table for
//! each new metric: `[metrics.my_ratio]` with `formula`, `unit` and `direction`. Without a formula
//! the table sets the direction of a metric that is known: `[metrics.registers]`. Output: the
//! names, the definitions and the directions, which a catalogue is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use gpuprof_model::metric::{Definition, Direction};
use gpuprof_model::quantity::Unit;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The value of the key `metrics`. A list has the names of the metrics to show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// Metrics to show.
    pub show: Vec<String>,
    /// Metrics by formulas, and directions of other metrics.
    pub defined: BTreeMap<String, MetricDefinition>,
}

/// A metric by a formula, or without one the direction of a metric that is known.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricDefinition {
    /// The formula: `+ - * /`, parentheses, numbers and metrics.
    pub formula: Option<String>,
    /// The base unit of its values: count, ratio, %, ns, B, B/s, FLOP/s, Hz or J. By default, a
    /// ratio.
    pub unit: Option<Unit>,
    /// Which way is better: lower, higher or none. Of a new metric higher by default.
    pub direction: Option<Direction>,
    /// Its description, in one line.
    pub description: Option<String>,
}

impl Metrics {
    /// The definitions.
    pub fn definitions(&self) -> Vec<Definition> {
        let definition = |(name, metric): (&String, &MetricDefinition)| {
            Some(Definition {
                name: name.clone(),
                formula: metric.formula.clone()?,
                unit: metric.unit.unwrap_or(Unit::Ratio),
                direction: metric.direction.unwrap_or(Direction::Higher),
                description: metric.description.clone(),
            })
        };
        self.defined.iter().filter_map(definition).collect()
    }

    /// The directions that it sets for metrics that are known.
    ///
    /// # Errors
    /// The name of a metric that has neither a formula nor a direction alone.
    pub fn directions(&self) -> std::result::Result<Vec<(&str, Direction)>, &str> {
        let mut all = Vec::new();
        for (name, metric) in self.defined.iter().filter(|(_, metric)| metric.formula.is_none()) {
            match metric {
                MetricDefinition { unit: None, description: None, direction: Some(d), .. } => {
                    all.push((name.as_str(), *d));
                }
                _ => return Err(name),
            }
        }
        Ok(all)
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

#[cfg(test)]
mod tests {
    use gpuprof_model::ExitCode;
    use gpuprof_model::metric::Catalogue;
    use gpuprof_system::error::Result;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> Result<(Config, Catalogue)> {
        let config = Config::parse(text, "gpuprof.toml".into())?;
        let catalogue = config.define(&Catalogue::built_in())?;
        Ok((config, catalogue))
    }

    #[test]
    fn metric_tables_define_metrics_and_columns() {
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
    fn a_table_without_a_formula_sets_the_direction_of_a_known_metric() {
        let text = "[metrics.registers]\ndirection = \"none\"\n\
                    [metrics.\"sm__ctas_launched.sum\"]\ndirection = \"lower\"\n";
        let (_, catalogue) = parse(text).unwrap();
        for (name, expected) in [
            ("registers", Direction::Neither),
            ("launch__registers_per_thread", Direction::Neither),
            ("sm__ctas_launched.sum", Direction::Lower),
        ] {
            let metric = catalogue.find(name).unwrap();
            assert_eq!(metric.direction, expected, "{name}");
            assert_eq!(metric.direction_set.as_deref(), Some("gpuprof.toml"), "{name}");
        }
    }

    #[test]
    fn errors_in_a_definition_have_their_position() {
        let error = |text: &str| {
            let failure = parse(text).unwrap_err();
            assert_eq!(failure.code, ExitCode::Configuration);
            failure.message
        };
        assert_eq!(
            error("[metrics.m_x]\nformula = \"duraton / 2\""),
            "gpuprof.toml: metric `m_x`: no metric is named `duraton`: did you mean `duration`?"
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
            "gpuprof.toml: metric `duration`: a metric of this name already exists\n\
             gpuprof.toml: metric `m_e`: no metric is named `duraton`: did you mean `duration`?\n\
             gpuprof.toml: metric `m_e`: no metric is named `byts`: did you mean `bytes`?\n\
             gpuprof.toml: metric `m_f`: no metric is named `flosp`: did you mean `flops`?"
        );
        // A preset must not define metrics: a metric's definition does not depend on the preset.
        assert_eq!(
            error(
                "[metrics.m_g]\nformula = \"1\"\n[preset.ci.metrics.m_g]\nformula = \"2\"\n\
                 [preset.night.metrics.m_g]\nformula = \"1\"\nunit = \"B\""
            ),
            "gpuprof.toml: metric `m_g`: it is already defined with another formula, unit or \
             direction; choose another name\ngpuprof.toml: metric `m_g`: it is already defined \
             with another formula, unit or direction; choose another name"
        );
        assert_eq!(
            error("[metrics.m_h]\nunit = \"B\""),
            "gpuprof.toml: metric `m_h`: without a formula it can have a `direction` alone"
        );
        assert_eq!(
            error("[metrics.registrs]\ndirection = \"lower\""),
            "gpuprof.toml: no metric is named `registrs`: did you mean `registers`?"
        );
        assert_eq!(
            error(
                "[metrics.waves]\ndirection = \"lower\"\n\
                 [preset.ci.metrics.waves]\ndirection = \"higher\""
            ),
            "gpuprof.toml: metric `waves`: higher is better here, and lower is better in gpuprof.toml; set its direction once"
        );
        let text = error("[metrics.m_d]\nformule = \"1\"");
        assert!(text.contains("line 2") && text.contains("unknown field `formule`"), "{text}");
    }
}
