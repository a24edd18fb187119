//! Types: the type of an expression, before any value is known.

use std::ops::Range;

use super::tree::{Node, Term};
use super::value::Type;
use crate::operators::{Comparison, Operator};
use crate::suggest::did_you_mean;
use crate::text::ParseError;

/// The type of `node` over `axes`.
///
/// # Errors
/// A name that no axis has, or types that an operator does not take.
pub(super) fn check(node: &Node, axes: &[(&str, Type)]) -> Result<Type, ParseError> {
    let known = |name: &str| axes.iter().find(|(axis, _)| *axis == name).map(|&(_, ty)| ty);
    match &node.term {
        Term::Int(_) => Ok(Type::Int),
        Term::Dims(_) => Ok(Type::Dims),
        Term::Word(_) => Ok(Type::Word),
        Term::Name(name) => known(name).ok_or_else(|| unknown(name, &node.span, axes)),
        Term::Component(name, _) => match known(name) {
            None => Err(unknown(name, &node.span, axes)),
            Some(Type::Int | Type::Dims) => Ok(Type::Int),
            Some(other) => Err(ParseError::new(
                format!("`{name}` is {other}: it has no extents"),
                node.span.clone(),
            )),
        },
        Term::Negate(inner) => expect(inner, Type::Int, axes),
        Term::Not(inner) => expect(inner, Type::Bool, axes),
        Term::Binary(Operator::Or | Operator::And, a, b) => {
            expect(a, Type::Bool, axes)?;
            expect(b, Type::Bool, axes)
        }
        Term::Binary(Operator::Compare(Comparison::Equal | Comparison::Unequal), a, b) => {
            equality(node, a, b, axes)
        }
        Term::Binary(Operator::Compare(_), a, b) => {
            expect(a, Type::Int, axes)?;
            expect(b, Type::Int, axes)?;
            Ok(Type::Bool)
        }
        Term::Binary(Operator::Arithmetic(_), a, b) => {
            expect(a, Type::Int, axes)?;
            expect(b, Type::Int, axes)
        }
    }
}

/// `==` and `!=` take two values of one type; next to a word, an unknown name is a word.
fn equality(node: &Node, a: &Node, b: &Node, axes: &[(&str, Type)]) -> Result<Type, ParseError> {
    let bare =
        |node: &Node| matches!(&node.term, Term::Name(n) if axes.iter().all(|(a, _)| a != n));
    let types = match (bare(a), bare(b)) {
        (false, true) => (check(a, axes)?, Type::Word),
        (true, false) => (Type::Word, check(b, axes)?),
        _ => (check(a, axes)?, check(b, axes)?),
    };
    match types {
        (left, right) if left == right && left != Type::Bool => Ok(Type::Bool),
        // A misspelt axis more likely than a word in the wrong place.
        (_, Type::Word) if bare(b) => check(b, axes),
        (Type::Word, _) if bare(a) => check(a, axes),
        (Type::Bool, Type::Bool) => {
            Err(ParseError::new("conditions are joined by && and ||", node.span.clone()))
        }
        (left, right) => {
            let message = format!("{left} is never equal to {right}");
            let error = ParseError::new(message, node.span.clone());
            Err(match (left, right) {
                (Type::Dims, Type::Int) => error.with_help(extents(a)),
                (Type::Int, Type::Dims) => error.with_help(extents(b)),
                _ => error,
            })
        }
    }
}

fn expect(node: &Node, wanted: Type, axes: &[(&str, Type)]) -> Result<Type, ParseError> {
    let found = check(node, axes)?;
    if found == wanted {
        return Ok(found);
    }
    let error =
        ParseError::new(format!("expected {wanted}, and this is {found}"), node.span.clone());
    Err(match (found, wanted) {
        (Type::Dims, Type::Int) => error.with_help(extents(node)),
        (Type::Int, Type::Bool) => error.with_help("compare it: block <= 256"),
        _ => error,
    })
}

/// How the extent `node` is compared.
fn extents(node: &Node) -> String {
    let name = if let Term::Name(name) = &node.term { name.as_str() } else { "block" };
    format!("compare it with an extent, {name} == 16x16, or a part of it: {name}.x, .y or .z")
}

/// Whether `node` has a name that is neither one of `axes` nor a word next to an axis of words.
pub(super) fn lacks_axis(node: &Node, axes: &[(&str, Type)]) -> bool {
    let bare =
        |node: &Node| matches!(&node.term, Term::Name(n) if axes.iter().all(|(a, _)| a != n));
    let is_word = |node: &Node| check(node, axes).is_ok_and(|ty| ty == Type::Word);
    match &node.term {
        Term::Int(_) | Term::Dims(_) | Term::Word(_) => false,
        Term::Name(name) | Term::Component(name, _) => axes.iter().all(|(axis, _)| axis != name),
        Term::Negate(inner) | Term::Not(inner) => lacks_axis(inner, axes),
        Term::Binary(Operator::Compare(Comparison::Equal | Comparison::Unequal), a, b)
            if (bare(a) && is_word(b)) || (bare(b) && is_word(a)) =>
        {
            false
        }
        Term::Binary(_, a, b) => lacks_axis(a, axes) || lacks_axis(b, axes),
    }
}

fn unknown(name: &str, span: &Range<usize>, axes: &[(&str, Type)]) -> ParseError {
    let error = ParseError::new(format!("no axis is named `{name}`"), span.clone());
    let names = || axes.iter().map(|(name, _)| *name);
    match did_you_mean(name, names()) {
        Some(near) => error.with_help(near),
        None if axes.is_empty() => error.with_help("there are no axes"),
        None => error.with_help(format!("the axes are {}", names().collect::<Vec<_>>().join(", "))),
    }
}
