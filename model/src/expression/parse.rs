//! The operands of an expression over axes.

use super::tree::{Arithmetic, Node, Term};
use crate::axis::{self, AxisValue};
use crate::operators::{self, Language, Operator};
use crate::text::{Cursor, ParseError, is_name_char};

impl Language for Term {
    type Arithmetic = Arithmetic;

    const ARITHMETIC: &'static [&'static [(&'static str, Arithmetic)]] = &[
        &[("<<", Arithmetic::Shift)],
        &[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)],
        &[("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)],
    ];

    fn operand(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
        let start = cursor.position();
        if cursor.eat("-") {
            let inner: Node = operators::operand(cursor, depth + 1)?;
            let span = start..inner.span.end;
            return Ok(Node::new(Self::Negate(Box::new(inner)), span));
        }
        if cursor.eat("!") {
            let inner: Node = operators::operand(cursor, depth + 1)?;
            let span = start..inner.span.end;
            return Ok(Node::new(Self::Not(Box::new(inner)), span));
        }
        if cursor.eat("\"") {
            let rest = cursor.rest();
            let Some(len) = rest.find('"') else {
                return Err(ParseError::new("the quote is not closed", start..start + 1));
            };
            cursor.advance(len + 1);
            return Ok(Node::new(Self::Word(rest[..len].to_owned()), start..cursor.position()));
        }
        atom(cursor)
    }

    fn binary(operator: Operator<Arithmetic>, a: Node, b: Node) -> Result<Self, ParseError> {
        Ok(Self::Binary(operator, Box::new(a), Box::new(b)))
    }
}

fn atom(cursor: &mut Cursor<'_>) -> Result<Node, ParseError> {
    let (token, span) = cursor.take_while(is_name_char);
    let Some(first) = token.chars().next() else {
        return Err(ParseError::new("expected a number or an axis", cursor.next_span()));
    };
    if first.is_ascii_digit() {
        let term = match axis::literal(token, &span)? {
            AxisValue::Dims(dims) => Term::Dims(dims),
            AxisValue::Int(n) => Term::Int(i128::from(n)),
            AxisValue::Word(word) => Term::Word(word),
        };
        return Ok(Node::new(term, span));
    }
    if !cursor.rest().starts_with('.') {
        return Ok(Node::new(Term::Name(token.to_owned()), span));
    }
    cursor.advance(1);
    let (component, at) = cursor.take_while(is_name_char);
    match ["x", "y", "z"].iter().position(|name| *name == component) {
        Some(index) => Ok(Node::new(Term::Component(token.to_owned(), index), span.start..at.end)),
        None => Err(ParseError::new("expected x, y or z after the `.`", at)),
    }
}
