//! Expressions over axes: the language of `where`, derived axes, `--filter` and `-E`.
//!
//! Input: text such as `block * regs <= 64K && dtype != f16` and a look-up of axis values. Output:
//! a number, a truth value or a word. Arithmetic is on whole numbers as in Rust: division
//! truncates, and an overflow or a division by zero is an error with its position, never a wrong
//! value.
//!
//! From the loosest binding: `||`, `&&`, one comparison (`== != < <= > >=`), `<<`, `+ -`, `* / %`,
//! unary `-` and `!`. Numbers take the suffixes K, M and G; `block.x`, `.y` and `.z` are extents. A
//! name that no axis has is a word, if it is compared with an axis of words; `"f32-acc"` always is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::operators;
use crate::text::{Cursor, ParseError, of_fair_length};

mod check;
mod evaluate;
mod parse;
#[cfg(test)]
mod tests;
mod tree;
mod value;

use tree::{Node, Term};
pub use value::{Type, Value};

/// A parsed expression. Its serde form is its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.trim().is_empty() {
            return Err(ParseError::new("the expression is empty", 0..text.len())
                .with_help("write a condition such as block >= 256, or leave it out"));
        }
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root: Node = operators::level(&mut cursor, 0, 0)?;
        if cursor.at_end() {
            return Ok(Self {
                text: text.trim().to_owned(),
                root: root.shifted_left(leading(text)),
            });
        }
        Err(expected_operator(&cursor))
    }

    /// Reads an expression that is a part of a longer text, and its place there.
    ///
    /// # Errors
    /// The place in the longer text that does not follow the grammar.
    pub(crate) fn parse_part(
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<(Self, usize), ParseError> {
        cursor.skip_space();
        let (start, rest) = (cursor.position(), cursor.rest());
        let root: Node = operators::level(cursor, 0, depth)?;
        if !cursor.at_end() && !cursor.rest().starts_with(')') {
            return Err(expected_operator(cursor));
        }
        let text = rest[..cursor.position() - start].trim_end().to_owned();
        Ok((Self { text, root: root.shifted_left(start) }, start))
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, in order of appearance: axes, and words without quotes.
    pub fn names(&self) -> Vec<&str> {
        fn walk<'n>(node: &'n Node, out: &mut Vec<&'n str>) {
            match &node.term {
                Term::Name(name) | Term::Component(name, _) => out.push(name),
                Term::Negate(inner) | Term::Not(inner) => walk(inner, out),
                Term::Binary(_, a, b) => {
                    walk(a, out);
                    walk(b, out);
                }
                Term::Int(_) | Term::Dims(_) | Term::Word(_) => {}
            }
        }
        let mut out = Vec::new();
        walk(&self.root, &mut out);
        out
    }

    /// The type of the expression over these axes.
    ///
    /// # Errors
    /// A name that no axis has, or an operator between types that it does not take; spans are
    /// positions in [`Expression::text`].
    pub fn check(&self, axes: &[(&str, Type)]) -> Result<Type, ParseError> {
        check::check(&self.root, axes)
    }

    /// Whether it has a name that is neither one of `axes` nor a word that is compared with one.
    pub fn lacks_axis(&self, axes: &[(&str, Type)]) -> bool {
        check::lacks_axis(&self.root, axes)
    }

    /// As [`Expression::check`], for an expression that must be a condition.
    ///
    /// # Errors
    /// Those of `check`, and an expression that is not a condition.
    pub fn check_condition(&self, axes: &[(&str, Type)]) -> Result<(), ParseError> {
        match self.check(axes)? {
            Type::Bool => Ok(()),
            other => Err(ParseError::new(
                format!("expected a condition, and this is {other}"),
                self.root.span.clone(),
            )
            .with_help("compare it: block <= 256")),
        }
    }

    /// Evaluates it; `axis` looks an axis up, and an unknown name is a word.
    ///
    /// # Errors
    /// A division by zero or an overflow; types that [`Expression::check`] refuses.
    pub fn evaluate<'v>(
        &'v self,
        axis: &dyn Fn(&str) -> Result<Option<Value<'v>>, ParseError>,
    ) -> Result<Value<'v>, ParseError> {
        evaluate::evaluate(&self.root, axis)
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// Those of [`Expression::evaluate`], and a value that is not a condition.
    pub fn holds<'v>(
        &'v self,
        axis: &dyn Fn(&str) -> Result<Option<Value<'v>>, ParseError>,
    ) -> Result<bool, ParseError> {
        match self.evaluate(axis)? {
            Value::Bool(holds) => Ok(holds),
            _ => Err(ParseError::new("expected a condition", self.root.span.clone())),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.text
    }
}

impl TryFrom<String> for Expression {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        Self::parse(&text)
    }
}

/// That something else follows an operand.
fn expected_operator(cursor: &Cursor<'_>) -> ParseError {
    let error = ParseError::new("expected an operator", cursor.next_span());
    match cursor.rest().chars().next() {
        Some('=') => error.with_help("equality is written =="),
        Some('&') => error.with_help("both conditions: A && B"),
        Some('|') => error.with_help("either condition: A || B"),
        _ => error.with_help("operators are + - * / % << == != < <= > >= && ||"),
    }
}

fn leading(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
