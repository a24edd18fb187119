//! Filter expressions, with the grammar of nextest's filtersets.
//!
//! Input: text such as `series(kme*) & !axis(n > 1M)`. Output: a set of configurations. Functions
//! are `series(PATTERN)`, `axis(CONDITION)`, `all()` and `none()`. From the loosest binding: `|`
//! (`or`, `+`, `||`), `&` (`and`, `&&`), `-` (without), and `!` (`not`). A condition is an
//! [`Expression`] over axes. It holds for no configuration of a series without those axes; where
//! their types do not fit, it is an error.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::subject::{Subject, both, either};
use crate::expression::{Expression, Type, Value};
use crate::operators::{self, Language, Operator};
use crate::suggest::did_you_mean;
use crate::text::{Cursor, ParseError, is_name_char, of_fair_length};

/// A parsed filter expression. Its serde form is its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilterExpression {
    text: String,
    root: Node,
}

type Node = operators::Node<Set>;

/// The kinds of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Set {
    All,
    None,
    Series(Pattern),
    /// A condition, and the place of its text in the expression's.
    Axis(Expression, usize),
    Not(Box<Node>),
    Or(Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
}

/// The set on the left without the one on the right.
#[derive(Debug, Clone, Copy)]
struct Without;

const FUNCTIONS: [&str; 4] = ["series", "axis", "all", "none"];

const SHAPES: &str = "the functions are series(PATTERN), axis(CONDITION), all() and none()";

impl Language for Set {
    type Arithmetic = Without;

    const OR: &'static [&'static str] = &["||", "|", "+", "or"];
    const AND: &'static [&'static str] = &["&&", "&", "and"];
    const ARITHMETIC: &'static [&'static [(&'static str, Without)]] = &[&[("-", Without)]];

    fn operand(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
        cursor.skip_space();
        let start = cursor.position();
        if cursor.eat("!") || cursor.eat_word("not") {
            let inner: Node = operators::operand(cursor, depth + 1)?;
            let span = start..inner.span.end;
            return Ok(Node::new(Self::Not(Box::new(inner)), span));
        }
        let set = function(cursor, depth)?;
        match cursor.eat(")") {
            true => Ok(Node::new(set, start..cursor.position())),
            false => Err(ParseError::new("expected `)`", cursor.next_span())),
        }
    }

    fn binary(operator: Operator<Without>, a: Node, b: Node) -> Result<Self, ParseError> {
        let (a, span) = (Box::new(a), b.span.clone());
        match operator {
            Operator::Or => Ok(Self::Or(a, Box::new(b))),
            Operator::And => Ok(Self::And(a, Box::new(b))),
            Operator::Arithmetic(Without) => {
                Ok(Self::And(a, Box::new(Node::new(Self::Not(Box::new(b)), span))))
            }
            Operator::Compare(_) => {
                Err(ParseError::new("sets are not compared", a.span.start..span.end)
                    .with_help("join them with &, | or -; values are compared in axis(n > 1M)"))
            }
        }
    }
}

/// Reads a function up to its closing parenthesis.
fn function(cursor: &mut Cursor<'_>, depth: usize) -> Result<Set, ParseError> {
    let (name, span) = cursor.take_while(is_name_char);
    if name.is_empty() {
        return Err(ParseError::new("expected a function", cursor.next_span()).with_help(SHAPES));
    }
    if !FUNCTIONS.contains(&name) {
        let near = did_you_mean(name, FUNCTIONS).unwrap_or_else(|| SHAPES.to_owned());
        let error = ParseError::new(format!("no function is named `{name}`"), span);
        return Err(error.with_help(near));
    }
    if !cursor.eat("(") {
        let error = ParseError::new(format!("expected `(` after `{name}`"), cursor.next_span());
        return Err(error.with_help(SHAPES));
    }
    Ok(match name {
        "series" => {
            let (text, at) = cursor.take_while(|c| c != ')');
            let pattern = text.trim_end().parse::<Pattern>();
            Set::Series(pattern.map_err(|e| e.shifted(at.start))?)
        }
        "axis" => {
            let (condition, at) = Expression::parse_part(cursor, depth + 1)?;
            Set::Axis(condition, at)
        }
        "all" => Set::All,
        _ => Set::None,
    })
}

impl FilterExpression {
    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The patterns in it.
    pub fn patterns(&self) -> Vec<&Pattern> {
        let mut patterns = Vec::new();
        walk(&self.root, &mut |set| {
            if let Set::Series(pattern) = set {
                patterns.push(pattern);
            }
        });
        patterns
    }

    /// Refuses a condition that no series has the axes of; `all` are the axes of every series.
    ///
    /// # Errors
    /// The place of a name that no axis has, or of values that are never compared.
    pub fn check(&self, all: &[Vec<(&str, Type)>]) -> Result<(), ParseError> {
        let mut union: Vec<(&str, Type)> = Vec::new();
        for axis in all.iter().flatten() {
            if union.iter().all(|(name, _)| *name != axis.0) {
                union.push(*axis);
            }
        }
        let mut found = Ok(());
        walk(&self.root, &mut |set| {
            let Set::Axis(condition, at) = set else { return };
            if found.is_err() || all.iter().any(|axes| condition.check_condition(axes).is_ok()) {
                return;
            }
            let together = || {
                let text = condition.text();
                ParseError::new("no series has all of these axes", 0..text.len())
                    .with_help("join conditions of different series: axis(a > 1) | axis(b > 1)")
            };
            let error = condition.check_condition(&union).err().unwrap_or_else(together);
            found = Err(error.shifted(*at));
        });
        found
    }

    /// Whether it holds for `subject`; none if that depends on something unknown of it.
    ///
    /// # Errors
    /// A condition without a value in the configuration, or one that compares values of different
    /// types there.
    pub fn holds(&self, subject: Subject<'_>) -> Result<Option<bool>, ParseError> {
        holds(&self.root, subject)
    }
}

fn holds(node: &Node, subject: Subject<'_>) -> Result<Option<bool>, ParseError> {
    Ok(match &node.term {
        Set::All => Some(true),
        Set::None => Some(false),
        Set::Series(pattern) => subject.series.map(|keys| pattern.matches_any(keys)),
        Set::Axis(condition, at) => match (subject.axes, subject.configuration) {
            (None, _) => None,
            (Some(axes), _) if condition.lacks_axis(axes) => Some(false),
            (Some(axes), None) => {
                condition.check_condition(axes).map_err(|e| e.shifted(*at))?;
                None
            }
            (Some(_), Some(point)) => {
                let holds = condition.holds(&|name| Ok(point.get(name).map(Value::from)));
                Some(holds.map_err(|e| e.shifted(*at))?)
            }
        },
        Set::Not(inner) => holds(inner, subject)?.map(|holds| !holds),
        // If one side decides alone, the other needs no value.
        Set::Or(a, b) => match (holds(a, subject), holds(b, subject)) {
            (Ok(Some(true)), _) | (_, Ok(Some(true))) => Some(true),
            (a, b) => either(a?, b?),
        },
        Set::And(a, b) => match (holds(a, subject), holds(b, subject)) {
            (Ok(Some(false)), _) | (_, Ok(Some(false))) => Some(false),
            (a, b) => both(a?, b?),
        },
    })
}

fn walk<'n>(node: &'n Node, visit: &mut dyn FnMut(&'n Set)) {
    visit(&node.term);
    match &node.term {
        Set::All | Set::None | Set::Series(_) | Set::Axis(..) => {}
        Set::Not(inner) => walk(inner, visit),
        Set::Or(a, b) | Set::And(a, b) => {
            walk(a, visit);
            walk(b, visit);
        }
    }
}

impl FromStr for FilterExpression {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim().is_empty() {
            return Err(ParseError::new("the expression is empty", 0..text.len()).with_help(SHAPES));
        }
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root = operators::level(&mut cursor, 0, 0)?;
        match cursor.at_end() {
            true => Ok(Self { text: text.to_owned(), root }),
            false => Err(ParseError::new("expected an operator", cursor.next_span())
                .with_help("operators are & (and), | (or), - (without) and ! (not)")),
        }
    }
}

impl fmt::Display for FilterExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<FilterExpression> for String {
    fn from(expression: FilterExpression) -> Self {
        expression.text
    }
}

impl TryFrom<String> for FilterExpression {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}
