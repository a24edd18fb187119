//! The configurations of a space, made one at a time.
//!
//! Input: a space. Output: those of its combinations that every condition keeps, in order. A
//! condition is evaluated at the first axis at which it is decided, and a refusal skips everything
//! below that axis.

use super::Space;
use crate::axis::{self, AxisValue};
use crate::clause::Derived;
use crate::configuration::Configuration;
use crate::expression::{Expression, Value};
use crate::text::ParseError;

impl Space {
    /// Every configuration that is kept.
    pub fn points(&self) -> Points<'_> {
        Points::new(self)
    }
}

/// The configurations of a [`Space`], made one at a time.
pub struct Points<'s> {
    space: &'s Space,
    /// The factor of each axis.
    factor_of: Vec<usize>,
    lengths: Vec<u64>,
    /// How many combinations one step of each factor spans.
    strides: Vec<u64>,
    /// Conditions, each with the number of combinations that a refusal skips, largest number first.
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

pub(super) fn axis_value(derived: &Derived, value: Value<'_>) -> Result<AxisValue, ParseError> {
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
