//! Conditions over metrics, for the rules of advice.
//!
//! Input: text such as `share >= 10 && !(sectors == 0)` and a look-up of values. Output: whether it
//! holds, or the operand without a value. The operators and their precedence are those of
//! `--filter` (`||`, `&&`, `!` and one comparison); both sides of a comparison are a [`Formula`].

use std::fmt;

use super::formula::{Node, Undefined, condition, evaluate, names_in};
use crate::operators;
use crate::text::{Cursor, ParseError, of_fair_length};

/// A parsed condition, and the text that it was parsed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    root: Node,
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root: Node = operators::level(&mut cursor, 0, 0)?;
        condition(&root)?;
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
        let mut out = Vec::new();
        names_in(&self.root, &mut out);
        out
    }

    /// Whether it holds; `value` looks a name up.
    ///
    /// # Errors
    /// An operand without a value, or a division by zero, if the answer depends on it.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<f64>) -> Result<bool, Undefined> {
        evaluate(&self.root, value).map(|truth| truth != 0.0)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(text: &str) -> Result<bool, Undefined> {
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
            assert_eq!(evaluate(holds), Ok(true), "{holds}");
        }
        for fails in
            ["a.sum > 6", "a.sum > 5 && b != 0", "!(a.sum == 6)", "b > 0 && b > 0 || b > 1"]
        {
            assert_eq!(evaluate(fails), Ok(false), "{fails}");
        }
    }

    #[test]
    fn a_missing_operand_matters_only_if_it_decides() {
        assert_eq!(evaluate("gone > 1"), Err(Undefined::Operand("gone".into())));
        assert_eq!(evaluate("b > 1 && gone > 1"), Ok(false));
        assert_eq!(evaluate("b < 1 || gone > 1"), Ok(true));
        assert_eq!(evaluate("a.sum / b > 1"), Err(Undefined::DivisionByZero(vec!["b".into()])));
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
