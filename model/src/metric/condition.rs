//! Conditions over metrics, for the rules of advice.
//!
//! Input: text such as `share >= 10 && !(sectors == 0)` and a look-up of values. Output: whether it
//! holds, or the operand without a value. The operators and their precedence are those of
//! `--filter` (`||`, `&&`, `!` and one comparison); both sides of a comparison are a [`Formula`].

use std::fmt;

use super::formula::{Formula, Undefined};
use crate::text::{Cursor, ParseError, of_fair_length};

/// A parsed condition, and the text that it was parsed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compared(Formula, Comparison, Formula),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    LessEqual,
    GreaterEqual,
    Less,
    Greater,
}

/// An operator comes before its own prefixes.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::LessEqual),
    (">=", Comparison::GreaterEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const MAX_DEPTH: usize = 64;

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root = any(&mut cursor, 0)?;
        if cursor.at_end() {
            return Ok(Self { text: text.trim().to_owned(), root });
        }
        let error = ParseError::new("expected && or ||", cursor.next_span());
        Err(error.with_help("comparisons are joined by && and ||: a >= 10 && b < 2"))
    }

    /// The text that it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        fn walk<'n>(node: &'n Node, out: &mut Vec<&'n str>) {
            match node {
                Node::Any(all) | Node::All(all) => all.iter().for_each(|node| walk(node, out)),
                Node::Not(inner) => walk(inner, out),
                Node::Compared(left, _, right) => {
                    out.extend(left.names());
                    out.extend(right.names());
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.root, &mut out);
        out
    }

    /// Whether it holds; `value` looks a name up.
    ///
    /// # Errors
    /// An operand without a value, or a division by zero, if the answer depends on it.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<f64>) -> Result<bool, Undefined> {
        holds(&self.root, value)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn holds(node: &Node, value: &dyn Fn(&str) -> Option<f64>) -> Result<bool, Undefined> {
    match node {
        Node::Any(all) => decided(all, value, true),
        Node::All(all) => decided(all, value, false),
        Node::Not(inner) => holds(inner, value).map(|holds| !holds),
        Node::Compared(left, comparison, right) => {
            let (left, right) = (left.evaluate(value)?, right.evaluate(value)?);
            Ok(match comparison {
                Comparison::Equal => left == right,
                Comparison::Unequal => left != right,
                Comparison::LessEqual => left <= right,
                Comparison::GreaterEqual => left >= right,
                Comparison::Less => left < right,
                Comparison::Greater => left > right,
            })
        }
    }
}

/// `by` where one of `all` is it, from the left on; else its opposite.
fn decided(all: &[Node], value: &dyn Fn(&str) -> Option<f64>, by: bool) -> Result<bool, Undefined> {
    for node in all {
        if holds(node, value)? == by {
            return Ok(by);
        }
    }
    Ok(!by)
}

fn any(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    joined(
        cursor,
        "||",
        |cursor| joined(cursor, "&&", |cursor| one(cursor, depth), Node::All),
        Node::Any,
    )
}

/// Several of what `part` reads, with `operator` between them.
fn joined<'t>(
    cursor: &mut Cursor<'t>,
    operator: &str,
    part: impl Fn(&mut Cursor<'t>) -> Result<Node, ParseError>,
    join: fn(Vec<Node>) -> Node,
) -> Result<Node, ParseError> {
    let first = part(cursor)?;
    let mut all = vec![first];
    while cursor.eat(operator) {
        all.push(part(cursor)?);
    }
    Ok(if all.len() == 1 { all.remove(0) } else { join(all) })
}

fn one(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    if depth > MAX_DEPTH {
        return Err(ParseError::new("the condition is nested too deeply", cursor.next_span()));
    }
    cursor.skip_space();
    if !cursor.rest().starts_with("!=") && cursor.eat("!") {
        return Ok(Node::Not(Box::new(one(cursor, depth + 1)?)));
    }
    // A parenthesis begins a formula or a condition: the text after it decides.
    let mut ahead = cursor.clone();
    let compared = comparison(&mut ahead);
    if compared.is_err() && cursor.rest().starts_with('(') {
        let mut inside = cursor.clone();
        inside.eat("(");
        let inner = any(&mut inside, depth + 1)?;
        if !inside.eat(")") {
            return Err(ParseError::new("expected `)`", inside.next_span()));
        }
        *cursor = inside;
        return Ok(inner);
    }
    let node = compared?;
    *cursor = ahead;
    Ok(node)
}

fn comparison(cursor: &mut Cursor<'_>) -> Result<Node, ParseError> {
    let left = Formula::take(cursor)?;
    let found = COMPARISONS.into_iter().find(|(symbol, _)| cursor.eat(symbol));
    let Some((_, comparison)) = found else {
        let error = ParseError::new("expected a comparison", cursor.next_span());
        return Err(error.with_help("compare it: share >= 10 (== != < <= > >=)"));
    };
    Ok(Node::Compared(left, comparison, Formula::take(cursor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<bool, Undefined> {
        let value = |name: &str| match name {
            "a.sum" => Some(6.0),
            "b" => Some(0.0),
            _ => None,
        };
        Condition::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).holds(&value)
    }

    #[test]
    fn operators_bind_as_in_a_filter() {
        for holds in [
            "a.sum > 5",
            "a.sum / 2 == 3 && b < 1",
            "b > 1 || a.sum >= 6 && b == 0",
            "!(b > 1) && (a.sum + 1) * 2 == 14",
            "((a.sum > 1) && (b != 1))",
            "(a.sum - 1) / (1 + 1) < 3",
        ] {
            assert_eq!(of(holds), Ok(true), "{holds}");
        }
        for fails in
            ["a.sum > 6", "a.sum > 5 && b != 0", "!(a.sum == 6)", "b > 0 && b > 0 || b > 1"]
        {
            assert_eq!(of(fails), Ok(false), "{fails}");
        }
    }

    #[test]
    fn what_is_not_there_counts_only_where_it_decides() {
        assert_eq!(of("gone > 1"), Err(Undefined::Operand("gone".into())));
        assert_eq!(of("b > 1 && gone > 1"), Ok(false));
        assert_eq!(of("b < 1 || gone > 1"), Ok(true));
        assert_eq!(of("a.sum / b > 1"), Err(Undefined::DivisionByZero(vec!["b".into()])));
        assert_eq!(Condition::parse("x > 1 && (y < z)").unwrap().names(), ["x", "y", "z"]);
    }

    #[test]
    fn malformed_conditions_are_refused_at_their_place() {
        let error = Condition::parse("a >= 1 b").unwrap_err();
        assert_eq!(error.render("x", "a >= 1 b").lines().nth(4), Some("   |        ^"));
        for bad in ["", "a", "a >", "a > 1 &&", "(a > 1", "a > 1)", "a > b > 1", "!", "1 + 2"] {
            assert!(Condition::parse(bad).is_err(), "{bad}");
        }
        assert!(Condition::parse(&"(".repeat(200)).is_err());
        assert!(Condition::parse(&"!".repeat(200)).is_err());
    }
}
