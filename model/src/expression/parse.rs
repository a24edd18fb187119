//! From text to tree: one function a level of binding.

use super::tree::{COMPARISONS, LEVELS, Node, Operator, Term};
use crate::axis::{self, AxisValue};
use crate::text::{Cursor, ParseError, is_name_char};

/// How deeply parentheses may nest.
const MAX_DEPTH: usize = 64;

/// The expression at `cursor` from the operators of level `at` on.
///
/// # Errors
/// The place that does not follow the grammar.
pub(super) fn level(cursor: &mut Cursor<'_>, at: usize, depth: usize) -> Result<Node, ParseError> {
    let Some(operators) = LEVELS.get(at) else { return unary(cursor, depth) };
    let mut left = level(cursor, at + 1, depth)?;
    let mut compared = false;
    while let Some(operator) = eat_operator(cursor, operators) {
        if compared {
            return Err(ParseError::new("comparisons do not chain", left.span)
                .with_help("join them: 64 <= block && block <= 256"));
        }
        compared = at == COMPARISONS;
        let right = level(cursor, at + 1, depth)?;
        let span = left.span.start..right.span.end;
        left = Node::new(Term::Binary(operator, Box::new(left), Box::new(right)), span);
    }
    Ok(left)
}

fn eat_operator(cursor: &mut Cursor<'_>, operators: &[(&str, Operator)]) -> Option<Operator> {
    cursor.skip_space();
    // `<<` is looser than nothing that begins with `<`: a comparison must leave it alone.
    let shift = cursor.rest().starts_with("<<");
    operators
        .iter()
        .find(|(symbol, operator)| !(shift && *operator == Operator::Less) && cursor.eat(symbol))
        .map(|&(_, operator)| operator)
}

fn unary(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    cursor.skip_space();
    let start = cursor.position();
    if depth > MAX_DEPTH {
        return Err(ParseError::new("the expression is nested too deeply", cursor.next_span()));
    }
    if cursor.eat("-") {
        let inner = unary(cursor, depth + 1)?;
        let span = start..inner.span.end;
        return Ok(Node::new(Term::Negate(Box::new(inner)), span));
    }
    if cursor.eat("!") {
        let inner = unary(cursor, depth + 1)?;
        let span = start..inner.span.end;
        return Ok(Node::new(Term::Not(Box::new(inner)), span));
    }
    if cursor.eat("(") {
        let inner = level(cursor, 0, depth + 1)?;
        if cursor.eat(")") {
            return Ok(Node::new(inner.term, start..cursor.position()));
        }
        return Err(ParseError::new("expected `)`", cursor.next_span()));
    }
    if cursor.eat("\"") {
        let rest = cursor.rest();
        let Some(len) = rest.find('"') else {
            return Err(ParseError::new("the quote is not closed", start..start + 1));
        };
        cursor.advance(len + 1);
        return Ok(Node::new(Term::Word(rest[..len].to_owned()), start..cursor.position()));
    }
    atom(cursor)
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
