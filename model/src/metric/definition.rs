//! Metrics that a user or a section defines by a formula over others.
//!
//! Input: a catalogue, and all definitions of a file at once, so that they may use each other.
//! Output: a catalogue that knows them as well, or every reason why one is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::metric::catalogue::Catalogue;
use crate::metric::cycle::cycle;
use crate::metric::entry::{Class, Direction, Metric, Origin};
use crate::metric::formula::Formula;
use crate::quantity::Unit;
use crate::suggest::did_you_mean;
use crate::text::ParseError;

/// One definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The new metric's name.
    pub name: String,
    /// A formula over other metrics.
    pub formula: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Its description, in one line.
    pub description: Option<String>,
}

/// Why a definition is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum DefinitionProblem {
    /// The name has characters that no threshold could name.
    Name,
    /// A metric that is built in has this name.
    Taken,
    /// It is defined already, with another formula, unit or direction.
    Differs,
    /// The formula does not parse.
    Formula(ParseError),
    /// An operand is not a metric; the message with the nearest names.
    Operand(String),
    /// It depends on itself by way of these metrics, in order.
    Cycle(Vec<String>),
}

impl Catalogue {
    /// This catalogue and the metrics of `definitions`. Defining one again in the same words is no
    /// mistake.
    ///
    /// # Errors
    /// The name of every definition that is refused, and why, in their order; those of a cycle
    /// once.
    pub fn with_definitions(
        &self,
        definitions: &[Definition],
    ) -> Result<Self, Vec<(String, DefinitionProblem)>> {
        let formulas = self.checked(definitions)?;
        let mut defined = self.clone();
        for definition in definitions.iter().filter(|d| !self.defined.contains_key(&d.name)) {
            let Definition { name, unit, direction, description, .. } = definition.clone();
            let formula = formulas[&*name].clone();
            let description =
                description.unwrap_or_else(|| format!("defined as {}", formula.text()));
            let metric = Metric {
                name: name.clone().into(),
                unit,
                direction,
                direction_set: None,
                class: self.class_among(&name, &formulas),
                origin: Origin::Derived(formula),
                description: description.into(),
            };
            defined.defined.insert(name, Arc::new(metric));
        }
        Ok(defined)
    }

    /// This catalogue with another formula for each of the defined metrics in `formulas`: a family
    /// of chips has other names for their counters.
    ///
    /// # Errors
    /// The first name that was never defined, or whose formula does not parse or names no metric.
    pub fn with_formulas(
        &self,
        formulas: &[(&str, &str)],
    ) -> Result<Self, (String, DefinitionProblem)> {
        let mut other = self.clone();
        for (name, text) in formulas {
            let refuse = |problem| ((*name).to_owned(), problem);
            let formula =
                Formula::parse(text).map_err(|e| refuse(DefinitionProblem::Formula(e)))?;
            if let Some(message) = self.all_unknown(formula.names()) {
                return Err(refuse(DefinitionProblem::Operand(message)));
            }
            let Some(metric) = other.defined.get_mut(*name) else {
                return Err(refuse(DefinitionProblem::Name));
            };
            Arc::make_mut(metric).origin = Origin::Derived(formula);
        }
        Ok(other)
    }

    /// The formulas of `definitions`, by name.
    fn checked<'d>(
        &self,
        definitions: &'d [Definition],
    ) -> Result<BTreeMap<&'d str, Formula>, Vec<(String, DefinitionProblem)>> {
        let mut problems = Vec::new();
        let mut formulas = BTreeMap::new();
        let names: Vec<&str> = definitions.iter().map(|d| d.name.as_str()).collect();
        for (at, definition) in definitions.iter().enumerate() {
            match self.parsed(definition, &definitions[..at]) {
                Ok(formula) => drop(formulas.insert(definition.name.as_str(), formula)),
                Err(problem) => problems.push((definition.name.clone(), problem)),
            }
        }
        let mut in_cycles = BTreeSet::new();
        for (name, formula) in names.iter().filter_map(|name| Some((*name, formulas.get(name)?))) {
            for operand in formula.names() {
                if let Some(message) = self.unknown_operand(operand, &names) {
                    problems.push((name.to_owned(), DefinitionProblem::Operand(message)));
                }
            }
            if !in_cycles.contains(name)
                && let Some(cycle) = cycle(name, &formulas)
            {
                in_cycles.extend(cycle.iter().cloned());
                problems.push((name.to_owned(), DefinitionProblem::Cycle(cycle)));
            }
        }
        problems.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
        if problems.is_empty() { Ok(formulas) } else { Err(problems) }
    }

    /// The formula of `definition`, which comes after those of `earlier`.
    fn parsed(
        &self,
        definition: &Definition,
        earlier: &[Definition],
    ) -> Result<Formula, DefinitionProblem> {
        let Definition { name, formula, unit, direction, .. } = definition;
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains("__") {
            return Err(DefinitionProblem::Name);
        }
        let before = self.defined.get(name);
        if before.is_none() && self.find(name).is_some() {
            return Err(DefinitionProblem::Taken);
        }
        // A file that is read again defines the same. A different definition would be ignored.
        let as_before = |metric: &Arc<Metric>| {
            metric.formula().is_some_and(|before| before.text() == formula)
                && (metric.unit, metric.direction) == (*unit, *direction)
        };
        let same =
            |o: &Definition| (&o.formula, o.unit, o.direction) == (formula, *unit, *direction);
        let mut called_so = earlier.iter().filter(|other| other.name == *name);
        if !before.is_none_or(as_before) || !called_so.all(same) {
            return Err(DefinitionProblem::Differs);
        }
        Formula::parse(formula).map_err(DefinitionProblem::Formula)
    }

    /// The refusal of an `operand` that names neither a metric nor one of the definitions `names`.
    fn unknown_operand(&self, operand: &str, names: &[&str]) -> Option<String> {
        if names.contains(&operand) || self.find(operand).is_some() {
            return None;
        }
        Some(match did_you_mean(operand, names.iter().copied()) {
            Some(near) => format!("no metric is named `{operand}`: {near}"),
            None => self.unknown(operand),
        })
    }

    /// A metric made of exact metrics alone is exact. Cycles are excluded at this point.
    fn class_among(&self, name: &str, formulas: &BTreeMap<&str, Formula>) -> Class {
        match formulas.get(name) {
            Some(formula) => {
                let exact = |operand: &str| self.class_among(operand, formulas) == Class::Exact;
                if formula.names().into_iter().all(exact) { Class::Exact } else { Class::Noisy }
            }
            None => self.find(name).map_or(Class::Noisy, |metric| metric.class),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, formula: &str) -> Definition {
        Definition {
            name: name.into(),
            formula: formula.into(),
            unit: Unit::Ratio,
            direction: Direction::Lower,
            description: None,
        }
    }

    fn problem(definitions: &[Definition]) -> DefinitionProblem {
        let mut problems = Catalogue::built_in().with_definitions(definitions).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0).1
    }

    #[test]
    fn definitions_may_use_each_other_and_are_found_afterwards() {
        let both = [
            definition("d_twice", "2 * d_once"),
            definition("d_once", "smsp__inst_executed.sum / bytes"),
        ];
        let catalogue = Catalogue::built_in().with_definitions(&both).unwrap();
        assert_eq!(catalogue.with_definitions(&both).unwrap(), catalogue);
        let metric = catalogue.find("d_twice").unwrap();
        assert_eq!(metric.class, Class::Exact);
        assert_eq!(catalogue.hardware_names(&metric), ["smsp__inst_executed.sum"]);
    }

    #[test]
    fn a_family_of_chips_may_count_the_same_by_another_name() {
        let both = [definition("g_ops", "a__one.sum"), definition("g_rate", "g_ops / bytes")];
        let catalogue = Catalogue::built_in().with_definitions(&both).unwrap();
        let of_chip = catalogue.with_formulas(&[("g_ops", "a__two.sum")]).unwrap();
        let counters =
            |known: &Catalogue| known.hardware_names(&known.find("g_rate").unwrap()).join(" ");
        assert_eq!([&catalogue, &of_chip].map(counters), ["a__one.sum", "a__two.sum"]);
        let problem = |formulas: &[(&str, &str)]| catalogue.with_formulas(formulas).unwrap_err().1;
        assert_eq!(problem(&[("g_none", "1")]), DefinitionProblem::Name);
        assert!(matches!(problem(&[("g_ops", "g_opz")]), DefinitionProblem::Operand(_)));
        assert!(matches!(problem(&[("g_ops", "1 +")]), DefinitionProblem::Formula(_)));
    }

    #[test]
    fn an_invalid_definition_is_refused_with_the_reason() {
        assert_eq!(
            problem(&[definition("e_a", "1 + e_b"), definition("e_b", "e_a * 2")]),
            DefinitionProblem::Cycle(vec!["e_a".into(), "e_b".into(), "e_a".into()])
        );
        assert_eq!(
            problem(&[definition("e_c", "duraton / 2")]),
            DefinitionProblem::Operand(
                "no metric is named `duraton`: did you mean `duration`?".into()
            )
        );
        assert_eq!(
            problem(&[definition("e_ratio", "1"), definition("e_d", "e_ratoi")]),
            DefinitionProblem::Operand(
                "no metric is named `e_ratoi`: did you mean `e_ratio`?".into()
            )
        );
        assert_eq!(problem(&[definition("duration", "1")]), DefinitionProblem::Taken);
        let bytes = Definition { unit: Unit::Bytes, ..definition("e_g", "2") };
        for other in [definition("e_g", "1"), bytes] {
            let both = [definition("e_g", "2"), other.clone()];
            assert_eq!(problem(&both), DefinitionProblem::Differs);
        }
        let catalogue = Catalogue::built_in().with_definitions(&[definition("e_h", "2")]).unwrap();
        let higher = Definition { direction: Direction::Higher, ..definition("e_h", "2") };
        let problems = catalogue.with_definitions(&[higher]).unwrap_err();
        assert_eq!(problems, [("e_h".to_owned(), DefinitionProblem::Differs)]);
        assert_eq!(problem(&[definition("my ratio", "1")]), DefinitionProblem::Name);
        assert!(matches!(problem(&[definition("e_f", "1 +")]), DefinitionProblem::Formula(_)));
    }
}
