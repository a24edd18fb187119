//! Metrics that a user defines by a formula over others.
//!
//! Input: all definitions of a configuration file at once, so that they may use each other. Goes
//! out: metrics that [`super::find`] finds from then on, for the life of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::cycle::cycle;
use super::{Class, Direction, Formula, Metric, Origin};
use crate::quantity::Unit;
use crate::text::ParseError;

static DEFINED: Mutex<BTreeMap<&'static str, Defined>> = Mutex::new(BTreeMap::new());

/// A metric that was defined.
#[derive(Clone, Copy)]
struct Defined {
    metric: &'static Metric,
    /// As it was first defined: the formula may be another one by now.
    first: &'static Metric,
}

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
    /// What it is, in one line.
    pub description: Option<String>,
}

/// Why a definition is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum DefinitionProblem {
    /// The name has characters that no threshold could name.
    Name,
    /// A metric has this name already.
    Taken,
    /// It is defined already, with another formula, unit or direction.
    Differs,
    /// The formula does not parse.
    Formula(ParseError),
    /// An operand is no metric; the message with the nearest names.
    Operand(String),
    /// It depends on itself by way of these metrics, in order.
    Cycle(Vec<String>),
}

/// The metric that was defined as `name`.
pub(super) fn find(name: &str) -> Option<&'static Metric> {
    DEFINED.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(|it| it.metric)
}

/// Every metric that was defined, by name.
pub fn defined() -> Vec<&'static Metric> {
    DEFINED.lock().unwrap_or_else(PoisonError::into_inner).values().map(|it| it.metric).collect()
}

/// Defines metrics. Either all of them are defined, or none.
///
/// # Errors
/// The name of every definition that is refused, and why, in their order; those of a cycle once.
pub fn define(definitions: &[Definition]) -> Result<(), Vec<(String, DefinitionProblem)>> {
    let mut problems = Vec::new();
    let mut formulas = BTreeMap::new();
    let names: Vec<&str> = definitions.iter().map(|d| d.name.as_str()).collect();
    for (at, definition) in definitions.iter().enumerate() {
        match parse(definition, &definitions[..at]) {
            Ok(formula) => drop(formulas.insert(definition.name.as_str(), formula)),
            Err(problem) => problems.push((definition.name.clone(), problem)),
        }
    }
    let mut in_cycles = BTreeSet::new();
    for (name, formula) in names.iter().filter_map(|name| Some((*name, formulas.get(name)?))) {
        for operand in formula.names() {
            if let Some(message) = unknown_operand(operand, &names) {
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
    if !problems.is_empty() {
        problems.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
        return Err(problems);
    }
    let classes: Vec<Class> = definitions.iter().map(|d| class(&d.name, &formulas)).collect();
    let mut defined = DEFINED.lock().unwrap_or_else(PoisonError::into_inner);
    for (definition, class) in definitions.iter().zip(classes) {
        if defined.contains_key(definition.name.as_str()) {
            continue;
        }
        let Definition { name, formula, unit, direction, description } = definition.clone();
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let description = description.unwrap_or_else(|| format!("defined as {formula}"));
        let formula = leak(formula);
        let metric: &'static Metric = Box::leak(Box::new(Metric {
            name: leak(name),
            unit,
            direction,
            class,
            origin: Origin::Derived(formula),
            description: leak(description),
        }));
        defined.insert(metric.name, Defined { metric, first: metric });
    }
    Ok(())
}

/// That no metric is called `operand`, and neither is one of those that are being defined, `names`.
fn unknown_operand(operand: &str, names: &[&str]) -> Option<String> {
    if names.contains(&operand) || super::find(operand).is_some() {
        return None;
    }
    Some(match crate::suggest::did_you_mean(operand, names.iter().copied()) {
        Some(near) => format!("no metric is called `{operand}`: {near}"),
        None => super::unknown(operand),
    })
}

/// Gives the metrics `formulas` names another formula each: what a family of chips calls their
/// counters.
///
/// # Errors
/// The first name that was never defined, or whose formula does not parse or names no metric.
pub fn redefine(formulas: &[(&str, &str)]) -> Result<(), (String, DefinitionProblem)> {
    for (name, text) in formulas {
        let refuse = |problem| ((*name).to_owned(), problem);
        let parsed = Formula::parse(text).map_err(|e| refuse(DefinitionProblem::Formula(e)))?;
        if let Some(message) = super::all_unknown(parsed.names()) {
            return Err(refuse(DefinitionProblem::Operand(message)));
        }
        let mut defined = DEFINED.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = defined.get_mut(*name) else {
            return Err(refuse(DefinitionProblem::Name));
        };
        if !matches!(before.metric.origin, Origin::Derived(same) if same == *text) {
            let formula: &'static str = Box::leak((*text).to_owned().into_boxed_str());
            let other = Metric { origin: Origin::Derived(formula), ..before.metric.clone() };
            before.metric = Box::leak(Box::new(other));
        }
    }
    Ok(())
}

/// The formula of `definition`, which comes after those of `earlier`.
fn parse(definition: &Definition, earlier: &[Definition]) -> Result<Formula, DefinitionProblem> {
    let Definition { name, formula, unit, direction, .. } = definition;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.contains("__") {
        return Err(DefinitionProblem::Name);
    }
    let before = DEFINED.lock().unwrap_or_else(PoisonError::into_inner).get(name.as_str()).copied();
    if before.is_none() && super::find(name).is_some() {
        return Err(DefinitionProblem::Taken);
    }
    // Reading the same file twice is no mistake. What says something else would be heard by nobody.
    let as_first = |Defined { first, .. }: Defined| {
        matches!(first.origin, Origin::Derived(text) if text == formula)
            && (first.unit, first.direction) == (*unit, *direction)
    };
    let same = |o: &Definition| (&o.formula, o.unit, o.direction) == (formula, *unit, *direction);
    let mut called_so = earlier.iter().filter(|other| other.name == *name);
    if !before.is_none_or(as_first) || !called_so.all(same) {
        return Err(DefinitionProblem::Differs);
    }
    Formula::parse(formula).map_err(DefinitionProblem::Formula)
}

/// What is made of exact metrics alone is exact. There is no cycle any more.
fn class(name: &str, formulas: &BTreeMap<&str, Formula>) -> Class {
    match (formulas.get(name), super::find(name)) {
        (Some(formula), _) => {
            let exact = |operand: &str| class(operand, formulas) == Class::Exact;
            if formula.names().into_iter().all(exact) { Class::Exact } else { Class::Noisy }
        }
        (None, metric) => metric.map_or(Class::Noisy, |m| m.class),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{find, hardware_names};

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
        let mut problems = define(definitions).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems.remove(0).1
    }

    #[test]
    fn definitions_may_use_each_other_and_are_found_afterwards() {
        let both = [
            definition("d_twice", "2 * d_once"),
            definition("d_once", "smsp__inst_executed.sum / bytes"),
        ];
        define(&both).unwrap();
        define(&both).unwrap();
        let metric = find("d_twice").unwrap();
        assert_eq!(metric.class, Class::Exact);
        assert_eq!(hardware_names(metric), ["smsp__inst_executed.sum"]);
    }

    #[test]
    fn a_family_of_chips_may_count_the_same_by_another_name() {
        define(&[definition("g_ops", "a__one.sum"), definition("g_rate", "g_ops / bytes")])
            .unwrap();
        redefine(&[("g_ops", "a__two.sum")]).unwrap();
        assert_eq!(hardware_names(find("g_rate").unwrap()), ["a__two.sum"]);
        // The file that defined it may be read again.
        define(&[definition("g_ops", "a__one.sum")]).unwrap();
        redefine(&[("g_ops", "a__two.sum")]).unwrap();
        let problem = |formulas: &[(&str, &str)]| redefine(formulas).unwrap_err().1;
        assert_eq!(problem(&[("g_none", "1")]), DefinitionProblem::Name);
        assert!(matches!(problem(&[("g_ops", "g_opz")]), DefinitionProblem::Operand(_)));
        assert!(matches!(problem(&[("g_ops", "1 +")]), DefinitionProblem::Formula(_)));
    }

    #[test]
    fn what_cannot_be_defined_says_why_and_defines_nothing() {
        assert_eq!(
            problem(&[definition("e_a", "1 + e_b"), definition("e_b", "e_a * 2")]),
            DefinitionProblem::Cycle(vec!["e_a".into(), "e_b".into(), "e_a".into()])
        );
        assert!(find("e_a").is_none() && find("e_b").is_none());
        assert_eq!(
            problem(&[definition("e_c", "duraton / 2")]),
            DefinitionProblem::Operand(
                "no metric is called `duraton`: did you mean `duration`?".into()
            )
        );
        assert_eq!(
            problem(&[definition("e_ratio", "1"), definition("e_d", "e_ratoi")]),
            DefinitionProblem::Operand(
                "no metric is called `e_ratoi`: did you mean `e_ratio`?".into()
            )
        );
        assert_eq!(problem(&[definition("duration", "1")]), DefinitionProblem::Taken);
        let bytes = Definition { unit: Unit::Bytes, ..definition("e_g", "2") };
        for other in [definition("e_g", "1"), bytes] {
            let both = [definition("e_g", "2"), other.clone()];
            assert_eq!(problem(&both), DefinitionProblem::Differs);
            assert!(find("e_g").is_none());
        }
        define(&[definition("e_h", "2")]).unwrap();
        let higher = Definition { direction: Direction::Higher, ..definition("e_h", "2") };
        assert_eq!(problem(&[higher]), DefinitionProblem::Differs);
        assert_eq!(problem(&[definition("my ratio", "1")]), DefinitionProblem::Name);
        assert!(matches!(problem(&[definition("e_f", "1 +")]), DefinitionProblem::Formula(_)));
    }
}
