//! The space of a series: its axes, how they combine, and which combinations are kept.
//!
//! Input: [`Clause`]s. Output: configurations, one at a time and in series order, the last
//! axis turning fastest; the order is part of the contract, since tables and files follow it.
//! Nothing is stored per configuration, and a `where` skips everything below the axes that it names
//! at once, so a space of millions costs what is kept of it. Axes that follow from others come
//! after the rest.

mod membership;
mod points;

pub use points::Points;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::axis::{Axis, AxisKind, AxisValue};
use crate::clause::{Clause, Derived, LexedAxis, LexedClause};
use crate::expression::{Expression, Type};
use crate::text::ParseError;

/// The axes of a series and how they combine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Space {
    /// The axes with their values, in the order written.
    pub axes: Vec<Axis>,
    /// Axes that advance together, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zips: Vec<Vec<String>>,
    /// Axes that follow from others, in the order written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Conditions that every configuration meets.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "where")]
    pub filters: Vec<Expression>,
    /// The values that were compiled in, by axis; the axis' own are some of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Vec<AxisValue>>,
}

impl Space {
    /// The space of `clauses`, as an annotation has them.
    ///
    /// # Errors
    /// Every clause that is wrong, by its position, each with its place in that clause.
    pub fn from_clauses<T: AsRef<str>>(clauses: &[T]) -> Result<Self, Vec<(usize, ParseError)>> {
        let lexed: Vec<_> = clauses.iter().map(|text| LexedClause::lex(text.as_ref())).collect();
        let names = lexed.iter().flatten().flat_map(LexedClause::declared);
        let names: Vec<String> = names.map(|axis| axis.name.to_owned()).collect();
        let mut space = Self::default();
        let mut errors = Vec::new();
        let mut expressions = Vec::new();
        let mut declared = BTreeSet::new();
        for (position, lexed) in lexed.iter().enumerate() {
            let parsed = lexed.as_ref().map_err(Clone::clone).and_then(|lexed| {
                match lexed.declared().iter().find(|axis| !declared.insert(axis.name)) {
                    Some(LexedAxis { name, span, .. }) => {
                        let message = format!("axis `{name}` is declared twice");
                        Err(ParseError::new(message, span.clone()))
                    }
                    None => Ok((lexed.parse(&names)?, lexed.expression_start())),
                }
            });
            match parsed {
                Ok((clause, start)) => {
                    if matches!(clause, Clause::Derived(_) | Clause::Where(_)) {
                        expressions.push((position, clause.clone(), start));
                    }
                    space.add(clause);
                }
                Err(error) => errors.push((position, error)),
            }
        }
        // An axis that could not be read would make every expression over it wrong as well.
        if errors.is_empty() {
            for (position, clause, start) in expressions {
                let checked = match &clause {
                    Clause::Derived(derived) => space.check_derived(derived),
                    Clause::Where(filter) => space.check_filter(filter),
                    Clause::Axis(_) | Clause::Constant(_) | Clause::Zip(_) => Ok(()),
                };
                errors.extend(checked.err().map(|error| (position, error.shifted(start))));
            }
        }
        if errors.is_empty() { Ok(space) } else { Err(errors) }
    }

    fn add(&mut self, clause: Clause) {
        match clause {
            Clause::Axis(axis) => self.axes.push(axis),
            Clause::Constant(axis) => {
                self.constants.insert(axis.name.clone(), axis.values.clone());
                self.axes.push(axis);
            }
            Clause::Zip(axes) => {
                self.zips.push(axes.iter().map(|axis| axis.name.clone()).collect());
                self.axes.extend(axes);
            }
            Clause::Derived(derived) => self.derived.push(derived),
            Clause::Where(filter) => self.filters.push(filter),
        }
    }

    /// Whether the space has an axis called `name`, with a list of values or derived.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    /// The names of all axes, in the order of a configuration's pairs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = self.axes.iter().map(|axis| axis.name.as_str());
        own.chain(self.derived.iter().map(|derived| derived.name.as_str()))
    }

    /// The names and types of all axes.
    pub fn types(&self) -> Vec<(&str, Type)> {
        let mut types: Vec<(&str, Type)> =
            self.axes.iter().map(|axis| (axis.name.as_str(), axis.kind().into())).collect();
        for derived in &self.derived {
            let ty = derived.formula.check(&types).unwrap_or(Type::Int);
            types.push((&derived.name, ty));
        }
        types
    }

    /// The kind of the values of the axis `name`.
    pub fn kind_of(&self, name: &str) -> Option<AxisKind> {
        let (_, ty) = self.types().into_iter().find(|(own, _)| *own == name)?;
        Some(match ty {
            Type::Word => AxisKind::Word,
            Type::Dims => AxisKind::Dims,
            Type::Int | Type::Bool => AxisKind::Int,
        })
    }

    /// The axes that say nothing new: derived ones, and those zipped with an earlier one.
    pub fn dependent(&self) -> impl Iterator<Item = &str> {
        let zipped = self.zips.iter().flat_map(|zip| zip.iter().skip(1).map(String::as_str));
        zipped.chain(self.derived.iter().map(|derived| derived.name.as_str()))
    }

    /// Whether `filter` is a condition over these axes.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn check_filter(&self, filter: &Expression) -> Result<(), ParseError> {
        filter.check_condition(&self.types())
    }

    /// Whether `derived`, one of the space's own, computes a value from axes and from derived axes
    /// before it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn check_derived(&self, derived: &Derived) -> Result<(), ParseError> {
        let before = self.derived.iter().take_while(|other| *other != derived);
        let own = self.axes.iter().map(|axis| axis.name.as_str());
        let names: Vec<&str> = own.chain(before.map(|other| other.name.as_str())).collect();
        let types: Vec<(&str, Type)> =
            self.types().into_iter().filter(|(name, _)| names.contains(name)).collect();
        match derived.formula.check(&types)? {
            Type::Bool => Err(ParseError::new(
                format!("axis `{}` cannot be a condition", derived.name),
                0..derived.formula.text().len(),
            )
            .with_help("write where … to keep the configurations that meet it")),
            _ => Ok(()),
        }
    }

    /// The axes that turn on their own: single ones, and zips as one.
    fn factors(&self) -> Vec<Factor> {
        let mut factors: Vec<Factor> = Vec::new();
        for (position, axis) in self.axes.iter().enumerate() {
            let zip = self.zips.iter().position(|zip| zip.contains(&axis.name));
            let same = |factor: &&mut Factor| zip.is_some() && factor.zip == zip;
            match factors.iter_mut().find(same) {
                Some(factor) => factor.axes.push(position),
                None => factors.push(Factor { zip, axes: vec![position], len: axis.values.len() }),
            }
        }
        factors
    }

    /// How many values each axis, or zip of axes, has to choose from.
    pub fn lengths(&self) -> Vec<usize> {
        self.factors().iter().map(|factor| factor.len).collect()
    }

    /// How many combinations there are before any condition; `None` beyond 64 bits.
    pub fn combinations(&self) -> Option<u64> {
        self.lengths().iter().try_fold(1_u64, |count, &len| count.checked_mul(len as u64))
    }
}

struct Factor {
    zip: Option<usize>,
    axes: Vec<usize>,
    len: usize,
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
