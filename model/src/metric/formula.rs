//! Formulas of derived metrics: `+ - * /`, parentheses, `max(a, b)`, `min(a, b)`, `floor(a)`,
//! `ceil(a)`, numbers and metric names; and of several operands `largest(a, b, …)` and
//! `next_largest(a, b, …)`, their places from 1 on, `second(a, b, …)`, the value of the second
//! largest, and `either(a, b, …)`, the first that has a value.
//!
//! Input: text such as `bytes / duration * 1e9` and a look-up of values. Output: a number, or
//! why there is none: an operand is not there, a division by zero, or a part that is more than the
//! whole it is divided by.

use std::ops::Range;

use super::share::{are_parts, part_of};
use crate::operators::{self, ARITHMETIC, Language, Operator};
use crate::quantity::parse_number;
use crate::text::{Cursor, ParseError, of_fair_length};

/// A parsed formula, and the text that it was parsed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

/// A node of a formula or of a condition.
pub(super) type Node = operators::Node<Term>;

/// The kinds of nodes; only a condition has a `Not`, a comparison, or an operator between these.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Term {
    Number(f64),
    Metric(String),
    Not(Box<Node>),
    Binary(Operator<Arithmetic>, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// The next whole number below.
    Floor,
    /// The next whole number above.
    Ceil,
    Max,
    Min,
    /// The place of the largest.
    Largest,
    /// The place of the one after it.
    NextLargest,
    /// The value of the one after it.
    Second,
    /// The first that has a value.
    Either,
}

impl Function {
    /// Each with its name, and the fewest and the most operands that it takes.
    const ALL: [(&'static str, Self, usize, usize); 8] = [
        ("floor", Self::Floor, 1, 1),
        ("ceil", Self::Ceil, 1, 1),
        ("max", Self::Max, 2, 2),
        ("min", Self::Min, 2, 2),
        ("largest", Self::Largest, 2, usize::MAX),
        ("next_largest", Self::NextLargest, 2, usize::MAX),
        ("second", Self::Second, 2, usize::MAX),
        ("either", Self::Either, 2, usize::MAX),
    ];

    /// The value for these operands, as many as it takes.
    fn apply(
        self,
        mut operands: impl Iterator<Item = Result<f64, Undefined>>,
    ) -> Result<f64, Undefined> {
        let first = operands.next().unwrap_or(Ok(f64::NAN));
        if self == Self::Either {
            return operands.fold(first, |found, next| found.or(next));
        }
        let values = std::iter::once(first).chain(operands).collect::<Result<Vec<f64>, _>>()?;
        // Of equals the first counts as the larger.
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        #[expect(clippy::cast_precision_loss, reason = "a few operands")]
        let place = |at: usize| (at + 1) as f64;
        Ok(match self {
            Self::Floor => values[0].floor(),
            Self::Ceil => values[0].ceil(),
            Self::Max => values[0].max(values[1]),
            Self::Min => values[0].min(values[1]),
            Self::Largest => place(order[0]),
            Self::NextLargest => place(order[1]),
            Self::Second => values[order[1]],
            Self::Either => values[0],
        })
    }
}

/// Why a formula has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undefined {
    /// This operand has no value.
    Operand(String),
    /// A divisor made of these metrics is zero.
    DivisionByZero(Vec<String>),
    /// A share of the counts of the second metrics that the first ones are parts of, is above 1.
    MoreThanWhole(Vec<String>, Vec<String>),
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root: Node = operators::level(&mut cursor, ARITHMETIC, 0)?;
        number(&root)?;
        if cursor.at_end() {
            return Ok(Self { text: text.to_owned(), root });
        }
        Err(ParseError::new("expected an operator (+ - * /)", cursor.next_span()))
    }

    /// The text that it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The metric that the formula is a positive multiple of.
    pub fn multiple_of(&self) -> Option<&str> {
        match &unscaled(&self.root).term {
            Term::Metric(name) => Some(name),
            _ => None,
        }
    }

    /// The metrics it is made of, in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        let mut out = Vec::new();
        names_in(&self.root, &mut out);
        out
    }

    /// Evaluates it; `value` looks a metric up.
    ///
    /// # Errors
    /// An operand without a value, or a division by zero.
    pub fn evaluate(&self, value: impl Fn(&str) -> Option<f64>) -> Result<f64, Undefined> {
        evaluate(&self.root, &value)
    }
}

/// The value of `node`; that of a condition is 1 if it holds and else 0.
///
/// # Errors
/// As [`Formula::evaluate`], if the value depends on it.
pub(super) fn evaluate(node: &Node, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Undefined> {
    let value_of = |node: &Node| evaluate(node, value);
    let truth = |holds: bool| f64::from(u8::from(holds));
    match &node.term {
        Term::Number(n) => Ok(*n),
        Term::Metric(name) => value(name).ok_or_else(|| Undefined::Operand(name.clone())),
        Term::Not(inner) => Ok(truth(value_of(inner)? == 0.0)),
        Term::Binary(Operator::Or, a, b) => Ok(truth(value_of(a)? != 0.0 || value_of(b)? != 0.0)),
        Term::Binary(Operator::And, a, b) => Ok(truth(value_of(a)? != 0.0 && value_of(b)? != 0.0)),
        Term::Binary(Operator::Compare(comparison), a, b) => {
            Ok(truth(comparison.holds(&value_of(a)?, &value_of(b)?)))
        }
        Term::Binary(Operator::Arithmetic(operator), a, b) => {
            let (left, right) = (value_of(a)?, value_of(b)?);
            Ok(match operator {
                Arithmetic::Add => left + right,
                Arithmetic::Subtract => left - right,
                Arithmetic::Multiply => left * right,
                Arithmetic::Divide if right == 0.0 => {
                    let mut names = Vec::new();
                    names_in(b, &mut names);
                    return Err(Undefined::DivisionByZero(owned(&names)));
                }
                Arithmetic::Divide => left * possible(a, b, value)? / right,
            })
        }
        Term::Call(function, operands) => function.apply(operands.iter().map(value_of)),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The counters of a share: those of `part`, a positive multiple of a sum, and those of `whole`, a
/// sum, if the first count parts of the second.
fn counted<'n>(part: &'n Node, whole: &'n Node) -> Option<(Vec<&'n str>, Vec<&'n str>)> {
    let (parts, wholes) = (added(unscaled(part))?, added(whole)?);
    are_parts(&parts, &wholes).then_some((parts, wholes))
}

/// How much of `part` there can be of `whole`: 1 unless it is a share that two passes of a kernel
/// counted.
fn possible(
    part: &Node,
    whole: &Node,
    value: &dyn Fn(&str) -> Option<f64>,
) -> Result<f64, Undefined> {
    let Some((parts, wholes)) = counted(part, whole) else { return Ok(1.0) };
    let all = |names: &[&str]| names.iter().filter_map(|name| value(name)).sum::<f64>();
    let (part, whole) = (all(&parts), all(&wholes));
    match part_of(part, whole) {
        Some(possible) if possible < part => Ok(possible / part),
        Some(_) => Ok(1.0),
        None => Err(Undefined::MoreThanWhole(owned(&parts), owned(&wholes))),
    }
}

/// What is multiplied or divided by a positive number, without that number.
fn unscaled(node: &Node) -> &Node {
    let positive = |node: &Node| matches!(node.term, Term::Number(n) if n > 0.0);
    let Term::Binary(Operator::Arithmetic(operator), a, b) = &node.term else { return node };
    match operator {
        Arithmetic::Multiply if positive(a) => unscaled(b),
        Arithmetic::Multiply | Arithmetic::Divide if positive(b) => unscaled(a),
        _ => node,
    }
}

/// The metrics of a sum of nothing else.
fn added(node: &Node) -> Option<Vec<&str>> {
    match &node.term {
        Term::Metric(name) => Some(vec![name]),
        Term::Binary(Operator::Arithmetic(Arithmetic::Add), a, b) => {
            let (mut left, right) = (added(a)?, added(b)?);
            left.extend(right);
            Some(left)
        }
        _ => None,
    }
}

/// Adds the metrics of `node` to `out`, in order of appearance.
pub(super) fn names_in<'n>(node: &'n Node, out: &mut Vec<&'n str>) {
    match &node.term {
        Term::Number(_) => {}
        Term::Metric(name) => out.push(name),
        Term::Not(inner) => names_in(inner, out),
        Term::Binary(_, a, b) => {
            names_in(a, out);
            names_in(b, out);
        }
        Term::Call(_, operands) => operands.iter().for_each(|operand| names_in(operand, out)),
    }
}

/// Refuses a condition.
fn number(node: &Node) -> Result<(), ParseError> {
    match is_condition(node) {
        true => Err(ParseError::new("expected a number, not a condition", node.span.clone())),
        false => Ok(()),
    }
}

/// Refuses a number.
pub(super) fn condition(node: &Node) -> Result<(), ParseError> {
    match is_condition(node) {
        true => Ok(()),
        false => Err(ParseError::new("expected a comparison", node.span.end..node.span.end)
            .with_help("compare it: share >= 10 (== != < <= > >=)")),
    }
}

fn is_condition(node: &Node) -> bool {
    match &node.term {
        Term::Not(_) | Term::Binary(Operator::Or | Operator::And | Operator::Compare(_), ..) => {
            true
        }
        Term::Number(_) | Term::Metric(_) | Term::Call(..) => false,
        Term::Binary(Operator::Arithmetic(_), ..) => false,
    }
}

impl Language for Term {
    type Arithmetic = Arithmetic;

    const ARITHMETIC: &'static [&'static [(&'static str, Arithmetic)]] = &[
        &[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)],
        &[("*", Arithmetic::Multiply), ("/", Arithmetic::Divide)],
    ];

    fn operand(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
        let start = cursor.position();
        let term = if cursor.eat("!") {
            let inner: Node = operators::operand(cursor, depth + 1)?;
            condition(&inner)?;
            Self::Not(Box::new(inner))
        } else {
            let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let (word, span) = cursor.take_while(name);
            match word.chars().next() {
                None => {
                    let message = "expected a number or a metric";
                    return Err(ParseError::new(message, cursor.next_span()));
                }
                Some(c) if c.is_ascii_digit() => Self::Number(literal(cursor, word, span)?),
                Some(_) => function(cursor, word, depth)?,
            }
        };
        Ok(Node::new(term, start..cursor.position()))
    }

    fn binary(operator: Operator<Arithmetic>, a: Node, b: Node) -> Result<Self, ParseError> {
        let check = match operator {
            Operator::Or | Operator::And => condition,
            Operator::Compare(_) | Operator::Arithmetic(_) => number,
        };
        check(&a).and_then(|()| check(&b))?;
        Ok(Self::Binary(operator, Box::new(a), Box::new(b)))
    }
}

/// The function `word`, if its operands follow, or else the metric of that name.
fn function(cursor: &mut Cursor<'_>, word: &str, depth: usize) -> Result<Term, ParseError> {
    let known = Function::ALL.into_iter().find(|(name, ..)| *name == word);
    let Some((name, function, least, most)) = known.filter(|_| cursor.eat("(")) else {
        return Ok(Term::Metric(word.to_owned()));
    };
    let mut operands: Vec<Node> = Vec::new();
    while operands.is_empty() || (operands.len() < most && cursor.eat(",")) {
        let operand = operators::level(cursor, ARITHMETIC, depth + 1)?;
        number(&operand)?;
        operands.push(operand);
    }
    if operands.len() < least {
        let message = format!("expected `,` and a second operand of {name}");
        return Err(ParseError::new(message, cursor.next_span()));
    }
    match cursor.eat(")") {
        true => Ok(Term::Call(function, operands)),
        false => Err(ParseError::new("expected `)`", cursor.next_span())),
    }
}

/// The number that begins with `word`, to which the sign and the digits of an exponent belong, as
/// in `1e-3`.
fn literal(cursor: &mut Cursor<'_>, word: &str, span: Range<usize>) -> Result<f64, ParseError> {
    let rest = cursor.rest();
    let exponent = rest.strip_prefix(['+', '-']).filter(|_| word.ends_with(['e', 'E']));
    let digits =
        exponent.map_or(0, |rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    if digits == 0 {
        return parse_number(word, span);
    }
    cursor.advance(1 + digits);
    parse_number(&format!("{word}{}", &rest[..=digits]), span.start..span.end + 1 + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_ranked() {
        let of = |text: &str| Formula::parse(text).map(|f| f.evaluate(value).unwrap());
        assert_eq!(of("largest(1, a.sum, b)"), Ok(2.0));
        assert_eq!(of("next_largest(1, a.sum, b)"), Ok(1.0));
        assert_eq!(of("second(1, a.sum, b)"), Ok(1.0));
        assert_eq!(of("largest(2, 2)"), Ok(1.0));
        assert_eq!(Formula::parse("largest(b, a.sum)").unwrap().names(), ["b", "a.sum"]);
        assert!(of("largest(1)").unwrap_err().to_string().contains("second operand"));
        assert_eq!(Formula::parse("largest").unwrap().names(), ["largest"]);
    }

    fn value(name: &str) -> Option<f64> {
        match name {
            "a.sum" => Some(6.0),
            "b" => Some(0.0),
            _ => None,
        }
    }

    #[test]
    fn products_bind_tighter_than_sums_and_operators_group_left() {
        let eval = |text: &str| Formula::parse(text).unwrap().evaluate(value).unwrap();
        assert_eq!(eval("1 + 2 * a.sum"), 13.0);
        assert_eq!(eval("10 - 4 - 3"), 3.0);
        assert_eq!(eval("100 * a.sum / (4 * 3)"), 50.0);
        assert_eq!(eval("10 - max(a.sum, 2 + 1)"), 4.0);
        assert_eq!(eval("min(a.sum, 2 + 1) + floor(a.sum / 4) + ceil(a.sum / 4)"), 6.0);
        assert_eq!(Formula::parse("floor").unwrap().names(), ["floor"]);
        assert_eq!(eval("1e-3 * a.sum + 2E+2-1e3"), 0.006 + 200.0 - 1000.0);
    }

    #[test]
    fn the_first_operand_that_has_a_value_is_taken() {
        let of = |text: &str| Formula::parse(text).unwrap().evaluate(value);
        assert_eq!(of("either(a.sum, gone)"), Ok(6.0));
        assert_eq!(of("1 + either(gone / 2, lost, a.sum)"), Ok(7.0));
        assert_eq!(of("either(gone, lost)"), Err(Undefined::Operand("lost".into())));
        assert_eq!(Formula::parse("either(gone, b)").unwrap().names(), ["gone", "b"]);
    }

    #[test]
    fn a_formula_without_a_value_gives_the_reason() {
        let eval = |text: &str| Formula::parse(text).unwrap().evaluate(value).unwrap_err();
        assert_eq!(eval("a.sum / b"), Undefined::DivisionByZero(vec!["b".into()]));
        assert_eq!(eval("a.sum / gone"), Undefined::Operand("gone".into()));
    }

    /// Hits counted in another pass than the sectors: far apart, as an H200 reported for `jacobi`,
    /// and less far. The counts are made up.
    #[test]
    fn a_part_is_not_shown_as_more_than_its_whole() {
        let of = |text: &str, hits: f64, sectors: f64| {
            let value = |name: &str| Some(if name.contains("hit") { hits } else { sectors });
            Formula::parse(text).unwrap().evaluate(value)
        };
        let (hit, all) =
            ("lts__t_sectors_evict_first_lookup_hit.sum", "lts__t_sectors_evict_first.sum");
        let rate = format!("100 * {hit} / {all}");
        assert_eq!(of(&rate, 23.0, 92.0), Ok(25.0));
        assert!((of(&rate, 100.4, 100.0).unwrap() - 100.0).abs() < 1e-9);
        let wrong = Undefined::MoreThanWhole(vec![hit.into()], vec![all.into()]);
        assert_eq!(of(&rate, 227.0, 51.0), Err(wrong));
        let sum = format!("({hit} + {hit}) / ({all} + {all}) * 100");
        assert!(
            matches!(of(&sum, 2.0, 1.0), Err(Undefined::MoreThanWhole(parts, _)) if parts.len() == 2)
        );
        // Nothing says that these are parts.
        assert_eq!(of(&format!("{hit} / ({all} + 1)"), 6.0, 2.0), Ok(2.0));
        assert_eq!(of(&format!("{all} / {hit}"), 2.0, 6.0), Ok(3.0));
    }

    #[test]
    fn malformed_formulas_are_refused() {
        for bad in [
            "",
            "a +",
            "(a",
            "a b",
            "a ** b",
            "1e",
            "1e- 3",
            "max(a)",
            "min(a)",
            "floor(a, b)",
            "ceil(",
            "max(a, b",
            &"(".repeat(100),
        ] {
            assert!(Formula::parse(bad).is_err(), "{bad}");
        }
    }
}
