//! Values: exact arithmetic on whole numbers, with an error where it would not be.

use super::tree::{Arithmetic, Node, Term};
use super::value::Value;
use crate::operators::{Comparison, Operator};
use crate::text::ParseError;

/// Looks an axis up; an unknown name is a word.
type Lookup<'l, 'v> = &'l dyn Fn(&str) -> Result<Option<Value<'v>>, ParseError>;

/// The value of `node`.
///
/// # Errors
/// A division by zero, an overflow, or types that a check refuses.
pub(super) fn evaluate<'v>(node: &'v Node, axis: Lookup<'_, 'v>) -> Result<Value<'v>, ParseError> {
    let fail = |message: &str| ParseError::new(message, node.span.clone());
    match &node.term {
        Term::Int(n) => Ok(Value::Int(*n)),
        Term::Dims(dims) => Ok(Value::Dims(*dims)),
        Term::Word(word) => Ok(Value::Word(word)),
        Term::Name(name) => Ok(axis(name)?.unwrap_or(Value::Word(name))),
        Term::Component(name, index) => match axis(name)? {
            Some(Value::Dims(dims)) => Ok(Value::Int(dims[*index].into())),
            Some(Value::Int(n)) => Ok(Value::Int(if *index == 0 { n } else { 1 })),
            _ => Err(fail("it has no extents")),
        },
        Term::Negate(inner) => int(inner, axis)?
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| fail("the number is too large")),
        Term::Not(inner) => truth(inner, axis).map(|b| Value::Bool(!b)),
        Term::Binary(Operator::Or, a, b) => Ok(Value::Bool(truth(a, axis)? || truth(b, axis)?)),
        Term::Binary(Operator::And, a, b) => Ok(Value::Bool(truth(a, axis)? && truth(b, axis)?)),
        Term::Binary(Operator::Compare(Comparison::Equal), a, b) => {
            Ok(Value::Bool(evaluate(a, axis)? == evaluate(b, axis)?))
        }
        Term::Binary(Operator::Compare(Comparison::Unequal), a, b) => {
            Ok(Value::Bool(evaluate(a, axis)? != evaluate(b, axis)?))
        }
        Term::Binary(Operator::Compare(comparison), a, b) => {
            Ok(Value::Bool(comparison.holds(&int(a, axis)?, &int(b, axis)?)))
        }
        Term::Binary(Operator::Arithmetic(operator), a, b) => {
            let (left, right) = (int(a, axis)?, int(b, axis)?);
            if right == 0 && matches!(operator, Arithmetic::Divide | Arithmetic::Remainder) {
                return Err(fail("division by zero"));
            }
            let number = match operator {
                Arithmetic::Add => left.checked_add(right),
                Arithmetic::Subtract => left.checked_sub(right),
                Arithmetic::Multiply => left.checked_mul(right),
                Arithmetic::Divide => left.checked_div(right),
                Arithmetic::Remainder => left.checked_rem(right),
                Arithmetic::Shift => u32::try_from(right)
                    .ok()
                    .filter(|&shift| shift < 64)
                    .and_then(|shift| left.checked_mul(1 << shift)),
            };
            number.map(Value::Int).ok_or_else(|| fail("the number is too large"))
        }
    }
}

fn int<'v>(node: &'v Node, axis: Lookup<'_, 'v>) -> Result<i128, ParseError> {
    match evaluate(node, axis)? {
        Value::Int(n) => Ok(n),
        _ => Err(ParseError::new("expected a whole number", node.span.clone())),
    }
}

fn truth<'v>(node: &'v Node, axis: Lookup<'_, 'v>) -> Result<bool, ParseError> {
    match evaluate(node, axis)? {
        Value::Bool(holds) => Ok(holds),
        _ => Err(ParseError::new("expected a condition", node.span.clone())),
    }
}
