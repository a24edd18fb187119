//! The space of a series: its axes, how they combine, and which combinations are kept.
//!
//! Input: [`Clause`]s. Output: configurations, one at a time and in series order, the last
//! axis turning fastest; the order is part of the contract, since tables and files follow it.
//! Nothing is stored per configuration, and a `where` skips everything below the axes that it names
//! at once, so a space of millions costs what is kept of it. Axes that follow from others come
//! after the rest.

mod membership;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::axis::{self, Axis, AxisKind, AxisValue};
use crate::clause::{Clause, Derived, LexedAxis, LexedClause};
use crate::configuration::Configuration;
use crate::expression::{Expression, Type, Value};
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

    /// Every configuration that is kept.
    pub fn points(&self) -> Points<'_> {
        Points::new(self)
    }
}

struct Factor {
    zip: Option<usize>,
    axes: Vec<usize>,
    len: usize,
}

/// The configurations of a [`Space`], made one at a time.
pub struct Points<'s> {
    space: &'s Space,
    /// The factor of each axis.
    factor_of: Vec<usize>,
    lengths: Vec<u64>,
    /// How many combinations one step of each factor spans.
    strides: Vec<u64>,
    /// Conditions, the ones that skip most first, with how many combinations a refusal skips.
    filters: Vec<(&'s Expression, u64)>,
    next: u64,
    total: u64,
    visited: u64,
}

impl<'s> Points<'s> {
    fn new(space: &'s Space) -> Self {
        let factors = space.factors();
        let mut factor_of = vec![0; space.axes.len()];
        for (index, factor) in factors.iter().enumerate() {
            factor.axes.iter().for_each(|&axis| factor_of[axis] = index);
        }
        let lengths: Vec<u64> = factors.iter().map(|factor| factor.len as u64).collect();
        let mut strides = vec![1_u64; lengths.len()];
        for index in (1..lengths.len()).rev() {
            strides[index - 1] = strides[index].saturating_mul(lengths[index]);
        }
        let total = space.combinations().unwrap_or(u64::MAX);
        let mut points = Self {
            space,
            factor_of,
            lengths,
            strides,
            filters: Vec::new(),
            next: 0,
            total,
            visited: 0,
        };
        let span =
            |filter: &Expression| points.depth(filter).map_or(total, |at| points.strides[at]);
        let mut filters: Vec<_> = space.filters.iter().map(|f| (f, span(f))).collect();
        filters.sort_by_key(|&(_, span)| std::cmp::Reverse(span));
        points.filters = filters;
        points
    }

    /// The last factor that `expression` depends on; `None` where it depends on none.
    fn depth(&self, expression: &Expression) -> Option<usize> {
        let of = |name: &str| {
            let axis = self.space.axes.iter().position(|axis| axis.name == name);
            let derived = || self.space.derived.iter().find(|derived| derived.name == name);
            match axis {
                Some(axis) => Some(self.factor_of[axis]),
                None => derived().and_then(|derived| self.depth(&derived.formula)),
            }
        };
        expression.names().into_iter().filter_map(of).max()
    }

    /// How many combinations there are before any condition, at most `u64::MAX`.
    pub fn combinations(&self) -> u64 {
        self.total
    }

    /// How many combinations were looked at so far; those skipped together count once.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// The configuration at `index` of the cross product, or how far to skip where it is not kept.
    fn at(&self, index: u64) -> Result<Point, ParseError> {
        for (filter, span) in &self.filters {
            if !filter
                .holds(&|name| self.look_up(index, name))
                .map_err(|e| self.placed(e, index, filter))?
            {
                return Ok(Point::Skipped(*span));
            }
        }
        let own = self.space.axes.iter().enumerate();
        let mut pairs: Vec<(String, AxisValue)> =
            own.map(|(at, axis)| (axis.name.clone(), self.value(index, at).clone())).collect();
        for derived in &self.space.derived {
            let value = self
                .derive(index, derived)
                .and_then(|value| axis_value(derived, value))
                .map_err(|e| self.placed(e, index, &derived.formula))?;
            pairs.push((derived.name.clone(), value));
        }
        Ok(Point::Kept(Configuration(pairs)))
    }

    /// The configuration at `index` of the cross product; `None` where no condition keeps it.
    ///
    /// # Errors
    /// An expression without a value there.
    pub fn get(&self, index: u64) -> Result<Option<Configuration>, ParseError> {
        Ok(match self.at(index)? {
            Point::Kept(configuration) => Some(configuration),
            Point::Skipped(_) => None,
        })
    }

    fn value(&self, index: u64, axis: usize) -> &'s AxisValue {
        let factor = self.factor_of[axis];
        let digit = index / self.strides[factor] % self.lengths[factor];
        // A digit is below the factor's length, and that is a `usize`.
        &self.space.axes[axis].values[digit as usize]
    }

    fn look_up(&self, index: u64, name: &str) -> Result<Option<Value<'s>>, ParseError> {
        if let Some(axis) = self.space.axes.iter().position(|axis| axis.name == name) {
            return Ok(Some(self.value(index, axis).into()));
        }
        match self.space.derived.iter().find(|derived| derived.name == name) {
            Some(derived) => self.derive(index, derived).map(Some),
            None => Ok(None),
        }
    }

    fn derive(&self, index: u64, derived: &'s Derived) -> Result<Value<'s>, ParseError> {
        derived.formula.evaluate(&|name| self.look_up(index, name))
    }

    /// `error` with the configuration that it happened at.
    fn placed(&self, mut error: ParseError, index: u64, expression: &Expression) -> ParseError {
        let own = self.space.axes.iter().enumerate();
        let point: Vec<String> =
            own.map(|(at, axis)| format!("{}={}", axis.name, self.value(index, at))).collect();
        error.message = format!("{} in `{expression}` at {}", error.message, point.join(","));
        error
    }
}

fn axis_value(derived: &Derived, value: Value<'_>) -> Result<AxisValue, ParseError> {
    let span = 0..derived.formula.text().len();
    let fail = |message: String| {
        ParseError::new(message, span.clone()).with_help("leave the configuration out with where")
    };
    let value = match value {
        Value::Int(n) => AxisValue::Int(
            u64::try_from(n).map_err(|_| fail(format!("axis `{}` would be {n}", derived.name)))?,
        ),
        Value::Dims(dims) => AxisValue::Dims(dims),
        Value::Word(word) => AxisValue::Word(word.to_owned()),
        Value::Bool(_) => return Err(fail(format!("axis `{}` is a condition", derived.name))),
    };
    axis::out_of_range(&derived.name, &value).map_or(Ok(value), |problem| Err(fail(problem)))
}

/// A point of the cross product.
enum Point {
    /// Every condition keeps it.
    Kept(Configuration),
    /// A condition refuses it, and all of this many that begin at a multiple of it.
    Skipped(u64),
}

impl Points<'_> {
    /// The next configuration that is kept, with its index in the cross product.
    ///
    /// # Errors
    /// An expression without a value there; it ends the iteration.
    pub fn next_indexed(&mut self) -> Option<Result<(u64, Configuration), ParseError>> {
        while self.next < self.total {
            let index = self.next;
            self.visited += 1;
            match self.at(index) {
                Ok(Point::Kept(point)) => {
                    self.next += 1;
                    return Some(Ok((index, point)));
                }
                Ok(Point::Skipped(span)) => {
                    self.next = (index / span).saturating_add(1).saturating_mul(span);
                }
                Err(error) => {
                    self.next = self.total;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl Iterator for Points<'_> {
    type Item = Result<Configuration, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_indexed().map(|found| found.map(|(_, point)| point))
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
