//! Expressions over axes: what `where`, derived axes and `--filter` are written in.
//!
//! Comes in: text such as `block * regs <= 64K && dtype != f16` and a look-up of axis values. Goes
//! out: a number, a truth value or a word. Arithmetic is on whole numbers as in Rust: division
//! truncates, and what overflows or divides by zero is an error with its place, never a wrong value.
//!
//! From the loosest binding: `||`, `&&`, one comparison (`== != < <= > >=`), `<<`, `+ -`, `* / %`,
//! unary `-` and `!`. Numbers take the suffixes K, M and G; `block.x`, `.y` and `.z` are extents. A
//! name that no axis has is a word, where it is compared with an axis of words; `"f32-acc"` always is.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::axis::{self, AxisKind, AxisValue};
use crate::suggest::did_you_mean;
use crate::text::{Cursor, ParseError, is_name_char};

/// A parsed expression. Its serde form is its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    term: Term,
    span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Int(i128),
    Dims([u32; 3]),
    Word(String),
    Name(String),
    Component(String, usize),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    LessEqual,
    GreaterEqual,
    Shift,
    Less,
    Greater,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by how tightly they bind; within a level, what begins with another comes first.
const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("<<", Operator::Shift)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// The level of the comparisons, which do not chain.
const COMPARISONS: usize = 2;

/// How deeply parentheses may nest.
const MAX_DEPTH: usize = 64;

/// What an expression comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// A whole number.
    Int(i128),
    /// A truth value.
    Bool(bool),
    /// A word.
    Word(&'v str),
    /// Extents in x, y and z.
    Dims([u32; 3]),
}

impl<'v> From<&'v AxisValue> for Value<'v> {
    fn from(value: &'v AxisValue) -> Self {
        match value {
            AxisValue::Int(n) => Self::Int(i128::from(*n)),
            AxisValue::Dims(dims) => Self::Dims(*dims),
            AxisValue::Word(word) => Self::Word(word),
        }
    }
}

/// What kind of value an expression has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A whole number.
    Int,
    /// A truth value.
    Bool,
    /// A word.
    Word,
    /// Extents.
    Dims,
}

impl From<AxisKind> for Type {
    fn from(kind: AxisKind) -> Self {
        match kind {
            AxisKind::Int => Self::Int,
            AxisKind::Dims => Self::Dims,
            AxisKind::Word => Self::Word,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "a whole number",
            Self::Bool => "a condition",
            Self::Word => "a word",
            Self::Dims => "an extent",
        })
    }
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut cursor = Cursor::new(text);
        let root = level(&mut cursor, 0, 0)?;
        if cursor.at_end() {
            return Ok(Self {
                text: text.trim().to_owned(),
                root: root.shifted_left(leading(text)),
            });
        }
        let found = cursor.rest().chars().next();
        let error = ParseError::new("expected an operator", cursor.next_span());
        Err(match found {
            Some('=') => error.with_help("equality is written =="),
            Some('&') => error.with_help("both conditions: A && B"),
            Some('|') => error.with_help("either condition: A || B"),
            _ => error.with_help("operators are + - * / % << == != < <= > >= && ||"),
        })
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
        check(&self.root, axes)
    }

    /// As [`Expression::check`], for an expression that must be a condition.
    ///
    /// # Errors
    /// Those of `check`, and an expression that is no condition.
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

    /// Evaluates it; `axis` looks an axis up, and what it does not know is a word.
    ///
    /// # Errors
    /// A division by zero or an overflow; types that [`Expression::check`] refuses.
    pub fn evaluate<'v>(
        &'v self,
        axis: &dyn Fn(&str) -> Result<Option<Value<'v>>, ParseError>,
    ) -> Result<Value<'v>, ParseError> {
        evaluate(&self.root, axis)
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// Those of [`Expression::evaluate`], and a value that is no condition.
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

fn leading(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

impl Node {
    fn new(term: Term, span: Range<usize>) -> Self {
        Self { term, span }
    }

    fn shifted_left(mut self, by: usize) -> Self {
        self.span = self.span.start - by..self.span.end - by;
        self.term = match self.term {
            Term::Negate(inner) => Term::Negate(Box::new(inner.shifted_left(by))),
            Term::Not(inner) => Term::Not(Box::new(inner.shifted_left(by))),
            Term::Binary(op, a, b) => {
                Term::Binary(op, Box::new(a.shifted_left(by)), Box::new(b.shifted_left(by)))
            }
            leaf => leaf,
        };
        self
    }
}

fn level(cursor: &mut Cursor<'_>, at: usize, depth: usize) -> Result<Node, ParseError> {
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

fn check(node: &Node, axes: &[(&str, Type)]) -> Result<Type, ParseError> {
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
        Term::Binary(Operator::Equal | Operator::Unequal, a, b) => equality(node, a, b, axes),
        Term::Binary(operator, a, b) => {
            expect(a, Type::Int, axes)?;
            expect(b, Type::Int, axes)?;
            let compares = LEVELS[COMPARISONS].iter().any(|(_, other)| other == operator);
            Ok(if compares { Type::Bool } else { Type::Int })
        }
    }
}

/// `==` and `!=` take two values of one type; beside a word, an unknown name is a word.
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
            Err(ParseError::new(format!("{left} is never equal to {right}"), node.span.clone()))
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
        (Type::Dims, Type::Int) => error.with_help("an extent has the parts .x, .y and .z"),
        (Type::Int, Type::Bool) => error.with_help("compare it: block <= 256"),
        _ => error,
    })
}

fn unknown(name: &str, span: &Range<usize>, axes: &[(&str, Type)]) -> ParseError {
    let error = ParseError::new(format!("no axis is called `{name}`"), span.clone());
    let names = || axes.iter().map(|(name, _)| *name);
    match did_you_mean(name, names()) {
        Some(near) => error.with_help(near),
        None if axes.is_empty() => error.with_help("there are no axes"),
        None => error.with_help(format!("the axes are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

type Lookup<'l, 'v> = &'l dyn Fn(&str) -> Result<Option<Value<'v>>, ParseError>;

fn evaluate<'v>(node: &'v Node, axis: Lookup<'_, 'v>) -> Result<Value<'v>, ParseError> {
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
        Term::Binary(Operator::Equal, a, b) => {
            Ok(Value::Bool(evaluate(a, axis)? == evaluate(b, axis)?))
        }
        Term::Binary(Operator::Unequal, a, b) => {
            Ok(Value::Bool(evaluate(a, axis)? != evaluate(b, axis)?))
        }
        Term::Binary(operator, a, b) => {
            let (left, right) = (int(a, axis)?, int(b, axis)?);
            if right == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
                return Err(fail("division by zero"));
            }
            let number = match operator {
                Operator::Less => return Ok(Value::Bool(left < right)),
                Operator::LessEqual => return Ok(Value::Bool(left <= right)),
                Operator::Greater => return Ok(Value::Bool(left > right)),
                Operator::GreaterEqual => return Ok(Value::Bool(left >= right)),
                Operator::Add => left.checked_add(right),
                Operator::Subtract => left.checked_sub(right),
                Operator::Multiply => left.checked_mul(right),
                Operator::Divide => left.checked_div(right),
                Operator::Remainder => left.checked_rem(right),
                _ => u32::try_from(right)
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

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
